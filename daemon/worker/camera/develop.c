/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The development thread: sets readers up and takes them down, submits raw frames, measures and
 * hands on what has finished.
 *
 * The failure modes are: a reader's format is refused (it ends, with the reason), no memory (the
 * same), the device is lost (every reader ends with PELTON_ERR_GPU_LOST, which has the worker
 * restarted).
 */
#include "daemon/worker/camera/camera_internal.h"
#include "daemon/worker/feed/blur_rects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_NS    500000u
#define METER_SIDE 16u
enum { FLYING = 2, LEAST_SLOTS = 4, MOST_SLOTS = 64, USUAL_SLOTS = 12 };

void reader_fail(struct camera_reader *r, int code, const char *cause)
{
    r->done = true;
    if (r->failure.code)
        return;
    r->failure.code = code;
    snprintf(r->failure.cause, sizeof(r->failure.cause), "%.100s: %.150s", r->name, cause);
}

static void device_failed(struct camera_host *h, int error)
{
    h->lost |= error == GPU_ERR_LOST;
    for (struct camera_reader *r = h->readers; r; r = r->next)
        reader_fail(r, error == GPU_ERR_LOST ? PELTON_ERR_GPU_LOST : PELTON_ERR_OTHER,
                    gpu_error_text(error));
}

/* ---- readers ---- */

static int isp_failure(int err, char why[ISP_WHY])
{
    if (!why[0])
        snprintf(why, ISP_WHY, "%s", gpu_error_text(err));
    return err == GPU_ERR_LOST    ? PELTON_ERR_GPU_LOST
           : err == GPU_ERR_NOMEM ? PELTON_ERR_NOMEM
                                  : PELTON_ERR_INPUT;
}

/* With the lock, which it drops: what develops frames of that format, made for the present look.
 * The old one goes. */
static int make_developer(struct camera_host *h, struct camera *c, enum isp_format format,
                          char why[ISP_WHY])
{
    struct isp_params params;
    struct isp_camera *made = NULL;
    reader_params(c, format, &params);
    c->isp_look[format] = c->look;
    uv_mutex_unlock(&h->lock);
    int err = isp_camera_create(h->isp, &params, &made, why);
    if (err == 0) {
        isp_camera_free(c->isp[format]);
        c->isp[format] = made;
    }
    uv_mutex_lock(&h->lock);
    return err < 0 ? isp_failure(err, why) : 0;
}

/* The same for one reader whose frames are blurred: nobody else gets them, and it gets no others.
 */
static int make_blurred(struct camera_host *h, struct camera_reader *r, char why[ISP_WHY])
{
    struct isp_params params;
    struct isp_rect out;
    struct isp_camera *made = NULL;
    char outside[128];
    reader_params(r->camera, r->format, &params);
    isp_output_size(&params, &out);
    if (blur_outside(&r->params, r->params.blur_width ? r->params.blur_width : out.width,
                     r->params.blur_height ? r->params.blur_height : out.height, outside)) {
        snprintf(why, ISP_WHY, "%s", outside);
        return PELTON_ERR_USAGE;
    }
    params.blur_count = r->params.n_blur;
    for (uint32_t i = 0; i < params.blur_count; i++) {
        struct pelton_rect rect = blur_scaled(&r->params, i, out.width, out.height);
        params.blur[i] = (struct isp_rect){rect.x, rect.y, rect.width, rect.height};
    }
    r->isp_look = r->camera->look;
    uv_mutex_unlock(&h->lock);
    int err = isp_camera_create(h->isp, &params, &made, why);
    if (err == 0) {
        isp_camera_free(r->isp);
        r->isp = made;
    }
    uv_mutex_lock(&h->lock);
    return err < 0 ? isp_failure(err, why) : 0;
}

static void take_down(struct camera_reader *r)
{
    isp_camera_free(r->isp);
    r->isp = NULL;
    pool_free(r->pool);
    r->pool = NULL;
}

/* With the lock, which it drops. */
static int make_meter(struct camera_host *h, struct camera *c, char why[ISP_WHY])
{
    struct isp_params params;
    reader_params(c, ISP_GRAY8, &params);
    params.lens = (struct isp_lens){0};
    params.region = (struct isp_rect){0};
    params.out_width = params.out_height = METER_SIDE;
    uv_mutex_unlock(&h->lock);
    int err = isp_camera_create(h->isp, &params, &c->meter, why);
    uv_mutex_lock(&h->lock);
    return err < 0 ? isp_failure(err, why) : 0;
}

/* With the lock, which it drops. All that takes long is done before the reader's first frame, its
 * pool by a thread of its own (reader_pool.c), so that it joins without holding up the others. */
