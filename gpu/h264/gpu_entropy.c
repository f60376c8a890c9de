/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: batches that decode. Each does so on a background queue of its own,
 * in pieces. gpu_entropy_fill.c comes before it, gpu_entropy_fetch.c after it.
 */
#include "gpu/h264/gpu_entropy_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- commands ---- */

enum { STAMP_INPUTS, STAMP_SLICES };

/* Slices and bytes to the device; zeros where the shader writes only nonzero values. */
static void record_inputs(struct gpu_entropy_batch *b, struct gpu_submission *s)
{
    struct gpu *g = b->e->g;
    const struct gpu_buffer *to = b->device;
    const uint64_t slices = b->slice_count * sizeof(struct ent_slice);
    VkBufferCopy copies[2] = {{0, 0, slices},
                              {b->room.slices * sizeof(struct ent_slice), 0, b->bytes}};
    gpu_work_sync(s, BARRIER_TRANSFER, 0,
                  ENTROPY_BIT(ENT_BIND_SLICES) | ENTROPY_BIT(ENT_BIND_BYTES) |
                      ENTROPY_BIT(ENT_BIND_MOTION) | ENTROPY_BIT(ENT_BIND_COEFFS) |
                      ENTROPY_BIT(ENT_BIND_RESULTS) | ENTROPY_BIT(ENT_BIND_COUNTS));
    g->vk.vkCmdCopyBuffer(s->commands, b->up.buffer, to[ENT_BIND_SLICES].buffer, 1, &copies[0]);
    g->vk.vkCmdCopyBuffer(s->commands, b->up.buffer, to[ENT_BIND_BYTES].buffer, 1, &copies[1]);
    g->vk.vkCmdFillBuffer(s->commands, to[ENT_BIND_MOTION].buffer, 0,
                          b->mbs * sizeof(struct rec_motion), 0);
    if (b->coeff_blocks)
        g->vk.vkCmdFillBuffer(s->commands, to[ENT_BIND_COEFFS].buffer, 0,
                              (uint64_t)b->coeff_blocks * ENTROPY_COEFF_BLOCK_BYTES, 0);
    g->vk.vkCmdFillBuffer(s->commands, to[ENT_BIND_RESULTS].buffer, 0,
                          b->slice_count * sizeof(struct ent_result), 0);
    g->vk.vkCmdFillBuffer(s->commands, to[ENT_BIND_COUNTS].buffer, 0,
                          b->picture_count * sizeof(uint32_t), 0);
    gpu_work_stamp(s, STAMP_INPUTS);
}

/* Both codings work side by side, each on its own slices. */
static void record_dispatches(struct gpu_entropy_batch *b, struct gpu_submission *s)
{
    const struct gpu_entropy *e = b->e;
    struct gpu *g = e->g;
    gpu_work_sync(s, BARRIER_COMPUTE, ENTROPY_BIT(ENT_BINDINGS) - 1,
                  ENTROPY_BIT(ENT_BIND_MBS) | ENTROPY_BIT(ENT_BIND_MOTION) |
                      ENTROPY_BIT(ENT_BIND_SYNTAX) | ENTROPY_BIT(ENT_BIND_COEFFS) |
                      ENTROPY_BIT(ENT_BIND_RESULTS) | ENTROPY_BIT(ENT_BIND_COUNTS) |
                      ENTROPY_BIT(ENT_BIND_LINES) | ENTROPY_BIT(ENT_BIND_STATES));
    g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->layout->pipeline,
                                  0, 1, &b->set, 0, NULL);
    const uint32_t push[3] = {b->slice_count, b->piece, b->share};
    g->vk.vkCmdPushConstants(s->commands, e->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof(push), push);
    for (uint32_t i = 0; i < ENTROPY_CODINGS; i++)
        if (b->codings >> i & 1) {
            g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->pipelines[i]);
            g->vk.vkCmdDispatch(s->commands, (b->slice_count + b->share - 1) / b->share, 1, 1);
        }
}

