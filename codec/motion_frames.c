/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3: motion vectors from differences (8.4.1), macroblock by macroblock in address order.
 * Neighbours are available only inside the slice; the slice numbers in the records tell. Slices may
 * also be followed one by one while step 2 goes on. Direct modes are in motion_direct.c, MBAFF
 * frames in motion_mbaff.c.
 */
#include "codec/col_zero.h"
#include "codec/conceal.h"
#include "codec/h264_error.h"
#include "codec/motion_grid.h"
#include "codec/motion_parts.h"
#include "codec/slice_decode.h"
#include "codec/slice_records.h"

/* 8.4.1.1 */
static void frame_p_skip(struct motion_walk *w)
{
    motion_fill(w->cur, 0, motion_skip_vector(w));
}

static void frame_16x16(struct motion_walk *w)
{
    for (int list = 0; list < w->lists; list++) {
        int ref = w->cur->ref_idx[list][0];
        if (ref >= 0)
            motion_fill(
                w->cur, list,
                motion_add(motion_predict_16x16(w, list, ref), motion_load(w->cur, list, 0)));
    }
}

static void frame_16x8(struct motion_walk *w, int list)
{
    struct rec_motion *cur = w->cur;
    int ref0 = cur->ref_idx[list][0], ref1 = cur->ref_idx[list][2];
    struct motion_mv mv0 = {0, 0}, mv1 = {0, 0};
    if (ref0 >= 0)
        mv0 = motion_add(motion_predict_16x8_upper(w, list, ref0), motion_load(cur, list, 0));
    if (ref1 >= 0)
        mv1 = motion_add(
            motion_predict_16x8_lower(w, list, ref1, (struct motion_neighbour){ref0, mv0}),
            motion_load(cur, list, 8));
    for (int i = 0; i < 8; i++) {
        motion_store(cur, list, i, mv0);
        motion_store(cur, list, 8 + i, mv1);
    }
}

static void frame_8x16(struct motion_walk *w, int list)
{
    struct rec_motion *cur = w->cur;
    int ref0 = cur->ref_idx[list][0], ref1 = cur->ref_idx[list][1];
    struct motion_mv mv0 = {0, 0}, mv1 = {0, 0};
    if (ref0 >= 0)
        mv0 = motion_add(motion_predict_8x16_left(w, list, ref0), motion_load(cur, list, 0));
    if (ref1 >= 0)
        mv1 = motion_add(
            motion_predict_8x16_right(w, list, ref1, (struct motion_neighbour){ref0, mv0}),
            motion_load(cur, list, 2));
    for (int i = 0; i < 16; i++)
        motion_store(cur, list, i, i & 2 ? mv1 : mv0);
}

/* ---- 8x8 partitions ---- */

static void frame_8x8(struct motion_walk *w, const struct h264_mb_syntax *syntax)
{
    unsigned direct = direct_quadrants(syntax);
    if (direct)
        h264_motion_direct(w, direct);
    for (int list = 0; list < w->lists; list++) {
        struct motion_grid g;
        grid_load_frame(&g, w, list);
        grid_derive_8x8(w->cur, &g, list, syntax, direct, false);
    }
}

static void frame_derive(struct motion_walk *w)
{
    const struct h264_mb_syntax *syntax = &w->pic->arrays.syntax[w->mb];
    switch ((enum h264_part)syntax->part) {
    case H264_PART_16X16:
        frame_16x16(w);
        break;
    case H264_PART_16X8:
        for (int list = 0; list < w->lists; list++)
            frame_16x8(w, list);
        break;
    case H264_PART_8X16:
        for (int list = 0; list < w->lists; list++)
            frame_8x16(w, list);
        break;
    case H264_PART_8X8:
        frame_8x8(w, syntax);
        break;
    case H264_PART_SKIP:
        frame_p_skip(w);
        break;
    case H264_PART_DIRECT:
        h264_motion_direct(w, 15);
        break;
    case H264_PART_INTRA: /* step 2 left -1 and zero vectors, which neighbours and later pictures
                             read */
        break;
    }
}

/* ---- the walk ---- */

/* 6.4.9, and availability: the same slice (6.4.8; addresses below the current one are decoded
 * before it) */
static inline void find_neighbours(struct motion_walk *w)
{
    const struct rec_mb *mb = &w->pic->arrays.mbs[w->mb];
    uint32_t slice = w->slice_index, width = w->mb_width;
    bool left = w->mb_x > 0, above = w->mb >= width, right = w->mb_x + 1 < width;
    if (w->one_slice) {
        w->a = left ? w->cur - 1 : NULL;
        w->b = above ? w->cur - width : NULL;
        w->c = above && right ? w->cur - width + 1 : NULL;
        w->d = above && left ? w->cur - width - 1 : NULL;
        return;
    }
    w->a = left && mb[-1].slice == slice ? w->cur - 1 : NULL;
    w->b = above && mb[-(ptrdiff_t)width].slice == slice ? w->cur - width : NULL;
    w->c = above && right && mb[1 - (ptrdiff_t)width].slice == slice ? w->cur - width + 1 : NULL;
    w->d = above && left && mb[-1 - (ptrdiff_t)width].slice == slice ? w->cur - width - 1 : NULL;
}

