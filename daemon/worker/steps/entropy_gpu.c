/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: a thread takes batches of pictures out of the entropy queue, has the
 * device decode their slices, and hands each picture back, decoded or refused.
 *
 * It looks after the batches of motion, too (motion_gpu.h). The failure modes are a lost device and
 * one without memory: everything goes back, the thread rests, and the CPU decodes all from then on.
 *
 * Thread: its own. Batches are the thread's; the engine's lock guards pictures and statistics.
 */
#include "daemon/worker/steps/entropy_gpu.h"

#include "codec/h264_export.h"
#include "daemon/worker/memory/device_memory.h"
#include "daemon/worker/memory/prefetch.h"
#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/steps/entropy_batch.h"
#include "daemon/worker/steps/motion_gpu.h"
#include "daemon/worker/steps/records_needed.h"
#include "gpu/h264/gpu_entropy.h"
#include "proto/start_trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- the thread ---- */

/* The device cannot, or not any more: the CPU does it all. With the lock. */
static void entropy_gpu_fail(struct entropy_gpu *g, int error)
{
    struct engine *e = g->engine;
    char line[160];
    g->failed = true;
    e->schedule.split.all = false;
    e->schedule.split.depth = e->schedule.split.batch = 0;
    wake_coders(&e->schedule, UINT32_MAX);
    if (error == GPU_ERR_LOST)
        return; /* the device's thread says so */
    snprintf(line, sizeof(line), "no entropy decoding on the GPU: %.100s", gpu_error_text(error));
    engine_log(e, error == GPU_ERR_FEATURE ? 2 : 1, line);
}

/* The device is done with its part, or has failed. With the lock, dropped meanwhile. */
static void batch_step(struct entropy_gpu *g, struct entropy_batch *b, int err)
{
    struct engine *e = g->engine;
    bool over = false;
    engine_unlock(e);
    if (!err)
        err = entropy_batch_advance(g, b, &over);
    if (err)
        entropy_batch_forget(g, b);
    engine_lock(e);
    if (err && err != GPU_ERR_INVALID)
        entropy_gpu_fail(g, err);
    b->phase = BATCH_FETCHING;
    entropy_batch_keep(&e->schedule, b);
    if (!err && over)
        entropy_batch_measure(&e->schedule.split, b, now_ns());
    if (err || over)
        entropy_batch_settle(g, b);
}

/* With the lock, dropped meanwhile. */
static bool batches_step(struct entropy_gpu *g)
{
    int states[SPLIT_BATCHES];
    bool any = false;
    if (!g->busy)
        return false;
    engine_unlock(g->engine);
    for (uint32_t i = 0; i < g->capacity.batches; i++)
        states[i] = g->batches[i].phase == BATCH_FREE ? 1 : gpu_entropy_poll(g->batches[i].work);
    engine_lock(g->engine);
    for (uint32_t i = 0; i < g->capacity.batches; i++) {
        if (states[i] > 0)
            continue;
        batch_step(g, &g->batches[i], states[i]);
        any = true;
    }
    return any;
}

/* Pipelines and buffers are made when there is enough work for them, which takes a while. With the
 * lock, dropped meanwhile. */
