/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The development thread: tends to readers, submits raw frames, measures and hands on the frames
 * that have finished.
 *
 * The failure mode is a lost device: every reader ends with PELTON_ERR_GPU_LOST, which has the
 * worker restarted.
 */
#include "daemon/worker/camera/camera_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_NS   500000u
#define METER_ROW 16u /* bytes */
enum { FLYING = 2 };

static void host_device_failed(struct camera_host *h, int error)
{
    h->lost |= error == GPU_ERR_LOST;
    for (struct camera_reader *r = h->readers; r; r = r->next)
        reader_fail(r, error == GPU_ERR_LOST ? PELTON_ERR_GPU_LOST : PELTON_ERR_OTHER,
                    gpu_error_text(error));
}

/* ---- readers ---- */

/* With the lock, which it drops: the pool is made. */
static void reader_adopt_pool(struct camera_host *h, struct camera_reader *r)
{
    int err = subscription_pool_adopt(&r->sub);
    if (err < 0) {
        reader_fail(r, err,
                    err == PELTON_ERR_GPU_LOST ? "the device is lost" : "no memory for its frames");
    } else {
        r->ready = true;
        r->ready_ns = now_ns();
        reader_inform(r);
    }
    host_notify(h);
}

/* Its camera has ended, and all its raw frames are developed. */
static bool camera_drained(const struct camera *c)
{
    bool drained = c->state == CAMERA_ENDED;
    for (int i = 0; i < RAWS; i++)
        drained &= c->buffers.raws[i].state == RAW_FREE;
    return drained;
}

/* True where something has changed. With the lock, which it drops. */
static bool reader_tend(struct camera_host *h, struct camera_reader *r)
{
    struct camera *c = r->camera;
    if (!r->prepared && c->known && !r->sub.closing && !r->done) {
        reader_prepare(h, r);
        return true;
    }
    if (subscription_pool_made(&r->sub)) {
        reader_adopt_pool(h, r);
        return true;
    }
    if (!r->done && camera_drained(c)) {
        r->done = true;
        subscription_fail(&r->sub, c->failure.code, c->failure.cause, c->failure.hint);
    }
    bool over = (r->sub.closing || r->done) && !r->sub.ended;
    if (!over || r->flying || !subscription_quiet(&r->sub))
        return false;
    reader_take_down(r);
    return true;
}

/* ---- finished frames ---- */

static void reader_describe_frame(const struct flight *f, struct feed_camera *out)
{
    const struct camera_control *control = &f->camera->control;
    const struct ae_exposure *e = &f->raw->frame.in_effect;
    out->settings =
        (struct pelton_camera){.present = true,
                               .exposure_us = e->time_us,
                               .analogue_gain = e->analogue,
                               .digital_gain = f->digital,
                               .red_gain = f->gain[0] / f->digital,
                               .blue_gain = f->gain[2] / f->digital,
                               .mean = control->mean,
                               .clipped = control->clipped,
                               .ae_state = (enum pelton_ae_state)f->state,
                               .crop = {f->crop.x, f->crop.y, f->crop.width, f->crop.height}};
    out->exposure.target = camera_control_target(control);
    memcpy(out->exposure.histogram, control->histogram, sizeof(out->exposure.histogram));
}

static void reader_post_frame(struct flight *f, struct camera_reader *r, uint32_t slot,
                              uint64_t dropped, int64_t now)
{
    const struct camera *c = f->camera;
    const struct raw *raw = f->raw;
    int64_t us = raw->frame.captured_ns / 1000;
    struct feed_frame frame = {.sequence = r->base + raw->sequence,
                               .epoch = r->sub.pools->format.epoch,
                               .slot = slot,
                               .generation = r->sub.pools->slots[slot].generation,
                               .pts = us,
                               .dts = us,
                               .duration = c->period_ns / 1000,
                               .flags = PELTON_FRAME_KEY,
                               .received_ns = raw->frame.captured_ns,
                               .decoded_ns = now,
                               .dropped_source = raw->lost,
                               .dropped_decoder = dropped};
    struct feed_camera camera;
    reader_describe_frame(f, &camera);
    r->stats.frames++;
    r->stats.bytes_delivered += r->sub.pools->format.slot_size;
    if (!subscription_post_frame(&r->sub, r->sub.pools, &frame, &camera))
        reader_fail(r, PELTON_ERR_NOMEM, "out of memory");
}

