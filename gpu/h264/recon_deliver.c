/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deliveries and copies of slots. Deliveries are sorted by format and destination; those that share
 * both are one dispatch.
 */
#include "gpu/h264/recon_internal.h"

#include <stdlib.h>

#include "shaders/copy_frame.spv.h"
#include "shaders/copy_frame_wide.spv.h"
#include "shaders/deliver.spv.h"
#include "shaders/deliver_wide.spv.h"

#define DELIVER_GROUP_X 64
#define DELIVER_GROUP_Y 4
#define COPY_GROUP_X    32
#define COPY_GROUP_Y    8

_Static_assert(sizeof(struct recon_deliver_args) == 52, "recon_deliver_args");
_Static_assert(RECON_I420 == DELIVER_I420 && RECON_NV12 == DELIVER_NV12 &&
                   RECON_GRAY == DELIVER_GRAY && RECON_I422 == DELIVER_I422 &&
                   RECON_I444 == DELIVER_I444,
               "recon_format");

static bool format_valid(const struct recon *r, enum recon_format format)
{
    uint8_t chroma = r->params.chroma_format_idc;
    switch (format) {
    case RECON_I420:
        return chroma == 1;
    case RECON_NV12:
        return chroma == 1 && !r->wide;
    case RECON_GRAY:
        return true;
    case RECON_I422:
        return chroma == 2;
    case RECON_I444:
        return chroma == 3;
    }
    return false;
}

int recon_deliver_pipelines(struct recon *r)
{
    int err =
        recon_pipeline(r, shader_copy_frame, sizeof(shader_copy_frame), shader_copy_frame_wide,
                       sizeof(shader_copy_frame_wide), NULL, 0, "copy_frame", &r->copy_pipeline);
    for (uint32_t i = 0; i < RECON_DELIVER_VARIANTS && err == GPU_OK; i++) {
        const uint32_t constants[2] = {i / 2, i % 2};
        if (format_valid(r, (enum recon_format)(i / 2)))
            err = recon_pipeline(r, shader_deliver, sizeof(shader_deliver), shader_deliver_wide,
                                 sizeof(shader_deliver_wide), constants, 2, "deliver",
                                 &r->deliver_pipelines[i]);
    }
    return err;
}

/* The planes of a delivery: bytes of a row, rounded up to texels of the store, and rows. */
static uint32_t plane_shapes(const struct recon *r, const struct recon_delivery *d,
                             struct gpu_rect rects[3])
{
    uint32_t sx = recon_shift_x(d->format), sy = recon_shift_y(d->format), texel = r->wide ? 8 : 4;
    uint32_t chroma_width = (d->width + sx) >> sx, chroma_height = (d->height + sy) >> sy;
    uint32_t count = d->format == RECON_NV12 ? 2 : d->format == RECON_GRAY ? 1 : 3;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t samples = i == 0 ? d->width : count == 2 ? 2 * chroma_width : chroma_width;
        rects[i] = (struct gpu_rect){d->offset[i], d->stride[i], (samples + 3) / 4 * texel,
                                     i == 0 ? d->height : chroma_height};
    }
    return count;
}

