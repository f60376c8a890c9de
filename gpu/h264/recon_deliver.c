/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deliveries: their check, their order, their steps. They are sorted by format and destination;
 * those that share both are one dispatch. Rectangles of the privacy blur are in samples of each
 * plane.
 *
 * A wide batch has three submissions, each on its own queue: copies up, reconstruction, deliveries.
 * While one batch is reconstructed, the next one's records arrive and the last one's frames leave.
 * A single picture with nothing else in flight, as in a live stream, is one submission. Nothing
 * could run beside it, and every semaphore takes time.
 */
#include "gpu/h264/recon_internal.h"

#include "convert/conversion.h"

#include <stddef.h>
#include <stdlib.h>

#define DELIVER_GROUP_X 64
#define DELIVER_GROUP_Y 4

_Static_assert(sizeof(struct recon_deliver_args) == 56, "recon_deliver_args");
_Static_assert(RECON_I420 == DELIVER_I420 && RECON_NV12 == DELIVER_NV12 &&
                   RECON_GRAY == DELIVER_GRAY && RECON_I422 == DELIVER_I422 &&
                   RECON_I444 == DELIVER_I444,
               "recon_format");
_Static_assert(RECON_BLURS == BLUR_RECTS, "the same in the shader");
_Static_assert(offsetof(struct recon_blur, cells) == sizeof(struct recon_blur_head) &&
                   sizeof(struct recon_blur_head) <= 65536,
               "the bytes that vkCmdUpdateBuffer takes");

bool recon_format_valid(const struct recon *r, enum recon_format format)
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

/* Does every rectangle touch the picture? */
static bool blur_valid(const struct recon_delivery *d)
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

static uint32_t tiles(uint32_t size)
{
    return (size + CONVERT_TILE - 1) / CONVERT_TILE;
}

/* Does the conversion read such pictures? */
static bool source_fits(const struct recon *r, const struct recon_delivery *d)
{
    const struct conversion_source *s = &d->conversion->source;
    return s->width == d->width && s->height == d->height &&
           s->chroma == r->params.chroma_format_idc && s->depth[0] == r->params.bit_depth[0] &&
           (!s->chroma || s->depth[1] == recon_chroma_depth(&r->params));
}

/* The outputs of a conversion, and their workgroups. 0: it does not fit the delivery. */
static uint32_t conversion_rects(const struct recon *r, const struct recon_delivery *d,
                                 struct gpu_rect rects[3], uint32_t grid[2])
{
    const struct conversion *c = d->conversion;
    if (!source_fits(r, d))
        return 0;
    bool pixels = c->wish.kind == CONVERSION_PIXELS;
    uint32_t count = pixels ? 1 : r->params.chroma_format_idc ? c->shape.planes : 1;
    grid[0] = tiles(c->wish.width);
    grid[1] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rows = c->shape.rows[i] * (pixels ? c->shape.planes : 1);
        rects[i] = (struct gpu_rect){d->offset[i], d->stride[i],
                                     (c->shape.row_bytes[i] + 3) / 4 * 4, rows};
        grid[1] += tiles(c->shape.rows[i]);
    }
    return count;
}

/* Where it writes, and its workgroups. */
static uint32_t item_rects(const struct recon *r, const struct recon_delivery *d,
                           struct recon_item *item)
{
    uint32_t words = 0, rows = 0;
    if (d->conversion)
        return conversion_rects(r, d, item->rects, item->grid);
    uint32_t count = plane_shapes(r, d, item->rects);
    for (uint32_t i = 0; i < count; i++) {
        words = item->rects[i].bytes / 4 > words ? item->rects[i].bytes / 4 : words;
        rows += item->rects[i].rows;
    }
    item->grid[0] = (words + DELIVER_GROUP_X - 1) / DELIVER_GROUP_X;
    item->grid[1] = (rows + DELIVER_GROUP_Y - 1) / DELIVER_GROUP_Y;
    return count;
}