static bool entropy_gpu_open(struct entropy_gpu *g)
{
    struct engine *e = g->engine;
    if (g->gpu || g->failed || !split_worth(&e->schedule))
        return false;
    struct ent_tables tables;
    struct gpu_entropy_params params = {.batches = g->capacity.batches,
                                        .pictures = g->capacity.pictures,
                                        .slices = g->capacity.slices,
                                        .mbs = g->capacity.mbs,
                                        .coeff_blocks = g->capacity.coeff_blocks,
                                        .packed_words = g->capacity.packed_words,
                                        .bytes = g->capacity.bytes,
                                        .tables = &tables};
    struct gpu_entropy *gpu = NULL;
    uint64_t limit = e->params.entropy_memory;
    bool cavlc = !e->schedule.entropy.first->pic->slices[0].pps->entropy_coding_mode_flag;
    engine_unlock(e);
    START_TRACE_FIRST("entropy decoding on the GPU is wanted");
    h264_entropy_tables(&tables);
    int err = gpu_entropy_create(e->gpu, &params, &gpu);
    if (!err)
        err = gpu_entropy_prepare(gpu, cavlc);
    limit = limit ? limit : split_resident_limit(&e->schedule.setting);
    struct resident *resident = resident_create(e->gpu, limit);
    g->arrays = array_maker_start(&e->memory, resident);
    struct motion_gpu *motion = err ? NULL : motion_gpu_create(e, resident);
    START_TRACE_FIRST("entropy decoding on the GPU is made");
    engine_lock(e);
    g->motion = motion;
    e->schedule.split.motion_mbs = motion_gpu_most(motion);
    g->gpu = gpu;
    g->resident = resident;
    if (err)
        entropy_gpu_fail(g, err);
    return true;
}

/* On average, of those in work. */
static uint32_t batch_pictures(const struct entropy_gpu *g)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->capacity.batches; i++)
        count += g->batches[i].phase == BATCH_FREE ? 0 : g->batches[i].count;
    return g->busy ? count / g->busy : 0;
}

static struct entropy_batch *free_batch(struct entropy_gpu *g)
{
    uint32_t most = split_batches(&g->engine->schedule, &g->capacity, batch_pictures(g));
    if (g->busy >= g->most || g->busy >= most || g->busy >= SPLIT_FIRST_BATCHES + g->done)
        return NULL;
    for (uint32_t i = 0; i < g->capacity.batches; i++)
        if (g->batches[i].phase == BATCH_FREE)
            return &g->batches[i];
    return NULL;
}

/* Arrays for a batch more than there are in work: a picture that waits for memory once it is
 * decoded would be late. All pictures are thought to be like the first in the queue. With the
 * lock. */
static bool arrays_ready(struct entropy_gpu *g)
{
    const struct entropy_queue *q = &g->engine->schedule.entropy;
    uint32_t mb_count = q->first->pic->mb_count;
    const struct schedule *s = &g->engine->schedule;
    struct split_capacity room = split_part(&g->capacity, split_room(s, &g->capacity));
    uint32_t count = split_next_pictures(s, &room, mb_count);
    for (uint32_t i = 0; i < g->capacity.batches; i++)
        count += g->batches[i].phase == BATCH_DECODING ? g->batches[i].count : 0;
    /* and records of the coders' pictures */
    uint64_t records = g->motion ? 2 * motion_gpu_record_bytes(mb_count) : 0;
    /* of others than references they stay on the device, and of most references, too */
    bool reads = window_reads_records(q->first->window);
    uint32_t host = !g->motion ? count : reads ? count / 2 + 1 : 1;
    return array_maker_ready(g->arrays, mb_count, host,
                             count * (q->bytes / q->count * SPLIT_LEVEL_BYTES + records));
}

/* Bytes of the device that sessions are charged for. With the lock. */
static void entropy_gpu_count(struct entropy_gpu *g)
{
    uint64_t most;
    g->engine->entropy_bytes = (g->gpu ? gpu_entropy_bytes(g->gpu) : 0) +
                               resident_bytes(g->resident, &most) + motion_gpu_memory(g->motion);
}

/* Memory for one more batch is made before pictures are taken, which would have to wait for it.
 * With the lock, dropped meanwhile. */
static bool next_work(struct entropy_gpu *g)
{
    struct engine *e = g->engine;
    if (g->next)
        return true;
    if (!split_worth(&e->schedule))
        return false;
    /* within the budget; once there is room again it goes on */
    uint64_t refused = gpu_memory_refused(e->gpu);
    uint32_t pictures = split_room(&e->schedule, &g->capacity);
    uint64_t more = gpu_entropy_needs(g->gpu, pictures);
    if (gpu_memory_wanted(e->gpu) || (more && !gpu_memory_fits(e->gpu, more)))
        return false;
    engine_unlock(e);
    g->next = gpu_entropy_begin(g->gpu, pictures);
    engine_lock(e);
    if (g->next && g->busy + 1 > g->made)
        g->made = g->busy + 1;
    if (g->next || gpu_memory_refused(e->gpu) != refused)
        return g->next != NULL;
    if (g->busy)
        g->most = g->busy;
    else
        entropy_gpu_fail(g, GPU_ERR_NOMEM);
    return g->next != NULL;
}

