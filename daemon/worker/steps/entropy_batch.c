/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of entropy decoding on the GPU: see entropy_batch.h.
 */
#include "daemon/worker/steps/entropy_batch.h"

#include "codec/h264_error.h"
#include "codec/h264_export.h"
#include "daemon/worker/memory/device_memory.h"
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/steps/motion_gpu.h"
#include "gpu/h264/gpu_entropy.h"

/* ---- pictures back to the schedule ---- */

/* CPU time since the last call, to the sessions of the batch. With the lock. */
static void batch_charge(struct entropy_gpu *g, const struct entropy_batch *b)
{
    double cpu = thread_cpu_seconds(), spent = (cpu - g->cpu) / (b->count ? b->count : 1);
    g->cpu = cpu;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct picture *p = b->parts[i].picture;
        struct pelton_stats *stats = &session_of(p->window)->stats;
        stats->cpu_entropy += spent;
        if (b->bytes)
            stats->gpu_entropy += b->seconds * (double)p->entropy.bytes / (double)b->bytes;
    }
}

static void batch_sum(struct entropy_gpu *g, const struct entropy_batch *b, int64_t now)
{
    for (uint32_t i = 0; i < b->count; i++)
        *(b->parts[i].coeff_blocks ? &g->sum.decoded : &g->sum.given_back) += 1;
    g->sum.batches++;
    g->sum.seconds += 1e-9 * (double)(now - b->begin_ns);
    g->sum.decoding += 1e-9 * (double)(b->decoded_ns - b->begin_ns);
    g->sum.bytes += (double)b->bytes;
    g->sum.device += b->seconds;
    g->sum.largest += (double)b->largest;
}

static uint64_t level_bytes(const struct entropy_batch *b, uint32_t i)
{
    const uint32_t words = b->parts[i].packed_words;
    return words ? 4ull * words : (uint64_t)b->parts[i].coeff_blocks * SPLIT_BLOCK_BYTES;
}

/* Slices to the device; from there what has no place on it. */
static uint64_t bytes_over_bus(const struct entropy_batch *b, uint32_t i)
{
    const struct picture *p = b->parts[i].picture;
    const struct h264_picture *pic = p->pic;
    const uint32_t coeff_blocks = b->parts[i].coeff_blocks;
    uint64_t bytes = p->entropy.bytes + pic->slice_count * sizeof(struct ent_slice);
    if (coeff_blocks && p->coeffs == LIVES_HOST)
        bytes += level_bytes(b, i);
    if (coeff_blocks && p->records == LIVES_HOST)
        bytes += (uint64_t)pic->mb_count * (sizeof(struct rec_mb) + sizeof(struct rec_motion) +
                                            sizeof(struct h264_mb_syntax));
    return bytes;
}

/* The batch is over: its pictures are decoded, or refused. With the lock. */
void entropy_batch_settle(struct entropy_gpu *g, struct entropy_batch *b)
{
    struct schedule *s = &g->engine->schedule;
    int64_t now = now_ns();
    uint32_t late = 0;
    batch_charge(g, b);
    for (uint32_t i = 0; i < b->count; i++) {
        struct picture *p = b->parts[i].picture;
        late += b->timely && split_is_late(s, p);
        if (b->parts[i].full)
            split_note_full(p);
        session_of(p->window)->stats.bytes_over_bus += bytes_over_bus(b, i);
        if (b->parts[i].coeff_blocks)
            gpu_entropy_done(s, p, b->parts[i].coeff_blocks, now);
        else
            gpu_entropy_refused(s, p, now);
    }
    g->sum.late += late;
    if (b->timely)
        split_learn(s, late);
    batch_sum(g, b, now);
    b->count = 0;
    b->phase = BATCH_FREE;
    g->busy--;
    s->split.works = g->busy;
    g->done = g->busy ? g->done + 1 : 0;
    if (!g->busy && s->entropy.first) /* coders may have left it to the GPU */
        wake_coders(s, UINT32_MAX);
}