static int item_prepare(const struct recon *r, const struct recon_delivery *d,
                        struct recon_item *out)
{
    uint32_t step = d->structure == REC_TOP || d->structure == REC_BOTTOM ? 2 : 1;
    uint32_t frame_width = r->params.mb_width * 16, frame_height = r->params.mb_height * 16 / step,
             texel = r->wide ? 8 : 4;
    if (!d->host || d->slot >= r->params.slots || (unsigned)d->format > RECON_I444 ||
        !recon_format_valid(r, d->format))
        return GPU_ERR_INVALID;
    if (d->crop_x % (1u << recon_shift_x(d->format)) ||
        d->crop_y % (1u << recon_shift_y(d->format)))
        return GPU_ERR_INVALID;
    if (!d->width || !d->height || d->crop_x >= frame_width || d->crop_y >= frame_height ||
        d->width > frame_width - d->crop_x || d->height > frame_height - d->crop_y)
        return GPU_ERR_INVALID;
    if (!blur_valid(d))
        return GPU_ERR_INVALID;
    struct recon_item item = {.delivery = d, .host = d->host, .format = d->format};
    uint64_t begin = UINT64_MAX, end = 0;
    texel = d->conversion ? 4 : texel;
    item.rect_count = item_rects(r, d, &item);
    if (!item.rect_count)
        return GPU_ERR_INVALID;
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
    item.copyable =
        step == 1 && aligned && d->format != RECON_NV12 && !d->blur_count && !d->conversion;
    item.variant = d->conversion   ? RECON_CONVERTED + (d->blur_count > 0)
                   : d->blur_count ? RECON_BLURRED + (uint32_t)d->format
                                   : 2 * (uint32_t)d->format + aligned;
    for (uint32_t i = 0; i < item.rect_count; i++) {
        item.args.offset[i] = (uint32_t)((item.rects[i].offset - item.window.offset) / 4);
        item.args.stride[i] = item.rects[i].stride / 4;
    }
    *out = item;
    return GPU_OK;
}

static int items_grow(struct recon *r, uint32_t count)
{
    if (count <= r->item_capacity)
        return GPU_OK;
    struct recon_item *grown = realloc(r->items, count * sizeof(*grown));
    if (!grown)
        return GPU_ERR_NOMEM;
    r->items = grown;
    r->item_capacity = count;
    return GPU_OK;
}

int recon_deliver_prepare(struct recon *r, const struct recon_delivery *deliveries, uint32_t m,
                          uint32_t *bad)
{
    int err = items_grow(r, m);
    for (uint32_t i = 0; i < m && err == GPU_OK; i++) {
        err = item_prepare(r, &deliveries[i], &r->items[i]);
        *bad = i;
        if (err == GPU_OK)
            err = gpu_host_reserve(r->items[i].host, 3 * (size_t)m);
    }
    return err;
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

static bool has_queues(const struct recon *r)
{
    for (int i = 0; i < RECON_PARTS; i++)
        if (i != RECON_PART_MAIN && r->queues[i] == r->g->main)
            return false;
    return true;
}

/* True if the chunk gains by several queues. Blurred deliveries share a buffer, which only the main
 * queue knows. */
static bool chunk_gains_by_parts(const struct recon *r, const struct recon_flight *f,
                                 const struct recon_chunk *chunk)
{
    bool gains = chunk->shape.pictures > 1 || chunk->delivery_count > 1;
    for (uint32_t i = 0; i < chunk->delivery_count; i++)
        if (chunk->items[i].delivery->blur_count)
            return false;
    return (gains || !f->s->alone) && has_queues(r);
}

void recon_deliver_plan(const struct recon *r, const struct recon_flight *f,
                        struct recon_chunk *chunk)
{
    chunk->parts = chunk_gains_by_parts(r, f, chunk);
    /* a copy engine has nothing else to do */
    bool by_copy = r->deliver_by_copy || (chunk->parts && r->queues[RECON_PART_DOWN]->copies_only);
    for (uint32_t i = 0; i < chunk->delivery_count && by_copy; i++)
        if (chunk->items[i].copyable)
            chunk->items[i].variant = RECON_BY_COPY;
    if (chunk->delivery_count > 1)
        qsort(chunk->items, chunk->delivery_count, sizeof(*chunk->items), by_dispatch);
    chunk->shaded = 0;
    while (chunk->shaded < chunk->delivery_count &&
           chunk->items[chunk->shaded].variant != RECON_BY_COPY)
        chunk->shaded++;
}

/* ---- steps ---- */

static void record_rects(struct recon *r, const struct recon_chunk *chunk, uint32_t index)
{
    const struct recon_delivery *d = chunk->items[index].delivery;
    struct recon_blur_head *head = &r->blur_heads[index];
    *head = (struct recon_blur_head){.count = d->blur_count};
    for (uint32_t i = 0; i < d->blur_count; i++)
        head->rects[i] = in_planes(r, d, &d->blur[i]);
    gpu_steps_next(&r->steps, GPU_STEP_UPDATE)->fill = (struct gpu_step_fill){
        r->blur.buffer, (uint64_t)index * sizeof(struct recon_blur), sizeof(*head), head};
}

static void record_cells(struct recon *r, const struct recon_chunk *chunk, uint32_t index)
{
    const struct recon_item *item = &chunk->items[index];
    const struct recon_push push = {.first_picture = index};
    recon_dispatch(r, r->blur_pipelines[item->format], &push, BLUR_SIDE * BLUR_SIDE,
                   item->delivery->blur_count, item->format == RECON_GRAY ? 1 : 3);
}

/* The means of the cells of all items that are blurred. Deliver writes the blurred samples
 * directly, so host memory never holds a sample from inside a rectangle. */
static void record_blur(struct recon *r, const struct recon_chunk *chunk)
{
    uint32_t count = chunk->delivery_count;
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!recon_item_blurred(&chunk->items[i]))
            continue;
        if (!any)
            gpu_steps_access(&r->steps, BARRIER_COMMAND, BARRIER_TRANSFER, 0, RECON_B(BIND_BLUR));
        any = true;
        record_rects(r, chunk, i);
    }
    if (!any)
        return;
    gpu_steps_access(&r->steps, BARRIER_COMMAND, BARRIER_COMPUTE,
                     RECON_FRAMES | RECON_B(BIND_DELIVER) | RECON_B(BIND_BLUR), RECON_B(BIND_BLUR));
    for (uint32_t i = 0; i < count; i++)
        if (recon_item_blurred(&chunk->items[i]))
            record_cells(r, chunk, i);
}