/* A batch with pictures that has memory: *out. With the lock, dropped meanwhile. */
static enum entropy_wait next_batch(struct entropy_gpu *g, struct entropy_batch **out)
{
    struct schedule *s = &g->engine->schedule;
    *out = free_batch(g);
    if (!*out)
        return ENTROPY_WAIT_BATCH;
    if (!s->entropy.first)
        return ENTROPY_WAIT_PICTURES;
    if (!arrays_ready(g))
        return ENTROPY_WAIT_ARRAYS;
    if (!next_work(g)) {
        if (s->split.all && !g->busy && split_worth(s))
            split_leave(s);
        return split_worth(s) ? ENTROPY_WAIT_MEMORY : ENTROPY_WAIT_PICTURES;
    }
    if (entropy_batch_fill(g, *out))
        return ENTROPY_BEGUN;
    return s->split.full ? ENTROPY_WAIT_KEPT : ENTROPY_WAIT_FAR;
}

/* A new batch, if there is enough for one. With the lock, dropped meanwhile. */
static bool batch_begin(struct entropy_gpu *g)
{
    struct engine *e = g->engine;
    struct entropy_batch *b;
    if (!g->gpu || g->failed)
        return false;
    uint32_t busy = g->busy;
    enum entropy_wait wait = next_batch(g, &b);
    entropy_sums_look(&g->sum, wait, busy, busy || e->schedule.entropy.first, now_ns());
    if (wait != ENTROPY_BEGUN)
        return false;
    gpu_entropy_share(g->gpu, split_share(&e->schedule));
    engine_unlock(e);
    int err = entropy_batch_submit(g, b);
    if (err)
        entropy_batch_forget(g, b);
    engine_lock(e);
    if (err == GPU_ERR_NOMEM && g->busy > 1)
        g->most = g->busy - 1;
    else if (err && err != GPU_ERR_INVALID)
        entropy_gpu_fail(g, err);
    if (err)
        entropy_batch_settle(g, b);
    return true;
}

/* After a while without work, or for a stream that waits for memory: batches and results. With the
 * lock, dropped meanwhile. */
static void entropy_gpu_give_back(struct entropy_gpu *g)
{
    struct engine *e = g->engine;
    engine_unlock(e);
    gpu_entropy_end(g->next);
    g->next = NULL;
    gpu_entropy_trim(g->gpu);
    motion_gpu_trim(g->motion);
    resident_trim(g->resident);
    engine_lock(e);
    g->made = 0;
    g->most = g->capacity.batches;
    g->holds = false;
}

/* With the lock, dropped meanwhile. */
static void entropy_gpu_watch(struct entropy_gpu *g, bool works)
{
    int64_t now = now_ns();
    if (works || g->busy || motion_gpu_works(g->motion)) {
        g->worked_ns = now;
        g->holds = g->gpu != NULL;
    } else if (g->holds &&
               (now - g->worked_ns >= g->engine->idle_ns || gpu_memory_wanted(g->engine->gpu))) {
        entropy_gpu_give_back(g);
    }
}

/* Until there is work, or a batch is done, or it is time to look again. */
static void entropy_gpu_rest(struct entropy_gpu *g)
{
    struct engine *e = g->engine;
    struct engine_threads *t = &e->threads;
    engine_signal(e); /* for others: from now on the next signal may be for this thread */
    bool busy = g->busy || motion_gpu_works(g->motion);
    if (busy || (e->schedule.entropy.first && !g->failed && !t->stopping)) {
        /* gpu_entropy_wait would spin in some drivers */
        engine_wait(e, &t->gpu_coder_work, busy ? SPLIT_LOOK_BUSY_NS : SPLIT_LOOK_NS);
        return;
    }
    uint64_t look = g->holds ? (uint64_t)e->idle_ns / MEMORY_IDLE_LOOKS + 1 : 0;
    t->gpu_coder_sleeps = true;
    while (t->gpu_coder_sleeps && !t->stopping) {
        engine_wait(e, &t->gpu_coder_work, look);
        t->gpu_coder_sleeps &= !look;
    }
}

