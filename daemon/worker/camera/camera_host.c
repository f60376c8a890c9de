/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The camera host as the loop thread sees it: readers, events, ends.
 *
 * A reader ends when it was closed, has its frames, or its camera has ended; then the development
 * thread takes it down (released), and on_end is called here. A camera goes when its last reader
 * has gone, its thread has ended, and nothing of it is on the device. Lists are changed on the loop
 * thread only, under the lock; the development thread walks them under the lock, which it drops at
 * times: so what it may be looking at (a reader not released, a camera not undeveloped) stays in
 * its list.
 */
#include "daemon/worker/camera/camera_internal.h"
#include "daemon/worker/camera/v4l2.h"
#include "gpu/engine/debug_shaders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define SCRATCH_BYTES 4096u

void host_wake(struct camera_host *h)
{
    h->signal = true;
    uv_cond_signal(&h->work);
}

void host_notify(struct camera_host *h)
{
    uv_async_send(&h->async);
}

void reader_post(struct camera_reader *r, const struct camera_event *ev)
{
    if (r->released || r->closing)
        return;
    struct camera_event *copy = malloc(sizeof(*copy));
    if (!copy) {
        r->done = true;
        r->failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = "out of memory"};
        return;
    }
    *copy = *ev;
    copy->next = NULL;
    *r->events_tail = copy;
    r->events_tail = &copy->next;
}

/* ---- cameras ---- */

static void camera_free(struct camera *c)
{
    if (c->source)
        c->ops->free(c->source);
    gpu_arena_free(c->arena);
    uv_cond_destroy(&c->room);
    if (c->stop_fd >= 0)
        close(c->stop_fd);
    free(c->tone.values);
    free(c->uri);
    free(c);
}

/* was_open: for somebody who has had frames of it, so its absence passes. */
static int camera_create(struct camera_host *h, struct engine *engine, const char *uri,
                         bool was_open, struct camera **out, char why[CAMERA_WHY])
{
    struct camera *c = calloc(1, sizeof(*c));
    if (!c)
        return PELTON_ERR_NOMEM;
    if (uv_cond_init(&c->room)) {
        free(c);
        return PELTON_ERR_NOMEM;
    }
    c->host = h;
    c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = camera_params_parse(uri, &c->params, why) < 0 ? PELTON_ERR_USAGE : 0;
    c->params.wait |= was_open;
    c->asked = c->params;
    c->uri = strdup(uri);
    if (rc == 0 && c->params.kind == CAMERA_SIM) {
        c->ops = &sim_source_ops;
        c->source = c->uri ? sim_source_create(c, engine) : NULL;
    } else if (rc == 0 && c->params.kind == CAMERA_BAYER) {
        c->ops = &bayer_source_ops;
        c->source = bayer_source_create();
    } else if (rc == 0) {
        c->ops = &v4l2_source_ops;
        c->source = v4l2_source_create();
    }
    if (rc == 0 && (!c->uri || !c->source || c->stop_fd < 0))
        rc = PELTON_ERR_NOMEM;
    if (rc == 0 && uv_thread_create(&c->thread, capture_thread, c))
        rc = PELTON_ERR_NOMEM;
    if (rc < 0) {
        camera_free(c);
        return rc;
    }
    c->thread_started = true;
    *out = c;
    return 0;
}

static struct camera *camera_find(struct camera_host *h, const char *uri)
{
    struct camera *c = h->cameras;
    while (c && (c->stop || c->state == CAMERA_ENDED || strcmp(c->uri, uri)))
        c = c->next;
    return c;
}

static void camera_stop(struct camera *c)
{
    c->stop = true;
    eventfd_write(c->stop_fd, 1);
    uv_cond_broadcast(&c->room);
}

