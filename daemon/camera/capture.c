/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The thread of a camera: opens its source, tells it the exposure, takes its frames.
 *
 * The happy path is open, then set - read until it is stopped, or the source ends. The failure modes are: it cannot be opened the
 * first time (the readers are told and it ends, unless it may wait for its device), and it is lost later (unplugged, reset, silent): then it is opened again after 0.5 s, 1 s, ...
 * 30 s, each with jitter, until it is there again; the readers stay. Ten seconds of health make the next wait short again. Where no raw
 * frame is free a live source's frame is dropped and counted; others wait.
 */
#include "daemon/camera/camera_internal.h"
#include "daemon/camera/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


static struct raw *free_raw(struct camera *c)
{
    for (int i = 0; i < RAWS; i++)
        if (c->raws[i].state == RAW_FREE)
            return &c->raws[i];
    return NULL;
}

/* A source that keeps no time waits until a frame is measured before it takes the next: exposure control then sees what it would see in
 * real time, whatever the machine. */
static bool ahead(const struct camera *c)
{
    bool busy = false;
    for (int i = 0; i < RAWS; i++)
        busy |= c->raws[i].state != RAW_FREE;
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
    struct ae_exposure asked = c->ae.asked;
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
        raw->state = RAW_FULL;
        host_wake(h);
    }
    c->sequence++;
    return SOURCE_OK;
}

static int stream(struct camera *c, struct pelton_failure *failure)
{
    int rc = SOURCE_OK;
    while (!c->stop && (rc == SOURCE_OK || rc == SOURCE_AGAIN)) {
        rc = take_frame(c, failure);
        if (c->params.frames && c->sequence >= c->params.frames)
            return SOURCE_END;
    }
    return c->stop ? SOURCE_END : rc;
}

/* What the settings name is read, and what they leave open is filled in: without the lock. */
static int complete(struct camera *c, struct camera_params *params, struct pelton_failure *failure)
{
    int rc = camera_calibrate(params, failure);
    if (rc < 0 || (rc = camera_tone_load(params, &c->tone, failure)) < 0)
        return rc;
    const struct isp_rect all = {0, 0, params->width, params->height};
    params->region = params->region.width ? params->region : all;
    params->out_width = params->out_width ? params->out_width : params->region.width;
    params->out_height = params->out_height ? params->out_height : params->region.height;
    return 0;
}

static int first_open(struct camera *c, struct camera_params *params, struct pelton_failure *failure)
{
    const struct isp_params raw = {.width = params->width, .height = params->height, .packing = (enum isp_packing)params->packing,
                                   .depth = params->depth};
    size_t bytes = (size_t)isp_row_bytes(&raw) * isp_raw_rows(&raw);
    for (int i = 0; i < RAWS; i++) {
        c->raws[i].memory = malloc(bytes);
        if (!c->raws[i].memory) {
            *failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = "out of memory"};
            return failure->code;
        }
    }
    c->params = *params;
    control_start(c);
    c->known = true;
    return 0;
}

static bool same_frames(const struct camera_params *a, const struct camera_params *b)
{
    return a->width == b->width && a->height == b->height && a->order == b->order && a->packing == b->packing && a->depth == b->depth;
}

/* With the lock, which it drops meanwhile. */
static int open_source(struct camera *c, struct pelton_failure *failure)
{
    struct camera_params params = c->params;
    uv_mutex_unlock(&c->host->lock);
    int rc = c->ops->open(c->source, &params, failure);
    bool opened = rc >= 0;
    if (opened && !c->known)
        rc = complete(c, &params, failure);
    uv_mutex_lock(&c->host->lock);
    if (!opened)
        return rc;
    if (rc >= 0 && !c->known) {
        rc = first_open(c, &params, failure);
    } else if (rc >= 0 && !same_frames(&params, &c->params)) {
        *failure = (struct pelton_failure){.code = PELTON_ERR_INPUT};
        snprintf(failure->cause, sizeof failure->cause, "%.120s: the camera has come back with frames of another kind", c->params.path);
        rc = failure->code;
    }
    if (rc < 0)
        c->ops->close(c->source);
    return rc;
}

static void tell(struct camera *c, enum camera_state state, const char *cause)
{
    struct camera_event ev = {.kind = EVENT_OF_STATE, .running = state == CAMERA_RUNNING};
    snprintf(ev.cause, sizeof ev.cause, "%s", cause);
    snprintf(c->absent, sizeof c->absent, "%s", cause);
    bool change = c->state == CAMERA_BACKOFF ? state != CAMERA_BACKOFF : state == CAMERA_BACKOFF;
    c->state = state;
    for (struct camera_reader *r = c->host->readers; change && r; r = r->next)
        if (r->camera == c)
            reader_post(r, &ev);
    host_wake(c->host);
    host_notify(c->host);
}

/* A device that is plugged in ends it. With the lock, which it drops meanwhile. */
static void back_off(struct camera *c, int code, int64_t *wait_ns)
{
    int64_t until = watch_backoff(wait_ns);
    while (!c->stop && c->params.kind != CAMERA_V4L2 && now_ns() < until)
        uv_cond_timedwait(&c->room, &c->host->lock, (uint64_t)(until - now_ns() > 0 ? until - now_ns() : 1));
    if (c->params.kind != CAMERA_V4L2)
        return;
    uv_mutex_unlock(&c->host->lock);
    bool plugged = watch_wait(c->params.path, code == PELTON_ERR_NOT_FOUND, c->stop_fd, until);
    uv_mutex_lock(&c->host->lock);
    if (plugged)
        *wait_ns = 0;
}

static void live(struct camera *c)
{
    int64_t wait_ns = 0;
    while (!c->stop) {
        struct pelton_failure failure = {0};
        int rc = open_source(c, &failure);
        if (rc < 0 && !c->known && !camera_absence_passes(&c->params, rc)) {
            c->failure = failure;
            return;
        }
        if (rc >= 0) {
            tell(c, CAMERA_RUNNING, "");
            int64_t since = now_ns();
            rc = stream(c, &failure);
            uv_mutex_unlock(&c->host->lock);
            c->ops->close(c->source);
            uv_mutex_lock(&c->host->lock);
            if (now_ns() - since > WATCH_HEALTHY_NS)
                wait_ns = 0;
        }
        if (rc == SOURCE_END)
            return;
        tell(c, CAMERA_BACKOFF, failure.cause);
        back_off(c, rc, &wait_ns);
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
