/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference: frames, and the order in which a picture is reconstructed.
 */
#include "ref_internal.h"

uint32_t ref_mb_width(uint8_t chroma_format_idc, int component)
{
    if (component == 0 || chroma_format_idc == 3)
        return 16;
    return chroma_format_idc == 0 ? 0 : 8;
}

uint32_t ref_mb_height(uint8_t chroma_format_idc, int component)
{
    if (component == 0 || chroma_format_idc == 3)
        return 16;
    return chroma_format_idc == 0 ? 0 : chroma_format_idc == 1 ? 8 : 16;
}

struct ref_frame *ref_frame_create(uint32_t mb_width, uint32_t mb_height, uint8_t chroma_format_idc)
{
    struct ref_frame *frame = calloc(1, sizeof *frame);

    if (!frame)
        return NULL;
    frame->width = 16 * mb_width;
    frame->height = 16 * mb_height;
    frame->chroma_format_idc = chroma_format_idc;
    for (int i = 0; i < 3; i++) {
        frame->stride[i] = mb_width * ref_mb_width(chroma_format_idc, i);
        if (!frame->stride[i])
            continue;
        frame->plane[i] = calloc((size_t)frame->stride[i] * mb_height * ref_mb_height(chroma_format_idc, i), sizeof(uint16_t));
        if (!frame->plane[i]) {
            ref_frame_free(frame);
            return NULL;
        }
    }
    return frame;
}

void ref_frame_free(struct ref_frame *frame)
{
    if (!frame)
        return;
    for (int i = 0; i < 3; i++)
        free(frame->plane[i]);
    free(frame);
}

static void copy_frame(const struct rec_view *view, const struct ref_frame *from, struct ref_frame *to)
{
    for (int i = 0; i < 3; i++) {
        size_t rows = (size_t)view->head.mb_height * ref_mb_height(view->head.chroma_format_idc, i);

        if (from->plane[i])
            memcpy(to->plane[i], from->plane[i], rows * from->stride[i] * sizeof(uint16_t));
    }
}

static int inter_mb(const struct rec_view *view, struct ref_frame *const *frames, uint32_t slot_count, uint32_t mb,
                    const int32_t residual[3][256], struct ref_frame *unfiltered)
{
    uint16_t pred[3][256];

    if (ref_predict_inter_mb(view, frames, slot_count, mb, pred) < 0)
        return -1;
    for (int i = 0; i < 3; i++) {
        uint32_t w = ref_mb_width(view->head.chroma_format_idc, i), h = ref_mb_height(view->head.chroma_format_idc, i);
        uint32_t x0 = mb % view->head.mb_width * w, y0 = mb / view->head.mb_width * h;

        for (uint32_t y = 0; y < h; y++)
            for (uint32_t x = 0; x < w; x++)
                unfiltered->plane[i][(size_t)(y0 + y) * unfiltered->stride[i] + x0 + x] =
                    (uint16_t)ref_clip1(pred[i][y * w + x] + residual[i][y * w + x], ref_bit_depth(view, i));
    }
    return 0;
}

static bool fits(const struct rec_view *view, const struct ref_frame *frame)
{
    return frame && frame->width == 16 * view->head.mb_width && frame->height == 16 * view->head.mb_height &&
           frame->chroma_format_idc == view->head.chroma_format_idc;
}

int ref_reconstruct(const struct rec_view *view, struct ref_frame *const *frames, uint32_t slot_count,
                    struct ref_frame *unfiltered)
{
    if (view->head.structure != REC_FRAME || view->head.mbaff || view->head.slot >= slot_count ||
        !fits(view, frames[view->head.slot]) || !fits(view, unfiltered))
        return -1;
    for (uint32_t i = 0; i < slot_count; i++)
        if (frames[i] && !fits(view, frames[i]))
            return -1;
    for (uint32_t mb = 0; mb < view->head.mb_count; mb++) {
        int32_t residual[3][256];

        ref_residual_mb(view, mb, residual);
        if (ref_is_intra(&view->mbs[mb]))
            ref_intra_mb(view, mb, (const int32_t(*)[256])residual, unfiltered);
        else if (inter_mb(view, frames, slot_count, mb, (const int32_t(*)[256])residual, unfiltered) < 0)
            return -1;
    }
    copy_frame(view, unfiltered, frames[view->head.slot]);
    ref_deblock_picture(view, frames[view->head.slot]);
    return 0;
}
