/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: batches from filling to fetching. A batch decodes on a background
 * queue of its own. Then the host allocates the targets, and the queue that copies to the host
 * fetches into them.
 */
#include "gpu/h264/gpu_entropy_internal.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_ALIGN 16

/* ---- filling ---- */

static bool batch_has_room(const struct gpu_entropy_batch *b, const struct entropy_room *room)
{
    return b->e && b->room.pictures >= room->pictures;
}

/* A free batch: one that has the room, else one that is not made yet, else any. */
static struct gpu_entropy_batch *free_batch(const struct gpu_entropy *e,
                                            const struct entropy_room *room)
{
    struct gpu_entropy_batch *found = NULL;
    for (uint32_t i = 0; i < e->batch_count; i++) {
        struct gpu_entropy_batch *b = &e->batches[i];
        if (b->state != BATCH_FREE)
            continue;
        if (batch_has_room(b, room))
            return b;
        found = !found || (found->e && !b->e) ? b : found;
    }
    return found;
}

uint64_t gpu_entropy_needs(const struct gpu_entropy *e, uint32_t pictures)
{
    const struct entropy_room room = gpu_entropy_room(e, pictures);
    const struct gpu_entropy_batch *b = free_batch(e, &room);
    if (!b || batch_has_room(b, &room))
        return 0;
    return gpu_entropy_room_bytes(&room) - (b->e ? gpu_entropy_room_bytes(&b->room) : 0);
}

uint64_t gpu_entropy_bytes(const struct gpu_entropy *e)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < e->batch_count; i++)
        sum += e->batches[i].e ? gpu_entropy_room_bytes(&e->batches[i].room) : 0;
    return sum;
}

/* Where there is no memory, with the room that it had. False: there is none for one more, and those
 * that are made must do. */
static bool batch_make(struct gpu_entropy *e, const struct entropy_room *room,
                       struct gpu_entropy_batch *b)
{
    const struct entropy_room had = b->room;
    const bool made = b->e != NULL;
    gpu_entropy_batch_free(b);
    if (gpu_entropy_batch_create(e, room, b) == GPU_OK)
        return true;
    gpu_entropy_batch_free(b);
    if (made && gpu_entropy_batch_create(e, &had, b) == GPU_OK)
        return true;
    gpu_entropy_batch_free(b);
    while (e->batch_count && !e->batches[e->batch_count - 1].e)
        e->batch_count--;
    return false;
}

struct gpu_entropy_batch *gpu_entropy_begin(struct gpu_entropy *e, uint32_t pictures)
{
    const struct entropy_room room = gpu_entropy_room(e, pictures);
    struct gpu_entropy_batch *b = free_batch(e, &room);
    if (!b)
        return NULL;
    if (!batch_has_room(b, &room) && !batch_make(e, &room, b))
        return NULL;
    b->state = BATCH_FILLING;
    b->picture_count = b->slice_count = b->mbs = b->coeff_blocks = b->bytes = b->lines =
        b->reserved = b->copy_count = b->codings = 0;
    b->staged = 0;
    b->resident = false;
    b->fetch = NULL;
    b->seconds = 0;
    return b;
}

uint32_t gpu_entropy_pictures(const struct gpu_entropy_batch *b)
{
    return b->room.pictures;
}

int gpu_entropy_add_picture(struct gpu_entropy_batch *b, uint32_t mb_count, uint32_t coeff_blocks,
                            uint32_t *picture)
{
    const struct entropy_room *p = &b->room;
    if (b->state != BATCH_FILLING || !mb_count)
        return GPU_ERR_INVALID;
    if (b->picture_count == p->pictures || mb_count > p->mbs - b->mbs ||
        coeff_blocks > p->coeff_blocks - b->coeff_blocks)
        return GPU_ERR_NOMEM;
    b->pictures[b->picture_count] = (struct batch_picture){.mb_base = b->mbs,
                                                           .mb_count = mb_count,
                                                           .coeff_block_base = b->coeff_blocks,
                                                           .coeff_block_most = coeff_blocks};
    b->mbs += mb_count;
    b->coeff_blocks += coeff_blocks;
    *picture = b->picture_count++;
    return GPU_OK;
}

