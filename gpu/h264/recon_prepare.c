/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All that must exist before a chunk is recorded: queues, pipelines, buffers.
 *
 * A pipeline is the compilation of a shader for the store's sample size, with the constants of its
 * format. Those that nearly every batch needs are made with the store, in parallel. Others, such as
 * deliveries in another format, are made when a chunk first needs them; so are the blur's buffers,
 * and staging grows for a picture of unusually many slices.
 */
#include "gpu/h264/recon_internal.h"

#include "gpu/shaders/lib/cases.h"

#include <stdlib.h>

#include "shaders/blur_cells.spv.h"
#include "shaders/blur_cells_wide.spv.h"
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

int recon_queues_open(struct recon *r)
{
    int err = GPU_OK;
    for (int i = 0; i < RECON_PARTS && err == GPU_OK; i++)
        err = gpu_queue_open(r->g, uses[i], &r->queues[i]);
    return err;
}

void recon_queues_close(struct recon *r)
{
    for (int i = 0; i < RECON_PARTS; i++)
        gpu_queue_close(r->queues[i]);
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

/* Nearly all deliveries have the planes of the store, uncropped or cropped to whole texels. */
int recon_pipelines_make(struct recon *r)
{
    static const uint32_t planar[4] = {RECON_GRAY, RECON_I420, RECON_I422, RECON_I444};
    const uint32_t plain[2] = {planar[r->params.chroma_format_idc & 3], 1};
    struct wants wants;
    wants.count = 0;
    want_pipeline(r, &wants, &copy_frame, NULL, 0, &r->copy_pipeline);
    if (!r->deliver_by_copy)
        want_pipeline(r, &wants, &deliver, plain, 2, &r->deliver_pipelines[2 * plain[0] + 1]);
    want_passes(r, &wants, &r->worst);
    return gpu_pipelines_make(r->g, wants.all, wants.count);
}

/* Pipelines of the deliveries that shaders write. Returns whether one is blurred. */
static bool want_deliveries(struct recon *r, struct wants *wants, const struct recon_chunk *chunk)
{
    bool blurred = false;
    for (uint32_t i = 0; i < chunk->shaded; i++) {
        const struct recon_item *item = &chunk->items[i];
        const uint32_t constants[2] = {(uint32_t)item->format, item->variant % 2};
        if (recon_item_blurred(item)) {
            blurred = true;
            want_pipeline(r, wants, &deliver_blurred, constants, 1,
                          &r->deliver_pipelines[item->variant]);
            want_pipeline(r, wants, &blur_cells, constants, 1, &r->blur_pipelines[item->format]);
        } else {
            want_pipeline(r, wants, &deliver, constants, 2, &r->deliver_pipelines[item->variant]);
        }
    }
    return blurred;
}

/* ---- buffers ---- */

int recon_flight_grow(struct recon *r, struct recon_flight *f, uint64_t bytes)
{
    struct gpu *g = r->g;
    int err = GPU_OK;
    if (f->staging.size >= bytes)
        return GPU_OK;
    gpu_buffer_free(g, &f->staging);
    gpu_buffer_free(g, &f->upload);
    const VkBufferUsageFlags shader = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                             from = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                             to = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (g->unified)
        return gpu_buffer_create(g, bytes, shader | to, GPU_MEMORY_SHARED, &f->staging);
    err = gpu_buffer_create(g, bytes, shader | to, GPU_MEMORY_DEVICE, &f->upload);
    if (err == GPU_OK)
        err = gpu_buffer_create(g, bytes, from, GPU_MEMORY_UPLOAD, &f->staging);
    return err;
}

int recon_prepare(struct recon *r, struct recon_flight *f, struct recon_chunk *chunk)
{
    int err = GPU_OK;
    struct wants wants;
    wants.count = 0;
    if (chunk->shape.pictures)
        want_passes(r, &wants, &chunk->shape);
    bool blurred = want_deliveries(r, &wants, chunk);
    TRY(recon_flight_grow(r, f, chunk->bytes));
    if (blurred && !r->blur_heads)
        r->blur_heads = calloc(r->delivery_capacity, sizeof(*r->blur_heads));
    if (blurred && !r->blur_heads)
        return GPU_ERR_NOMEM;
    if (blurred && !r->blur.buffer)
        TRY(gpu_buffer_create(r->g, (uint64_t)r->delivery_capacity * sizeof(struct recon_blur),
                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                              GPU_MEMORY_DEVICE, &r->blur));
    if (wants.count)
        TRY(gpu_pipelines_make(r->g, wants.all, wants.count));
error:
    return err;
}
