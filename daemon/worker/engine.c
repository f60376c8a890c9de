/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine: device, threads, and the way back to the loop thread.
 *
 * Start: engine_create opens the device, then starts the codec workers and the GPU thread. End:
 * engine_close closes every session; when the last has ended the GPU thread frees the stores and
 * stops, workers and GPU thread are joined, the device is closed. Everything that may still be in
 * flight then is a conjunction, see engine_maybe_closed.
 */
#include "daemon/worker/engine_internal.h"

#include "daemon/worker/camera/v4l2_stream.h"
#include "gpu/engine/debug_shaders.h"

#include <libavformat/avformat.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_CACHE_LIMIT (1ull << 30)
/* look-ahead beyond what each stream is sure of: at most this, */
#define WINDOW_BUDGET    (8ull << 30)
#define WINDOW_SHARE     16      /* and at most this part of the machine's memory */
#define EXPECT_NS        5000000 /* a picture takes the GPU less */
#define SLAB_BYTES       (64u << 20)
#define SLAB_BYTES_SMALL (4u << 20) /* where the device has no memory of its own to be far from */

void engine_wake_gpu(struct engine *e)
{
    atomic_store(&e->gpu_signal, true);
    uv_cond_signal(&e->gpu_work);
}

void engine_notify(struct engine *e)
{
    uv_async_send(&e->async);
}

void engine_expect(struct engine *e)
{
    atomic_store(&e->awake_until_ns, now_ns() + EXPECT_NS);
    engine_notify(e);
}

static void on_awake(uv_idle_t *awake)
{
    const struct engine *e = awake->data;
    if (now_ns() > atomic_load(&e->awake_until_ns))
        uv_idle_stop(awake);
}

/* An idle handle makes the loop go round without sleeping, so that the frame's own call finds it
 * awake. */
static void on_async(uv_async_t *async)
{
    struct engine *e = async->data;
    sessions_dispatch(e);
    if (atomic_load(&e->awake_until_ns) > now_ns())
        uv_idle_start(&e->awake, on_awake);
    engine_maybe_closed(e);
}

static void stop_threads(struct engine *e)
{
    uv_mutex_lock(&e->lock);
    e->stopping = e->gpu_stop = true;
    workers_wake(e, UINT_MAX);
    engine_wake_gpu(e);
    uv_mutex_unlock(&e->lock);
    for (unsigned i = 0; i < e->workers_started; i++) {
        uv_thread_join(&e->workers[i].thread);
        uv_cond_destroy(&e->workers[i].wake);
    }
    if (e->gpu_started)
        uv_thread_join(&e->gpu_thread);
    entropy_gpu_stop(e);
    for (unsigned i = 0; e->workers && i < e->worker_count; i++)
        h264_scratch_free(e->workers[i].scratch);
}

static void engine_free(struct engine *e)
{
    v4l2_streams_free(e->streams);
    free(e->workers);
    memory_free(&e->memory);
    uv_cond_destroy(&e->gpu_work);
    uv_mutex_destroy(&e->lock);
    free(e);
}

static void on_async_closed(uv_handle_t *handle)
{
    struct engine *e = handle->data;
    void (*closed)(void *ctx) = e->closed;
    void *ctx = e->closed_ctx;
    engine_free(e);
    if (closed)
        closed(ctx);
}

static void on_awake_closed(uv_handle_t *handle)
{
    struct engine *e = handle->data;
    uv_close((uv_handle_t *)&e->async, on_async_closed);
}