static double entropy_gpu_cpu_seconds(const struct entropy_gpu *g)
{
    struct timespec t = {0};
    clockid_t clock;
    if (pthread_getcpuclockid(g->thread, &clock) == 0)
        clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void entropy_gpu_log(const struct entropy_gpu *g)
{
    uint64_t most;
    char line[512];
    resident_bytes(g->resident, &most);
    records_needed_log(g->engine);
    if (!g->sum.batches)
        return;
    entropy_sums_text(&g->sum, g->made, most, entropy_gpu_cpu_seconds(g), line, sizeof(line));
    engine_log(g->engine, 2, line);
    entropy_sums_waits(&g->sum, line, sizeof(line));
    engine_log(g->engine, 2, line);
}

static void entropy_gpu_main(void *arg)
{
    struct entropy_gpu *g = arg;
    struct engine *e = g->engine;
    pthread_setname_np(pthread_self(), "pelton-entropy");
    engine_lock(e);
    while (!e->threads.stopping || g->busy || motion_gpu_works(g->motion)) {
        bool any = motion_gpu_step(g->motion);
        entropy_sums_step(&g->sum, ENTROPY_STEP_MOTION, now_ns());
        any |= batches_step(g);
        entropy_sums_step(&g->sum, ENTROPY_STEP_DECODED, now_ns());
        any |= entropy_gpu_open(g) || batch_begin(g);
        entropy_gpu_watch(g, any);
        entropy_gpu_count(g);
        entropy_sums_step(&g->sum, ENTROPY_STEP_BEGINS, now_ns());
        if (!any)
            entropy_gpu_rest(g);
        entropy_sums_step(&g->sum, ENTROPY_STEP_RESTS, now_ns());
    }
    engine_unlock(e);
    entropy_gpu_log(g);
    motion_gpu_log(g->motion);
    gpu_entropy_end(g->next);
    gpu_entropy_free(g->gpu);
    motion_gpu_free(g->motion);
}

/* ---- from other threads ---- */

int entropy_gpu_start(struct engine *e)
{
    struct split *split = &e->schedule.split;
    struct split_capacity capacity =
        split_capacity_of(&e->schedule.setting, gpu_has_background(e->gpu));
    if (!capacity.pictures)
        return 0;
    struct entropy_gpu *g = calloc(1, sizeof(*g));
    if (!g)
        return PELTON_ERR_NOMEM;
    g->engine = e;
    g->capacity = capacity;
    g->most = capacity.batches;
    engine_lock(e); /* the device's thread runs already */
    if (uv_thread_create(&g->thread, entropy_gpu_main, g)) {
        engine_unlock(e);
        free(g);
        return PELTON_ERR_NOMEM;
    }
    split->all = e->params.entropy == ENGINE_ENTROPY_GPU;
    split->depth = capacity.batches * capacity.pictures;
    split->batch = capacity.pictures;
    split->present = true;
    e->entropy_gpu = g;
    engine_unlock(e);
    return 0;
}

void entropy_gpu_leave(struct engine *e)
{
    if (!e->entropy_gpu)
        return;
    entropy_gpu_log(e->entropy_gpu);
    motion_gpu_log(e->entropy_gpu->motion);
}

void entropy_gpu_stop(struct engine *e)
{
    struct entropy_gpu *g = e->entropy_gpu;
    if (!g)
        return;
    uv_thread_join(&g->thread);
    array_maker_stop(g->arrays);
    resident_free(g->resident);
    free(g);
    e->entropy_gpu = NULL;
}
