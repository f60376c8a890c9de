/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine's life: device, threads, and the way back to the loop thread.
 *
 * Start: engine_create opens the device, then starts the coders and the device's thread. End:
 * engine_close closes every session. When the last has ended, the device's thread frees the stores
 * and stops, all threads are joined, and the device is closed. Everything that may still be in
 * flight then is a conjunction, see engine_maybe_closed.
 */
#include "daemon/worker/engine/engine.h"

#include "daemon/worker/memory/machine.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/split.h"
#include "daemon/worker/source/index_cache.h"
#include "daemon/worker/source/live_source.h"
#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/steps/coders.h"
#include "daemon/worker/steps/entropy_gpu.h"
#include "daemon/worker/steps/pool_ends.h"
#include "daemon/worker/steps/reconstruct.h"
#include "daemon/worker/steps/store.h"

#include <libavformat/avformat.h>
#include <stdlib.h>

void engine_notify(struct engine *e)
{
    uv_async_send(&e->loop.async);
}

void engine_expect(struct engine *e)
{
    atomic_store(&e->loop.awake_until_ns, now_ns() + LIVE_EXPECT_NS);
    engine_notify(e);
}

static void on_awake(uv_idle_t *awake)
{
    const struct engine *e = awake->data;
    if (now_ns() > atomic_load(&e->loop.awake_until_ns))
        uv_idle_stop(awake);
}

/* After the device's thread, which leaves the last ones. */
static void stop_pools(struct engine *e)
{
    if (!e->threads.pools_started)
        return;
    engine_lock(e);
    pools_tend(e, INT64_MAX);
    e->threads.pools_stopping = true;
    uv_cond_signal(&e->threads.pool_work);
    engine_unlock(e);
    uv_thread_join(&e->threads.pools);
}

static void stop_threads(struct engine *e)
{
    engine_lock(e);
    e->threads.stopping = true;
    wake_coders(&e->schedule, UINT32_MAX);
    wake_device(&e->schedule);
    wake_gpu_coder(&e->schedule);
    engine_unlock(e);
    coders_join(e);
    if (e->threads.device_started)
        uv_thread_join(&e->threads.device);
    stop_pools(e);
    entropy_gpu_stop(e);
    coders_free(e);
}

/* What its threads did, to the log of work on pelton. */
static void log_sums(const struct engine *e)
{
    char line[400];
    const struct device_sums *sums = &e->threads.device_sums;
    if (sums->batches) {
        device_sums_text(sums, line, sizeof(line));
        engine_log(e, 2, line);
        device_sums_choice(sums, line, sizeof(line));
        engine_log(e, 2, line);
        device_sums_submitting(sums, line, sizeof(line));
        engine_log(e, 2, line);
    }
    engine_lock_log(e);
}

static void engine_free(struct engine *e)
{
    live_sources_free(e->live);
    index_cache_free(e->indexes);
    memory_free(&e->memory);
    uv_mutex_destroy(&e->restores);
    uv_mutex_destroy(&e->gpu_opens);
    log_sums(e);
    engine_lock_destroy(e);
    free(e);
}

static void on_async_closed(uv_handle_t *handle)
{
    struct engine *e = handle->data;
    void (*closed)(void *ctx) = e->loop.closed;
    void *ctx = e->loop.closed_ctx;
    engine_free(e);
    if (closed)
        closed(ctx);
}

static void on_awake_closed(uv_handle_t *handle)
{
    struct engine *e = handle->data;
    uv_close((uv_handle_t *)&e->loop.async, on_async_closed);
}

static void engine_maybe_closed(struct engine *e)
{
    engine_lock(e);
    bool last = e->loop.closing && !e->sessions && !e->threads.stopping;
    engine_unlock(e);
    if (!last)
        return;
    stop_threads(e);
    uv_close((uv_handle_t *)&e->loop.awake, on_awake_closed);
}

/* An idle handle makes the loop go round without sleeping, so that the frame's own call finds it
 * awake. */
static void on_async(uv_async_t *async)
{
    struct engine *e = async->data;
    sessions_dispatch(e);
    if (atomic_load(&e->loop.awake_until_ns) > now_ns())
        uv_idle_start(&e->loop.awake, on_awake);
    engine_maybe_closed(e);
}

static int start_threads(struct engine *e)
{
    int err = coders_start(e);
    if (err)
        return err;
    if (uv_thread_create(&e->threads.pools, pools_thread_main, e))
        return PELTON_ERR_NOMEM;
    e->threads.pools_started = true;
    if (uv_thread_create(&e->threads.device, device_thread_main, e))
        return PELTON_ERR_NOMEM;
    e->threads.device_started = true;
    return entropy_gpu_start(e);
}

