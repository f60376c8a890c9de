/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Layouts of pictures: see picture_layout.h. V4L2's are those of "Video and Image Formats" in the
 * kernel's userspace API.
 */
#include "relay/picture_layout.h"

#include <string.h>

enum { SIDE_MOST = 16384 };

const struct picture_layout picture_layouts[PICTURE_LAYOUTS] = {
    {PICTURE_YU12, "YU12", "yuv420p"}, {PICTURE_NV12, "NV12", "nv12"},
    {PICTURE_YUYV, "YUYV", "yuv420p"}, {PICTURE_RGB3, "RGB3", "rgb24"},
    {PICTURE_GREY, "GREY", "gray"},
};

/* Bytes of a row of the first plane. */
static uint32_t row_bytes(const struct picture_layout *l, uint32_t width)
{
    return l->kind == PICTURE_YUYV   ? (width + 1) / 2 * 4
           : l->kind == PICTURE_RGB3 ? 3 * width
                                     : width;
}

static bool has_chroma_planes(const struct picture_layout *l)
{
    return l->kind == PICTURE_YU12 || l->kind == PICTURE_NV12;
}

bool picture_plan_make(const struct picture_layout *layout, uint32_t width, uint32_t height,
                       uint32_t stride, uint32_t align, struct picture_plan *out)
{
    if (!width || !height || width > SIDE_MOST || height > SIDE_MOST || stride > 8 * SIDE_MOST)
        return false;
    uint32_t row = row_bytes(layout, width);
    /* half of it holds a row of chroma */
    row = has_chroma_planes(layout) ? (row + 1) / 2 * 2 : row;
    stride = stride >= row ? stride : (row + align - 1) / align * align;
    size_t rows = has_chroma_planes(layout) ? (size_t)height + (height + 1) / 2 : height;
    *out = (struct picture_plan){.layout = layout,
                                 .width = width,
                                 .height = height,
                                 .stride = stride,
                                 .size = rows * stride};
    return true;
}

static uint8_t *plane_copy(const struct pelton_frame *f, unsigned plane, uint8_t *to,
                           uint32_t stride)
{
    for (uint32_t y = 0; y < f->plane_height[plane]; y++)
        memcpy(to + (size_t)y * stride, f->data[plane] + (size_t)y * f->stride[plane],
               f->plane_width[plane]);
    return to + (size_t)f->plane_height[plane] * stride;
}

static void row_interleave(const struct pelton_frame *f, uint32_t y, uint8_t *to)
{
    const uint8_t *luma = f->data[0] + (size_t)y * f->stride[0];
    const uint8_t *cb = f->data[1] + (size_t)(y / 2) * f->stride[1];
    const uint8_t *cr = f->data[2] + (size_t)(y / 2) * f->stride[2];
    for (uint32_t x = 0; x < f->width; x += 2, to += 4) {
        to[0] = luma[x];
        to[1] = cb[x / 2];
        to[2] = luma[x + (x + 1 < f->width)];
        to[3] = cr[x / 2];
    }
}

bool picture_planned(const struct picture_plan *plan, const struct pelton_frame *frame)
{
    return frame->width == plan->width && frame->height == plan->height &&
           strcmp(frame->pix_fmt, plan->layout->pix_fmt) == 0;
}

bool picture_copy(const struct picture_plan *plan, const struct pelton_frame *frame, uint8_t *to)
{
    uint32_t stride = plan->stride;
    if (!picture_planned(plan, frame))
        return false;
    if (plan->layout->kind == PICTURE_YUYV) {
        for (uint32_t y = 0; y < frame->height; y++)
            row_interleave(frame, y, to + (size_t)y * stride);
        return true;
    }
    to = plane_copy(frame, 0, to, stride);
    if (plan->layout->kind == PICTURE_NV12)
        plane_copy(frame, 1, to, stride);
    if (plan->layout->kind == PICTURE_YU12)
        plane_copy(frame, 2, plane_copy(frame, 1, to, stride / 2), stride / 2);
    return true;
}
