/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See v4l2_stream.h. One lock for all; the thread of a device holds it only to hand units out.
 *
 * A device's life: open (or BACKOFF and again, where that may pass) - units - lost - BACKOFF - open
 * ... until its last subscriber has gone.
 */
#include "daemon/worker/camera/v4l2_stream.h"

#include "daemon/worker/camera/v4l2.h"
#include "daemon/worker/camera/watch.h"
#include "daemon/worker/clock.h"

#include <fcntl.h>
#include <linux/videodev2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { UNITS = 64, SETS_MOST = 4096, LEAST_UNIT = 5 };
enum { NAL_IDR = 5, NAL_SPS = 7, NAL_PPS = 8 };
#define LOOK_NS (NS_PER_S / 10)

struct v4l2_subscription {
    struct v4l2_subscription *next;
    struct hub *hub;
    AVPacket *units[UNITS];
    unsigned n;
    bool open_told, wants_key;
    unsigned state_told;
    uint64_t dropped;
};

/* One device. */
struct hub {
    struct hub *next;
    struct v4l2_streams *all;
    char *uri;
    struct camera_params asked, params; /* its thread's; params: the device's once known */
    struct v4l2_device device;          /* its thread's */
    pthread_t thread;
    int stop_fd; /* an eventfd */
    bool stop, known, ended, wants_key;
    struct pelton_failure failure; /* ended */
    unsigned states;               /* changes so far; the last one: */
    bool running;
    char cause[256];
    uint8_t sets[SETS_MOST]; /* the last parameter sets, with start codes */
    size_t sets_size;
    struct v4l2_subscription *subscriptions;
};

struct v4l2_streams {
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct hub *hubs;
};

struct v4l2_streams *v4l2_streams_create(void)
{
    struct v4l2_streams *all = calloc(1, sizeof(*all));
    pthread_condattr_t monotonic;
    if (!all)
        return NULL;
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&all->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return all;
}

