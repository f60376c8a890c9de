/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See camera_encodings.h. One lock for all; nothing slow happens under it.
 *
 * The happy path of a frame: the loop thread hears of it and puts it into `frame`, in place of one
 * that was not taken. The encoding thread takes it, encodes it out of the camera's pool, and puts
 * its slot into `done`. The loop thread gives it back to the camera.
 *
 * The failure modes: the camera cannot be opened or ends, which the thread is told; the encoder has
 * no memory or refuses the size, which ends the encoding and nothing else; the encoder is slow, so
 * frames are missed and counted.
 */
#include "daemon/worker/encoding/camera_encodings.h"

#include "daemon/log.h"
#include "daemon/worker/clock.h"
#include "daemon/worker/encoding/picture_encoder.h"
#include "daemon/worker/memory/machine.h"
#include "gpu/encode/gpu_encoder.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    POOL_SLOTS = 6, /* developed, waiting, encoded, and on the way back */
    NICER = 5,      /* the CPU's decisions leave it to those who develop and deliver */
    MOST_THREADS = 16,
    STREAMS = 4 /* that share buffers of the GPU */
};
#define LOOK_NS (NS_PER_S / 10)
/* Where settings name no size: such that a live camera is kept up with */
static const uint32_t size_of_gpu[2] = {1920, 1080}, size_of_cpu[2] = {320, 180};

enum encoding_state { ENCODING_ASKED, ENCODING_READS, ENCODING_OVER };

struct encoding_slot {
    uint32_t epoch, slot, generation;
};

struct camera_encoding {
    struct camera_encoding *next;
    struct camera_encodings *all;
    struct pelton_open_params params; /* constant */
    char *uri;
    struct camera_reader *reader; /* loop thread; NULL: not open, or it has ended */
    pthread_cond_t news;

    /* with the lock */
    enum encoding_state state;
    bool left; /* nobody encodes any more */
    struct pelton_failure failure;
    bool state_due, running;
    char cause[256];
    struct pelton_rational rate;
    bool has_frame;
    struct feed_frame frame;
    struct feed_camera camera;
    struct encoding_slot done[POOL_SLOTS];
    unsigned n_done;
    uint64_t missed;    /* in place of which a newer frame came */
    uint64_t lost_base; /* of the last frame that was taken: lost before it */
    bool lost_known, wants_key;

    /* written by the loop thread, before `mapped`; then constant until both have left */
    struct feed_format format; /* memfd -1 */
    const uint8_t *memory;
    bool mapped; /* with the lock */

    struct picture_encoder *encoder; /* the encoding thread's, as the next one */
    bool told;                       /* ENCODING_OPEN was */
};

struct camera_encodings {
    uv_async_t async;
    pthread_mutex_t lock;
    struct encoding_settings settings;
    struct camera_host *cameras;
    struct gpu_encoder *gpu; /* NULL: the CPU decides */
    unsigned threads;
    struct camera_encoding *first; /* with the lock */
    struct encoding_usage usage;
    bool stopping; /* loop thread */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* ---- the loop thread: what the camera tells ---- */

static void on_info(void *ctx, const struct pelton_info *info, const struct pelton_probe_sei *sei)
{
    struct camera_encoding *e = ctx;
    (void)sei;
    pthread_mutex_lock(&e->all->lock);
    e->rate = info->avg_frame_rate;
    pthread_mutex_unlock(&e->all->lock);
}

/* A camera's reader has one pool. */
static void on_format(void *ctx, const struct feed_format *format)
{
    struct camera_encoding *e = ctx;
    if (e->memory)
        return;
    void *memory = mmap(NULL, format->memfd_size, PROT_READ, MAP_SHARED, format->memfd, 0);
    pthread_mutex_lock(&e->all->lock);
    e->format = *format;
    e->format.memfd = -1;
    e->mapped = memory != MAP_FAILED;
    e->memory = e->mapped ? memory : NULL;
    if (!e->mapped) {
        e->state = ENCODING_OVER;
        e->failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = ": out of memory"};
    }
    pthread_cond_signal(&e->news);
    pthread_mutex_unlock(&e->all->lock);
}

static void on_frame(void *ctx, const struct feed_frame *frame)
{
    struct camera_encoding *e = ctx;
    struct encoding_slot old = {frame->epoch, frame->slot, frame->generation};
    pthread_mutex_lock(&e->all->lock);
    bool kept = e->mapped && !e->left && e->state == ENCODING_READS, replaces = e->has_frame;
    if (kept) {
        if (replaces)
            old = (struct encoding_slot){e->frame.epoch, e->frame.slot, e->frame.generation};
        e->missed += replaces;
        e->has_frame = true;
        e->frame = *frame;
        e->frame.side = NULL;
        e->frame.camera = NULL;
        if (frame->camera)
            e->camera = *frame->camera;
        pthread_cond_signal(&e->news);
    }
    pthread_mutex_unlock(&e->all->lock);
    if (!kept || replaces)
        camera_release(e->reader, old.epoch, old.slot, old.generation);
}