/* Of host memory that this worker may hold. */
static uint64_t host_budget(const struct engine *e)
{
    uint64_t bytes = machine_free_memory("") / MEMORY_HOST_PART;
    if (e->params.memory_host)
        return e->params.memory_host;
    return bytes > MEMORY_HOST_BUDGET ? MEMORY_HOST_BUDGET : bytes;
}

static uint64_t device_memory(const struct engine *e)
{
    return e->params.memory_device ? MEMORY_DEVICE_PART * e->params.memory_device
                                   : gpu_memory_free(e->params.gpu);
}

static int open_device(struct engine *e)
{
    e->device = gpu_info(e->params.gpu);
    e->software = e->device->software;
    if (e->params.tune)
        tune_open(e->device, e->params.log, e->params.log_ctx, &e->tune);
    else
        tune_preset(e->device, &e->tune);
    if (e->params.tune_force && !tune_force(e->params.tune_force, &e->tune)) {
        engine_log(e, 0, "tune_force names no such family and variant of kernels");
        return PELTON_ERR_USAGE;
    }
    return 0;
}

static unsigned cores_of(unsigned threads)
{
    return threads ? threads : machine_cpus("", (unsigned)uv_available_parallelism());
}

static void set_schedule(struct engine *e)
{
    uint64_t host = host_budget(e), window = host / MEMORY_WINDOW_PART, device = device_memory(e);
    window = window > MEMORY_WINDOW_BUDGET ? MEMORY_WINDOW_BUDGET : window;
    gpu_memory_limit(e->params.gpu, device / MEMORY_DEVICE_PART);
    e->schedule.setting =
        (struct schedule_setting){.entropy = e->params.entropy,
                                  .coders = e->threads.cores,
                                  .lookahead = e->params.lookahead,
                                  .batch = e->params.batch,
                                  .shuffle_seed = e->params.shuffle_seed,
                                  .window_budget = e->software ? 0 : window,
                                  .pool_budget = host / MEMORY_POOL_PART,
                                  .software = e->software,
                                  .discrete = e->device->kind == GPU_KIND_DISCRETE,
                                  .device_memory = device,
                                  .image_layers = e->device->image_layers,
                                  .tuning = e->schedule.setting.tuning};
    e->gpu = e->params.gpu;
}

/* libavcodec takes the number of threads alone. */
static void set_schedule_without_device(struct engine *e)
{
    e->lavc = e->software = true;
    e->schedule.setting = (struct schedule_setting){
        .coders = e->threads.cores, .software = true, .tuning = e->schedule.setting.tuning};
}

/* Picture arrays may lie in memory that the device fetches itself. */
static void set_memory(struct engine *e)
{
    uint64_t budget = e->schedule.setting.window_budget;
    if (budget > e->memory.limit || (budget && e->params.memory_host))
        e->memory.limit = budget;
    if (e->params.arena == 2 || (e->params.arena == 0 && !e->software)) {
        e->memory.gpu = e->gpu;
        e->memory.slab_bytes = e->software ? MEMORY_SLAB_SOFTWARE : MEMORY_SLAB;
    }
}

static int engine_open(struct engine *e)
{
    av_log_set_level(AV_LOG_QUIET);
    e->idle_ns = e->params.idle_ns ? e->params.idle_ns : MEMORY_IDLE_NS;
    e->live = live_sources_create(e->params.kept_units ? e->params.kept_units : LIVE_KEPT,
                                  e->params.memory_host ? e->params.memory_host / LIVE_SHARE
                                                        : UINT64_MAX);
    e->indexes = index_cache_create();
    if (!e->live || !e->indexes)
        return PELTON_ERR_NOMEM;
    if (!split_tuning_parse(e->params.split, &e->schedule.setting.tuning)) {
        engine_log(e, 0, "debug.split is no list as batches=4,choice=2");
        return PELTON_ERR_USAGE;
    }
    if (e->params.gpu) {
        int err = open_device(e);
        if (err)
            return err;
        set_schedule(e);
        set_memory(e);
    } else {
        set_schedule_without_device(e);
    }
    e->params.tune_force = e->params.split = NULL; /* borrowed for the call */
    return uv_async_init(e->loop.loop, &e->loop.async, on_async) ? PELTON_ERR_NOMEM : 0;
}

bool engine_expects_little(uint64_t bytes, unsigned threads)
{
    return split_is_short(bytes, cores_of(threads));
}