void v4l2_streams_free(struct v4l2_streams *all)
{
    if (!all)
        return;
    pthread_cond_destroy(&all->news);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- which cameras ---- */

bool v4l2_stream_wanted(const char *uri)
{
    struct camera_params p;
    char why[CAMERA_WHY];
    if (camera_params_parse(uri, &p, why) < 0 || p.kind != CAMERA_V4L2)
        return false;
    if (p.format_given)
        return p.coding == CAMERA_H264;
    int fd = open(p.path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    bool media;
    int type = fd >= 0 ? v4l2_capture_type(fd, &media) : -1;
    struct v4l2_image now;
    struct v4l2_choice choice = {0};
    if (type > 0 && v4l2_image_get(fd, (uint32_t)type, &now) == 0)
        v4l2_kind_choose(fd, (uint32_t)type, &p, p.width ? p.width : now.width,
                         p.height ? p.height : now.height, NULL, &choice);
    if (fd >= 0)
        close(fd);
    return choice.kind && choice.kind->coding == CAMERA_H264;
}

/* ---- access units ---- */

/* The next NAL unit from *at on, with its start code (B.1.1); false: none. */
static bool next_nal(const uint8_t *data, size_t size, size_t *at, size_t *begin, uint8_t *type)
{
    size_t i = *at;
    while (i + 3 < size && !(data[i] == 0 && data[i + 1] == 0 && data[i + 2] == 1))
        i++;
    if (i + 3 >= size)
        return false;
    *begin = i;
    *type = data[i + 3] & 31;
    *at = i + 3;
    return true;
}

/* Keeps the parameter sets of a unit; returns what it holds: a bit for each type of NAL unit. */
static uint32_t look_at(struct hub *h, const uint8_t *data, size_t size)
{
    uint32_t seen = 0;
    size_t at = 0, begin, kept = 0;
    uint8_t type;
    uint8_t sets[SETS_MOST];
    while (next_nal(data, size, &at, &begin, &type)) {
        size_t end = at, next;
        uint8_t other;
        seen |= 1u << type;
        if (type >= 1 && type <= NAL_IDR)
            break; /* sets come before slices */
        if (type != NAL_SPS && type != NAL_PPS)
            continue;
        next = next_nal(data, size, &end, &end, &other) ? end : size;
        if (next - begin <= SETS_MOST - kept) {
            memcpy(sets + kept, data + begin, next - begin);
            kept += next - begin;
        }
    }
    if (seen & 1u << NAL_SPS) {
        memcpy(h->sets, sets, kept);
        h->sets_size = kept;
    }
    return seen;
}

static AVPacket *make_unit(const uint8_t *sets, size_t sets_size, const uint8_t *data, size_t size,
                           int64_t captured_ns)
{
    AVPacket *p = size + sets_size <= INT32_MAX / 2 ? av_packet_alloc() : NULL;
    if (!p || av_new_packet(p, (int)(sets_size + size)) < 0) {
        av_packet_free(&p);
        return NULL;
    }
    if (sets_size)
        memcpy(p->data, sets, sets_size);
    memcpy(p->data + sets_size, data, size);
    p->pts = p->dts = captured_ns / 1000;
    return p;
}

static void drop_all(struct v4l2_subscription *s)
{
    for (unsigned i = 0; i < s->n; i++)
        av_packet_free(&s->units[i]);
    s->dropped += s->n;
    s->n = 0;
    s->wants_key = true;
}

/* With the lock. */
static void hand_out(struct hub *h, const AVPacket *unit, const AVPacket *with_sets, uint32_t seen,
                     uint64_t lost)
{
    bool key = seen & (1u << NAL_IDR | 1u << NAL_SPS);
    for (struct v4l2_subscription *s = h->subscriptions; s; s = s->next) {
        s->dropped += lost;
        if (s->n == UNITS)
            drop_all(s);
        if (s->wants_key && !key) {
            s->dropped += s->open_told;
            h->wants_key = true;
            continue;
        }
        AVPacket *copy = av_packet_clone(s->wants_key && with_sets ? with_sets : unit);
        if (!copy) {
            drop_all(s);
            continue;
        }
        s->wants_key = false;
        s->units[s->n++] = copy;
    }
    pthread_cond_broadcast(&h->all->news);
}

/* ---- the device's thread ---- */

static int take_unit(struct hub *h, struct pelton_failure *failure)
{
    struct v4l2_taken taken;
    int rc = v4l2_device_take(&h->device, &taken, failure);
    if (rc != SOURCE_OK)
        return rc;
    uint32_t seen = look_at(h, taken.data[0], taken.size);
    bool lacks_sets = (seen & 1u << NAL_IDR) && !(seen & 1u << NAL_SPS) && h->sets_size;
    AVPacket *unit = make_unit(NULL, 0, taken.data[0], taken.size, taken.captured_ns),
             *with_sets = NULL;
    if (lacks_sets)
        with_sets = make_unit(h->sets, h->sets_size, taken.data[0], taken.size, taken.captured_ns);
    rc = v4l2_device_give(&h->device, taken.index, failure);
    if (unit && (with_sets || !lacks_sets)) {
        pthread_mutex_lock(&h->all->lock);
        hand_out(h, unit, with_sets, seen, h->device.lost);
        pthread_mutex_unlock(&h->all->lock);
        h->device.lost = 0;
    }
    av_packet_free(&unit);
    av_packet_free(&with_sets);
    return rc;
}

/* A picture that a new subscriber can begin with, soon: at most twice a second. */
static void ask_for_key(struct hub *h, int64_t *asked_ns)
{
    pthread_mutex_lock(&h->all->lock);
    bool ask = h->wants_key && now_ns() - *asked_ns > NS_PER_S / 2;
    h->wants_key &= !ask;
    pthread_mutex_unlock(&h->all->lock);
    if (!ask)
        return;
    struct v4l2_ext_control control = {.id = V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME, .value = 1};
    struct v4l2_ext_controls one = {
        .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
    /* devices without it send one by themselves */
    v4l2_ioctl(h->device.fd, VIDIOC_S_EXT_CTRLS, &one);
    *asked_ns = now_ns();
}

static bool stopped(struct hub *h)
{
    pthread_mutex_lock(&h->all->lock);
    bool stop = h->stop;
    pthread_mutex_unlock(&h->all->lock);
    return stop;
}

static void tell(struct hub *h, bool running, const char *cause)
{
    pthread_mutex_lock(&h->all->lock);
    if (running != h->running || !h->known || strcmp(h->cause, cause) != 0) {
        h->states += !(running && !h->states); /* that it opens at once is no news */
        snprintf(h->cause, sizeof(h->cause), "%s", cause);
    }
    h->running = running;
    h->known |= running;
    for (struct v4l2_subscription *s = h->subscriptions; s && running; s = s->next)
        s->wants_key = true;
    pthread_cond_broadcast(&h->all->news);
    pthread_mutex_unlock(&h->all->lock);
}

static int open_device(struct hub *h, struct pelton_failure *failure)
{
    const struct camera_params before = h->params; /* the device borrows its path from h->params */
    int rc = v4l2_device_open(&h->device, &h->params, failure);
    /* its size may be another one now, which the decoder learns from the stream */
    if (rc == PELTON_ERR_UNSUPPORTED && h->known) {
        h->params = h->asked;
        rc = v4l2_device_open(&h->device, &h->params, failure);
    }
    if (rc == 0 && h->params.coding != CAMERA_H264)
        rc = v4l2_device_fail(&h->device, failure, PELTON_ERR_UNSUPPORTED,
                              "the device gives no H.264", "");
    if (rc < 0)
        h->params = before;
    h->device.least[0] = LEAST_UNIT;
    rc = rc < 0 ? rc : v4l2_device_start(&h->device, failure);
    if (rc < 0)
        v4l2_device_close(&h->device);
    return rc;
}

static void *device_thread(void *ctx)
{
    struct hub *h = ctx;
    struct backoff wait = {0};
    int64_t asked_ns = 0;
    struct pelton_failure failure = {0};
    pthread_setname_np(pthread_self(), "pelton-h264");
    while (!stopped(h)) {
        int rc = open_device(h, &failure);
        if (rc < 0 && !h->known && !camera_absence_passes(&h->params, rc))
            break;
        if (rc == 0) {
            int64_t since = now_ns();
            tell(h, true, "");
            while (rc >= 0 && !stopped(h)) {
                ask_for_key(h, &asked_ns);
                rc = take_unit(h, &failure);
            }
            v4l2_device_close(&h->device);
            if (now_ns() - since > WATCH_HEALTHY_NS)
                backoff_reset(&wait);
        }
        if (rc < 0) {
            tell(h, false, failure.cause);
            if (watch_wait(h->params.path, rc == PELTON_ERR_NOT_FOUND, h->stop_fd,
                           watch_backoff(&wait)))
                backoff_reset(&wait);
        }
    }
    pthread_mutex_lock(&h->all->lock);
    h->ended = true;
    h->failure = failure;
    pthread_cond_broadcast(&h->all->news);
    pthread_mutex_unlock(&h->all->lock);
    return NULL;
}

/* ---- subscribers ---- */

static void hub_free(struct hub *h)
{
    if (h->stop_fd >= 0)
        close(h->stop_fd);
    free(h->uri);
    free(h);
}

/* With the lock. */
static int hub_find(struct v4l2_streams *all, const char *uri, struct hub **out,
                    struct pelton_failure *failure)
{
    for (*out = all->hubs; *out; *out = (*out)->next)
        if (!(*out)->ended && !strcmp((*out)->uri, uri))
            return 0;
    struct hub *h = calloc(1, sizeof(*h));
    char why[CAMERA_WHY] = "out of memory";
    if (!h)
        return failure->code = PELTON_ERR_NOMEM;
    *h = (struct hub){.all = all,
                      .uri = strdup(uri),
                      .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                      .device.fd = -1};
    int rc = !h->uri || h->stop_fd < 0                       ? PELTON_ERR_NOMEM
             : camera_params_parse(uri, &h->params, why) < 0 ? PELTON_ERR_USAGE
                                                             : 0;
    h->asked = h->params;
    if (rc == 0 && pthread_create(&h->thread, NULL, device_thread, h))
        rc = PELTON_ERR_NOMEM;
    if (rc < 0) {
        hub_free(h);
        *failure = (struct pelton_failure){.code = rc};
        snprintf(failure->cause, sizeof(failure->cause), "%.100s: %.150s", uri, why);
        return rc;
    }
    h->next = all->hubs;
    *out = all->hubs = h;
    return 0;
}

int v4l2_subscribe(struct v4l2_streams *all, const char *uri, struct v4l2_subscription **out,
                   struct pelton_failure *failure)
{
    struct v4l2_subscription *s = calloc(1, sizeof(*s));
    *failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = "out of memory"};
    if (!s)
        return PELTON_ERR_NOMEM;
    s->wants_key = true;
    pthread_mutex_lock(&all->lock);
    int rc = hub_find(all, uri, &s->hub, failure);
    if (rc == 0) {
        s->next = s->hub->subscriptions;
        s->hub->subscriptions = s;
        s->hub->wants_key = true;
        /* one that is absent is news */
        s->state_told = s->hub->running || !s->hub->states ? s->hub->states : s->hub->states - 1;
    }
    pthread_mutex_unlock(&all->lock);
    if (rc < 0) {
        free(s);
        return rc;
    }
    *out = s;
    return 0;
}

/* With the lock: what there is to tell; 0: nothing. */
static int take_news(struct v4l2_subscription *s, AVPacket *unit, struct v4l2_news *news,
                     struct pelton_failure *failure)
{
    const struct hub *h = s->hub;
    if (s->state_told != h->states) {
        s->state_told = h->states;
        news->running = h->running;
        snprintf(news->cause, sizeof(news->cause), "%s", h->cause);
        return V4L2_STATE;
    }
    if (h->known && !s->open_told) {
        s->open_told = true;
        news->width = h->params.width;
        news->height = h->params.height;
        news->fps = h->params.fps;
        return V4L2_OPEN;
    }
    if (s->n) {
        av_packet_move_ref(unit, s->units[0]);
        av_packet_free(&s->units[0]);
        memmove(s->units, s->units + 1, --s->n * sizeof(*s->units));
        news->dropped = s->dropped;
        return V4L2_UNIT;
    }
    if (h->ended) {
        *failure = h->failure;
        return failure->code < 0 ? failure->code : PELTON_ERR_OTHER;
    }
    return 0;
}

int v4l2_stream_next(struct v4l2_subscription *s, const atomic_bool *stop, AVPacket *unit,
                     struct v4l2_news *news, struct pelton_failure *failure)
{
    struct v4l2_streams *all = s->hub->all;
    int rc = 0;
    pthread_mutex_lock(&all->lock);
    while (!atomic_load(stop) && (rc = take_news(s, unit, news, failure)) == 0) {
        int64_t until = now_ns() + LOOK_NS;
        struct timespec t = {until / NS_PER_S, until % NS_PER_S};
        pthread_cond_timedwait(&all->news, &all->lock, &t);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

void v4l2_unsubscribe(struct v4l2_subscription *s)
{
    if (!s)
        return;
    struct hub *h = s->hub;
    struct v4l2_streams *all = h->all;
    pthread_mutex_lock(&all->lock);
    struct v4l2_subscription **at = &h->subscriptions;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    bool last = !h->subscriptions;
    if (last) {
        struct hub **link = &all->hubs;
        while (*link != h)
            link = &(*link)->next;
        *link = h->next;
        h->stop = true;
        eventfd_write(h->stop_fd, 1);
    }
    pthread_mutex_unlock(&all->lock);
    drop_all(s);
    free(s);
    if (last) {
        pthread_join(h->thread, NULL);
        hub_free(h);
    }
}