/* A frame of frame macroblocks, or a field */
static void walk_picture(struct motion_walk *w)
{
    const struct h264_picture *pic = w->pic;
    for (w->mb = 0; w->mb < pic->mb_count; w->mb++) {
        uint32_t slice = pic->arrays.mbs[w->mb].slice;
        w->cur = &pic->arrays.motion[w->mb];
        /* else concealed or followed: complete already */
        if (slice < pic->slice_count && w->mb >= pic->slices[slice].motion_mb) {
            if (slice != w->slice_index)
                h264_motion_enter_slice(w, slice);
            find_neighbours(w);
            frame_derive(w);
        }
        if (++w->mb_x == pic->mb_width)
            w->mb_x = 0;
    }
}

/* Of macroblocks [from, to), whose vectors are there: apart from their derivation, which this would
 * slow down by more than it takes. */
static void fill_col_zero(const struct h264_picture *pic, uint32_t from, uint32_t to)
{
    bool corners = pic->sps->direct_8x8_inference_flag;
    for (uint32_t mb = from; mb < to && pic->arrays.col_zero; mb++)
        pic->arrays.col_zero[mb] = motion_col_zero(&pic->arrays.motion[mb], corners);
}

/* ---- slices by themselves ---- */

int h264_picture_follow_begin(struct h264_picture *pic)
{
    int error;
    if (pic->mbaff || pic->group_maps)
        return 0;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        if (pic->slices[i].hdr.redundant_pic_cnt)
            return 0;
    error = h264_fill_slices(pic);
    if (error < 0)
        return error;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        pic->slices[i].motion_mb = pic->slices[i].hdr.first_mb;
        atomic_store_explicit(&pic->slices[i].ready, pic->slices[i].hdr.first_mb,
                              memory_order_relaxed);
    }
    pic->follows = 1;
    return 1;
}

/* find_neighbours for a slice that is all addresses from its first one on; records of other slices
 * are not to be read. */
static inline void find_neighbours_from(struct motion_walk *w, uint32_t first)
{
    uint32_t width = w->mb_width;
    bool left = w->mb_x > 0, right = w->mb_x + 1 < width;
    if (w->mb > first + width) { /* most are: what is above is the slice's */
        w->a = left ? w->cur - 1 : NULL;
        w->b = w->cur - width;
        w->c = right ? w->cur - width + 1 : NULL;
        w->d = left ? w->cur - width - 1 : NULL;
        return;
    }
    w->a = left && w->mb > first ? w->cur - 1 : NULL;
    w->b = w->mb >= first + width ? w->cur - width : NULL;
    w->c = right && w->mb + 1 >= first + width ? w->cur - width + 1 : NULL;
    w->d = NULL;
}

bool h264_slice_follow(struct h264_slice *slice, uint32_t *from, uint32_t *to)
{
    struct h264_picture *pic = slice->pic;
    uint32_t ready = atomic_load_explicit(&slice->ready, memory_order_acquire),
             end = ready & ~H264_SLICE_ENDED;
    struct motion_walk w = {.pic = pic, .mb_width = pic->mb_width, .mb = slice->motion_mb};
    *from = *to = slice->motion_mb;
    if (end <= slice->motion_mb)
        return !(ready & H264_SLICE_ENDED);
    w.mb_x = w.mb % pic->mb_width;
    h264_motion_enter_slice(&w, slice->index);
    for (; w.mb < end; w.mb++) {
        w.cur = &pic->arrays.motion[w.mb];
        find_neighbours_from(&w, slice->hdr.first_mb);
        frame_derive(&w);
        if (++w.mb_x == pic->mb_width)
            w.mb_x = 0;
    }
    slice->motion_lost |= w.lost_reference;
    fill_col_zero(pic, *from, end);
    *to = slice->motion_mb = end;
    return true;
}

/* Every slice, as far as it was decoded. */
static bool all_followed(const struct h264_picture *pic)
{
    for (uint32_t i = 0; i < pic->slice_count; i++)
        if (atomic_load_explicit(&pic->slices[i].ready, memory_order_acquire) !=
            (pic->slices[i].motion_mb | H264_SLICE_ENDED))
            return false;
    return pic->follows;
}

int h264_picture_derive_motion(struct h264_picture *pic)
{
    struct motion_walk w = {.pic = pic, .slice_index = REC_NO_SLICE, .mb_width = pic->mb_width};
    uint32_t missing;
    bool failed = false, followed;
    int error;
    if (pic->motion_done)
        return H264_OK;
    failed = h264_decode_redundant(pic); /* its samples are about those of the lost slice */
    missing = h264_conceal_find(pic);
    for (uint32_t i = 0; i < pic->slice_count; i++)
        failed |= pic->slices[i].lost_partition || pic->slices[i].out_of_range ||
                  (pic->slices[i].status < 0 && !pic->slices[i].hdr.redundant_pic_cnt);
    if (missing || failed)
        h264_picture_damage(pic);
    w.one_slice = pic->slice_count == 1 && !missing;
    error = pic->follows ? H264_OK : h264_fill_slices(pic);
    if (error < 0)
        return error;
    followed = all_followed(pic);
    if (pic->mbaff)
        h264_motion_walk_mbaff(&w);
    else if (!followed)
        walk_picture(&w);
    for (uint32_t i = 0; i < pic->slice_count; i++)
        w.lost_reference |= pic->slices[i].motion_lost;
    if (w.lost_reference)
        h264_picture_damage(pic);
    missing += h264_conceal_doubt(pic);
    if (missing && (error = h264_conceal(pic)) < 0)
        return error;
    if (missing || !followed)
        fill_col_zero(pic, 0, pic->mb_count);
    if (!missing && pic->damage.previous) {
        h264_picture_unref(pic->damage.previous);
        pic->damage.previous = NULL;
    }
    h264_find_kinds(pic);
    pic->motion_done = 1;
    return H264_OK;
}