/* One dispatch for the items from first on that share its pipeline and window; returns the first
 * one that does not. */
static uint32_t record_group(struct recon *r, const struct recon_chunk *chunk, uint32_t first)
{
    const struct recon_item *items = chunk->items, *item = &items[first];
    uint32_t grid[2] = {0, 0}, next = first;
    for (; next < chunk->shaded && !by_dispatch(item, &items[next]); next++)
        for (int i = 0; i < 2; i++)
            grid[i] = items[next].grid[i] > grid[i] ? items[next].grid[i] : grid[i];
    struct recon_push push = {.first_picture = first};
    struct gpu_step_group *group = recon_dispatch(r, r->deliver_pipelines[item->variant], &push,
                                                  grid[0], grid[1], next - first);
    group->host_set = item->window.set;
    return next;
}

/* Planes as they are: a texel is four samples, so a row of a plane is a row of texels. */
static void record_copy(struct recon *r, const struct recon_item *item)
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
        gpu_steps_next(&r->steps, GPU_STEP_COPY_IMAGE)->image = (struct gpu_step_image){
            r->images[BIND_FRAME_Y - BIND_WORK_Y + i].image, item->window.buffer, region};
    }
}

/* Deliveries do not depend on each other: one barrier in front of those that shaders make, one in
 * front of the copies. */
void recon_deliver_record(struct recon *r, const struct recon_chunk *chunk)
{
    uint32_t count = chunk->delivery_count, shaded = chunk->shaded;
    gpu_steps_name(&r->steps, "deliver");
    record_blur(r, chunk);
    if (shaded)
        gpu_steps_access(&r->steps, BARRIER_COMMAND, BARRIER_COMPUTE,
                         RECON_FRAMES | RECON_B(BIND_DELIVER) | RECON_B(BIND_BLUR),
                         RECON_B(BIND_HOST));
    for (uint32_t first = 0; first < shaded;)
        first = record_group(r, chunk, first);
    if (shaded < count)
        gpu_steps_access(&r->steps, BARRIER_COMMAND, BARRIER_TRANSFER, RECON_FRAMES,
                         RECON_B(BIND_HOST));
    for (uint32_t i = shaded; i < count; i++)
        record_copy(r, &chunk->items[i]);
    gpu_steps_access(&r->steps, BARRIER_FOR_HOST, BARRIER_HOST, RECON_B(BIND_HOST), 0);
    recon_stamp(r, RECON_DELIVER, RECON_NO_PASS);
}