/* One camera that nothing uses any more; false: there is none. */
static bool free_one(struct camera_host *h)
{
    struct camera *gone = NULL;
    uv_mutex_lock(&h->lock);
    for (struct camera **at = &h->cameras; *at && !gone;) {
        struct camera *c = *at;
        bool idle = c->n_readers == 0 && c->thread_ended && c->undeveloped;
        if (idle && (c->ops != &sim_source_ops || sim_source_close(c->source))) {
            gone = c;
            *at = c->next;
        } else {
            at = &c->next;
        }
    }
    uv_mutex_unlock(&h->lock);
    if (gone) {
        uv_thread_join(&gone->thread);
        camera_free(gone);
    }
    return gone != NULL;
}

/* ---- readers ---- */

int camera_open(struct camera_host *h, struct engine *engine,
                const struct pelton_open_params *params, uint64_t resume_sequence, bool probe_only,
                const struct feed_callbacks *callbacks, void *ctx, struct camera_reader **out,
                struct pelton_failure *failure)
{
    struct camera_reader *r = calloc(1, sizeof(*r));
    char why[CAMERA_WHY] = "";
    int rc = 0;
    if (!r)
        return PELTON_ERR_NOMEM;
    r->params = *params;
    r->params.uri = r->params.name = r->params.pix_fmt = NULL;
    r->callbacks = *callbacks;
    r->ctx = ctx;
    r->probe = probe_only;
    r->base = resume_sequence;
    r->events_tail = &r->events;
    r->opened_ns = now_ns();
    snprintf(r->name, sizeof(r->name), "%s", params->name ? params->name : params->uri);
    bool known = reader_format_of(params->pix_fmt, params->any_pix_fmt, &r->format);
    uv_mutex_lock(&h->lock);
    struct camera *c = camera_find(h, params->uri);
    uv_mutex_unlock(&h->lock);
    bool fresh = !c;
    if (fresh)
        rc = camera_create(h, engine, params->uri, resume_sequence > 0, &c, why);
    if (rc < 0) {
        failure->code = rc;
        snprintf(failure->cause, sizeof(failure->cause), "%.50s: %.199s", r->name,
                 why[0] ? why : "out of memory");
        free(r);
        return rc;
    }
    uv_mutex_lock(&h->lock);
    if (fresh) {
        c->next = h->cameras;
        h->cameras = c;
    }
    r->camera = c;
    c->n_readers++;
    if (!known) {
        r->done = true;
        r->failure = (struct pelton_failure){.code = PELTON_ERR_USAGE};
        snprintf(r->failure.cause, sizeof(r->failure.cause),
                 "%.120s: cameras leave as yuv420p, nv12, p010le, gray, rgb24, rgba or rgb48le",
                 r->name);
    }
    r->next = h->readers;
    h->readers = r;
    if (c->state == CAMERA_BACKOFF) {
        struct camera_event ev = {.kind = EVENT_OF_STATE};
        snprintf(ev.cause, sizeof(ev.cause), "%s", c->absent);
        reader_post(r, &ev);
        host_notify(h);
    }
    host_wake(h);
    uv_mutex_unlock(&h->lock);
    *out = r;
    return 0;
}

void camera_release(struct camera_reader *r, uint32_t epoch, uint32_t slot, uint32_t generation)
{
    struct camera_host *h = r->camera->host;
    uv_mutex_lock(&h->lock);
    struct pool *p = r->pool;
    if (p && r->ready && !r->released && epoch == 1 && slot < p->format.slots &&
        p->slots[slot].state == POOL_HELD && p->slots[slot].generation == generation) {
        pool_put(p, slot);
        host_wake(h);
    }
    uv_mutex_unlock(&h->lock);
}

static void fill_stats(const struct camera_reader *r, struct pelton_stats *out)
{
    *out = r->stats;
    out->dropped = r->dropped;
    out->access_units = r->camera->sequence;
    out->wall = 1e-9 * (double)(now_ns() - r->opened_ns);
}

void camera_stats(struct camera_reader *r, struct pelton_stats *out)
{
    uv_mutex_lock(&r->camera->host->lock);
    fill_stats(r, out);
    uv_mutex_unlock(&r->camera->host->lock);
}

