/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference: where macroblocks and their neighbours lie: frames, single fields, and the macroblock
 * pairs of MBAFF frames (6.4.1, 6.4.12).
 */
#include "ref_internal.h"

struct ref_plane ref_plane_of(const struct ref_frame *frame, int plane, unsigned structure)
{
    struct ref_plane p = {
        .samples = frame->plane[plane],
        .stride = (ptrdiff_t)frame->stride[plane],
        .width = (int)frame->stride[plane],
        .height = (int)(frame->height / 16 * ref_mb_height(frame->chroma_format_idc, plane)),
    };

    if (structure == REC_FRAME || structure == 0)
        return p;
    if (structure == REC_BOTTOM)
        p.samples += p.stride;
    p.stride *= 2;
    p.height /= 2;
    return p;
}

struct ref_place ref_place_of(const struct rec_view *view, uint32_t mb, int component)
{
    int w = (int)ref_mb_width(view->head.chroma_format_idc, component);
    int h = (int)ref_mb_height(view->head.chroma_format_idc, component);
    int row = (int)(mb / view->head.mb_width);
    struct ref_place place = {
        .x = (int)(mb % view->head.mb_width) * w, .y = row * h, .step = 1, .width = w, .height = h};

    if (view->head.mbaff && ref_is_field(view, mb)) {
        place.y = (row & ~1) * h + (row & 1);
        place.step = 2;
    }
    return place;
}

uint32_t ref_mb_at(const struct rec_view *view, int x, int y, int *inner_y)
{
    uint32_t width = view->head.mb_width, column = (uint32_t)x / 16, row = (uint32_t)y / 16;
    *inner_y = y % 16;
    if (view->head.mbaff && ref_is_field(view, (row & ~1u) * width + column)) {
        row = (row & ~1u) + ((uint32_t)y & 1);
        *inner_y = y % 32 / 2;
    }
    return row * width + column;
}

/* Left of the macroblock (Table 6-4, xN < 0 and 0 <= yN < maxH), for pairs of different kinds. */
static bool left_of_pair(bool field, bool bottom, int y, int max_h, int *inner_y)
{
    if (field) { /* beside a frame macroblock pair */
        *inner_y = 2 * y + bottom;
        bottom = *inner_y >= max_h;
        *inner_y -= bottom ? max_h : 0;
        return bottom;
    }
    *inner_y = (y + (bottom ? max_h : 0)) >> 1;
    return y % 2;
}

uint32_t ref_neighbour_mb(const struct rec_view *view, uint32_t mb, int x, int y, int max_w,
                          int max_h, int *inner_y)
{
    uint32_t width = view->head.mb_width, row = mb / width;
    bool bottom = row & 1, field = ref_is_field(view, mb), other;
    uint32_t top = mb - (bottom ? width : 0); /* of the current pair */
    *inner_y = y < 0 ? y + max_h : y;
    if (!view->head.mbaff)
        return mb - (y < 0 ? width : 0) + (x < 0 ? UINT32_MAX : x >= max_w ? 1 : 0);
    if (y >= 0 || (!field && bottom)) {
        if (x >= 0 && x < max_w)
            return y < 0 ? top : mb;
        other = ref_is_field(view, top - 1);
        if (y >= 0 && other != field)
            bottom = left_of_pair(field, bottom, y, max_h, inner_y);
        else if (y < 0) { /* row 15 of the left pair's samples */
            bottom = other;
            *inner_y = other ? (y + max_h) >> 1 : y + max_h;
        }
        return top - 1 + (bottom ? width : 0);
    }
    top = top - 2 * width + (x < 0 ? UINT32_MAX : x >= max_w ? 1 : 0); /* wraps to one less */
    other = ref_is_field(view, top);
    if (field && !bottom) {
        if (other)
            return top;
        *inner_y = 2 * y + max_h;
    }
    return top + width;
}
