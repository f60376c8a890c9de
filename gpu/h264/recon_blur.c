/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Privacy blur of deliveries: the rectangles in samples of each plane, and the pass that computes
 * the means of their cells. Deliver writes the blurred samples directly, so host memory never holds
 * a sample from inside a rectangle.
 */
#include "gpu/h264/recon_internal.h"

#include <stddef.h>

#include "shaders/blur_cells.spv.h"
#include "shaders/blur_cells_wide.spv.h"
#include "shaders/deliver_blur.spv.h"
#include "shaders/deliver_blur_wide.spv.h"

_Static_assert(RECON_BLURS == BLUR_RECTS, "the same in the shader");
_Static_assert(offsetof(struct recon_blur, cells) <= 65536, "what vkCmdUpdateBuffer takes");

bool recon_blur_valid(const struct recon_delivery *d)
{
    if (d->blur_count > RECON_BLURS)
        return false;
    for (uint32_t i = 0; i < d->blur_count; i++)
        if (!d->blur[i].width || !d->blur[i].height || d->blur[i].x >= d->width ||
            d->blur[i].y >= d->height)
            return false;
    return true;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t cells_of(uint32_t size)
{
    uint32_t n = smaller(size / BLUR_CELL, BLUR_SIDE);
    return n ? n : 1;
}

/* One rectangle cut off at the picture's edges. Where frames may hold two fields, rows of chroma
 * 4:2:0 alternate between them: a chroma row belongs to two luma rows of its field, which lie in a
 * group of four (6.2, Figure 6-6). */
static struct recon_blur_rect in_planes(const struct recon *r, const struct recon_delivery *d,
                                        const struct recon_rect *rect)
{
    uint32_t sx = recon_shift_x(d->format), sy = recon_shift_y(d->format);
    uint32_t right = rect->x + smaller(rect->width, d->width - rect->x),
             bottom = rect->y + smaller(rect->height, d->height - rect->y);
    uint32_t chroma_right = (right + sx) >> sx, chroma_top = rect->y >> sy,
             chroma_bottom = (bottom + sy) >> sy;
    bool woven = r->params.interlaced && d->structure != REC_TOP && d->structure != REC_BOTTOM;
    if (woven && sy) {
        chroma_top = rect->y / 4 * 2;
        chroma_bottom = smaller((bottom + 3) / 4 * 2, (d->height + 1) / 2);
    }
    return (struct recon_blur_rect){.x = {rect->x, rect->x >> sx},
                                    .y = {rect->y, chroma_top},
                                    .width = {right - rect->x, chroma_right - (rect->x >> sx)},
                                    .height = {bottom - rect->y, chroma_bottom - chroma_top},
                                    .columns = cells_of(right - rect->x),
                                    .rows = cells_of(bottom - rect->y)};
}

static bool blurred(const struct recon_item *item)
{
    return item->variant >= RECON_BLURRED && item->variant < RECON_DELIVER_PIPELINES;
}

static int blurred_pipeline(struct recon *r, enum recon_format format)
{
    const uint32_t constants[2] = {(uint32_t)format, 0};
    return recon_pipeline(r, shader_deliver_blur, sizeof(shader_deliver_blur),
                          shader_deliver_blur_wide, sizeof(shader_deliver_blur_wide), constants, 2,
                          "deliver, blurred",
                          &r->deliver_pipelines[RECON_BLURRED + (uint32_t)format]);
}

int recon_blur_plan(struct recon *r, uint32_t count)
{
    int err = GPU_OK;
    for (uint32_t i = 0; i < count && err == GPU_OK; i++) {
        const uint32_t constants[1] = {r->items[i].format};
        if (!blurred(&r->items[i]) || r->blur_pipelines[constants[0]])
            continue;
        err = blurred_pipeline(r, r->items[i].format);
        if (err == GPU_OK && !r->blur.buffer)
            err = gpu_buffer_create(
                r->g, (uint64_t)r->delivery_capacity * sizeof(struct recon_blur),
                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                GPU_MEMORY_DEVICE, &r->blur);
        if (err == GPU_OK)
            err = recon_pipeline(r, shader_blur_cells, sizeof(shader_blur_cells),
                                 shader_blur_cells_wide, sizeof(shader_blur_cells_wide), constants,
                                 1, "blur cells", &r->blur_pipelines[constants[0]]);
    }
    return err;
}

static void record_rects(struct recon *r, VkCommandBuffer commands, uint32_t index)
{
    const struct recon_delivery *d = r->items[index].delivery;
    struct recon_blur blur = {.count = d->blur_count};
    for (uint32_t i = 0; i < d->blur_count; i++)
        blur.rects[i] = in_planes(r, d, &d->blur[i]);
    r->g->vk.vkCmdUpdateBuffer(commands, r->blur.buffer, (uint64_t)index * sizeof(blur),
                               offsetof(struct recon_blur, cells), &blur);
}

static void record_cells(struct recon *r, VkCommandBuffer commands, uint32_t index)
{
    const struct recon_item *item = &r->items[index];
    const struct recon_push push = {.first_picture = index};
    r->g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                               r->blur_pipelines[item->format]);
    r->g->vk.vkCmdPushConstants(commands, r->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                sizeof(push), &push);
    r->g->vk.vkCmdDispatch(commands, BLUR_SIDE * BLUR_SIDE, item->delivery->blur_count,
                           item->format == RECON_GRAY ? 1 : 3);
}

void recon_blur_record(struct recon *r, struct gpu_submission *s, uint32_t count)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!blurred(&r->items[i]))
            continue;
        if (!any)
            gpu_work_sync(s, BARRIER_TRANSFER, 0, RECON_B(BIND_BLUR));
        any = true;
        record_rects(r, s->commands, i);
    }
    if (!any)
        return;
    gpu_work_sync(s, BARRIER_COMPUTE, RECON_FRAMES | RECON_B(BIND_DELIVER) | RECON_B(BIND_BLUR),
                  RECON_B(BIND_BLUR));
    for (uint32_t i = 0; i < count; i++)
        if (blurred(&r->items[i]))
            record_cells(r, s->commands, i);
}