static void flight_finish(struct camera_host *h, struct flight *f, bool good)
{
    struct camera *c = f->camera;
    int64_t now = now_ns();
    if (good) {
        struct ae_exposure e = f->raw->frame.in_effect;
        e.digital = f->digital;
        camera_control_frame(&c->control, &f->statistics, &e);
        f->state = c->control.ae.state;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        struct camera_reader *r = f->to[i].reader;
        r->flying--;
        if (good && !r->sub.closing && !r->done)
            reader_post_frame(f, r, f->to[i].slot, f->to[i].dropped, now);
        else
            pool_put(r->sub.pools, f->to[i].slot);
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
static void flight_copy(struct camera_host *h, const struct flight *f)
{
    uv_mutex_unlock(&h->lock);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct pool *to = f->to[i].reader->sub.pools,
                          *from = f->to[f->to[i].from].reader->sub.pools;
        uint64_t size = to->format.slot_size;
        if (f->to[i].from != i)
            memcpy((uint8_t *)to->memory + f->to[i].slot * size,
                   (const uint8_t *)from->memory + f->to[f->to[i].from].slot * size, size);
    }
    uv_mutex_lock(&h->lock);
}

static bool flights_finish(struct camera_host *h)
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
            flight_copy(h, f);
        flight_finish(h, f, good);
        any = true;
    }
    return any;
}

/* ---- new frames ---- */

static struct raw *camera_oldest_full(struct camera *c)
{
    struct raw *oldest = NULL;
    for (int i = 0; i < RAWS; i++)
        if (c->buffers.raws[i].state == RAW_FULL &&
            (!oldest || c->buffers.raws[i].sequence < oldest->sequence))
            oldest = &c->buffers.raws[i];
    return oldest;
}

static bool reader_takes(const struct camera_reader *r, const struct camera *c)
{
    return r->camera == c && !r->sub.closing && !r->done && reader_wants_developer(r);
}

/* A source that keeps no time waits for readers that want every frame. */
static bool camera_must_wait(const struct camera_host *h, const struct camera *c)
{
    for (const struct camera_reader *r = h->readers; r && !c->params.realtime; r = r->next)
        if (reader_takes(r, c) && (!r->ready || (r->params.policy == PELTON_LOSSLESS &&
                                                 r->sub.pools->busy == r->sub.pools->ready)))
            return true;
    return false;
}

static struct isp_camera *reader_developer(const struct camera_reader *r)
{
    return r->own ? r->isp : r->camera->developers.isp[r->format];
}

/* Who of the flight gets the same frame; its length: nobody. */
static uint32_t flight_same_frame(const struct camera_host *h, const struct flight *f,
                                  const struct camera_reader *r)
{
    uint32_t i = 0;
    while (i < f->n &&
           !(h->shares && f->to[i].from == i &&
             reader_developer(f->to[i].reader) == reader_developer(r) &&
             f->to[i].reader->sub.pools->format.slot_size == r->sub.pools->format.slot_size))
        i++;
    return i;
}

