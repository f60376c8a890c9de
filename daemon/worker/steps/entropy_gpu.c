/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: the thread that takes groups of pictures out of the entropy queue,
 * has their slices decoded by the device, and gives each picture to the workers: to be taken over
 * (workers.c), or into the queue at its turn, to be decoded.
 *
 * A group is one batch of gpu/h264/gpu_entropy.h: FREE -> DECODING (slices exported and submitted)
 * -> FETCHING (arrays exist, the device copies into them) -> FREE. Coefficients, which nobody but
 * reconstruction reads, stay in the device's memory as long as there is room (resident.h), as do
 * the records of pictures whose motion the device derives, too (motion_gpu.h, whose batches this
 * thread looks after). Jobs of a group are in no queue and nobody else's. What is damaged is the
 * CPU's: the device only says that it did not get through. The failure modes are a device that is
 * lost or that has no memory: everything goes back, the thread ends, and the CPU decodes all from
 * then on.
 *
 * Thread: its own; engine.lock guards the jobs' fields and the statistics, groups are the thread's.
 */
#include "daemon/worker/memory/prefetch.h"
#include "daemon/worker/steps/entropy_gpu.h"
#include "daemon/worker/steps/motion_gpu.h"
#include "daemon/worker/memory/device_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* between two looks at batches in work, which take many times as long, and at the queue */
#define LOOK_NS 2000000u

/* at once after none was in work, and one more for each that is done: many take longer than few,
 * and estimates follow */
#define FIRST_GROUPS 2
/* units a macroblock: arrays of few different sizes, as memory is kept by size */
#define UNITS_STEP 3

enum group_phase { GROUP_FREE, GROUP_DECODING, GROUP_FETCHING };

struct group {
    enum group_phase phase;
    struct gpu_entropy_batch *batch;
    uint32_t count;
    struct {
        struct job *job;
        uint32_t picture, units; /* in the batch; units 0: not decoded there */
    } parts[ENTROPY_PICTURES];
    uint64_t largest; /* weight of the largest slice */
    uint64_t bytes;
    int64_t begin_ns, decoded_ns;
    double seconds; /* of the device */
};

struct entropy_gpu {
    struct engine *engine;
    struct entropy_capacity capacity;
    struct gpu_entropy *gpu; /* with the lock; NULL: not needed yet */
    /* as long as pictures may lie there; NULL: not needed yet, or no memory */
    struct resident *resident;
    struct gpu_entropy_batch *next; /* whose memory exists, for the next group; NULL: none */
    struct array_maker *arrays;
    struct motion_gpu *motion; /* NULL: not needed yet, or the workers do it */
    bool failed;               /* with the lock: it could not be made, or fails */
    bool waits;                /* with the lock: the thread sleeps until there is work */
    uv_cond_t work;
    uv_thread_t thread;
    /* groups in work; that ever were at once, whose memory exists; that may be, as memory allows */
    uint32_t busy, made, most;
    uint32_t done; /* since none was in work */
    double cpu;    /* seconds of this thread that are charged already */
    struct {
        uint64_t batches, decoded, given_back, stayed, late; /* stayed: coefficients that did */
        /* sums over batches: from the queue until decoded and fetched; weight of the largest slice
         */
        double seconds, device, largest;
    } sum;
    struct group groups[ENTROPY_BATCHES];
};

/* ---- jobs back to the workers ---- */

/* What was spent since the last time, to the sessions of the group. With the lock. */
static void charge(struct entropy_gpu *g, const struct group *group)
{
    double cpu = thread_cpu_seconds(), spent = (cpu - g->cpu) / (group->count ? group->count : 1);
    g->cpu = cpu;
    for (uint32_t i = 0; i < group->count; i++) {
        struct session *s = group->parts[i].job->session;
        s->stats.cpu_entropy += spent;
        if (group->bytes)
            s->stats.gpu_entropy += group->seconds * (double)group->parts[i].job->pic->bytes_size /
                                    (double)group->bytes;
    }
}

static void note(struct entropy_gpu *g, const struct group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        *(group->parts[i].units ? &g->sum.decoded : &g->sum.given_back) += 1;
    g->sum.batches++;
    g->sum.seconds += 1e-9 * (double)(now_ns() - group->begin_ns);
    g->sum.device += group->seconds;
    g->sum.largest += (double)group->largest;
}

