/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: rounds. A round is one submission, which decodes a piece of each
 * slice of all batches at work. Batches join and leave between two rounds. All rounds are on one
 * queue: a device runs the work of several queues of a kind in turns, and loses time by each turn.
 */
#include "gpu/engine/gpu_clock.h"
#include "gpu/h264/gpu_entropy_internal.h"

enum { STAMP_INPUTS, STAMP_SLICES };

#define ROUND_BATCHES 16

struct round {
    struct gpu_entropy *e;
    struct gpu_submission *s;
    struct gpu_entropy_batch *batches[ROUND_BATCHES];
    uint32_t count;
    uint32_t slices;
    uint32_t share; /* logarithm of the slices of a subgroup */
    uint32_t piece; /* weight that it decodes of each slice */
};

/* ---- commands ---- */

/* Slices and bytes to the device; zeros where the shader writes only nonzero values. */
static void record_inputs(const struct round *r, const struct gpu_entropy_batch *b)
{
    struct gpu *g = r->e->g;
    VkCommandBuffer commands = r->s->commands;
    const struct gpu_buffer *to = b->device;
    const uint64_t slices = b->slice_count * sizeof(struct ent_slice);
    VkBufferCopy copies[2] = {{0, 0, slices},
                              {b->room.slices * sizeof(struct ent_slice), 0, b->bytes}};
    g->vk.vkCmdCopyBuffer(commands, b->up.buffer, to[ENT_BIND_SLICES].buffer, 1, &copies[0]);
    g->vk.vkCmdCopyBuffer(commands, b->up.buffer, to[ENT_BIND_BYTES].buffer, 1, &copies[1]);
    g->vk.vkCmdFillBuffer(commands, to[ENT_BIND_MOTION].buffer, 0,
                          b->mbs * sizeof(struct rec_motion), 0);
    if (b->coeff_blocks)
        g->vk.vkCmdFillBuffer(commands, to[ENT_BIND_COEFFS].buffer, 0,
                              (uint64_t)b->coeff_blocks * ENTROPY_COEFF_BLOCK_BYTES, 0);
    g->vk.vkCmdFillBuffer(commands, to[ENT_BIND_RESULTS].buffer, 0,
                          b->slice_count * sizeof(struct ent_result), 0);
    g->vk.vkCmdFillBuffer(commands, to[ENT_BIND_COUNTS].buffer, 0,
                          b->picture_count * ENTROPY_COUNTS_BYTES, 0);
}

/* Of batches that are new. */
static void record_all_inputs(const struct round *r)
{
    gpu_work_sync(r->s, BARRIER_TRANSFER, 0,
                  ENTROPY_BIT(ENT_BIND_SLICES) | ENTROPY_BIT(ENT_BIND_BYTES) |
                      ENTROPY_BIT(ENT_BIND_MOTION) | ENTROPY_BIT(ENT_BIND_COEFFS) |
                      ENTROPY_BIT(ENT_BIND_RESULTS) | ENTROPY_BIT(ENT_BIND_COUNTS));
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->batches[i]->rounds)
            record_inputs(r, r->batches[i]);
    gpu_work_stamp(r->s, STAMP_INPUTS);
}

static void bind_batch(const struct round *r, const struct gpu_entropy_batch *b)
{
    struct gpu *g = r->e->g;
    VkPipelineLayout layout = r->e->layout->pipeline;
    const uint32_t push[2] = {b->live, r->piece};
    g->vk.vkCmdBindDescriptorSets(r->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1,
                                  &b->set, 0, NULL);
    g->vk.vkCmdPushConstants(r->s->commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push),
                             push);
}

static void record_coding(const struct round *r, uint32_t coding)
{
    struct gpu *g = r->e->g;
    bool bound = false;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct gpu_entropy_batch *b = r->batches[i];
        if (!(b->codings >> coding & 1))
            continue;
        if (!bound)
            g->vk.vkCmdBindPipeline(r->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                    r->e->pipelines[coding][r->share]);
        bound = true;
        bind_batch(r, b);
        g->vk.vkCmdDispatch(r->s->commands, ((b->live - 1) >> r->share) + 1, 1, 1);
    }
}

/* Batches and codings work side by side, each on its own slices. */
static void record_slices(const struct round *r)
{
    gpu_work_sync(r->s, BARRIER_COMPUTE, ENTROPY_BIT(ENT_BINDINGS) - 1,
                  ENTROPY_BIT(ENT_BIND_MBS) | ENTROPY_BIT(ENT_BIND_MOTION) |
                      ENTROPY_BIT(ENT_BIND_SYNTAX) | ENTROPY_BIT(ENT_BIND_COEFFS) |
                      ENTROPY_BIT(ENT_BIND_RESULTS) | ENTROPY_BIT(ENT_BIND_COUNTS) |
                      ENTROPY_BIT(ENT_BIND_LINES) | ENTROPY_BIT(ENT_BIND_STATES));
    for (uint32_t i = 0; i < ENTROPY_CODINGS; i++)
        record_coding(r, i);
}