static void on_state(void *ctx, bool running, const char *cause)
{
    struct camera_encoding *e = ctx;
    pthread_mutex_lock(&e->all->lock);
    e->state_due = true;
    e->running = running;
    snprintf(e->cause, sizeof(e->cause), "%s", cause);
    pthread_cond_signal(&e->news);
    pthread_mutex_unlock(&e->all->lock);
}

static void encoding_over(struct camera_encoding *e, const struct pelton_failure *failure)
{
    pthread_mutex_lock(&e->all->lock);
    if (e->state != ENCODING_OVER)
        e->failure = *failure;
    e->state = ENCODING_OVER;
    e->has_frame = false;
    pthread_cond_signal(&e->news);
    pthread_mutex_unlock(&e->all->lock);
}

static void on_end(void *ctx, const struct pelton_failure *failure,
                   const struct pelton_stats *stats)
{
    struct camera_encoding *e = ctx;
    (void)stats;
    e->reader = NULL;
    encoding_over(e, failure);
    uv_async_send(&e->all->async);
}

static const struct feed_callbacks callbacks = {.on_info = on_info,
                                                .on_format = on_format,
                                                .on_frame = on_frame,
                                                .on_state = on_state,
                                                .on_end = on_end};

/* ---- the loop thread: its part of a life ---- */

static void encoding_open(struct camera_encoding *e)
{
    struct camera_encodings *all = e->all;
    struct pelton_failure failure = {.code = PELTON_ERR_INPUT, .cause = ": closed while opening"};
    const uint32_t *most = all->gpu ? size_of_gpu : size_of_cpu;
    struct camera_extra extra = {.fit_width = all->settings.width ? all->settings.width : most[0],
                                 .fit_height =
                                     all->settings.height ? all->settings.height : most[1]};
    int rc = all->stopping ? PELTON_ERR_INPUT
                           : camera_open(all->cameras, &e->params, &extra, &callbacks, e,
                                         &e->reader, &failure);
    if (rc < 0) {
        failure.code = failure.code ? failure.code : rc;
        encoding_over(e, &failure);
    }
}

static void encoding_free(struct camera_encoding *e)
{
    if (e->memory)
        munmap((void *)(uintptr_t)e->memory, e->format.memfd_size);
    pthread_cond_destroy(&e->news);
    free(e->uri);
    free(e);
}

static void encoding_give_back(struct camera_encoding *e)
{
    struct encoding_slot done[POOL_SLOTS];
    pthread_mutex_lock(&e->all->lock);
    unsigned n = e->n_done;
    memcpy(done, e->done, sizeof(done));
    e->n_done = 0;
    pthread_mutex_unlock(&e->all->lock);
    for (unsigned i = 0; i < n && e->reader; i++)
        camera_release(e->reader, done[i].epoch, done[i].slot, done[i].generation);
}

/* True: it is unlinked, and the caller frees it. */
static bool encoding_unlink(struct camera_encodings *all, struct camera_encoding *e)
{
    pthread_mutex_lock(&all->lock);
    bool gone = e->left && !e->reader;
    struct camera_encoding **at = &all->first;
    while (gone && *at != e)
        at = &(*at)->next;
    if (gone)
        *at = e->next;
    pthread_mutex_unlock(&all->lock);
    return gone;
}

/* New ones are put in front of the list, so the rest of it stays while the lock is not held. */
static void on_async(uv_async_t *async)
{
    struct camera_encodings *all = async->data;
    pthread_mutex_lock(&all->lock);
    struct camera_encoding *e = all->first, *next;
    pthread_mutex_unlock(&all->lock);
    for (; e; e = next) {
        pthread_mutex_lock(&all->lock);
        bool asked = e->state == ENCODING_ASKED, left = e->left;
        if (asked && !left)
            e->state = ENCODING_READS;
        next = e->next;
        pthread_mutex_unlock(&all->lock);
        if (asked && !left)
            encoding_open(e);
        encoding_give_back(e);
        if (left && e->reader)
            camera_close(e->reader);
        if (encoding_unlink(all, e))
            encoding_free(e);
    }
}

/* ---- all of a worker ---- */

static unsigned cpus(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    unsigned most = machine_cpus("", (unsigned)n);
    return most > MOST_THREADS ? MOST_THREADS : most;
}