/* The workers have gone on behind it until they were too far ahead. */
static bool is_late(const struct engine *e, const struct job *job)
{
    return !e->entropy_all && job->turn + job->session->arrays_most < e->turn_taken;
}

/* The group is over: its pictures are decoded, or the CPU's, or nobody wants them any more. With
 * the lock. */
static void settle(struct entropy_gpu *g, struct group *group)
{
    struct engine *e = g->engine;
    uint32_t late = 0;
    charge(g, group);
    for (uint32_t i = 0; i < group->count; i++) {
        struct job *job = group->parts[i].job;
        late += is_late(e, job);
        if (group->parts[i].units)
            job_fetched(e, job, group->parts[i].units);
        else if (job->session->abort)
            job_decoded(e, job);
        else
            job_give_back(e, job);
    }
    g->sum.late += late;
    entropy_learn(e, late);
    note(g, group);
    group->count = 0;
    group->phase = GROUP_FREE;
    g->busy--;
    g->done = g->busy ? g->done + 1 : 0;
}

/* None of it was decoded there. Without the lock. */
static void forget(struct entropy_gpu *g, struct group *group)
{
    gpu_entropy_end(group->batch);
    group->batch = NULL;
    for (uint32_t i = 0; i < group->count; i++) {
        motion_gpu_drop(g->motion, group->parts[i].job);
        if (group->parts[i].units)
            h264_picture_free_arrays(group->parts[i].job->pic);
        group->parts[i].units = 0;
    }
}

/* ---- one batch ---- */

static int add_slices(struct gpu_entropy_batch *b, const struct h264_picture *pic, uint32_t picture)
{
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        struct ent_slice slice;
        size_t size;
        uint8_t *bytes = gpu_entropy_slice_bytes(b, h264_slice_entropy_size(&pic->slices[i]));
        if (!bytes)
            return GPU_ERR_NOMEM;
        if (h264_slice_export_entropy(&pic->slices[i], &slice, bytes, &size))
            return GPU_ERR_INVALID;
        int err = gpu_entropy_add_slice(b, picture, &slice, size);
        if (err)
            return err;
    }
    return GPU_OK;
}

/* Pictures that could not be added are not ok in the end. Without the lock. */
static int begin(struct entropy_gpu *g, struct group *group)
{
    uint32_t added = 0;
    group->batch = g->next;
    g->next = NULL;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct h264_picture *pic = group->parts[i].job->pic;
        uint32_t *picture = &group->parts[i].picture;
        int err = gpu_entropy_add_picture(group->batch, pic->mb_count, entropy_units(pic), picture);
        if (err)
            *picture = UINT32_MAX;
        else
            added += add_slices(group->batch, pic, *picture) == GPU_OK;
    }
    return added ? gpu_entropy_submit(group->batch) : GPU_ERR_INVALID;
}

/* Where the coefficients go: they stay on the device, or, where it has no room, to the host. */
static bool alloc_arrays(struct entropy_gpu *g, struct h264_picture *pic, uint32_t units,
                         bool records)
{
    uint32_t step = pic->mb_count * UNITS_STEP;
    if (g->resident && h264_picture_alloc_blocks(pic, units, resident_allocator(g->resident),
                                                 records) == H264_OK) {
        g->sum.stayed++;
        return true;
    }
    h264_picture_free_arrays(pic);
    if (h264_picture_alloc_blocks(pic, (units + step - 1) / step * step, NULL, records) == H264_OK)
        return true;
    h264_picture_free_arrays(pic);
    return false;
}

/* The picture's arrays, which the device is to fill; none where it has not decoded it, or where
 * there is no memory. */
static int fetch(struct entropy_gpu *g, struct group *group, uint32_t i)
{
    struct job *job = group->parts[i].job;
    struct h264_picture *pic = job->pic;
    uint32_t units;
    if (group->parts[i].picture == UINT32_MAX ||
        !gpu_entropy_picture_ok(group->batch, group->parts[i].picture, &units))
        return GPU_OK;
    units = units ? units : 1;
    bool kept = motion_gpu_keep(g->motion, job);
    if (!alloc_arrays(g, pic, units, !kept || motion_gpu_wants_host(job))) {
        motion_gpu_drop(g->motion, job);
        return GPU_OK;
    }
    group->parts[i].units = units;
    struct gpu_entropy_target to = {.mbs = pic->arrays.mbs,
                                    .motion = pic->arrays.motion,
                                    .syntax = pic->arrays.syntax,
                                    .coeffs = pic->arrays.coeffs};
    if (kept)
        motion_gpu_places(job, &to);
    return gpu_entropy_fetch(group->batch, group->parts[i].picture, &to);
}

