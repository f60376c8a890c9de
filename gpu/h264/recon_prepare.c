/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All that must exist before a chunk is recorded: queues, pipelines, buffers.
 *
 * A pipeline is the compilation of a shader for the store's sample size, with the constants of its
 * format. Threads make those that nearly every batch needs as soon as there is a store. A chunk
 * waits for those that it needs, and makes others, such as deliveries in another format. The blur's
 * buffers are made for the first blurred frame, and those of uploads grow with the batches.
 */
#include "gpu/h264/recon_internal.h"

#include "gpu/shaders/lib/cases.h"

#include <stdlib.h>

#include "shaders/blur_cells.spv.h"
#include "shaders/blur_cells_wide.spv.h"
#include "shaders/convert.spv.h"
#include "shaders/convert_blur.spv.h"
#include "shaders/convert_blur_wide.spv.h"
#include "shaders/convert_wide.spv.h"
#include "shaders/copy_frame.spv.h"
#include "shaders/copy_frame_wide.spv.h"
#include "shaders/deliver.spv.h"
#include "shaders/deliver_blur.spv.h"
#include "shaders/deliver_blur_wide.spv.h"
#include "shaders/deliver_wide.spv.h"

/* ---- queues ---- */

static const enum gpu_queue_use uses[RECON_PARTS] = {[RECON_PART_UP] = GPU_QUEUE_UP,
                                                     [RECON_PART_MAIN] = GPU_QUEUE_MAIN,
                                                     [RECON_PART_DELIVER] = GPU_QUEUE_DELIVER,
                                                     [RECON_PART_DOWN] = GPU_QUEUE_DOWN};

int recon_queues_get(struct recon *r)
{
    int err = GPU_OK;
    for (int i = 0; i < RECON_PARTS && err == GPU_OK; i++)
        err = gpu_queue_get(r->g, uses[i], &r->queues[i]);
    return err;
}

/* ---- pipelines ---- */

struct wants {
    struct gpu_pipeline_want all[RECON_WANTS];
    uint32_t count;
};

/* A shader of the store, by its two compilations. */
struct shader {
    const uint32_t *spirv, *wide; /* wide NULL: the same for all sample sizes */
    size_t size, wide_size;
    const char *name;
};

static const struct shader copy_frame = {shader_copy_frame, shader_copy_frame_wide,
                                         sizeof(shader_copy_frame), sizeof(shader_copy_frame_wide),
                                         "copy_frame"},
                           deliver = {shader_deliver, shader_deliver_wide, sizeof(shader_deliver),
                                      sizeof(shader_deliver_wide), "deliver"},
                           deliver_blurred = {shader_deliver_blur, shader_deliver_blur_wide,
                                              sizeof(shader_deliver_blur),
                                              sizeof(shader_deliver_blur_wide), "deliver, blurred"},
                           convert = {shader_convert, shader_convert_wide, sizeof(shader_convert),
                                      sizeof(shader_convert_wide), "convert"},
                           convert_blurred = {shader_convert_blur, shader_convert_blur_wide,
                                              sizeof(shader_convert_blur),
                                              sizeof(shader_convert_blur_wide), "convert, blurred"},
                           blur_cells = {shader_blur_cells, shader_blur_cells_wide,
                                         sizeof(shader_blur_cells), sizeof(shader_blur_cells_wide),
                                         "blur cells"};

static void want_pipeline(const struct recon *r, struct wants *wants, const struct shader *shader,
                          const uint32_t *constants, uint32_t constant_count, VkPipeline *out)
{
    bool wide = r->wide && shader->wide;
    for (uint32_t i = 0; i < wants->count; i++)
        if (wants->all[i].out == out)
            return;
    if (*out || wants->count == RECON_WANTS)
        return;
    struct gpu_pipeline_want *w = &wants->all[wants->count++];
    *w = (struct gpu_pipeline_want){.layout = r->layout,
                                    .spirv = wide ? shader->wide : shader->spirv,
                                    .spirv_size = wide ? shader->wide_size : shader->size,
                                    .constant_count = CONSTANT_COUNT,
                                    .name = shader->name,
                                    .out = out};
    for (uint32_t i = 0; i < constant_count; i++)
        w->constants[i] = constants[i];
    w->constants[CONSTANT_CHROMA_FORMAT] = recon_chroma_format(&r->params);
    w->constants[CONSTANT_INTERLACED] = r->params.interlaced;
}

