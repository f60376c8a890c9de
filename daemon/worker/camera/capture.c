/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The thread of a camera: opens its source, tells it the exposure, takes its frames.
 *
 * The happy path is open, then set - read until it is stopped, or the source ends. The failure
 * modes are: it cannot be opened the first time (the readers are told and it ends, unless it may
 * wait for its device), and it is lost later (unplugged, reset, silent): then it is opened again
 * after 0.5 s, 1 s, ... 30 s, each with jitter, until it is there again; the readers stay. Where it
 * comes back with frames of another size or kind it ends with PELTON_ERR_CHANGED, and the broker
 * has it opened anew. Ten seconds of health make the next wait short again. Where no raw frame is
 * free a live source's frame is dropped and counted; others wait.
 */
#include "daemon/log.h"
#include "daemon/worker/camera/camera_internal.h"
#include "daemon/worker/camera/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
/* smaller ones are the driver's memory, which capture devices do not take */
#define ARENA_LEAST (2u << 20)

static struct raw *free_raw(struct camera *c)
{
    for (int i = 0; i < RAWS; i++)
        if (c->buffers.raws[i].state == RAW_FREE)
            return &c->buffers.raws[i];
    return NULL;
}

/* A source that keeps no time waits until a frame is measured before it takes the next: exposure
 * control then sees what it would see in real time, whatever the machine. */
static bool ahead(const struct camera *c)
{
    bool busy = false;
    for (int i = 0; i < RAWS; i++)
        busy |= c->buffers.raws[i].state != RAW_FREE;
    return busy && !c->params.realtime;
}

/* With the lock, which it drops. */
static int take_frame(struct camera *c, struct pelton_failure *failure)
{
    struct camera_host *h = c->host;
    struct raw *raw = free_raw(c);
    if (ahead(c)) {
        uv_cond_wait(&c->room, &h->lock);
        return SOURCE_AGAIN;
    }
    if (raw)
        raw->state = RAW_FILLING;
    struct ae_exposure asked = c->control.ae.asked;
    struct source_frame frame = {0};
    uv_mutex_unlock(&h->lock);
    c->ops->set(c->source, &asked);
    int rc = c->ops->read(c->source, raw ? raw->memory : NULL, &frame, failure);
    uv_mutex_lock(&h->lock);
    if (raw)
        raw->state = RAW_FREE;
    if (rc != SOURCE_OK)
        return rc;
    c->sequence += frame.lost;
    c->lost += frame.lost + !raw;
    if (raw) {
        raw->frame = frame;
        raw->sequence = c->sequence;
        raw->lost = c->lost;
        raw->stride = c->buffers.copied_stride;
        raw->state = RAW_FULL;
        host_wake(h);
    }
    c->sequence++;
    return SOURCE_OK;
}

/* Gives the device what is free; the number of buffers that it has. With the lock, which it drops;
 * negative: failure. */
static int lend_free(struct camera *c, struct pelton_failure *failure)
{
    int lent = 0;
    for (uint32_t i = 0; i < RAWS; i++) {
        int rc = 0;
        if (c->buffers.raws[i].state == RAW_FREE) {
            c->buffers.raws[i].state = RAW_FILLING;
            uv_mutex_unlock(&c->host->lock);
            rc = c->ops->lend(c->source, i, failure);
            uv_mutex_lock(&c->host->lock);
        }
        if (rc < 0)
            return rc;
        lent += c->buffers.raws[i].state == RAW_FILLING;
    }
    return lent;
}

/* As take_frame where the device fills the buffers by itself. */
static int take_direct(struct camera *c, struct pelton_failure *failure)
{
    struct camera_host *h = c->host;
    struct ae_exposure asked = c->control.ae.asked;
    struct source_frame frame = {0};
    int rc = lend_free(c, failure);
    if (rc == 0) { /* it drops frames meanwhile, which its numbers tell */
        uv_cond_wait(&c->room, &h->lock);
        return SOURCE_AGAIN;
    }
    if (rc < 0)
        return rc;
    uv_mutex_unlock(&h->lock);
    c->ops->set(c->source, &asked);
    rc = c->ops->read(c->source, NULL, &frame, failure);
    uv_mutex_lock(&h->lock);
    if (rc != SOURCE_OK)
        return rc;
    c->sequence += frame.lost;
    c->lost += frame.lost;
    struct raw *raw = &c->buffers.raws[frame.index];
    raw->frame = frame;
    raw->sequence = c->sequence++;
    raw->lost = c->lost;
    raw->stride = c->buffers.direct_stride;
    raw->state = RAW_FULL;
    host_wake(h);
    return SOURCE_OK;
}