void camera_close(struct camera_reader *r)
{
    struct camera_host *h = r->camera->host;
    uv_mutex_lock(&h->lock);
    r->closing = true;
    host_wake(h);
    uv_mutex_unlock(&h->lock);
}

static void send_info(struct camera_reader *r)
{
    const struct camera *c = r->camera;
    const struct camera_params *p = &c->params;
    static const char *const kinds[] = {"sim", "v4l2", "bayer"};
    struct pelton_info info = {.width = p->out_width,
                               .height = p->out_height,
                               .coded_width = p->width,
                               .coded_height = p->height,
                               .time_base = {1, 1000000},
                               .frame_rate = {(int32_t)(p->fps * 1000 + 0.5), 1000},
                               .sar = {1, 1},
                               .start_pts = INT64_MIN,
                               .duration_us = -1,
                               .frames = -1,
                               .supported = true};
    struct feed_format format;
    info.avg_frame_rate = info.frame_rate;
    snprintf(info.container, sizeof(info.container), "%s", kinds[p->kind]);
    snprintf(info.codec, sizeof(info.codec), "%s",
             p->coding == CAMERA_MJPEG ? "mjpeg"
             : p->order == ISP_YUV     ? "rawvideo"
                                       : "bayer");
    camera_format_name(p, info.profile);
    snprintf(info.pix_fmt, sizeof(info.pix_fmt), "%s", reader_pix_fmt(r->format));
    reader_layout(c, r->format, &format);
    info.colour = format.colour;
    r->callbacks.on_info(r->ctx, &info, NULL);
}

static void call_event(struct camera_reader *r, struct camera_event *ev)
{
    if (ev->kind == EVENT_OF_STATE) {
        if (r->callbacks.on_state)
            r->callbacks.on_state(r->ctx, ev->running, ev->cause);
        return;
    }
    if (!r->format_posted) {
        r->format_posted = true;
        r->callbacks.on_format(r->ctx, &r->pool->format);
    }
    ev->frame.camera = &ev->camera;
    r->callbacks.on_frame(r->ctx, &ev->frame);
}

static void dispatch(struct camera_host *h, struct camera_reader *r)
{
    uv_mutex_lock(&h->lock);
    struct camera_event *events = r->events;
    bool info = r->info_ready && !r->failure.code && !r->info_sent && !r->closing;
    r->calling = true;
    r->events = NULL;
    r->events_tail = &r->events;
    r->info_sent |= info;
    uv_mutex_unlock(&h->lock);
    if (info)
        send_info(r);
    bool any = events != NULL;
    while (events) {
        struct camera_event *next = events->next;
        if (!r->closing) /* then its pool may be gone; a callback may close it */
            call_event(r, events);
        free(events);
        events = next;
    }
    uv_mutex_lock(&h->lock);
    r->calling = false;
    if (any || r->done)
        host_wake(h);
    uv_mutex_unlock(&h->lock);
}

static void reader_end(struct camera_host *h, struct camera_reader *r)
{
    struct pelton_stats stats;
    fill_stats(r, &stats);
    r->callbacks.on_end(r->ctx, &r->failure, &stats);
    while (r->events) {
        struct camera_event *ev = r->events;
        r->events = ev->next;
        free(ev);
    }
    free(r);
}

/* One reader that has been taken down; false: there is none. */
static bool end_one(struct camera_host *h)
{
    struct camera_reader *ended = NULL;
    uv_mutex_lock(&h->lock);
    for (struct camera_reader **at = &h->readers; *at && !ended;) {
        const struct camera_reader *r = *at;
        bool told = r->info_sent || !r->info_ready || r->failure.code || r->closing;
        if (r->released && told) {
            ended = *at;
            *at = ended->next;
            if (--ended->camera->n_readers == 0)
                camera_stop(ended->camera);
            host_wake(h);
        } else {
            at = &(*at)->next;
        }
    }
    uv_mutex_unlock(&h->lock);
    if (ended)
        reader_end(h, ended);
    return ended != NULL;
}