/* None of it was decoded there. Without the lock. */
void entropy_batch_forget(struct entropy_gpu *g, struct entropy_batch *b)
{
    gpu_entropy_end(b->work);
    b->work = NULL;
    for (uint32_t i = 0; i < b->count; i++) {
        motion_gpu_drop(g->motion, b->parts[i].picture);
        if (b->parts[i].coeff_blocks)
            h264_picture_free_arrays(b->parts[i].picture->pic);
        b->parts[i].records = b->parts[i].coeffs = LIVES_NOWHERE;
        b->parts[i].coeff_blocks = 0;
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
int entropy_batch_submit(struct entropy_gpu *g, struct entropy_batch *b)
{
    uint32_t added = 0;
    b->work = g->next;
    g->next = NULL;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct h264_picture *pic = b->parts[i].picture->pic;
        uint32_t *index = &b->parts[i].index;
        uint32_t blocks = split_blocks(&g->capacity, b->parts[i].picture);
        uint32_t words = window_packed_words(b->parts[i].picture);
        if (gpu_entropy_add_picture(b->work, pic->mb_count, blocks, words, index))
            *index = UINT32_MAX;
        else
            added += add_slices(b->work, pic, *index) == GPU_OK;
    }
    return added ? gpu_entropy_submit(b->work) : GPU_ERR_INVALID;
}

/* Levels stay on the device, or go to the host if it has no room. */
static bool alloc_arrays(struct entropy_gpu *g, struct entropy_batch *b, uint32_t i,
                         uint32_t blocks, bool records)
{
    struct h264_picture *pic = b->parts[i].picture->pic;
    uint32_t step = pic->mb_count * SPLIT_BLOCKS_STEP, words = b->parts[i].packed_words;
    if (g->resident &&
        h264_picture_alloc_blocks(pic, blocks, words, resident_allocator(g->resident), records) ==
            H264_OK) {
        g->sum.stayed++;
        b->parts[i].coeffs = LIVES_DEVICE;
        return true;
    }
    h264_picture_free_arrays(pic);
    if (h264_picture_alloc_blocks(pic, (blocks + step - 1) / step * step, words, NULL, records) ==
        H264_OK) {
        b->parts[i].coeffs = LIVES_HOST;
        return true;
    }
    h264_picture_free_arrays(pic);
    return false;
}

/* The picture's arrays, for the device to fill. None if it has not decoded it, or if there is no
 * memory. */
static int fetch_picture(struct entropy_gpu *g, struct entropy_batch *b, uint32_t i)
{
    struct picture *p = b->parts[i].picture;
    const struct h264_arrays *arrays = &p->pic->arrays;
    uint32_t blocks;
    if (b->parts[i].index == UINT32_MAX)
        return GPU_OK;
    b->parts[i].full = gpu_entropy_picture_full(b->work, b->parts[i].index);
    if (!gpu_entropy_picture_ok(b->work, b->parts[i].index, &blocks))
        return GPU_OK;
    blocks = blocks ? blocks : 1;
    b->parts[i].packed_words = gpu_entropy_packed_words(b->work, b->parts[i].index);
    bool kept = motion_gpu_keep(g->motion, p);
    if (!alloc_arrays(g, b, i, blocks, !kept || p->motion.host)) {
        motion_gpu_drop(g->motion, p);
        return GPU_OK;
    }
    b->parts[i].coeff_blocks = blocks;
    b->parts[i].records = kept ? LIVES_DEVICE : LIVES_HOST;
    struct gpu_entropy_target to = {.mbs = arrays->mbs,
                                    .motion = arrays->motion,
                                    .syntax = arrays->syntax,
                                    .coeffs = arrays->coeffs,
                                    .packed = arrays->packed};
    if (kept)
        motion_gpu_places(p, &to);
    return gpu_entropy_fetch(b->work, b->parts[i].index, &to);
}

static int batch_fetch(struct entropy_gpu *g, struct entropy_batch *b)
{
    bool any = false;
    int err = GPU_OK;
    for (uint32_t i = 0; i < b->count && err == GPU_OK; i++) {
        err = fetch_picture(g, b, i);
        any |= b->parts[i].coeff_blocks != 0;
    }
    b->seconds = gpu_entropy_seconds(b->work);
    return err < 0 ? err : any ? gpu_entropy_fetch_submit(b->work) : GPU_ERR_INVALID;
}

/* ---- a batch goes on ---- */

void entropy_batch_measure(struct split *split, const struct entropy_batch *b, int64_t now)
{
    split_rate_add(&split->gpu_rate, 1e-9 * (double)(b->decoded_ns - b->begin_ns),
                   (double)b->largest);
    split_rate_add(&split->gpu_fetch, 1e-9 * (double)(now - b->decoded_ns), 1);
}

void entropy_batch_keep(struct schedule *s, const struct entropy_batch *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        struct picture *p = b->parts[i].picture;
        p->records = (uint8_t)b->parts[i].records;
        p->coeffs = (uint8_t)b->parts[i].coeffs;
        if (b->parts[i].coeff_blocks)
            split_keep_results(s, p, p->coeffs == LIVES_HOST ? level_bytes(b, i) : 0);
    }
}

/* *over: nothing of it is in work any more. GPU_ERR_INVALID: nothing was decoded. Without the
 * lock. */
int entropy_batch_advance(struct entropy_gpu *g, struct entropy_batch *b, bool *over)
{
    int err = GPU_OK;
    *over = b->phase == BATCH_FETCHING;
    if (*over) {
        gpu_entropy_end(b->work);
        b->work = NULL;
    } else {
        b->decoded_ns = now_ns();
        err = batch_fetch(g, b);
    }
    return err;
}

/* With the lock. */
bool entropy_batch_fill(struct entropy_gpu *g, struct entropy_batch *b)
{
    struct picture *pictures[SPLIT_PICTURES];
    int64_t now = now_ns();
    struct split_capacity room = split_part(&g->capacity, gpu_entropy_pictures(g->next));
    b->count = split_choose(&g->engine->schedule, &room, now, pictures, &b->largest);
    if (!b->count)
        return false;
    b->begin_ns = b->decoded_ns = now;
    b->timely = g->engine->schedule.split.timely;
    b->bytes = 0;
    b->seconds = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        b->parts[i].picture = pictures[i];
        b->parts[i].coeff_blocks = b->parts[i].packed_words = 0;
        b->parts[i].full = false;
        b->parts[i].records = b->parts[i].coeffs = LIVES_NOWHERE;
        b->bytes += pictures[i]->entropy.bytes;
    }
    b->phase = BATCH_DECODING;
    g->busy++;
    g->engine->schedule.split.works = g->busy;
    return true;
}