/* Passes that the shape wants. */
static void want_passes(struct recon *r, struct wants *wants, const struct recon_shape *shape)
{
    for (uint32_t i = 0; i < recon_pass_count; i++) {
        const struct recon_pass *p = &recon_passes[i];
        const struct shader shader = {p->spirv, p->whole_subgroups ? NULL : p->spirv_wide,
                                      p->spirv_size, p->spirv_wide_size, p->name};
        uint32_t before = wants->count;
        if (p->wanted && !p->wanted(shape))
            continue;
        want_pipeline(r, wants, &shader, p->constants, p->constant_count, &r->pipelines[i]);
        if (wants->count > before)
            wants->all[before].whole = p->whole_subgroups;
    }
}

/* Nearly all deliveries have the planes of the store, uncropped or cropped to whole texels. Chunks
 * wait for those that they need. */
int recon_pipelines_begin(struct recon *r)
{
    static const uint32_t planar[4] = {RECON_GRAY, RECON_I420, RECON_I422, RECON_I444};
    const uint32_t plain[2] = {planar[r->params.chroma_format_idc & 3], 1};
    struct wants wants;
    wants.count = 0;
    want_pipeline(r, &wants, &copy_frame, NULL, 0, &r->copy_pipeline);
    if (!r->deliver_by_copy)
        want_pipeline(r, &wants, &deliver, plain, 2, &r->deliver_pipelines[2 * plain[0] + 1]);
    want_passes(r, &wants, &r->worst);
    return gpu_pipelines_begin(r->g, wants.all, wants.count);
}

/* Pipelines of the deliveries that shaders write. Returns whether one is blurred. */
static bool want_deliveries(struct recon *r, struct wants *wants, const struct recon_chunk *chunk)
{
    bool blurred = false;
    for (uint32_t i = 0; i < chunk->shaded; i++) {
        const struct recon_item *item = &chunk->items[i];
        const uint32_t constants[2] = {(uint32_t)item->format, item->variant % 2},
                       chroma = r->params.chroma_format_idc;
        VkPipeline *out = &r->deliver_pipelines[item->variant];
        bool in_rects = recon_item_blurred(item);
        if (item->delivery->conversion)
            want_pipeline(r, wants, in_rects ? &convert_blurred : &convert, &chroma, 1, out);
        else
            want_pipeline(r, wants, in_rects ? &deliver_blurred : &deliver, constants,
                          in_rects ? 1 : 2, out);
        if (in_rects)
            want_pipeline(r, wants, &blur_cells, constants, 1, &r->blur_pipelines[item->format]);
        blurred |= in_rects;
    }
    return blurred;
}

/* ---- buffers ---- */

#define DIRECT_BYTES 4096       /* less is not worth a copy command of its own */
#define FLIGHT_BYTES (1u << 20) /* a flight's buffers at first */

/* Records by way of staging, or, where they lie in an arena, by the device alone. from NULL: of
 * view, without gaps. */
static void records_plan(struct recon *r, struct recon_flight *f, const struct recon_piece *piece)
{
    struct gpu_place place;
    if (!piece->bytes)
        return;
    if (piece->from && gpu_arena_find(r->g, piece->from, piece->bytes, &place) &&
        (place.device || piece->bytes >= DIRECT_BYTES)) {
        f->copies[f->copy_count++] =
            (struct recon_copy){place.buffer, {place.offset, piece->to, piece->bytes}};
        f->upload_bytes += place.device ? 0 : piece->bytes;
        if (place.device && !f->writer_count)
            f->writer_count = gpu_arena_writers(r->g, f->writers);
        return;
    }
    struct recon_piece *staged = &f->pieces[f->piece_count++];
    *staged = *piece;
    staged->staged = r->g->unified ? piece->to : f->staged[piece->section];
    f->staged[piece->section] += piece->bytes;
}

/* Records of a picture that a batch reads: all, or where it has some rows those of them, and
 * macroblocks of the row above. */
struct records_part {
    uint64_t mb_from, mb_to, block_from, block_to;
};