uint8_t *gpu_entropy_slice_bytes(struct gpu_entropy_batch *b, size_t most)
{
    const struct entropy_room *p = &b->room;
    if (b->state != BATCH_FILLING || b->slice_count == p->slices || most > p->bytes - b->bytes)
        return NULL;
    b->reserved = (uint32_t)most;
    return b->up.map + p->slices * sizeof(struct ent_slice) + b->bytes;
}

static bool weights_valid(const struct ent_slice *s, size_t size)
{
    return s->most_weight &&
           (!s->weights || (s->weights < size && size - s->weights >= sizeof(struct rec_scaling)));
}

/* All that the shader relies on. */
static bool slice_valid(const struct ent_slice *s, const struct batch_picture *pic, size_t size)
{
    return s->size <= ENT_MAX_BYTES && s->size && s->start < s->size * 8 &&
           s->size + ENT_PADDING <= size && weights_valid(s, size) && s->first_mb >= pic->next_mb &&
           s->end_mb > s->first_mb && s->end_mb <= pic->mb_count && s->mb_width >= ENT_MIN_WIDTH &&
           s->mb_width <= ENT_MAX_WIDTH && s->type <= 2 && s->model <= 3 &&
           s->num_ref[0] <= REC_MAX_REFS && s->num_ref[1] <= REC_MAX_REFS &&
           (s->chroma_blocks == 0 || s->chroma_blocks == 4);
}

static enum entropy_coding entropy_coding(const struct ent_slice *s)
{
    return s->flags & ENT_CAVLC ? ENTROPY_CAVLC : ENTROPY_CABAC;
}

/* As the shader counts it; no more than this is decoded. */
static uint32_t slice_weight(const struct ent_slice *s)
{
    return s->size + ENT_MB_WEIGHT * (s->end_mb - s->first_mb);
}

int gpu_entropy_add_slice(struct gpu_entropy_batch *b, uint32_t picture,
                          const struct ent_slice *slice, size_t size)
{
    const struct entropy_room *p = &b->room;
    if (b->state != BATCH_FILLING || picture >= b->picture_count || size > b->reserved ||
        !slice_valid(slice, &b->pictures[picture], size))
        return GPU_ERR_INVALID;
    if (b->slice_count == p->slices)
        return GPU_ERR_NOMEM;
    struct batch_picture *pic = &b->pictures[picture];
    struct ent_slice s = *slice;
    uint32_t used = (uint32_t)(size + BYTES_ALIGN - 1) / BYTES_ALIGN * BYTES_ALIGN;
    s.word = b->bytes / 4;
    s.mb_base = pic->mb_base;
    s.coeff_block_base = pic->coeff_block_base;
    s.coeff_block_count = pic->coeff_block_most;
    s.picture = picture;
    s.line = b->lines;
    b->codings |= 1u << entropy_coding(&s);
    b->lines += s.mb_width < s.end_mb - s.first_mb ? s.mb_width : s.end_mb - s.first_mb;
    b->slices[b->slice_count++] = (struct batch_slice){s, slice_weight(&s)};
    pic->gap |= s.first_mb != pic->next_mb;
    pic->next_mb = s.end_mb;
    b->bytes = used < p->bytes - b->bytes ? b->bytes + used : p->bytes;
    b->reserved = 0;
    return GPU_OK;
}

/* ---- decoding ---- */

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
    gpu_label_begin(b->e->g, s->commands, "entropy");
    if (b->state == BATCH_FILLING)
        record_inputs(b, s);
    record_dispatches(b, s);
    record_ranges(b, s);
    record_results(b, s);
    gpu_label_end(b->e->g, s->commands);
    TRY(gpu_work_submit(s));
    b->state = BATCH_DECODING;
    b->pieces--;
error:
    return err;
}

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

/* ---- fetching ---- */

static int begin_fetch(struct gpu_entropy_batch *b)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(gpu_work_begin(b->work, UINT64_MAX, &s));
    TRY(gpu_work_record(s, ENTROPY_PART_FETCH));
    gpu_work_forget(s, UINT32_MAX);
    gpu_work_depend(s, gpu_work_last(b->work, ENTROPY_PART_DECODE));
    gpu_work_sync(s, BARRIER_TRANSFER,
                  ENTROPY_BIT(ENT_BIND_MBS) | ENTROPY_BIT(ENT_BIND_MOTION) |
                      ENTROPY_BIT(ENT_BIND_SYNTAX) | ENTROPY_BIT(ENT_BIND_COEFFS),
                  ENTROPY_TARGETS);
    b->fetch = s;
