/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference: the order in which a picture is reconstructed.
 */
#include "ref_internal.h"

/* The rows and the plane that this picture writes */
static void copy_picture(const struct rec_view *view, const struct ref_frame *from,
                         struct ref_frame *to)
{
    for (int i = 0; i < 3; i++) {
        struct ref_plane a, b;
        if (!ref_mb_width(view->head.chroma_format_idc, i))
            continue;
        a = ref_plane_of(from, ref_plane_index(view, i), view->head.structure);
        b = ref_plane_of(to, ref_plane_index(view, i), view->head.structure);
        for (int y = 0; y < a.height; y++)
            memcpy(b.samples + y * b.stride, a.samples + y * a.stride,
                   (size_t)a.width * sizeof(a.samples[0]));
    }
}

/* 8.6: each block from its prediction alone */
static void switching_mb(const struct rec_view *view, uint32_t mb, uint16_t pred[3][256])
{
    for (int blk = 0; blk < 16; blk++) {
        uint16_t *at = pred[0] + ref_blk_y(blk) * 64 + ref_blk_x(blk) * 4, block[16];
        for (int i = 0; i < 16; i++)
            block[i] = at[(i >> 2) * 16 + (i & 3)];
        ref_switching_luma(view, mb, blk, block, block);
        for (int i = 0; i < 16; i++)
            at[(i >> 2) * 16 + (i & 3)] = block[i];
    }
    for (int c = 1; c < 3 && view->head.chroma_format_idc; c++)
        ref_switching_chroma(view, mb, c, pred[c], pred[c]);
}

static int inter_mb(const struct rec_view *view, struct ref_frame *const *frames,
                    uint32_t slot_count, uint32_t mb, struct ref_frame *unfiltered)
{
    uint16_t pred[3][256];
    int32_t residual[3][256] = {{0}};
    if (ref_predict_inter_mb(view, frames, slot_count, mb, pred) < 0)
        return -1;
    if (ref_is_switching(view, mb))
        switching_mb(view, mb, pred);
    else
        ref_residual_mb(view, mb, residual);
    for (int i = 0; i < 3; i++) {
        struct ref_place at = ref_place_of(view, mb, i);
        struct ref_plane plane;
        if (!at.width)
            continue;
        plane = ref_plane_of(unfiltered, ref_plane_index(view, i), view->head.structure);
        for (int y = 0; y < at.height; y++)
            for (int x = 0; x < at.width; x++)
                plane.samples[(at.y + y * at.step) * plane.stride + at.x + x] =
                    (uint16_t)ref_clip1(pred[i][y * at.width + x] + residual[i][y * at.width + x],
                                        ref_bit_depth(view, i));
    }
    return 0;
}

/* Separate colour planes are pictures of 4:0:0 in a frame of 4:4:4. */
static bool fits(const struct rec_view *view, const struct ref_frame *frame)
{
    return frame && frame->width == 16 * view->head.mb_width &&
           frame->height == 16 * view->head.mb_height &&
           (frame->chroma_format_idc == view->head.chroma_format_idc ||
            (frame->chroma_format_idc == 3 && view->head.chroma_format_idc == 0));
}

/* Macroblock number i in decoding order: pairs in MBAFF frames */
static uint32_t nth_mb(const struct rec_view *view, uint32_t i)
{
    uint32_t width = view->head.mb_width;
    if (!view->head.mbaff)
        return i;
    return (i / 2 / width * 2 + (i & 1)) * width + i / 2 % width;
}

int ref_reconstruct(const struct rec_view *view, struct ref_frame *const *frames,
                    uint32_t slot_count, struct ref_frame *unfiltered)
{
    if (view->head.slot >= slot_count || !fits(view, frames[view->head.slot]) ||
        !fits(view, unfiltered))
        return -1;
    for (uint32_t i = 0; i < slot_count; i++)
        if (frames[i] && !fits(view, frames[i]))
            return -1;
    for (uint32_t i = 0; i < view->head.mb_count; i++) {
        uint32_t mb = nth_mb(view, i);
        int32_t residual[3][256];
        if (!ref_is_intra(&view->mbs[mb])) {
            if (inter_mb(view, frames, slot_count, mb, unfiltered) < 0)
                return -1;
            continue;
        }
        ref_residual_mb(view, mb, residual);
        ref_intra_mb(view, mb, (const int32_t(*)[256])residual, unfiltered);
    }
    copy_picture(view, unfiltered, frames[view->head.slot]);
    for (uint32_t i = 0; i < view->head.mb_count; i++)
        ref_deblock_mb(view, nth_mb(view, i), frames[view->head.slot]);
    return 0;
}