static int fetch_all(struct entropy_gpu *g, struct group *group)
{
    bool any = false;
    int err = GPU_OK;
    for (uint32_t i = 0; i < group->count && err == GPU_OK; i++) {
        err = fetch(g, group, i);
        any |= group->parts[i].units != 0;
    }
    group->seconds = gpu_entropy_seconds(group->batch);
    return err < 0 ? err : any ? gpu_entropy_fetch_submit(group->batch) : GPU_ERR_INVALID;
}

/* ---- the thread ---- */

/* The device cannot, or not any more: the CPU does it all. With the lock. */
static void fail(struct entropy_gpu *g, int error)
{
    struct engine *e = g->engine;
    char line[160];
    g->failed = true;
    e->entropy_all = false;
    workers_wake(e, UINT_MAX);
    if (error == GPU_ERR_LOST)
        return; /* the GPU thread says so */
    snprintf(line, sizeof(line), "no entropy decoding on the GPU: %.100s", gpu_error_text(error));
    if (e->params.log)
        e->params.log(e->params.log_ctx, error == GPU_ERR_FEATURE ? 2 : 1, line);
}

/* With the lock, dropped meanwhile. */
static bool group_step(struct entropy_gpu *g, struct group *group)
{
    struct engine *e = g->engine;
    uv_mutex_unlock(&e->lock);
    int err = gpu_entropy_poll(group->batch);
    if (err > 0) {
        uv_mutex_lock(&e->lock);
        return false;
    }
    if (group->phase == GROUP_DECODING)
        group->decoded_ns = now_ns();
    bool over = err < 0 || group->phase == GROUP_FETCHING, nothing = false;
    if (err == 0 && group->phase == GROUP_FETCHING) {
        gpu_entropy_end(group->batch);
        group->batch = NULL;
    } else if (err == 0) {
        err = fetch_all(g, group);
        nothing = err == GPU_ERR_INVALID;
        over = err != 0;
    }
    if (err)
        forget(g, group);
    uv_mutex_lock(&e->lock);
    if (err && !nothing)
        fail(g, err);
    group->phase = GROUP_FETCHING;
    for (uint32_t i = 0; i < group->count; i++)
        if (group->parts[i].units && !group->parts[i].job->pic->arrays.coeffs_from)
            entropy_keep_units(e, group->parts[i].job, group->parts[i].units);
    if (!over)
        return true;
    if (!err) {
        entropy_rate_add(&e->gpu_rate, 1e-9 * (double)(group->decoded_ns - group->begin_ns),
                         (double)group->largest);
        entropy_rate_add(&e->gpu_fetch, 1e-9 * (double)(now_ns() - group->decoded_ns), 1);
    }
    settle(g, group);
    return true;
}

/* Pipelines and buffers are made when there is work enough for them, which takes a while. With the
 * lock, dropped meanwhile. */
static bool open_gpu(struct entropy_gpu *g)
{
    struct engine *e = g->engine;
    if (g->gpu || g->failed || !entropy_worth(e))
        return false;
    struct ent_tables tables;
    struct gpu_entropy_params params = {.batches = g->capacity.batches,
                                        .pictures = g->capacity.pictures,
                                        .slices = g->capacity.slices,
                                        .mbs = g->capacity.mbs,
                                        .coeff_blocks = g->capacity.units,
                                        .bytes = g->capacity.bytes,
                                        .tables = &tables};
    struct gpu_entropy *gpu = NULL;
    uv_mutex_unlock(&e->lock);
    h264_entropy_tables(&tables);
    int err = gpu_entropy_create(e->gpu, &params, &gpu);
    if (!err)
        err = gpu_entropy_prepare(gpu);
    struct resident *resident = resident_create(e->gpu, entropy_resident_limit(e));
    g->arrays = array_maker_start(&e->memory, resident);
    struct motion_gpu *motion = err ? NULL : motion_gpu_create(e, resident);
    uv_mutex_lock(&e->lock);
    g->motion = motion;
    e->derives = motion_gpu_most(motion);
    g->gpu = gpu;
    g->resident = resident;
    if (err)
        fail(g, err);
    return true;
}