/* Of slices that are complete. */
static void record_ranges(struct gpu_entropy_batch *b, struct gpu_submission *s)
{
    const struct gpu_entropy *e = b->e;
    struct gpu *g = e->g;
    const uint32_t rows = (b->slice_count + ENT_RANGES_ROW - 1) / ENT_RANGES_ROW;
    gpu_work_sync(s, BARRIER_COMPUTE,
                  ENTROPY_BIT(ENT_BIND_SLICES) | ENTROPY_BIT(ENT_BIND_BYTES) |
                      ENTROPY_BIT(ENT_BIND_MBS) | ENTROPY_BIT(ENT_BIND_COEFFS) |
                      ENTROPY_BIT(ENT_BIND_RESULTS),
                  ENTROPY_BIT(ENT_BIND_RESULTS));
    g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->ranges);
    g->vk.vkCmdDispatch(s->commands,
                        b->slice_count < ENT_RANGES_ROW ? b->slice_count : ENT_RANGES_ROW, rows, 1);
    gpu_work_stamp(s, STAMP_SLICES);
}

static void record_results(struct gpu_entropy_batch *b, struct gpu_submission *s)
{
    struct gpu *g = b->e->g;
    const struct gpu_buffer *from = b->device;
    VkBufferCopy copies[2] = {
        {0, 0, b->slice_count * sizeof(struct ent_result)},
        {0, b->room.slices * sizeof(struct ent_result), b->picture_count * sizeof(uint32_t)}};
    gpu_work_sync(s, BARRIER_TRANSFER, ENTROPY_BIT(ENT_BIND_RESULTS) | ENTROPY_BIT(ENT_BIND_COUNTS),
                  ENTROPY_RESULTS);
    g->vk.vkCmdCopyBuffer(s->commands, from[ENT_BIND_RESULTS].buffer, b->results.buffer, 1,
                          &copies[0]);
    g->vk.vkCmdCopyBuffer(s->commands, from[ENT_BIND_COUNTS].buffer, b->results.buffer, 1,
                          &copies[1]);
    gpu_work_sync_host(s, ENTROPY_RESULTS);
}

/* A piece of each slice that has one. */
static int submit_piece(struct gpu_entropy_batch *b)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    for (uint32_t i = 0; i < ENTROPY_CODINGS; i++)
        if (b->codings >> i & 1)
            TRY(gpu_entropy_prepare(b->e, i == ENTROPY_CAVLC));
    TRY(gpu_work_begin(b->work, UINT64_MAX, &s));
    TRY(gpu_work_record(s, ENTROPY_PART_DECODE));
    gpu_work_forget(s, UINT32_MAX); /* the host has waited for the last one here */
    if (b->state == BATCH_FILLING)
        record_inputs(b, s);
    record_dispatches(b, s);
    record_ranges(b, s);
    record_results(b, s);
    TRY(gpu_work_submit(s));
    b->state = BATCH_DECODING;
    b->pieces--;
error:
    return err;
}

/* ---- pieces ---- */

void gpu_entropy_share(struct gpu_entropy *e, uint32_t slices)
{
    e->share = slices;
}

static uint32_t choose_share(const struct gpu_entropy_batch *b)
{
    const struct gpu_entropy *e = b->e;
    uint32_t most = e->threads < ENT_SHARE_MOST ? e->threads : ENT_SHARE_MOST, share = 1;
    if (e->share)
        return e->share < most ? e->share : most;
    while (!e->g->info.software && 2 * share <= most && b->slice_count >= 2 * share * ENT_SUBGROUPS)
        share *= 2;
    return share;
}

/* Slices that share a subgroup take longer each: twice as long where four do. So a submission takes
 * about as long. */
static uint32_t piece_of(const struct gpu_entropy_batch *b)
{
    return b->e->g->info.software ? ENT_PIECE_SOFTWARE : 2 * ENT_PIECE / (b->share + 1);
}

static int compare_slices(const void *a, const void *b)
{
    const struct batch_slice *s = a, *t = b;
    if (s->weight != t->weight)
        return s->weight < t->weight ? 1 : -1;
    return (s->slice.word > t->slice.word) - (s->slice.word < t->slice.word);
}

/* The heaviest first. Slices of like weight share a subgroup, which lasts as long as the longest of
 * them. */
static void write_slices(struct gpu_entropy_batch *b)
{
    qsort(b->slices, b->slice_count, sizeof(*b->slices), compare_slices);
    for (uint32_t i = 0; i < b->slice_count; i++)
        memcpy(b->up.map + i * sizeof(struct ent_slice), &b->slices[i].slice,
               sizeof(struct ent_slice));
}

int gpu_entropy_submit(struct gpu_entropy_batch *b)
{
    if (b->state != BATCH_FILLING || !b->slice_count)
        return GPU_ERR_INVALID;
    b->share = choose_share(b);
    b->piece = piece_of(b);
    write_slices(b);
    b->pieces = b->slices[0].weight / b->piece + 1; /* each but the last weighs that at least */
    return submit_piece(b);
}

