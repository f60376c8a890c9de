/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The camera host: its life, and that of its cameras.
 *
 * A camera goes when its last reader has gone, its thread has ended, and nothing of it is on the
 * device. Lists are changed on the loop thread alone, under the lock. The development thread walks
 * them under the lock, which it drops at times. So a reader that has not ended, and a camera that
 * is not undeveloped, stay in their lists.
 *
 * The failure modes are no memory for the host, and an address that says no camera.
 */
#include "daemon/worker/camera/camera_internal.h"

#include "daemon/worker/camera/v4l2.h"

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

/* ---- cameras ---- */

static void camera_free(struct camera *c)
{
    if (c->source)
        c->ops->free(c->source);
    gpu_arena_free(c->buffers.arena);
    uv_cond_destroy(&c->room);
    if (c->stop_fd >= 0)
        close(c->stop_fd);
    free(c->tone.values);
    free(c->uri);
    free(c);
}

/* 0, or enum pelton_error. */
static int camera_make_source(struct camera *c)
{
    switch (c->params.kind) {
    case CAMERA_SIM:
        c->ops = &sim_source_ops;
        c->source = sim_source_create(c);
        break;
    case CAMERA_BAYER:
        c->ops = &bayer_source_ops;
        c->source = bayer_source_create();
        break;
    case CAMERA_LIBCAMERA:
        c->ops = &libcamera_source_ops;
        c->source = libcamera_source_create();
        break;
    case CAMERA_V4L2:
        c->ops = &v4l2_source_ops;
        c->source = v4l2_source_create();
        break;
    }
    return c->source ? 0 : PELTON_ERR_NOMEM;
}

static int camera_start(struct camera *c, const char *uri, bool was_open, char why[CAMERA_WHY])
{
    if (camera_params_parse(uri, &c->params, why) < 0)
        return PELTON_ERR_USAGE;
    c->params.device.wait |= was_open;
    c->asked = c->params;
    c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->uri = strdup(uri);
    if (!c->uri || c->stop_fd < 0)
        return PELTON_ERR_NOMEM;
    int rc = camera_make_source(c);
    if (rc == 0 && uv_thread_create(&c->thread, capture_thread, c))
        rc = PELTON_ERR_NOMEM;
    return rc;
}

static int camera_create(struct camera_host *h, const char *uri, const struct camera_kept *kept,
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
    c->stop_fd = -1;
    if (kept)
        c->kept = *kept;
    int rc = camera_start(c, uri, was_open, why);
    if (rc < 0) {
        camera_free(c);
        return rc;
    }
    uv_mutex_lock(&h->lock);
    c->next = h->cameras;
    h->cameras = c;
    uv_mutex_unlock(&h->lock);
    *out = c;
    return 0;
}

int camera_find(struct camera_host *h, const char *uri, const struct camera_kept *kept,
                bool was_open, struct camera **out, char why[CAMERA_WHY])
{
    uv_mutex_lock(&h->lock);
    struct camera *c = h->cameras;
    while (c && (c->stop || c->state == CAMERA_ENDED || strcmp(c->uri, uri)))
        c = c->next;
    uv_mutex_unlock(&h->lock);
    *out = c;
    return c ? 0 : camera_create(h, uri, kept, was_open, out, why);
}

void camera_stop(struct camera *c)
{
    c->stop = true;
    eventfd_write(c->stop_fd, 1);
    uv_cond_broadcast(&c->room);
}

/* One camera that nothing uses any more; false: there is none. */
static bool cameras_free_one(struct camera_host *h)
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

/* ---- the host ---- */

/* The lock and the condition exist. */
static void host_free(struct camera_host *h)
{
    isp_free(h->isp);
    if (h->scratch_host)
        gpu_host_free(h->scratch_host);
    if (h->scratch)
        munmap(h->scratch, SCRATCH_BYTES);
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

static void host_maybe_closed(struct camera_host *h)
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
    for (struct camera_reader *r = h->readers; r; r = r->next)
        subscription_dispatch(&r->sub);
    while (readers_end_one(h))
        ;
    while (cameras_free_one(h))
        ;
    host_maybe_closed(h);
}

static int host_make_pipeline(struct camera_host *h)
{
    const struct isp_options options = {0};
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

static struct camera_host *host_new(uv_loop_t *loop, const struct camera_host_params *params)
{
    struct camera_host *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->loop = loop;
    h->gpu = params->gpu;
    h->clips = params->clips;
    h->flights_tail = &h->flights;
    h->async.data = h;
    if (uv_mutex_init(&h->lock)) {
        free(h);
        return NULL;
    }
    if (uv_cond_init(&h->work)) {
        uv_mutex_destroy(&h->lock);
        free(h);
        return NULL;
    }
    return h;
}

int camera_host_create(uv_loop_t *loop, const struct camera_host_params *params,
                       struct camera_host **out)
{
    struct camera_host *h = host_new(loop, params);
    if (!h)
        return PELTON_ERR_NOMEM;
    int err = host_make_pipeline(h);
    if (!err && uv_async_init(loop, &h->async, on_async))
        err = PELTON_ERR_NOMEM;
    if (err) {
        host_free(h);
        return err;
    }
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