static void prepare(struct camera_host *h, struct camera_reader *r)
{
    struct camera *c = r->camera;
    char why[ISP_WHY] = "";
    bool needs = !r->probe && r->params.bench.transport == PELTON_SHM;
    r->prepared = true;
    if (r->params.n_blur && memcmp(&c->crop, &c->params.region, sizeof(c->crop)) != 0) {
        /* its rectangles mean the picture as it is configured; from now on ScalerCrop is refused */
        c->crop = c->params.region;
        c->look++;
    }
    int err = 0;
    if (needs && r->params.n_blur)
        err = make_blurred(h, r, why);
    else if (needs && !c->isp[r->format])
        err = make_developer(h, c, r->format, why);
    if (!err && needs && !c->meter)
        err = make_meter(h, c, why);
    if (err < 0) {
        reader_fail(r, err, why);
    } else if (needs) {
        reader_layout(c, r->format, &r->layout);
        r->layout.slots = r->params.depth ? r->params.depth : USUAL_SLOTS;
        r->layout.slots = r->layout.slots < LEAST_SLOTS  ? LEAST_SLOTS
                          : r->layout.slots > MOST_SLOTS ? MOST_SLOTS
                                                         : r->layout.slots;
        r->pool_wanted = true;
    }
    r->info_ready = !r->pool_wanted;
    r->done |= r->probe;
    host_notify(h);
}

/* True where something has changed. */
static bool tend_reader(struct camera_host *h, struct camera_reader *r)
{
    struct camera *c = r->camera;
    if (!r->prepared && c->known && !r->closing && !r->done) {
        prepare(h, r);
        return true;
    }
    bool drained = c->state == CAMERA_ENDED;
    for (int i = 0; i < RAWS; i++)
        drained &= c->raws[i].state == RAW_FREE;
    if (drained && !r->done) {
        r->done = true;
        r->failure = r->failure.code ? r->failure : c->failure;
    }
    bool idle = r->flying == 0 && !r->calling && !r->pool_wanted && !r->pool_making;
    if ((r->closing || r->done) && !r->released && idle && (r->closing || !r->events)) {
        r->ready = false; /* its slots cannot be released any more */
        uv_mutex_unlock(&h->lock);
        take_down(r);
        uv_mutex_lock(&h->lock);
        r->released = true;
        host_notify(h);
        return true;
    }
    return false;
}

/* ---- finished frames ---- */

static void post_frame(struct flight *f, struct camera_reader *r, uint32_t slot, uint64_t dropped,
                       int64_t now)
{
    const struct camera *c = f->camera;
    const struct raw *raw = f->raw;
    const struct ae_exposure *e = &raw->frame.in_effect;
    struct camera_event ev = {.kind = EVENT_OF_FRAME};
    int64_t us = raw->frame.captured_ns / 1000;
    ev.frame = (struct feed_frame){.sequence = r->base + raw->sequence,
                                   .epoch = 1,
                                   .slot = slot,
                                   .generation = r->pool->slots[slot].generation,
                                   .pts = us,
                                   .dts = us,
                                   .duration = c->period_ns / 1000,
                                   .flags = PELTON_FRAME_KEY,
                                   .received_ns = raw->frame.captured_ns,
                                   .decoded_ns = now,
                                   .dropped_source = raw->lost,
                                   .dropped_decoder = dropped};
    ev.camera = (struct pelton_camera){true,
                                       e->time_us,
                                       e->analogue,
                                       f->digital,
                                       f->gain[0] / f->digital,
                                       f->gain[2] / f->digital,
                                       c->mean,
                                       c->clipped,
                                       (enum pelton_ae_state)f->state,
                                       {f->crop.x, f->crop.y, f->crop.width, f->crop.height}};
    r->pool->slots[slot].state = POOL_HELD;
    r->stats.frames++;
    r->stats.bytes_delivered += r->pool->format.slot_size;
    reader_post(r, &ev);
}

static void finish(struct camera_host *h, struct flight *f, bool good)
{
    struct camera *c = f->camera;
    int64_t now = now_ns();
    if (good) {
        struct ae_exposure e = f->raw->frame.in_effect;
        e.digital = f->digital;
        control_frame(c, &f->statistics, &e);
        f->state = c->ae.state;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        struct camera_reader *r = f->to[i].reader;
        r->flying--;
        if (good && !r->closing && !r->done)
            post_frame(f, r, f->to[i].slot, f->to[i].dropped, now);
        else
            pool_put(r->pool, f->to[i].slot);
        if (r->params.max_frames && r->stats.frames >= r->params.max_frames)
            r->done = true;
    }
    f->raw->state = RAW_FREE;
    c->flying--;
    uv_cond_signal(&c->room);
    host_notify(h);
    free(f);
}