/* Fills *frame where one has to be developed for r. */
static bool flight_aim(const struct camera_host *h, struct flight *f, struct isp_frame *frame,
                       struct camera_reader *r)
{
    uint32_t slot, from = flight_same_frame(h, f, r);
    if (!pool_take(r->sub.pools, &slot)) {
        r->dropped++;
        return false;
    }
    bool develops = from == f->n;
    uint64_t offset;
    struct gpu_host *host = pool_host(r->sub.pools, slot, &offset);
    if (develops)
        *frame = (struct isp_frame){.camera = reader_developer(r), .host = host};
    for (uint32_t i = 0; i < r->sub.pools->format.planes && develops; i++) {
        frame->offset[i] = offset + r->sub.pools->format.plane_offset[i];
        frame->stride[i] = r->sub.pools->format.stride[i];
    }
    f->to[f->n].reader = r;
    f->to[f->n].dropped = r->dropped;
    f->to[f->n].from = from;
    f->to[f->n++].slot = slot;
    r->flying++;
    return develops;
}

static uint32_t flight_targets(struct camera_host *h, struct flight *f,
                               struct isp_frame frames[CAMERA_READERS])
{
    struct camera *c = f->camera;
    uint32_t n = 0;
    for (struct camera_reader *r = h->readers; r && f->n < CAMERA_READERS; r = r->next)
        if (r->ready && reader_takes(r, c) &&
            (!c->params.realtime || f->raw->frame.captured_ns >= r->ready_ns))
            n += flight_aim(h, f, &frames[n], r);
    if (n)
        return n;
    frames[0] = (struct isp_frame){
        .camera = c->developers.meter, .host = h->scratch_host, .stride = {METER_ROW}};
    return 1;
}

static void flight_expose(struct flight *f)
{
    struct camera *c = f->camera;
    f->digital = camera_control_digital(&c->control, &f->raw->frame.in_effect);
    f->gain[0] = (float)(f->digital * c->control.red_gain);
    f->gain[1] = (float)f->digital;
    f->gain[2] = (float)(f->digital * c->control.blue_gain);
}

/* With the lock, which it drops to submit. */
static bool camera_submit(struct camera_host *h, struct camera *c)
{
    struct raw *raw = c->flying < FLYING ? camera_oldest_full(c) : NULL;
    char why[ISP_WHY] = "";
    if (!raw || camera_must_wait(h, c))
        return false;
    if (camera_renew_one(h, c))
        return true;
    struct flight *f = calloc(1, sizeof(*f));
    struct isp_frame frames[CAMERA_READERS];
    if (!f || (!c->developers.meter && camera_make_meter(h, c, why) < 0)) {
        free(f);
        raw->state = RAW_FREE;
        uv_cond_signal(&c->room);
        return false;
    }
    f->camera = c;
    f->raw = raw;
    f->crop = c->control.crop;
    flight_expose(f);
    uint32_t n = flight_targets(h, f, frames);
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
        host_device_failed(h, err);
    }
    *h->flights_tail = f;
    h->flights_tail = &f->next;
    return true;
}

/* ---- cameras that nobody needs any more ---- */

static bool camera_tend(struct camera_host *h, struct camera *c)
{
    if (!c->thread_ended)
        return false;
    bool any = false;
    for (int i = 0; i < RAWS && c->n_readers == 0; i++)
        if (c->buffers.raws[i].state == RAW_FULL) {
            c->buffers.raws[i].state = RAW_FREE;
            any = true;
        }
    if (c->n_readers > 0 || c->flying > 0 || c->undeveloped)
        return any;
    camera_undevelop(c);
    return true;
}

static bool develop_once(struct camera_host *h)
{
    bool any = flights_finish(h);
    for (struct camera_reader *r = h->readers; r; r = r->next)
        any |= reader_tend(h, r);
    for (struct camera *c = h->cameras; c; c = c->next) {
        any |= camera_submit(h, c);
        any |= camera_tend(h, c);
    }
    return any;
}

static void develop_sleep(struct camera_host *h)
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
        host_device_failed(h, err);
    }
}

void develop_thread(void *host)
{
    struct camera_host *h = host;
    pthread_setname_np(pthread_self(), "pelton-develop");
    uv_mutex_lock(&h->lock);
    while (!h->stopping || h->flights) {
        h->signal = false;
        if (!develop_once(h))
            develop_sleep(h);
    }
    uv_mutex_unlock(&h->lock);
}