error:
    return err;
}

/* Room for what every picture may have; made once, before it is named by commands. */
static int need_staging(struct gpu_entropy_batch *b)
{
    const uint64_t size =
        (uint64_t)b->room.mbs *
            (sizeof(struct rec_mb) + sizeof(struct rec_motion) + ENTROPY_SYNTAX_BYTES) +
        (uint64_t)b->room.coeff_blocks * ENTROPY_COEFF_BLOCK_BYTES;
    return b->staging.buffer ? GPU_OK
                             : gpu_buffer_create_for(b->e->g, GPU_USE_ENTROPY, size,
                                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                                     GPU_MEMORY_READBACK, &b->staging);
}

static int need_copy(struct gpu_entropy_batch *b)
{
    if (b->copy_count < b->copy_capacity)
        return GPU_OK;
    uint32_t capacity = 2 * b->copy_capacity + 16;
    struct entropy_copy *grown = realloc(b->copies, capacity * sizeof(*grown));
    if (!grown)
        return GPU_ERR_NOMEM;
    b->copies = grown;
    b->copy_capacity = capacity;
    return GPU_OK;
}

static int fetch_array(struct gpu_entropy_batch *b, uint32_t binding, uint64_t from, uint64_t size,
                       void *to)
{
    struct gpu *g = b->e->g;
    struct gpu_place place;
    int err = GPU_OK;
    if (!size)
        return GPU_OK;
    if (!gpu_arena_find(g, to, size, &place)) {
        TRY(need_staging(b));
        TRY(need_copy(b));
        if (size > b->staging.size - b->staged)
            return GPU_ERR_INVALID; /* a picture is fetched twice */
        place = (struct gpu_place){b->staging.buffer, b->staged, false};
        b->copies[b->copy_count++] = (struct entropy_copy){to, b->staged, size};
        b->staged += size;
    }
    VkBufferCopy copy = {from, place.offset, size};
    g->vk.vkCmdCopyBuffer(b->fetch->commands, b->device[binding].buffer, place.buffer, 1, &copy);
    b->resident |= place.device;
error:
    return err;
}

int gpu_entropy_fetch(struct gpu_entropy_batch *b, uint32_t picture,
                      const struct gpu_entropy_target *to)
{
    int err = GPU_OK;
    if (b->state != BATCH_DECODED || picture >= b->picture_count || b->pictures[picture].failed)
        return GPU_ERR_INVALID;
    const struct batch_picture *pic = &b->pictures[picture];
    const uint64_t base = pic->mb_base, n = pic->mb_count;
    if (!b->fetch)
        TRY(begin_fetch(b));
    TRY(fetch_array(b, ENT_BIND_MBS, base * sizeof(struct rec_mb), n * sizeof(struct rec_mb),
                    to->mbs));
    TRY(fetch_array(b, ENT_BIND_MOTION, base * sizeof(struct rec_motion),
                    n * sizeof(struct rec_motion), to->motion));
    TRY(fetch_array(b, ENT_BIND_SYNTAX, base * ENTROPY_SYNTAX_BYTES, n * ENTROPY_SYNTAX_BYTES,
                    to->syntax));
    TRY(fetch_array(b, ENT_BIND_COEFFS, (uint64_t)pic->coeff_block_base * ENTROPY_COEFF_BLOCK_BYTES,
                    (uint64_t)pic->coeff_blocks * ENTROPY_COEFF_BLOCK_BYTES, to->coeffs));
error:
    return err;
}

int gpu_entropy_fetch_submit(struct gpu_entropy_batch *b)
{
    struct gpu_submission *s = b->fetch;
    if (b->state != BATCH_DECODED)
        return GPU_ERR_INVALID;
    if (!s) { /* no picture was worth it */
        b->state = BATCH_FETCHED;
        return GPU_OK;
    }
    b->fetch = NULL;
    gpu_work_sync_host(s, ENTROPY_TARGETS);
    int err = gpu_work_submit(s);
    if (err == GPU_OK)
        b->state = BATCH_FETCHING;
    return err;
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