/* With the lock, which it drops: both pools stay while a frame of theirs is in flight. */
static void copy_shared(struct camera_host *h, const struct flight *f)
{
    uv_mutex_unlock(&h->lock);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct pool *to = f->to[i].reader->pool, *from = f->to[f->to[i].from].reader->pool;
        uint64_t size = to->format.slot_size;
        if (f->to[i].from != i)
            memcpy((uint8_t *)to->memory + f->to[i].slot * size,
                   (const uint8_t *)from->memory + f->to[f->to[i].from].slot * size, size);
    }
    uv_mutex_lock(&h->lock);
}

static bool finish_done(struct camera_host *h)
{
    bool any = false;
    if (!h->flights)
        return false;
    uv_mutex_unlock(&h->lock);
    uint64_t done = h->lost ? UINT64_MAX : isp_done(h->isp);
    uv_mutex_lock(&h->lock);
    while (h->flights && h->flights->ticket <= done) {
        struct flight *f = h->flights;
        h->flights = f->next;
        if (!h->flights)
            h->flights_tail = &h->flights;
        bool good = !h->lost && f->ticket > 0;
        if (good && h->shares)
            copy_shared(h, f);
        finish(h, f, good);
        any = true;
    }
    return any;
}

/* ---- new frames ---- */

static struct raw *oldest_full(struct camera *c)
{
    struct raw *oldest = NULL;
    for (int i = 0; i < RAWS; i++)
        if (c->raws[i].state == RAW_FULL && (!oldest || c->raws[i].sequence < oldest->sequence))
            oldest = &c->raws[i];
    return oldest;
}

static bool reads(const struct camera_reader *r, const struct camera *c)
{
    return r->camera == c && !r->closing && !r->done && !r->probe &&
           r->params.bench.transport == PELTON_SHM;
}

/* A source that keeps no time waits for readers that want every frame. */
static bool must_wait(const struct camera_host *h, const struct camera *c)
{
    for (const struct camera_reader *r = h->readers; r && !c->params.realtime; r = r->next)
        if (reads(r, c) && (!r->ready || (r->params.policy == PELTON_LOSSLESS &&
                                          r->pool->busy == r->pool->format.slots)))
            return true;
    return false;
}

static struct isp_camera *developer_of(const struct camera_reader *r)
{
    return r->params.n_blur ? r->isp : r->camera->isp[r->format];
}

/* Who of the flight gets the same frame; its length: nobody. */
static uint32_t same_frame(const struct camera_host *h, const struct flight *f,
                           const struct camera_reader *r)
{
    uint32_t i = 0;
    while (i < f->n &&
           !(h->shares && f->to[i].from == i && developer_of(f->to[i].reader) == developer_of(r) &&
             f->to[i].reader->pool->format.slot_size == r->pool->format.slot_size))
        i++;
    return i;
}

/* Fills *frame where one has to be developed for r. */
static bool aim(const struct camera_host *h, struct flight *f, struct isp_frame *frame,
                struct camera_reader *r)
{
    uint32_t slot, from = same_frame(h, f, r);
    if (!pool_take(r->pool, &slot)) {
        r->dropped++;
        return false;
    }
    bool develops = from == f->n;
    if (develops)
        *frame = (struct isp_frame){.camera = developer_of(r), .host = r->pool->host};
    for (uint32_t i = 0; i < r->pool->format.planes && develops; i++) {
        frame->offset[i] = slot * r->pool->format.slot_size + r->pool->format.plane_offset[i];
        frame->stride[i] = r->pool->format.stride[i];
    }
    f->to[f->n].reader = r;
    f->to[f->n].dropped = r->dropped;
    f->to[f->n].from = from;
    f->to[f->n++].slot = slot;
    r->flying++;
    return develops;
}

static uint32_t targets(struct camera_host *h, struct flight *f,
                        struct isp_frame frames[CAMERA_READERS])
{
    struct camera *c = f->camera;
    uint32_t n = 0;
    for (struct camera_reader *r = h->readers; r && f->n < CAMERA_READERS; r = r->next)
        if (r->ready && reads(r, c) &&
            (!c->params.realtime || f->raw->frame.captured_ns >= r->ready_ns))
            n += aim(h, f, &frames[n], r);
    if (n)
        return n;
    frames[0] =
        (struct isp_frame){.camera = c->meter, .host = h->scratch_host, .stride = {METER_SIDE}};
    return 1;
}

