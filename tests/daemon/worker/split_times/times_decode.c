/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Coders of the simulation, and the GPU's entropy decoding and motion.
 *
 * A slice on the GPU takes a time of its own. Many at once share what the GPU can do, and
 * reconstruction beside them takes a part of that.
 */
#include "times.h"

#include "gpu/shaders/lib/entropy_args.h"

#include <stdlib.h>

/* ---- coders ---- */

static double coder_seconds(const struct picture *p)
{
    uint64_t bytes = p->entropy.bytes;
    bool intra = p->pic->slices[0].hdr.type == H264_I;
    double ns = machine.cpu[intra ? 0 : p->pic->refs_held_count > 2 ? 2 : 1];
    return 1e-9 * ns * (double)bytes;
}

static void coder_end(struct coder_work *w)
{
    struct picture *p = w->picture;
    double seconds = coder_seconds(p);
    split_rate_add(&sim.s.split.cpu_rate, seconds, (double)p->entropy.bytes);
    sim.s.split.cpu_spent += seconds;
    if (w->task == TASK_SLICES && coder_slices_done(p, 1)) {
        p->motion.coeff_blocks = 1;
        coder_decoded(&sim.s, p, true, NULL, sim_ns());
    } else if (w->task == TASK_MOTION) {
        coder_motion_done(&sim.s, p, false, sim_ns());
    }
    w->task = TASK_NONE;
}

void coders_step(void)
{
    uint64_t random = 1;
    for (uint32_t i = 0; i < CODERS; i++) {
        struct coder_work *w = &sim.work[i];
        if (w->task != TASK_NONE && sim.work_end_s[i] > sim.now_s)
            continue;
        if (w->task != TASK_NONE)
            coder_end(w);
        coder_take(&sim.s, &random, sim_ns(), w);
        if (w->task == TASK_ARRAYS)
            coder_arrays_done(&sim.s, w->picture, false, w);
        if (w->task == TASK_NONE)
            continue;
        sim.work_end_s[i] = sim.now_s + (w->task == TASK_SLICES ? coder_seconds(w->picture) : 1e-4);
        sim.sum.coders += sim.work_end_s[i] - sim.now_s;
    }
}

/* ---- the GPU ---- */

static double slice_seconds(const struct picture *p)
{
    return 1e-9 * machine.gpu * (double)p->entropy.largest_slice;
}

static int compare_slices(const void *a, const void *b)
{
    double x = slice_seconds(*(struct picture *const *)a);
    double y = slice_seconds(*(struct picture *const *)b);
    return (x > y) - (x < y);
}

/* Slices of a subgroup, as gpu_entropy_round.c chooses them when the batch begins. */
static uint32_t share_of(const struct sim_batch *b)
{
    uint32_t slices = b->count, share = split_share(&sim.s);
    for (uint32_t i = 0; i < SPLIT_BATCHES; i++)
        slices += sim.batches[i].works ? sim.batches[i].count - sim.batches[i].at : 0;
    return tuned(share, slices > ENT_ALONE ? ENT_SHARE_MOST : 1);
}

/* Threads of a subgroup wait for each other. */
static double share_slows(uint32_t share)
{
    double times = 1;
    for (uint32_t n = share; n > 1; n /= 2)
        times += machine.share;
    return times;
}

static void batch_settle(struct sim_batch *b)
{
    uint32_t late = 0;
    split_rate_add(&sim.s.split.gpu_rate, b->decoded_s - b->begin_s, (double)b->largest);
    split_rate_add(&sim.s.split.gpu_fetch, sim.now_s - b->decoded_s, 1);
    for (uint32_t i = 0; i < b->count; i++) {
        struct picture *p = b->pictures[i];
        late += split_is_late(&sim.s, p);
        p->records = p->coeffs = LIVES_DEVICE;
        p->motion.device_records = p;
        sim.sum.gpu_bytes += p->entropy.bytes;
        sim.resident += p->entropy.bytes;
        sim.waiting++;
        gpu_entropy_done(&sim.s, p, 1, sim_ns());
    }
    sim.sum.gpu_pictures += b->count;
    sim.sum.batches++;
    sim.sum.batch_s += sim.now_s - b->begin_s;
    sim.sum.late += late;
    split_learn(&sim.s, late);
    sim.done_batches++;
    b->works = false;
}