int camera_encodings_create(uv_loop_t *loop, const struct encoding_settings *settings,
                            struct gpu *gpu, struct camera_host *cameras,
                            struct camera_encodings **out)
{
    struct camera_encodings *all = calloc(1, sizeof(*all));
    if (!all)
        return PELTON_ERR_NOMEM;
    all->settings = *settings;
    all->cameras = cameras;
    all->threads = cpus();
    all->async.data = all;
    const struct gpu_encoder_params params = {.streams = STREAMS};
    if (encoding_on_device(settings->by, gpu_info(gpu)->software) &&
        gpu_encoder_create(gpu, &params, &all->gpu) < 0)
        all->gpu = NULL;
    if (uv_async_init(loop, &all->async, on_async)) {
        gpu_encoder_free(all->gpu);
        free(all);
        return PELTON_ERR_NOMEM;
    }
    pthread_mutex_init(&all->lock, NULL);
    *out = all;
    return 0;
}

void camera_encodings_stop(struct camera_encodings *all)
{
    if (all)
        all->stopping = true;
}

static void on_closed(uv_handle_t *handle)
{
    struct camera_encodings *all = handle->data;
    void (*closed)(void *ctx) = all->closed;
    void *ctx = all->closed_ctx;
    pthread_mutex_destroy(&all->lock);
    gpu_encoder_free(all->gpu);
    free(all);
    closed(ctx);
}

void camera_encodings_close(struct camera_encodings *all, void (*closed)(void *ctx), void *ctx)
{
    on_async(&all->async); /* those that were left last */
    all->closed = closed;
    all->closed_ctx = ctx;
    uv_close((uv_handle_t *)&all->async, on_closed);
}

void camera_encodings_usage(struct camera_encodings *all, struct encoding_usage *out)
{
    pthread_mutex_lock(&all->lock);
    *out = all->usage;
    pthread_mutex_unlock(&all->lock);
}

/* ---- the thread that encodes ---- */

static bool cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    bool good = pthread_cond_init(cond, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    return good;
}

struct camera_encoding *camera_encoding_start(struct camera_encodings *all, const char *address,
                                              const struct pelton_open_params *params)
{
    struct camera_encoding *e = calloc(1, sizeof(*e));
    char *uri = e ? strdup(address) : NULL;
    if (!uri || !cond_init(&e->news)) {
        free(uri);
        free(e);
        return NULL;
    }
    e->all = all;
    e->uri = uri;
    e->params = (struct pelton_open_params){.uri = uri,
                                            .name = "",
                                            .fd = -1,
                                            .pix_fmt = "yuv420p",
                                            .policy = PELTON_LATEST,
                                            .depth = POOL_SLOTS,
                                            .n_blur = params->n_blur,
                                            .blur_width = params->blur_width,
                                            .blur_height = params->blur_height};
    memcpy(e->params.blur, params->blur, sizeof(e->params.blur));
    pthread_mutex_lock(&all->lock);
    e->next = all->first;
    all->first = e;
    pthread_mutex_unlock(&all->lock);
    uv_async_send(&all->async);
    return e;
}

void camera_encoding_ask_for_key(struct camera_encoding *e)
{
    pthread_mutex_lock(&e->all->lock);
    e->wants_key = true;
    pthread_mutex_unlock(&e->all->lock);
}

void camera_encoding_leave(struct camera_encoding *e)
{
    if (!e)
        return;
    struct camera_encodings *all = e->all;
    picture_encoder_free(e->encoder);
    e->encoder = NULL;
    pthread_mutex_lock(&all->lock);
    e->left = true; /* from now on the loop thread's alone */
    pthread_mutex_unlock(&all->lock);
    uv_async_send(&all->async);
}

/* With the lock: for a moment, at most. */
static void encoding_wait(struct camera_encoding *e)
{
    int64_t until = now_ns() + LOOK_NS;
    struct timespec t = {until / NS_PER_S, until % NS_PER_S};
    pthread_cond_timedwait(&e->news, &e->all->lock, &t);
}

static bool has_news(const struct camera_encoding *e)
{
    return e->state == ENCODING_OVER || e->state_due || (e->mapped && !e->told) || e->has_frame;
}

/* With the lock: what there is to tell. ENCODING_UNIT: a frame, which is the caller's. */
static int encoding_take(struct camera_encoding *e, struct encoding_news *news,
                         struct pelton_failure *failure)
{
    if (e->state == ENCODING_OVER) {
        *failure = e->failure;
        return failure->code < 0 ? failure->code : ENCODING_END;
    }
    if (e->state_due) {
        e->state_due = false;
        news->running = e->running;
        memcpy(news->cause, e->cause, sizeof(news->cause));
        return ENCODING_STATE;
    }
    if (e->mapped && !e->told) {
        e->told = true;
        news->width = e->format.width;
        news->height = e->format.height;
        news->rate = e->rate;
        return ENCODING_OPEN;
    }
    if (!e->has_frame)
        return ENCODING_NONE;
    uint64_t lost = e->frame.dropped_source + e->frame.dropped_decoder;
    news->captured_ns = e->frame.received_ns;
    news->missed = e->missed + (e->lost_known ? lost - e->lost_base : 0);
    e->lost_base = lost;
    e->lost_known = true;
    e->missed = 0;
    e->has_frame = false;
    return ENCODING_UNIT;
}