int recon_deliver_prepare(const struct recon *r, const struct recon_delivery *d, bool by_copy,
                          struct recon_item *out)
{
    uint32_t step = d->structure == REC_TOP || d->structure == REC_BOTTOM ? 2 : 1;
    uint32_t frame_width = r->params.mb_width * 16, frame_height = r->params.mb_height * 16 / step,
             texel = r->wide ? 8 : 4;
    if (!d->host || d->slot >= r->params.slots || (unsigned)d->format > RECON_I444 ||
        !format_valid(r, d->format))
        return GPU_ERR_INVALID;
    if (d->crop_x % (1u << recon_shift_x(d->format)) ||
        d->crop_y % (1u << recon_shift_y(d->format)))
        return GPU_ERR_INVALID;
    if (!d->width || !d->height || d->crop_x >= frame_width || d->crop_y >= frame_height ||
        d->width > frame_width - d->crop_x || d->height > frame_height - d->crop_y)
        return GPU_ERR_INVALID;
    if (!recon_blur_valid(d))
        return GPU_ERR_INVALID;
    struct recon_item item = {.delivery = d, .host = d->host, .format = d->format};
    uint64_t begin = UINT64_MAX, end = 0;
    item.rect_count = plane_shapes(r, d, item.rects);
    for (uint32_t i = 0; i < item.rect_count; i++) {
        const struct gpu_rect *rect = &item.rects[i];
        if (rect->offset % texel || rect->stride % texel || rect->stride < rect->bytes ||
            rect->offset > UINT64_MAX / 2)
            return GPU_ERR_INVALID;
        uint64_t plane_end = rect->offset + (uint64_t)rect->stride * (rect->rows - 1) + rect->bytes;
        begin = rect->offset < begin ? rect->offset : begin;
        end = plane_end > end ? plane_end : end;
    }
    int err = gpu_host_window(d->host, begin, end, &item.window);
    if (err < 0)
        return err;
    item.args = (struct recon_deliver_args){.slot = d->slot,
                                            .crop_x = d->crop_x,
                                            .crop_y = d->crop_y,
                                            .width = d->width,
                                            .height = d->height,
                                            .row_step = step,
                                            .row_first = d->structure == REC_BOTTOM};
    bool aligned = d->crop_x % (4u << recon_shift_x(d->format)) == 0;
    item.variant = by_copy && step == 1 && aligned && d->format != RECON_NV12
                       ? RECON_BY_COPY
                       : 2 * (uint32_t)d->format + aligned;
    if (d->blur_count)
        item.variant = RECON_BLURRED + (uint32_t)d->format;
    for (uint32_t i = 0; i < item.rect_count; i++) {
        item.args.offset[i] = (uint32_t)((item.rects[i].offset - item.window.offset) / 4);
        item.args.stride[i] = item.rects[i].stride / 4;
    }
    *out = item;
    return GPU_OK;
}

static int by_dispatch(const void *a, const void *b)
{
    const struct recon_item *x = a, *y = b;
    if (x->variant != y->variant)
        return x->variant < y->variant ? -1 : 1;
    if (x->host != y->host)
        return (uintptr_t)x->host < (uintptr_t)y->host ? -1 : 1;
    return (x->window.index > y->window.index) - (x->window.index < y->window.index);
}

int recon_deliver_plan(struct recon *r, struct recon_chunk *chunk)
{
    int err = GPU_OK;
    bool by_copy = recon_deliver_by_copy(r, chunk);
    for (uint32_t i = 0; i < chunk->delivery_count && err == GPU_OK; i++)
        err = recon_deliver_prepare(r, &chunk->deliveries[i], by_copy, &r->items[i]);
    if (err < 0)
        return err;
    qsort(r->items, chunk->delivery_count, sizeof(*r->items), by_dispatch);
    chunk->shaded = 0;
    while (chunk->shaded < chunk->delivery_count &&
           r->items[chunk->shaded].variant != RECON_BY_COPY)
        chunk->shaded++;
    err = recon_blur_plan(r, chunk->delivery_count);
    if (err < 0)
        return err;
    for (uint32_t i = 0; i < chunk->delivery_count && err == GPU_OK; i++)
        err = gpu_host_reserve(r->items[i].host, 3 * (size_t)chunk->delivery_count);
    return err;
}

/* One dispatch for the items from first on that share its pipeline and window; returns the first
 * one that does not. */
static uint32_t record_group(struct recon *r, VkCommandBuffer commands, uint32_t first,
                             uint32_t end)
{
    struct gpu *g = r->g;
    const struct recon_item *item = &r->items[first];
    uint32_t words = 0, rows = 0, next = first;
    for (; next < end && !by_dispatch(item, &r->items[next]); next++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < r->items[next].rect_count; i++) {
            words = r->items[next].rects[i].bytes / 4 > words ? r->items[next].rects[i].bytes / 4
                                                              : words;
            sum += r->items[next].rects[i].rows;
        }
        rows = sum > rows ? sum : rows;
    }
    struct recon_push push = {.first_picture = first};
    g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                            r->deliver_pipelines[item->variant]);
    g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, r->layout->pipeline,
                                  SET_HOST, 1, &item->window.set, 0, NULL);
    g->vk.vkCmdPushConstants(commands, r->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof(push), &push);
    g->vk.vkCmdDispatch(commands, (words + DELIVER_GROUP_X - 1) / DELIVER_GROUP_X,
                        (rows + DELIVER_GROUP_Y - 1) / DELIVER_GROUP_Y, next - first);
    return next;
}