static uint32_t batch_pictures(uint32_t busy)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SPLIT_BATCHES; i++)
        count += sim.batches[i].works ? sim.batches[i].count : 0;
    return busy ? count / busy : 0;
}

static void batch_begin(uint32_t busy)
{
    struct sim_batch *b = sim.batches;
    sim.sum.looks++;
    if (busy >= split_batches(&sim.s, &sim.capacity, batch_pictures(busy)) ||
        busy >= SPLIT_FIRST_BATCHES + sim.done_batches) {
        sim.sum.full++;
        return;
    }
    while (b->works)
        b++;
    if (!split_worth(&sim.s))
        return;
    struct split_capacity room = split_part(&sim.capacity, split_room(&sim.s, &sim.capacity));
    b->count = split_choose(&sim.s, &room, sim_ns(), b->pictures, &b->largest);
    sim.sum.far += !b->count;
    if (!b->count)
        return;
    qsort(b->pictures, b->count, sizeof(b->pictures[0]), compare_slices);
    b->share = share_of(b);
    b->works = true;
    b->decoded = false;
    b->at = 0;
    b->begin_s = sim.now_s;
    b->begin_v = sim.slice_v;
}

void entropy_step(bool look)
{
    double n = sim.active, part = 1 - (1 - machine.gpu_part) * sim.recon_busy;
    double most = machine.gpu_most * part;
    uint32_t busy = 0;
    double slow = 1 + machine.gpu_slow * sim.recon_busy;
    sim.slice_v += 1e-9 * STEP_NS * (n > most ? most / n : 1) / slow;
    sim.active = 0;
    for (uint32_t i = 0; i < SPLIT_BATCHES; i++) {
        struct sim_batch *b = &sim.batches[i];
        if (!b->works)
            continue;
        double decoded_s = (sim.slice_v - b->begin_v) / share_slows(b->share);
        while (b->at < b->count && slice_seconds(b->pictures[b->at]) <= decoded_s)
            b->at++;
        sim.active += (b->count - b->at + b->share - 1) / b->share;
        if (b->at == b->count && !b->decoded) {
            b->decoded = true;
            b->decoded_s = sim.now_s;
        }
        if (b->decoded && look && sim.now_s >= b->decoded_s + FETCH_S)
            batch_settle(b);
        busy += b->works;
    }
    sim.sum.busy += busy;
    if (look)
        batch_begin(busy);
}

/* As motion_gpu.c has it. */
static bool motion_waits(void)
{
    return sim.s.motion_gpu_count < MOTION_ENOUGH && sim.s.ready - sim.s.blocked >= MOTION_READY &&
           sim.now_s - sim.motion_begin_s < 1e-9 * MOTION_WAIT_NS;
}

/* Reconstruction does not go on meanwhile: both are on the main queue. */
void motion_step(void)
{
    if (sim.motion_count && sim.now_s < sim.motion_end_s)
        return;
    for (uint32_t i = 0; i < sim.motion_count; i++) {
        struct picture *p = sim.motion[i];
        p->motion.device_records = NULL;
        p->records = LIVES_DEVICE;
        gpu_motion_done(&sim.s, p, false, sim_ns());
    }
    struct picture *p;
    sim.motion_count = 0;
    if (!sim.s.motion_gpu || motion_waits())
        return;
    for (sim.motion_count = 0;
         sim.motion_count < MOTION_HD_PICTURES && (p = gpu_motion_take(&sim.s, sim_ns()));)
        sim.motion[sim.motion_count++] = p;
    sim.motion_begin_s = sim.now_s;
    sim.motion_end_s = sim.now_s + machine.motion;
    sim.recon_left_s += sim.in_flight ? machine.motion : 0;
}