/* ---- the host ---- */

static void host_free(struct camera_host *h)
{
    isp_free(h->isp);
    if (h->scratch_host)
        gpu_host_free(h->scratch_host);
    if (h->scratch)
        munmap(h->scratch, SCRATCH_BYTES);
    gpu_close(h->gpu);
    uv_cond_destroy(&h->work);
    uv_mutex_destroy(&h->lock);
    free(h);
}

static void on_async_closed(uv_handle_t *handle)
{
    struct camera_host *h = handle->data;
    void (*closed)(void *ctx) = h->closed;
    void *ctx = h->closed_ctx;
    host_free(h);
    if (closed)
        closed(ctx);
}

static void maybe_closed(struct camera_host *h)
{
    uv_mutex_lock(&h->lock);
    bool last = h->closing && !h->readers && !h->cameras && !h->stopping;
    h->stopping |= last;
    if (last)
        host_wake(h);
    uv_mutex_unlock(&h->lock);
    if (!last)
        return;
    uv_thread_join(&h->thread);
    uv_close((uv_handle_t *)&h->async, on_async_closed);
}

static void on_async(uv_async_t *async)
{
    struct camera_host *h = async->data;
    for (struct camera_reader *r = h->readers; r; r = r->next) {
        reader_pool_make(r);
        dispatch(h, r);
    }
    while (end_one(h))
        ;
    while (free_one(h))
        ;
    maybe_closed(h);
}

static int open_device(struct camera_host *h, const struct camera_host_params *params)
{
    const struct gpu_params gpu = {.device = params->device,
                                   .validation = params->validation,
                                   .debug = params->gpu_debug,
                                   .debug_shaders = GPU_DEBUG_SHADERS,
                                   .log = params->log,
                                   .log_ctx = params->log_ctx};
    const struct isp_options options = {0};
    int err = gpu_open(&gpu, &h->gpu);
    if (err)
        return err == GPU_ERR_NOMEM ? PELTON_ERR_NOMEM : PELTON_ERR_NO_DEVICE;
    void *scratch =
        mmap(NULL, SCRATCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scratch == MAP_FAILED)
        return PELTON_ERR_NOMEM;
    h->scratch = scratch;
    /* on hardware a development costs no CPU time, a copy does */
    h->shares = gpu_info(h->gpu)->software;
    if (isp_create(h->gpu, &options, &h->isp) ||
        gpu_host_import(h->gpu, h->scratch, SCRATCH_BYTES, &h->scratch_host))
        return PELTON_ERR_NOMEM;
    return 0;
}

int camera_host_create(uv_loop_t *loop, const struct camera_host_params *params,
                       struct camera_host **out)
{
    struct camera_host *h = calloc(1, sizeof(*h));
    if (!h)
        return PELTON_ERR_NOMEM;
    h->loop = loop;
    h->flights_tail = &h->flights;
    uv_mutex_init(&h->lock);
    uv_cond_init(&h->work);
    int err = open_device(h, params);
    if (!err && uv_async_init(loop, &h->async, on_async))
        err = PELTON_ERR_NOMEM;
    if (err) {
        host_free(h);
        return err;
    }
    h->async.data = h;
    if (uv_thread_create(&h->thread, develop_thread, h)) {
        uv_close((uv_handle_t *)&h->async, on_async_closed);
        return PELTON_ERR_NOMEM;
    }
    *out = h;
    return 0;
}

void camera_host_close(struct camera_host *h, void (*closed)(void *ctx), void *ctx)
{
    h->closing = true;
    h->closed = closed;
    h->closed_ctx = ctx;
    for (struct camera_reader *r = h->readers; r; r = r->next)
        camera_close(r);
    host_notify(h);
}