static struct records_part part_of(const struct recon *r, const struct recon_chunk *chunk,
                                   const struct rec_view *view)
{
    uint64_t width = view->head.mb_width, blocks = recon_packed_blocks(r, view);
    struct records_part part = {.mb_to = view->head.mb_count, .block_to = blocks};
    if (!chunk->row_first && !chunk->shape.unfinished)
        return part;
    part = (struct records_part){.mb_from = chunk->row_first ? (chunk->row_first - 1) * width : 0,
                                 .mb_to = chunk->row_end * width,
                                 .block_from = blocks};
    for (uint64_t i = chunk->row_first * width; i < part.mb_to; i++) {
        uint64_t from = view->mbs[i].coeff, to = from + recon_mb_blocks(&view->mbs[i]);
        if (from == to)
            continue;
        part.block_from = from < part.block_from ? from : part.block_from;
        part.block_to = to > part.block_to ? to : part.block_to;
    }
    part.block_to = part.block_to > blocks ? blocks : part.block_to;
    part.block_from = part.block_from > part.block_to ? part.block_to : part.block_from;
    return part;
}

/* Its coefficient blocks, or all of its packed levels. */
static struct recon_piece levels_piece(const struct recon *r, const struct recon_chunk *chunk,
                                       const struct rec_view *view, const struct records_part *part,
                                       uint64_t coeff_blocks, uint64_t packed_words)
{
    const struct recon_section *sections = chunk->sections;
    bool compact = recon_packed_blocks(r, view) != view->coeff_block_count;
    if (view->packed)
        return (struct recon_piece){.section = BIND_PACKED,
                                    .to = sections[BIND_PACKED].offset + 4 * packed_words,
                                    .bytes = 4ull * view->packed_words,
                                    .from = view->packed};
    return (struct recon_piece){
        .section = BIND_COEFFS,
        .to =
            sections[BIND_COEFFS].offset + (coeff_blocks + part->block_from) * r->coeff_block_bytes,
        .bytes = (part->block_to - part->block_from) * r->coeff_block_bytes,
        .from = compact ? NULL
                        : (const uint8_t *)view->coeffs + part->block_from * r->coeff_block_bytes,
        .view = view};
}

/* The large records of a picture, whose macroblocks and coefficient blocks begin there. Motion is 4
 * bytes in 5 of a picture without coefficients. Pictures without motion leave a gap that is not
 * uploaded. */
static void picture_plan(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk,
                         const struct rec_view *view, uint64_t mbs, uint64_t coeff_blocks,
                         uint64_t packed_words)
{
    const struct recon_section *sections = chunk->sections;
    struct records_part part = part_of(r, chunk, view);
    bool compact = recon_packed_blocks(r, view) != view->coeff_block_count;
    mbs += part.mb_from;
    const struct recon_piece pieces[3] = {
        {.section = BIND_MBS,
         .to = sections[BIND_MBS].offset + mbs * sizeof(struct rec_mb),
         .bytes = (part.mb_to - part.mb_from) * sizeof(struct rec_mb),
         .from = compact ? NULL : view->mbs + part.mb_from,
         .view = view},
        levels_piece(r, chunk, view, &part, coeff_blocks, packed_words),
        {.section = BIND_MOTION,
         .to = sections[BIND_MOTION].offset + mbs * sizeof(struct rec_motion),
         .bytes = (part.mb_to - part.mb_from) * sizeof(struct rec_motion),
         .from = view->motion ? view->motion + part.mb_from : NULL}};
    for (int i = 0; i < 2 + (view->head.has_inter && view->motion); i++)
        records_plan(r, f, &pieces[i]);
}

/* What is fetched from arenas, and what passes through staging. Staging holds that section after
 * section, or, where it is the upload itself, in place. Returns the bytes of staging. */