/* Of slices that are complete. Those in range are packed. */
static void record_ranges(const struct round *r)
{
    struct gpu *g = r->e->g;
    gpu_work_sync(r->s, BARRIER_COMPUTE,
                  ENTROPY_BIT(ENT_BIND_SLICES) | ENTROPY_BIT(ENT_BIND_BYTES) |
                      ENTROPY_BIT(ENT_BIND_MBS) | ENTROPY_BIT(ENT_BIND_COEFFS) |
                      ENTROPY_BIT(ENT_BIND_RESULTS) | ENTROPY_BIT(ENT_BIND_COUNTS),
                  ENTROPY_BIT(ENT_BIND_RESULTS) | ENTROPY_BIT(ENT_BIND_COUNTS) |
                      ENTROPY_BIT(ENT_BIND_PACKED));
    g->vk.vkCmdBindPipeline(r->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, r->e->ranges);
    for (uint32_t i = 0; i < r->count; i++) {
        const uint32_t n = r->batches[i]->live;
        bind_batch(r, r->batches[i]);
        g->vk.vkCmdDispatch(r->s->commands, n < ENT_RANGES_ROW ? n : ENT_RANGES_ROW,
                            (n + ENT_RANGES_ROW - 1) / ENT_RANGES_ROW, 1);
    }
    gpu_work_stamp(r->s, STAMP_SLICES);
}

static void record_results(const struct round *r)
{
    struct gpu *g = r->e->g;
    const uint32_t turn = r->e->begun % ENTROPY_ROUNDS;
    gpu_work_sync(r->s, BARRIER_TRANSFER,
                  ENTROPY_BIT(ENT_BIND_RESULTS) | ENTROPY_BIT(ENT_BIND_COUNTS), ENTROPY_RESULTS);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct gpu_entropy_batch *b = r->batches[i];
        const struct gpu_buffer *from = b->device;
        VkBufferCopy copies[2] = {
            {0, gpu_entropy_results(&b->room, turn), b->slice_count * sizeof(struct ent_result)},
            {0, gpu_entropy_counts(&b->room, turn), b->picture_count * ENTROPY_COUNTS_BYTES}};
        g->vk.vkCmdCopyBuffer(r->s->commands, from[ENT_BIND_RESULTS].buffer, b->results.buffer, 1,
                              &copies[0]);
        g->vk.vkCmdCopyBuffer(r->s->commands, from[ENT_BIND_COUNTS].buffer, b->results.buffer, 1,
                              &copies[1]);
    }
    gpu_work_sync_host(r->s, ENTROPY_RESULTS);
}

/* ---- a round begins ---- */

void gpu_entropy_share(struct gpu_entropy *e, uint32_t slices)
{
    e->share = slices;
}

/* One slice of a subgroup is fastest. Eight take hardly longer than two. So many slices share in
 * eights, which leaves most of the device to reconstruction, and few do not share. */
static uint32_t choose_share(const struct gpu_entropy *e, uint32_t slices)
{
    bool many = !e->g->info.software && slices > ENT_ALONE;
    uint32_t most = e->share ? e->share : many ? ENT_SHARE_MOST : 1, share = 0;
    while (share + 1 < ENT_SHARES && 2u << share <= most && 2u << share <= e->threads)
        share++;
    return share;
}

/* A part of the heaviest slice: a new batch waits for the rounds that are submitted. */
static uint32_t choose_piece(const struct gpu_entropy *e, uint32_t heaviest)
{
    const uint32_t part = heaviest / ENT_PIECES;
    if (e->g->info.software)
        return ENT_PIECE_SOFTWARE;
    return part < ENT_PIECE_LEAST ? ENT_PIECE_LEAST : part > ENT_PIECE_MOST ? ENT_PIECE_MOST : part;
}

/* Who takes part in the next round. */
static struct round round_next(struct gpu_entropy *e)
{
    struct round r = {.e = e};
    uint32_t heaviest = 0;
    for (uint32_t i = 0; i < e->batch_count && r.count < ROUND_BATCHES; i++) {
        struct gpu_entropy_batch *b = &e->batches[i];
        if (b->state != BATCH_DECODING || !b->live)
            continue;
        r.batches[r.count++] = b;
        r.slices += b->live;
        heaviest = b->slices[0].weight > heaviest ? b->slices[0].weight : heaviest;
    }
    r.share = choose_share(e, r.slices);
    r.piece = choose_piece(e, heaviest);
    return r;
}

static int need_pipelines(const struct round *r)
{
    int err = GPU_OK;
    for (uint32_t i = 0; i < r->count; i++)
        for (uint32_t k = 0; k < ENTROPY_CODINGS; k++)
            if (r->batches[i]->codings >> k & 1)
                TRY(gpu_entropy_pipeline(r->e, (enum entropy_coding)k, r->share));
error:
    return err;
}

/* A round decodes at least its piece of a slice that it leaves: so a slice which weighs no more
 * than all pieces so far is complete, or the device goes on for ever and is not believed. */