/* ---- results ---- */

/* The outcome of each picture. */
static void read_results(struct gpu_entropy_batch *b)
{
    const struct ent_result *results = (const struct ent_result *)b->results.map;
    const uint32_t *coeff_blocks =
        (const uint32_t *)(b->results.map + b->room.slices * sizeof(*results));
    for (uint32_t i = 0; i < b->picture_count; i++) {
        struct batch_picture *pic = &b->pictures[i];
        pic->coeff_blocks = coeff_blocks[i];
        pic->failed =
            pic->gap || pic->next_mb != pic->mb_count || coeff_blocks[i] > pic->coeff_block_most;
    }
    for (uint32_t i = 0; i < b->slice_count; i++) {
        const struct ent_slice *s = &b->slices[i].slice;
        if (results[i].status != ENT_CHECKED || results[i].mbs != s->end_mb - s->first_mb)
            b->pictures[s->picture].failed = true;
    }
}

/* A device that goes on for ever is not believed. */
static bool is_paused(const struct gpu_entropy_batch *b)
{
    const struct ent_result *results = (const struct ent_result *)b->results.map;
    for (uint32_t i = 0; i < b->slice_count && b->pieces; i++)
        if (results[i].status == ENT_PAUSED)
            return true;
    return false;
}

static void copy_staged(const struct gpu_entropy_batch *b)
{
    for (uint32_t i = 0; i < b->copy_count; i++)
        memcpy(b->copies[i].to, b->staging.map + b->copies[i].from, b->copies[i].size);
}

static bool is_submitted(const struct gpu_entropy_batch *b)
{
    return b->state == BATCH_DECODING || b->state == BATCH_FETCHING;
}

static void entropy_add_seconds(void *ctx, uint32_t name, double seconds)
{
    struct gpu_entropy_batch *b = ctx;
    if (name == STAMP_SLICES)
        b->seconds += seconds;
}

/* A batch that was ended before is free, and nothing of it is wanted. */
void gpu_entropy_batch_done(void *ctx, const struct gpu_submission *s)
{
    struct gpu_entropy_batch *b = ctx;
    if (b->state == BATCH_DECODING) {
        gpu_work_times(s, entropy_add_seconds, b);
        b->state = is_paused(b) ? BATCH_PAUSED : BATCH_DECODED;
        if (b->state == BATCH_DECODED)
            read_results(b);
    } else if (b->state == BATCH_FETCHING) {
        copy_staged(b);
        if (b->resident)
            gpu_arena_written(b->e->g, &s->last);
        b->state = BATCH_FETCHED;
    }
}

int gpu_entropy_poll(struct gpu_entropy_batch *b)
{
    int err = is_submitted(b) ? gpu_work_poll(b->work) : GPU_OK;
    if (err >= 0 && b->state == BATCH_PAUSED)
        err = submit_piece(b);
    if (err < 0 || is_submitted(b))
        return err < 0 ? err : 1;
    return b->state == BATCH_DECODED || b->state == BATCH_FETCHED ? GPU_OK : GPU_ERR_INVALID;
}

int gpu_entropy_wait(struct gpu_entropy *e, uint64_t timeout_ns)
{
    struct gpu_point points[GPU_POINTS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->batch_count && count < GPU_POINTS; i++)
        if (is_submitted(&e->batches[i]))
            count += gpu_work_oldest(e->batches[i].work, &points[count]);
    return gpu_points_wait(e->g, points, count, timeout_ns);
}

bool gpu_entropy_picture_ok(const struct gpu_entropy_batch *b, uint32_t picture,
                            uint32_t *coeff_blocks)
{
    if (b->state < BATCH_DECODED || picture >= b->picture_count || b->pictures[picture].failed)
        return false;
    *coeff_blocks = b->pictures[picture].coeff_blocks;
    return true;
}

double gpu_entropy_seconds(const struct gpu_entropy_batch *b)
{
    return b->state < BATCH_DECODED ? 0 : b->seconds;
}

void gpu_entropy_end(struct gpu_entropy_batch *b)
{
    if (!b)
        return;
    bool submitted = is_submitted(b);
    b->state = BATCH_FREE; /* no target is written any more */
    b->fetch = NULL;
    if (submitted) /* on a lost device nothing runs */
        gpu_work_drain(b->work);
}