static int start_threads(struct engine *e)
{
    unsigned cpus = (unsigned)uv_available_parallelism();
    e->worker_count = e->params.threads ? e->params.threads : cpus;
    e->workers = calloc(e->worker_count, sizeof(*e->workers));
    if (!e->workers)
        return PELTON_ERR_NOMEM;
    for (unsigned i = 0; i < e->worker_count; i++) {
        struct worker *w = &e->workers[i];
        w->engine = e;
        w->random = e->params.shuffle_seed * 2 + 1 + i * 0x9e3779b97f4a7c15ull;
        w->scratch = h264_scratch_create();
        if (!w->scratch || uv_cond_init(&w->wake))
            return PELTON_ERR_NOMEM;
        if (uv_thread_create(&w->thread, worker_main, w)) {
            uv_cond_destroy(&w->wake);
            return PELTON_ERR_NOMEM;
        }
        e->workers_started++;
    }
    if (uv_thread_create(&e->gpu_thread, gpu_thread_main, e))
        return PELTON_ERR_NOMEM;
    e->gpu_started = true;
    return entropy_gpu_start(e);
}

/* Of the machine's memory. */
static uint64_t window_budget(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / WINDOW_SHARE : 0;
    return bytes > WINDOW_BUDGET ? WINDOW_BUDGET : bytes;
}

static int open_device(struct engine *e)
{
    e->gpu = e->params.gpu;
    e->device = gpu_info(e->gpu);
    e->software = e->device->software;
    if (e->params.no_tune)
        tune_preset(e->device, &e->tune);
    else
        tune_open(e->device, e->params.log, e->params.log_ctx, &e->tune);
    if (e->params.tune_force && !tune_force(e->params.tune_force, &e->tune)) {
        e->params.log(e->params.log_ctx, 0,
                      "tune_force names no such family and variant of kernels");
        return PELTON_ERR_USAGE;
    }
    e->window_budget = e->software ? 0 : window_budget();
    if (e->window_budget > e->memory.limit)
        e->memory.limit = e->window_budget;
    if (e->params.arena == 2 || (e->params.arena == 0 && !e->software)) {
        e->memory.gpu = e->gpu;
        e->memory.slab_bytes = e->software ? SLAB_BYTES_SMALL : SLAB_BYTES;
    }
    return 0;
}

int engine_create(uv_loop_t *loop, const struct engine_params *params, struct engine **out)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e)
        return PELTON_ERR_NOMEM;
    e->loop = loop;
    e->params = *params;
    uv_mutex_init(&e->lock);
    uv_cond_init(&e->gpu_work);
    memory_init(&e->memory, MEMORY_CACHE_LIMIT);
    av_log_set_level(AV_LOG_QUIET);
    e->streams = v4l2_streams_create();
    int err = e->streams ? open_device(e) : PELTON_ERR_NOMEM;
    e->params.tune_force = NULL; /* borrowed for the call */
    if (!err)
        err = uv_async_init(loop, &e->async, on_async) ? PELTON_ERR_NOMEM : 0;
    if (err) {
        engine_free(e);
        return err;
    }
    uv_idle_init(loop, &e->awake);
    e->async.data = e->awake.data = e;
    err = start_threads(e);
    if (err) {
        stop_threads(e);
        uv_close((uv_handle_t *)&e->awake, on_awake_closed);
        return err;
    }
    *out = e;
    return 0;
}

const struct gpu_device_info *engine_device(const struct engine *e)
{
    return e->device;
}

uint32_t engine_entropy_pictures(struct engine *e)
{
    uv_mutex_lock(&e->lock);
    uint32_t pictures = entropy_gpu_depth(e);
    uv_mutex_unlock(&e->lock);
    return pictures;
}

unsigned engine_validation_messages(const struct engine *e)
{
    return gpu_validation_messages(e->gpu);
}

void engine_maybe_closed(struct engine *e)
{
    uv_mutex_lock(&e->lock);
    bool last = e->closing && !e->sessions && !e->stopping;
    uv_mutex_unlock(&e->lock);
    if (!last)
        return;
    stop_threads(e);
    uv_close((uv_handle_t *)&e->awake, on_awake_closed);
}

void engine_close(struct engine *e, void (*closed)(void *ctx), void *ctx)
{
    e->closing = true;
    e->closed = closed;
    e->closed_ctx = ctx;
    for (struct session *s = e->sessions; s; s = s->next)
        session_close(s);
    engine_notify(e);
}