/* Planes as they are: a texel is four samples, so a row of a plane is a row of texels. */
static void record_copy(struct recon *r, VkCommandBuffer commands, const struct recon_item *item)
{
    for (uint32_t i = 0; i < item->rect_count; i++) {
        const struct gpu_rect *rect = &item->rects[i];
        uint32_t sx = i ? recon_shift_x(item->format) : 0, sy = i ? recon_shift_y(item->format) : 0,
                 texel = r->wide ? 8 : 4;
        VkBufferImageCopy region = {
            .bufferOffset = rect->offset,
            .bufferRowLength = rect->stride / texel,
            .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, item->args.slot, 1},
            .imageOffset = {(int32_t)(item->args.crop_x >> sx) / 4,
                            (int32_t)(item->args.crop_y >> sy), 0},
            .imageExtent = {rect->bytes / texel, rect->rows, 1}};
        r->g->vk.vkCmdCopyImageToBuffer(commands, r->images[BIND_FRAME_Y - BIND_WORK_Y + i].image,
                                        VK_IMAGE_LAYOUT_GENERAL, gpu_host_buffer(item->host), 1,
                                        &region);
    }
}

/* Deliveries do not depend on each other: one barrier in front of those that shaders make, one in
 * front of the copies. */
void recon_deliver_record(struct recon *r, struct gpu_submission *s,
                          const struct recon_chunk *chunk)
{
    uint32_t count = chunk->delivery_count, shaded = chunk->shaded;
    gpu_label_begin(r->g, s->commands, "deliver");
    recon_blur_record(r, s, count);
    if (shaded)
        gpu_work_sync(s, BARRIER_COMPUTE, RECON_FRAMES | RECON_B(BIND_DELIVER) | RECON_B(BIND_BLUR),
                      RECON_B(BIND_HOST));
    for (uint32_t first = 0; first < shaded;)
        first = record_group(r, s->commands, first, shaded);
    if (shaded < count)
        gpu_work_sync(s, BARRIER_TRANSFER, RECON_FRAMES, RECON_B(BIND_HOST));
    for (uint32_t i = shaded; i < count; i++)
        record_copy(r, s->commands, &r->items[i]);
    gpu_work_sync_host(s, RECON_B(BIND_HOST));
    gpu_label_end(r->g, s->commands);
}

void recon_deliver_submitted(struct recon *r, const struct recon_chunk *chunk,
                             const struct gpu_point *point)
{
    for (uint32_t i = 0; i < chunk->delivery_count; i++)
        gpu_host_written(r->items[i].host, r->items[i].rects, r->items[i].rect_count, point);
}

/* Copies of one batch do not depend on each other: one barrier in front of them all. */
void recon_copies_record(struct recon *r, struct gpu_submission *s, const struct recon_chunk *chunk)
{
    struct gpu *g = r->g;
    const struct gpu_image *luma = &r->images[BIND_FRAME_Y - BIND_WORK_Y];
    gpu_label_begin(g, s->commands, "copy_frame");
    g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, r->copy_pipeline);
    gpu_work_sync(s, BARRIER_COMPUTE, RECON_FRAMES, RECON_FRAMES);
    for (uint32_t i = 0; i < chunk->picture_count; i++) {
        const struct recon_picture *p = &chunk->pictures[i];
        if (p->view || (p->slot == p->copy_from && p->rows == p->rows_from))
            continue;
        uint32_t rows = p->rows ? p->rows : REC_FRAME,
                 rows_from = p->rows ? p->rows_from : REC_FRAME;
        struct recon_push push = {.first_picture = p->slot,
                                  .param = p->copy_from,
                                  .depth_luma = r->params.bit_depth[0],
                                  .depth_chroma = recon_chroma_depth(&r->params),
                                  .step = COPY_WHAT(rows, rows_from, p->planes ? p->planes : 7u)};
        g->vk.vkCmdPushConstants(s->commands, r->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 sizeof(push), &push);
        g->vk.vkCmdDispatch(s->commands, (luma->width + COPY_GROUP_X - 1) / COPY_GROUP_X,
                            (luma->height + COPY_GROUP_Y - 1) / COPY_GROUP_Y, 1);
    }
    gpu_label_end(g, s->commands);
}