static void expose(struct flight *f)
{
    struct camera *c = f->camera;
    const struct ae_exposure *e = &f->raw->frame.in_effect;
    double digital = e->time_us > 0 ? ae_total(&c->ae.asked) / (e->time_us * e->analogue) : 1,
           most = c->ae.params.digital_max;
    f->digital = digital < 1 || !(digital <= most) ? (digital > most ? most : 1) : digital;
    f->gain[0] = (float)(f->digital * c->red_gain);
    f->gain[1] = (float)f->digital;
    f->gain[2] = (float)(f->digital * c->blue_gain);
}

/* One developer from before the last change of the look; false: there is none. With the lock, which
 * it drops. */
static bool renew(struct camera_host *h, struct camera *c)
{
    char why[ISP_WHY] = "";
    for (int format = 0; format < ISP_FORMATS; format++)
        if (c->isp[format] && c->isp_look[format] != c->look) {
            /* where that fails the old one goes on */
            make_developer(h, c, (enum isp_format)format, why);
            return true;
        }
    for (struct camera_reader *r = h->readers; r; r = r->next)
        if (r->camera == c && r->ready && !r->released && r->isp && r->isp_look != c->look) {
            make_blurred(h, r, why);
            return true;
        }
    return false;
}

/* With the lock, which it drops to submit. */
static bool submit(struct camera_host *h, struct camera *c)
{
    struct raw *raw = c->flying < FLYING ? oldest_full(c) : NULL;
    char why[ISP_WHY] = "";
    if (!raw || must_wait(h, c))
        return false;
    if (renew(h, c))
        return true;
    struct flight *f = calloc(1, sizeof(*f));
    struct isp_frame frames[CAMERA_READERS];
    if (!f || (!c->meter && make_meter(h, c, why) < 0)) {
        free(f);
        raw->state = RAW_FREE;
        uv_cond_signal(&c->room);
        return false;
    }
    f->camera = c;
    f->raw = raw;
    f->crop = c->crop;
    expose(f);
    uint32_t n = targets(h, f, frames);
    for (uint32_t i = 0; i < n; i++) {
        frames[i].raw = raw->memory;
        frames[i].raw_stride = raw->stride;
        memcpy(frames[i].gain, f->gain, sizeof(f->gain));
    }
    frames[0].statistics = &f->statistics;
    raw->state = RAW_DEVELOPING;
    c->flying++;
    uv_mutex_unlock(&h->lock);
    int err = h->lost ? GPU_ERR_LOST : isp_submit(h->isp, frames, n, &f->ticket);
    uv_mutex_lock(&h->lock);
    if (err) {
        f->ticket = 0; /* counts as finished */
        device_failed(h, err);
    }
    *h->flights_tail = f;
    h->flights_tail = &f->next;
    return true;
}

/* ---- cameras that nobody needs any more ---- */

static bool tend_camera(struct camera_host *h, struct camera *c)
{
    if (!c->thread_ended)
        return false;
    bool any = false;
    for (int i = 0; i < RAWS && c->n_readers == 0; i++)
        if (c->raws[i].state == RAW_FULL) {
            c->raws[i].state = RAW_FREE;
            any = true;
        }
    if (c->n_readers > 0 || c->flying > 0 || c->undeveloped)
        return any;
    uv_mutex_unlock(&h->lock);
    isp_camera_free(c->meter);
    for (int i = 0; i < ISP_FORMATS; i++)
        isp_camera_free(c->isp[i]);
    uv_mutex_lock(&h->lock);
    c->undeveloped = true;
    host_notify(h);
    return true;
}

static bool round_once(struct camera_host *h)
{
    bool any = finish_done(h);
    for (struct camera_reader *r = h->readers; r; r = r->next)
        any |= tend_reader(h, r);
    for (struct camera *c = h->cameras; c; c = c->next) {
        any |= submit(h, c);
        any |= tend_camera(h, c);
    }
    return any;
}

static void sleep_until_news(struct camera_host *h)
{
    if (!h->flights) {
        if (!h->signal)
            uv_cond_wait(&h->work, &h->lock);
        return;
    }
    uint64_t ticket = h->flights->ticket;
    uv_mutex_unlock(&h->lock);
    int err = isp_wait(h->isp, ticket, WAIT_NS);
    uv_mutex_lock(&h->lock);
    if (err < 0) {
        h->lost = true; /* whatever is in flight counts as finished */
        device_failed(h, err);
    }
}

void develop_thread(void *host)
{
    struct camera_host *h = host;
    pthread_setname_np(pthread_self(), "pelton-develop");
    uv_mutex_lock(&h->lock);
    while (!h->stopping || h->flights) {
        h->signal = false;
        if (!round_once(h))
            sleep_until_news(h);
    }
    uv_mutex_unlock(&h->lock);
}
