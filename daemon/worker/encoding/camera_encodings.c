/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See camera_encodings.h: the loop thread. One lock for all; nothing slow happens under it.
 *
 * The happy path of a frame: the loop thread hears of it and puts it into `frame`, in place of one
 * that was not taken. The encoding thread takes it, encodes it out of the camera's pool, and puts
 * its slot into `done`. The loop thread gives it back to the camera.
 *
 * The failure modes: the camera cannot be opened or ends, which the thread is told; the encoder has
 * no memory or refuses the size, which ends the encoding and nothing else; the encoder is slow, so
 * frames are missed and counted.
 */
#include "daemon/worker/encoding/camera_encodings_internal.h"
#include "daemon/worker/memory/machine.h"
#include "gpu/encode/gpu_encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MOST_THREADS = 16,
    STREAMS = 4 /* that share buffers of the GPU */
};
/* Where settings name no size: such that a live camera is kept up with */
static const uint32_t size_of_gpu[2] = {1920, 1080}, size_of_cpu[2] = {320, 180};

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

int camera_encodings_create(uv_loop_t *loop, const struct encoding_settings *settings,
                            struct gpu *gpu, struct camera_host *cameras,
                            struct camera_encodings **out)
{
    struct camera_encodings *all = calloc(1, sizeof(*all));
    if (!all)
        return PELTON_ERR_NOMEM;
    all->settings = *settings;
    all->cameras = cameras;
    all->threads = machine_threads(MOST_THREADS);
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