static struct group *free_group(struct entropy_gpu *g)
{
    if (g->busy >= g->most || g->busy >= FIRST_GROUPS + g->done)
        return NULL;
    for (uint32_t i = 0; i < g->capacity.batches; i++)
        if (g->groups[i].phase == GROUP_FREE)
            return &g->groups[i];
    return NULL;
}

/* Arrays for a whole group more than there are in work: what waits for memory once it is decoded
 * would be late. Pictures like the first in the queue are meant. With the lock. */
static bool arrays_ready(struct entropy_gpu *g)
{
    uint32_t mb_count = g->engine->entropy->pic->mb_count,
             count = entropy_batch_pictures(&g->capacity, mb_count);
    for (uint32_t i = 0; i < g->capacity.batches; i++)
        count += g->groups[i].phase == GROUP_DECODING ? g->groups[i].count : 0;
    /* and of the workers' */
    uint64_t bytes = g->engine->entropy_bytes / g->engine->entropy_count,
             raw = g->motion ? 2 * motion_gpu_raw_bytes(mb_count) : 0;
    return array_maker_ready(g->arrays, mb_count, count,
                             count * (bytes * ENTROPY_COEFF_BYTES + raw));
}

/* Memory for one more batch is made before pictures are taken for it, which would have to wait for
 * it. With the lock, dropped meanwhile. */
static bool next_batch(struct entropy_gpu *g)
{
    struct engine *e = g->engine;
    if (g->next)
        return true;
    if (!entropy_worth(e))
        return false;
    uv_mutex_unlock(&e->lock);
    g->next = gpu_entropy_begin(g->gpu);
    uv_mutex_lock(&e->lock);
    if (g->next && g->busy + 1 > g->made)
        g->made = g->busy + 1;
    if (!g->next && g->busy)
        g->most = g->busy;
    else if (!g->next)
        fail(g, GPU_ERR_NOMEM);
    return g->next != NULL;
}

/* A new group, if there is enough for one. With the lock, dropped meanwhile. */
static bool take(struct entropy_gpu *g)
{
    struct engine *e = g->engine;
    struct group *group = g->gpu && !g->failed ? free_group(g) : NULL;
    struct job *jobs[ENTROPY_PICTURES];
    if (!group || !e->entropy || !arrays_ready(g) || !next_batch(g))
        return false;
    group->count = entropy_choose(e, &g->capacity, jobs, &group->largest);
    if (!group->count)
        return false;
    group->begin_ns = now_ns();
    group->bytes = 0;
    group->seconds = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        group->parts[i].job = jobs[i];
        group->parts[i].units = 0;
        group->bytes += jobs[i]->pic->bytes_size;
        job_trace(jobs[i], PELTON_TRACE_ENTROPY_BEGIN);
    }
    group->phase = GROUP_DECODING;
    g->busy++;
    uv_mutex_unlock(&e->lock);
    int err = begin(g, group);
    if (err)
        forget(g, group);
    uv_mutex_lock(&e->lock);
    if (err == GPU_ERR_NOMEM && g->busy > 1)
        g->most = g->busy - 1;
    else if (err && err != GPU_ERR_INVALID)
        fail(g, err);
    if (err)
        settle(g, group);
    return true;
}

/* Until there is work, or a batch is done, or it is time to look again. */
static void rest(struct entropy_gpu *g)
{
    struct engine *e = g->engine;
    if (g->busy || motion_gpu_works(g->motion) || (e->entropy && !g->failed && !e->stopping)) {
        /* gpu_entropy_wait would spin in some drivers */
        uv_cond_timedwait(&g->work, &e->lock, LOOK_NS);
        return;
    }
    g->waits = true;
    while (g->waits && !e->stopping)
        uv_cond_wait(&g->work, &e->lock);
}