static void batch_took_part(struct gpu_entropy_batch *b, const struct round *r)
{
    if (!b->rounds++)
        b->first = r->e->begun;
    b->weight += r->piece;
    while (b->live && b->slices[b->live - 1].weight <= b->weight)
        b->live--;
}

static int round_begin(struct round *r)
{
    int err = GPU_OK;
    TRY(need_pipelines(r));
    TRY(gpu_work_begin(r->e->work, UINT64_MAX, &r->s));
    TRY(gpu_work_record(r->s, 0));
    record_all_inputs(r);
    record_slices(r);
    record_ranges(r);
    record_results(r);
    TRY(gpu_work_submit(r->s));
    for (uint32_t i = 0; i < r->count; i++)
        batch_took_part(r->batches[i], r);
    if (r->e->begun == r->e->ended)
        r->e->since_ns = gpu_clock_ns();
    r->e->pieces[r->e->begun++ % ENTROPY_ROUNDS] = r->piece;
error:
    return err;
}

/* A batch that comes now takes part in the next round to begin. So that one begins late: when the
 * one at work, by the time of the last one, has done so much of its piece. */
uint64_t gpu_entropy_due_ns(const struct gpu_entropy *e)
{
    const uint32_t flying = e->begun - e->ended;
    if (flying == 0 || flying == ENTROPY_ROUNDS)
        return flying ? UINT64_MAX : 0;
    const double due = ENTROPY_ROUND_DONE * e->piece_ns * e->pieces[e->ended % ENTROPY_ROUNDS],
                 left = due - (double)(gpu_clock_ns() - e->since_ns);
    return left > 0 ? (uint64_t)left : 0;
}

/* It is the oldest one. */
static void round_timed(struct gpu_entropy *e, uint32_t round)
{
    const int64_t now = gpu_clock_ns();
    e->piece_ns = (double)(now - e->since_ns) / e->pieces[round % ENTROPY_ROUNDS];
    e->since_ns = now;
}

int gpu_entropy_rounds(struct gpu_entropy *e)
{
    int err = GPU_OK;
    while (!gpu_entropy_due_ns(e)) {
        struct round r = round_next(e);
        if (!r.count)
            break;
        TRY(round_begin(&r));
    }
error:
    return err;
}

/* ---- a round ends ---- */

/* The outcome of each picture. */
static void read_results(struct gpu_entropy_batch *b, uint32_t turn)
{
    const struct ent_result *results =
        (const struct ent_result *)(b->results.map + gpu_entropy_results(&b->room, turn));
    const uint32_t *counts =
        (const uint32_t *)(b->results.map + gpu_entropy_counts(&b->room, turn));
    for (uint32_t i = 0; i < b->picture_count; i++, counts += ENT_COUNTS) {
        struct batch_picture *pic = &b->pictures[i];
        const uint64_t words = (uint64_t)pic->mb_count + counts[ENT_COUNT_WORDS];
        pic->coeff_blocks = counts[ENT_COUNT_BLOCKS];
        pic->packed_words = words <= pic->packed_most ? (uint32_t)words : 0;
        pic->failed =
            pic->gap || pic->next_mb != pic->mb_count || pic->coeff_blocks > pic->coeff_block_most;
    }
    for (uint32_t i = 0; i < b->slice_count; i++) {
        const struct ent_slice *s = &b->slices[i].slice;
        if (results[i].status != ENT_CHECKED || results[i].mbs != s->end_mb - s->first_mb)
            b->pictures[s->picture].failed = true;
    }
}

static bool is_paused(const struct gpu_entropy_batch *b, uint32_t turn)
{
    const struct ent_result *results =
        (const struct ent_result *)(b->results.map + gpu_entropy_results(&b->room, turn));
    for (uint32_t i = 0; i < b->slice_count; i++)
        if (results[i].status == ENT_PAUSED)
            return true;
    return false;
}

static void add_seconds(void *ctx, uint32_t name, double seconds)
{
    double *sum = ctx;
    *sum += name == STAMP_SLICES ? seconds : 0;
}

/* A batch may have been ended, and begun again. One that is complete takes part in rounds that were
 * submitted before that was known, and stays as it is. */
void gpu_entropy_round_done(void *ctx, const struct gpu_submission *s)
{
    struct gpu_entropy *e = ctx;
    const uint32_t round = e->ended++, turn = round % ENTROPY_ROUNDS;
    double seconds = 0;
    round_timed(e, round);
    gpu_work_times(s, add_seconds, &seconds);
    for (uint32_t i = 0; i < e->batch_count; i++) {
        struct gpu_entropy_batch *b = &e->batches[i];
        const uint32_t before = round - b->first; /* wraps to many before its first one */
        if (b->state != BATCH_DECODING || before >= b->rounds)
            continue;
        b->seconds += seconds;
        if (is_paused(b, turn) && (b->live || before + 1 < b->rounds))
            continue;
        b->decoded = s->last;
        b->state = BATCH_DECODED;
        read_results(b, turn);
    }
}