static uint64_t flight_plan(struct recon *r, struct recon_flight *f,
                            const struct recon_chunk *chunk)
{
    uint64_t mbs = 0, coeff_blocks = 0, packed_words = 0, at = 0, base[BIND_DELIVER + 1];
    f->copy_count = f->piece_count = f->writer_count = 0;
    f->upload_bytes = 0;
    memset(f->staged, 0, sizeof(f->staged));
    for (uint32_t i = 0; i < chunk->picture_count; i++) {
        const struct rec_view *view = chunk->pictures[i].view;
        if (!view)
            continue;
        picture_plan(r, f, chunk, view, mbs, coeff_blocks, packed_words);
        mbs += view->head.mb_count;
        packed_words += view->packed ? view->packed_words : 0;
        coeff_blocks += recon_packed_blocks(r, view);
    }
    if (r->g->unified)
        return chunk->bytes;
    for (uint32_t i = 0; i <= BIND_DELIVER; i++) {
        bool small = RECON_UPLOADED & RECON_B(i) & ~RECON_LARGE;
        base[i] = at;
        at += ((small ? chunk->sections[i].size : f->staged[i]) + 15) / 16 * 16;
        f->staged[i] = base[i];
    }
    for (uint32_t i = 0; i < f->piece_count; i++)
        f->pieces[i].staged += base[f->pieces[i].section];
    return at;
}

/* The flight must be idle. A buffer becomes twice as large at least, so that it seldom grows. Where
 * the budget has no memory for the upload, the chunk can have fewer pictures. */
static int flight_grow(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk,
                       uint64_t *room)
{
    struct gpu *g = r->g;
    const VkBufferUsageFlags shader = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                             from = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                             to = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    const enum gpu_use use = GPU_USE_BATCHES | GPU_USE_PROMISED;
    uint64_t needs[2] = {flight_plan(r, f, chunk), g->unified ? 0 : chunk->bytes};
    if (gpu_promise_exceeds(g, f->promise, r->upload_one)) {
        gpu_buffer_free(g, &f->upload);
        gpu_buffer_free(g, &f->staging);
        gpu_promise_lower(g, &f->promise, r->upload_one);
    }
    if (!gpu_promise(g, &f->promise, chunk->bytes, chunk->shape.pictures <= 1)) {
        *room = f->promise;
        return RECON_NARROWER;
    }
    uint64_t sizes[2] = {f->staging.size ? 2 * f->staging.size : FLIGHT_BYTES,
                         f->upload.size ? 2 * f->upload.size : FLIGHT_BYTES};
    for (int i = 0; i < 2; i++) {
        sizes[i] = sizes[i] > r->upload_capacity ? r->upload_capacity : sizes[i];
        sizes[i] = sizes[i] < needs[i] ? needs[i] : sizes[i];
    }
    const struct gpu_buffer *device = g->unified ? &f->staging : &f->upload;
    if (device->size < chunk->bytes && !gpu_promise(g, &f->promise, sizes[!g->unified], false))
        sizes[!g->unified] = chunk->bytes;
    int err = GPU_OK;
    if (f->staging.size < needs[0]) {
        gpu_buffer_free(g, &f->staging);
        TRY(gpu_buffer_create_for(g, use, sizes[0], g->unified ? shader | to : from,
                                  g->unified ? GPU_MEMORY_SHARED : GPU_MEMORY_UPLOAD, &f->staging));
    }
    if (f->upload.size < needs[1]) {
        gpu_buffer_free(g, &f->upload);
        TRY(gpu_buffer_create_for(g, use, sizes[1], shader | to, GPU_MEMORY_DEVICE, &f->upload));
    }
error:
    return err;
}

int recon_prepare(struct recon *r, struct recon_flight *f, struct recon_chunk *chunk,
                  uint64_t *room)
{
    int err = GPU_OK;
    struct wants wants;
    wants.count = 0;
    if (chunk->shape.pictures)
        want_passes(r, &wants, &chunk->shape);
    if (chunk->copies)
        want_pipeline(r, &wants, &copy_frame, NULL, 0, &r->copy_pipeline);
    bool blurred = want_deliveries(r, &wants, chunk);
    TRY(flight_grow(r, f, chunk, room));
    if (err == RECON_NARROWER)
        return err;
    if (blurred && !r->blur_heads)
        r->blur_heads = calloc(r->delivery_capacity, sizeof(*r->blur_heads));
    if (blurred && !r->blur_heads)
        return GPU_ERR_NOMEM;
    if (blurred && !r->blur.buffer)
        TRY(gpu_buffer_create_for(r->g, GPU_USE_BATCHES | GPU_USE_NEEDED,
                                  (uint64_t)r->delivery_capacity * sizeof(struct recon_blur),
                                  VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                  GPU_MEMORY_DEVICE, &r->blur));
    if (wants.count)
        TRY(gpu_pipelines_make(r->g, wants.all, wants.count));
error:
    return err;
}