/* What engine_free takes down; nothing is left of it on failure. */
static int engine_init(struct engine *e)
{
    if (uv_mutex_init(&e->gpu_opens))
        return PELTON_ERR_NOMEM;
    if (uv_mutex_init(&e->restores))
        goto opens;
    if (engine_lock_init(e))
        goto restores;
    if (memory_init(&e->memory, MEMORY_CACHE))
        goto lock;
    return 0;
lock:
    engine_lock_destroy(e);
restores:
    uv_mutex_destroy(&e->restores);
opens:
    uv_mutex_destroy(&e->gpu_opens);
    return PELTON_ERR_NOMEM;
}

int engine_create(uv_loop_t *loop, const struct engine_params *params, struct engine **out)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e)
        return PELTON_ERR_NOMEM;
    e->loop.loop = loop;
    e->noted_tail = &e->noted;
    e->params = *params;
    e->threads.cores = cores_of(params->threads);
    if (engine_init(e)) {
        free(e);
        return PELTON_ERR_NOMEM;
    }
    int err = engine_open(e);
    if (err) {
        engine_free(e);
        return err;
    }
    uv_idle_init(loop, &e->loop.awake);
    e->loop.async.data = e->loop.awake.data = e;
    err = e->gpu ? start_threads(e) : 0;
    if (err) {
        stop_threads(e);
        uv_close((uv_handle_t *)&e->loop.awake, on_awake_closed);
        return err;
    }
    if (!e->software && store_warm_up(e) < 0) /* which would have the streams' cores */
        engine_log(e, 2, "pipelines are made by the first stream");
    *out = e;
    return 0;
}

/* Coders that rest or go on see it when they look for work next. */
void engine_share_cores(struct engine *e, unsigned engines)
{
    unsigned cores = e->threads.cores, n = engines ? engines : 1;
    engine_lock(e);
    e->schedule.setting.coders = cores / n + (cores % n != 0);
    coders_recall(e);
    engine_unlock(e);
}

void engine_add_encoders(struct engine *e, int count)
{
    engine_lock(e);
    e->schedule.encoders += (uint32_t)count;
    engine_unlock(e);
}

/* Sessions that exist already do not use the schedule yet. */
static int open_device_late(struct engine *e)
{
    int err = e->params.open_gpu(e->params.open_gpu_ctx, &e->params.gpu);
    err = err ? err : open_device(e);
    if (err)
        return err;
    engine_lock(e);
    set_schedule(e);
    engine_unlock(e);
    return e->gpu_error = start_threads(e);
}

int engine_need_gpu(struct engine *e)
{
    uv_mutex_lock(&e->gpu_opens);
    int err = e->gpu ? e->gpu_error : open_device_late(e);
    uv_mutex_unlock(&e->gpu_opens);
    return err;
}

const struct gpu_device_info *engine_device(const struct engine *e)
{
    return e->device;
}

uint32_t engine_entropy_pictures(struct engine *e)
{
    engine_lock(e);
    uint32_t pictures = e->schedule.split.depth;
    engine_unlock(e);
    return pictures;
}

/* ---- what it holds ---- */

_Static_assert((int)GPU_USE_SLOTS == (int)PELTON_MEMORY_SLOTS &&
                   (int)GPU_USE_CAMERAS == (int)PELTON_MEMORY_CAMERAS &&
                   (int)GPU_USES == (int)PELTON_MEMORY_HEAP,
               "the device's uses are the first ones of the reader's");

void engine_refused(struct engine *e, uint64_t out[H264_LIMITS])
{
    engine_lock(e);
    memcpy(out, e->refused, sizeof(e->refused));
    engine_unlock(e);
}

void engine_live(struct engine *e, struct live_usage *out)
{
    live_sources_usage(e->live, out);
}

void engine_memory(struct engine *e, struct pelton_stats *out)
{
    struct gpu_held held = {0};
    if (e->gpu)
        gpu_memory_held(e->gpu, &held);
    for (int i = 0; i < GPU_USES; i++) {
        out->worker_gpu[i] = held.device[i];
        out->worker_host[i] = held.host[i];
    }
    struct live_usage live;
    live_sources_usage(e->live, &live);
    out->worker_host[PELTON_MEMORY_HEAP] = memory_heap(&e->memory) + live.held;
}

/* ---- its end ---- */

void engine_leave(struct engine *e)
{
    engine_lock(e);
    entropy_gpu_leave(e);
    log_sums(e);
    engine_unlock(e);
}

void engine_close(struct engine *e, void (*closed)(void *ctx), void *ctx)
{
    e->loop.closing = true;
    e->loop.closed = closed;
    e->loop.closed_ctx = ctx;
    for (struct session *s = e->sessions; s; s = s->place.next)
        session_close(s);
    engine_notify(e);
}