static void log_sums(const struct entropy_gpu *g)
{
    const struct engine *e = g->engine;
    double n = (double)g->sum.batches;
    uint64_t most;
    char line[400];
    resident_bytes(g->resident, &most);
    if (!g->sum.batches || !e->params.log)
        return;
    snprintf(line, sizeof(line),
             "entropy decoding on the GPU: %llu batches, at most %u at once, %llu pictures, %llu "
             "given back, %llu late; "
             "a batch: %.1f ms, %.1f of the device's, its largest slice as %.0f bytes; "
             "coefficients of %llu stayed there, at most %llu MiB; "
             "the thread's CPU time: %.3f s",
             (unsigned long long)g->sum.batches, g->made, (unsigned long long)g->sum.decoded,
             (unsigned long long)g->sum.given_back, (unsigned long long)g->sum.late,
             1e3 * g->sum.seconds / n, 1e3 * g->sum.device / n, g->sum.largest / n,
             (unsigned long long)g->sum.stayed, (unsigned long long)(most >> 20),
             thread_cpu_seconds());
    e->params.log(e->params.log_ctx, 2, line);
}

static void thread_main(void *arg)
{
    struct entropy_gpu *g = arg;
    struct engine *e = g->engine;
    pthread_setname_np(pthread_self(), "pelton-entropy");
    uv_mutex_lock(&e->lock);
    while (!e->stopping || g->busy || motion_gpu_works(g->motion)) {
        bool any = motion_gpu_step(g->motion);
        for (uint32_t i = 0; i < g->capacity.batches; i++)
            if (g->groups[i].phase != GROUP_FREE)
                any |= group_step(g, &g->groups[i]);
        any |= open_gpu(g) || take(g);
        if (!any)
            rest(g);
    }
    uv_mutex_unlock(&e->lock);
    gpu_entropy_end(g->next);
    gpu_entropy_free(g->gpu);
    log_sums(g);
    motion_gpu_free(g->motion);
}

/* ---- from other threads ---- */

int entropy_gpu_start(struct engine *e)
{
    /* which has one to itself */
    unsigned queues = gpu_background_queues(e->gpu), motion = queues > 1 && !e->params.cpu_motion;
    struct entropy_capacity capacity =
        entropy_capacity(e->params.entropy, e->device, queues - motion);
    if (!capacity.pictures)
        return 0;
    struct entropy_gpu *g = calloc(1, sizeof(*g));
    if (!g)
        return PELTON_ERR_NOMEM;
    g->engine = e;
    g->capacity = capacity;
    g->most = capacity.batches;
    if (uv_cond_init(&g->work)) {
        free(g);
        return PELTON_ERR_NOMEM;
    }
    if (uv_thread_create(&g->thread, thread_main, g)) {
        uv_cond_destroy(&g->work);
        free(g);
        return PELTON_ERR_NOMEM;
    }
    uv_mutex_lock(&e->lock); /* the GPU thread runs already */
    e->entropy_all = e->params.entropy == ENGINE_ENTROPY_GPU;
    e->entropy_gpu = g;
    uv_mutex_unlock(&e->lock);
    return 0;
}

void entropy_gpu_stop(struct engine *e)
{
    struct entropy_gpu *g = e->entropy_gpu;
    if (!g)
        return;
    uv_mutex_lock(&e->lock);
    uv_cond_signal(&g->work);
    uv_mutex_unlock(&e->lock);
    uv_thread_join(&g->thread);
    array_maker_stop(g->arrays);
    resident_free(g->resident);
    uv_cond_destroy(&g->work);
    free(g);
    e->entropy_gpu = NULL;
}

void entropy_gpu_wake(struct engine *e)
{
    struct entropy_gpu *g = e->entropy_gpu;
    if (g->waits && (!g->failed || e->derive)) {
        g->waits = false;
        uv_cond_signal(&g->work);
    }
}

bool entropy_gpu_works(const struct engine *e)
{
    const struct entropy_gpu *g = e->entropy_gpu;
    return g && !g->failed;
}

uint32_t entropy_gpu_depth(const struct engine *e)
{
    const struct entropy_gpu *g = e->entropy_gpu;
    return entropy_gpu_works(e) ? g->capacity.batches * g->capacity.pictures : 0;
}

uint64_t entropy_gpu_memory(const struct engine *e)
{
    const struct entropy_gpu *g = e->entropy_gpu;
    uint64_t most;
    return g ? g->made * entropy_batch_bytes(&g->capacity) + resident_bytes(g->resident, &most) +
                   motion_gpu_memory(g->motion)
             : 0;
}