/* With the lock, which it drops. */
static int start(struct camera *c, struct pelton_failure *failure)
{
    struct source_buffers buffers = {.size = c->buffers.size};
    uint32_t free = 0;
    size_t bytes;
    c->buffers.direct = false;
    if (!c->ops->start)
        return 0;
    c->ops->layout(c->source, &bytes, &c->buffers.direct_stride);
    for (uint32_t i = 0; i < RAWS; i++) {
        buffers.memory[i] = c->buffers.raws[i].memory;
        if (c->buffers.raws[i].state == RAW_FREE)
            free |= 1u << i;
    }
    uv_mutex_unlock(&c->host->lock);
    int rc = c->ops->start(c->source, &buffers, free, failure);
    uv_mutex_lock(&c->host->lock);
    c->buffers.direct = rc == SOURCE_DIRECT;
    for (uint32_t i = 0; i < RAWS && c->buffers.direct; i++)
        if (free & 1u << i)
            c->buffers.raws[i].state = RAW_FILLING;
    return rc;
}

/* With the lock, which it drops; the source, which has been started, is closed afterwards. */
static int stream(struct camera *c, struct pelton_failure *failure)
{
    int rc = SOURCE_OK;
    while (!c->stop && (rc == SOURCE_OK || rc == SOURCE_AGAIN)) {
        rc = c->buffers.direct ? take_direct(c, failure) : take_frame(c, failure);
        if (c->params.frames && c->sequence >= c->params.frames)
            rc = SOURCE_END;
    }
    uv_mutex_unlock(&c->host->lock);
    c->ops->close(c->source);
    uv_mutex_lock(&c->host->lock);
    for (uint32_t i = 0; i < RAWS; i++)
        if (c->buffers.raws[i].state == RAW_FILLING)
            c->buffers.raws[i].state = RAW_FREE;
    return c->stop ? SOURCE_END : rc;
}

/* Room for frames as they are developed, and as the device would make them. */
static int make_raws(struct camera *c, const struct camera_params *params,
                     struct pelton_failure *failure)
{
    const struct isp_params shape = {.width = params->width,
                                     .height = params->height,
                                     .packing = (enum isp_packing)params->packing,
                                     .depth = params->depth};
    size_t bytes = (size_t)isp_row_bytes(&shape) * isp_raw_rows(&shape), made = 0;
    uint32_t stride;
    void *memory;
    if (c->ops->layout)
        c->ops->layout(c->source, &made, &stride);
    c->buffers.size = ((made > bytes ? made : bytes) + PAGE - 1) / PAGE * PAGE;
    size_t all = c->buffers.size * RAWS;
    gpu_arena_free(c->buffers.arena); /* of a try that failed later */
    c->buffers.arena = NULL;
    int err = gpu_arena_create(c->host->gpu, all > ARENA_LEAST ? all : ARENA_LEAST,
                               &c->buffers.arena, &memory);
    if (err < 0) {
        *failure = (struct pelton_failure){.code = err == GPU_ERR_LOST ? PELTON_ERR_GPU_LOST
                                                                       : PELTON_ERR_NOMEM,
                                           .cause = "no memory for a camera's frames"};
        return failure->code;
    }
    for (size_t i = 0; i < RAWS; i++)
        c->buffers.raws[i].memory = (uint8_t *)memory + i * c->buffers.size;
    c->buffers.copied_stride = isp_row_bytes(&shape);
    return 0;
}

/* What the settings name is read, and what they leave open is filled in: without the lock. */
static int complete(struct camera *c, struct camera_params *params, struct pelton_failure *failure)
{
    int rc = camera_calibrate(params, failure);
    free(c->tone.values);
    c->tone = (struct camera_tone){0};
    if (rc < 0 || (rc = camera_tone_load(params, &c->tone, failure)) < 0)
        return rc;
    const struct isp_rect all = {0, 0, params->width, params->height};
    params->region = params->region.width ? params->region : all;
    params->out_width = params->out_width ? params->out_width : params->region.width;
    params->out_height = params->out_height ? params->out_height : params->region.height;
    return make_raws(c, params, failure);
}

static bool same_frames(const struct camera_params *a, const struct camera_params *b)
{
    return a->width == b->width && a->height == b->height && a->order == b->order &&
           a->packing == b->packing && a->depth == b->depth && a->coding == b->coding &&
           a->pieces == b->pieces && a->matrix == b->matrix && a->full_range == b->full_range;
}

/* As it was; a device that does not give that any more, as it was asked for. Without the lock. */
static int open_again(struct camera *c, struct camera_params *params,
                      struct pelton_failure *failure)
{
    struct camera_params anew = c->asked;
    struct pelton_failure unused;
    int rc = c->ops->open(c->source, params, failure);
    if (rc != PELTON_ERR_UNSUPPORTED || !c->known || c->ops->open(c->source, &anew, &unused) < 0)
        return rc;
    *params = anew;
    return 0;
}