/* With the lock. A pool has no more slots than `done`, and each is there once. */
static void slot_done(struct camera_encoding *e, const struct feed_frame *frame)
{
    if (e->n_done < POOL_SLOTS)
        e->done[e->n_done++] = (struct encoding_slot){frame->epoch, frame->slot, frame->generation};
}

static int fail(struct pelton_failure *failure, const char *why)
{
    *failure = (struct pelton_failure){.code = PELTON_ERR_OTHER};
    snprintf(failure->cause, sizeof(failure->cause), ": its frames cannot be encoded: %s", why);
    return failure->code;
}

/* The encoder, for the first frame */
static int encoder_make(struct camera_encoding *e, struct pelton_failure *failure)
{
    const struct camera_encodings *all = e->all;
    const struct encoding_settings *s = &all->settings;
    const struct picture_encoder_params params = {.gpu = all->gpu,
                                                  .threads = all->threads,
                                                  .quality = s->quality,
                                                  .bit_rate = s->bit_rate,
                                                  .key_ns = s->key_ms * (NS_PER_S / 1000),
                                                  .rate = e->rate,
                                                  .format = &e->format};
    char why[ENCODING_WHY];
    if (!all->gpu) /* threads that the encoder makes inherit it */
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICER);
    if (picture_encoder_new(&params, &e->encoder, why) < 0)
        return fail(failure, why);
    log_line(LOG_LEVEL_INFO, "encoding: %ux%u by the %s", e->format.width, e->format.height,
             picture_encoder_on_gpu(e->encoder) ? "GPU" : "CPU");
    return 0;
}

static bool unit_fill(AVPacket *out, const struct encoder_unit *unit,
                      const struct feed_camera *camera)
{
    if (av_new_packet(out, (int)unit->size) < 0)
        return false;
    memcpy(out->data, unit->data, unit->size);
    out->opaque_ref = av_buffer_alloc(sizeof(*camera));
    if (!out->opaque_ref)
        return false;
    memcpy(out->opaque_ref->data, camera, sizeof(*camera));
    out->pts = out->dts = unit->pts;
    out->flags = unit->key ? AV_PKT_FLAG_KEY : 0;
    return true;
}

static int frame_encode(struct camera_encoding *e, const struct feed_frame *frame, bool wants_key,
                        struct encoder_unit *unit, struct pelton_failure *failure)
{
    char why[ENCODING_WHY];
    int rc = e->encoder ? 0 : encoder_make(e, failure);
    if (rc < 0)
        return rc;
    rc = picture_encoder_push(e->encoder, e->memory + frame->slot * e->format.slot_size,
                              frame->received_ns, wants_key, unit, why);
    return rc < 0 ? fail(failure, why) : 0;
}

static void unit_count(struct camera_encoding *e, const struct encoder_unit *unit, uint64_t missed)
{
    struct encoding_usage *u = &e->all->usage;
    u->pictures++;
    u->missed += missed;
    u->bytes += unit->size;
    u->gpu = picture_encoder_on_gpu(e->encoder);
}

int camera_encoding_next(struct camera_encoding *e, AVPacket *out, struct encoding_news *news,
                         struct pelton_failure *failure)
{
    struct camera_encodings *all = e->all;
    struct encoder_unit unit = {0};
    pthread_mutex_lock(&all->lock);
    if (!has_news(e))
        encoding_wait(e);
    int rc = encoding_take(e, news, failure);
    const struct feed_frame frame = e->frame;
    const struct feed_camera camera = e->camera;
    bool wants_key = e->wants_key;
    pthread_mutex_unlock(&all->lock);
    if (rc != ENCODING_UNIT)
        return rc;
    int err = frame_encode(e, &frame, wants_key, &unit, failure);
    pthread_mutex_lock(&all->lock);
    slot_done(e, &frame);
    e->wants_key &= !unit.key;
    if (err == 0)
        unit_count(e, &unit, news->missed);
    pthread_mutex_unlock(&all->lock);
    uv_async_send(&all->async);
    if (err == 0 && !unit_fill(out, &unit, &camera)) {
        av_packet_unref(out);
        err = fail(failure, "out of memory");
    }
    return err < 0 ? err : ENCODING_UNIT;
}