static int has_changed(const struct camera *c, const struct camera_params *now,
                       struct pelton_failure *failure)
{
    char before_name[12], now_name[12];
    camera_format_name(&c->params, before_name);
    camera_format_name(now, now_name);
    *failure = (struct pelton_failure){.code = PELTON_ERR_CHANGED};
    snprintf(failure->cause, sizeof(failure->cause),
             "%.120s: the camera gives %ux%u in %s now, not %ux%u in %s", c->params.path,
             now->width, now->height, now_name, c->params.width, c->params.height, before_name);
    return failure->code;
}

/* What was set before, one after the other: a crop that does not fit the new size leaves the others
 * alone. */
static void set_kept(struct camera *c)
{
    struct pelton_failure refused;
    for (uint32_t i = 0; i < c->kept.n; i++)
        if (camera_control_set(&c->control, &c->kept.list[i], 1, camera_is_blurred(c), &refused))
            log_line(LOG_LEVEL_WARNING, "%.120s: not set again: %.200s", c->params.path,
                     refused.cause);
}

/* With the lock, which it drops meanwhile. */
static int open_source(struct camera *c, struct pelton_failure *failure)
{
    struct camera_params params = c->params;
    uv_mutex_unlock(&c->host->lock);
    int rc = open_again(c, &params, failure);
    bool opened = rc >= 0;
    if (opened && !c->known)
        rc = complete(c, &params, failure);
    uv_mutex_lock(&c->host->lock);
    if (!opened)
        return rc;
    if (rc >= 0 && c->known && !same_frames(&params, &c->params))
        rc = has_changed(c, &params, failure);
    rc = rc < 0 ? rc : start(c, failure);
    if (rc >= 0 && !c->known) {
        c->params = params;
        camera_control_start(&c->control, &c->params);
        set_kept(c);
        c->period_ns = (int64_t)(1e9 / c->params.fps);
        c->known = true;
    }
    if (rc < 0)
        c->ops->close(c->source);
    return rc;
}

static void tell(struct camera *c, enum camera_state state, const char *cause)
{
    bool change = (c->state == CAMERA_BACKOFF) != (state == CAMERA_BACKOFF) ||
                  (state == CAMERA_BACKOFF && strcmp(c->absent, cause) != 0);
    snprintf(c->absent, sizeof(c->absent), "%s", cause);
    c->state = state;
    for (struct camera_reader *r = c->host->readers; change && r; r = r->next)
        if (r->camera == c)
            subscription_post_state(&r->sub, state == CAMERA_RUNNING, cause);
    host_wake(c->host);
    host_notify(c->host);
}

/* A device that is plugged in ends it. With the lock, which it drops meanwhile. */
static void back_off(struct camera *c, int code, struct backoff *wait)
{
    int64_t until = watch_backoff(wait);
    while (!c->stop && c->params.kind != CAMERA_V4L2 && now_ns() < until)
        uv_cond_timedwait(&c->room, &c->host->lock,
                          (uint64_t)(until - now_ns() > 0 ? until - now_ns() : 1));
    if (c->params.kind != CAMERA_V4L2)
        return;
    uv_mutex_unlock(&c->host->lock);
    bool plugged = watch_wait(c->params.path, code == PELTON_ERR_NOT_FOUND, c->stop_fd, until);
    uv_mutex_lock(&c->host->lock);
    if (plugged)
        backoff_reset(wait);
}

static void live(struct camera *c)
{
    struct backoff wait = {0};
    while (!c->stop) {
        struct pelton_failure failure = {0};
        int rc = open_source(c, &failure);
        if (rc == PELTON_ERR_CHANGED ||
            (rc < 0 && !c->known && !camera_absence_passes(&c->params, rc))) {
            c->failure = failure;
            return;
        }
        if (rc >= 0) {
            tell(c, CAMERA_RUNNING, "");
            int64_t since = now_ns();
            rc = stream(c, &failure);
            if (now_ns() - since > WATCH_HEALTHY_NS)
                backoff_reset(&wait);
        }
        if (rc == SOURCE_END)
            return;
        tell(c, CAMERA_BACKOFF, failure.cause);
        back_off(c, rc, &wait);
    }
}

void capture_thread(void *camera)
{
    struct camera *c = camera;
    struct camera_host *h = c->host;
    pthread_setname_np(pthread_self(), "pelton-camera");
    uv_mutex_lock(&h->lock);
    live(c);
    c->state = CAMERA_ENDED;
    c->thread_ended = true;
    host_wake(h);
    host_notify(h);
    uv_mutex_unlock(&h->lock);
}
