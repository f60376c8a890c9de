/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rules of the numbers of pictures: frame_num, POC, idr_pic_id, and the order of sequences.
 */
#include "tests/damage/judge.h"
#include "codec/h264_picture.h"
#include "codec/parameter_sets.h"
#include "tests/tools/grow.h"

#include <stdlib.h>

const char judge_text_gap[] = "7.4.3: a gap in frame_num";

void judge_numbers_free(struct judge_numbers *n)
{
    h264_sps_unref(n->sps);
    free(n->at);
}

static bool resets(const struct h264_slice_header *h)
{
    for (unsigned i = 0; i < h->mmco_count; i++)
        if (h->mmco[i].op == 5)
            return true;
    return false;
}

/* 7.4.3, frame_num */
static const char *frame_num_breach(struct judge_numbers *n, const struct h264_picture *pic,
                                    const struct h264_slice_header *h)
{
    uint32_t max = 1u << pic->sps->log2_max_frame_num, before = (h->frame_num - 1) & (max - 1);
    if (h->idr || pic->first_field || !n->begun)
        return NULL;
    if (n->alone && resets(h) && pic->structure == REC_FRAME - n->alone) /* no pair (3.30) */
        return NULL;
    if (h->frame_num == n->prev_ref_frame_num)
        return "7.4.3: frame_num is that of the reference before";
    if (before != n->prev_ref_frame_num && !pic->sps->gaps_in_frame_num_allowed)
        return judge_text_gap;
    n->prev_ref_frame_num = before; /* of the last frame that is inferred */
    return NULL;
}

/* 8.2.1: POC of frames are intervals that do not meet. */
static const char *poc_breach(struct judge_numbers *n, const struct h264_picture *pic)
{
    int32_t top = pic->structure == REC_BOTTOM ? pic->poc[1] : pic->poc[0],
            bottom = pic->structure == REC_TOP ? pic->poc[0] : pic->poc[1];
    int32_t low = top < bottom ? top : bottom, high = top < bottom ? bottom : top;
    unsigned count = n->count, later = 0;
    if (pic->idr && low != 0 && !pic->first_field)
        return "8.2.1: POC of an IDR picture";
    if (pic->first_field) /* which is the last one */
        count--;
    for (unsigned i = 0; i < count; i++) {
        const int32_t *other = n->at[i].poc;
        int32_t other_low = other[0] < other[1] ? other[0] : other[1],
                other_high = other[0] < other[1] ? other[1] : other[0];
        if (low <= other_high && other_low <= high)
            return "8.2.1: POC that another picture has";
        later += other_low > high;
    }
    if (pic->first_field)
        return NULL;
    if (later > judge_dpb_frames(pic->sps))
        return "C.4.5.3: more frames come before than the DPB holds";
    return pic->sps->vui.bitstream_restriction_flag && later > pic->sps->vui.max_num_reorder_frames
               ? JUDGE_TEXT_VUI_ORDER
               : NULL;
}

/* False: no memory. */
static bool number_add(struct judge_numbers *n, const struct h264_picture *pic)
{
    if (pic->first_field) {
        if (n->count)
            n->at[n->count - 1].poc[pic->structure == REC_BOTTOM] =
                pic->poc[pic->structure == REC_BOTTOM];
        return true;
    }
    if (!grow_by_one(&n->at, n->count, &n->capacity, sizeof(*n->at)))
        return false;
    n->at[n->count++] = (struct numbered){
        {pic->poc[pic->structure == REC_BOTTOM], pic->poc[pic->structure != REC_TOP]}};
    return true;
}

/* After operation 5 numbers count from the picture itself (8.2.1). */
static void numbers_after(struct judge_numbers *n, const struct h264_picture *pic,
                          const struct h264_slice_header *h)
{
    if (h->nal_ref_idc)
        n->prev_ref_frame_num = h->frame_num;
    if (!resets(h) || !n->count)
        return;
    struct numbered last = n->at[n->count - 1];
    int32_t low = last.poc[0] < last.poc[1] ? last.poc[0] : last.poc[1];
    last.poc[0] -= low;
    last.poc[1] -= low;
    n->at[0] = last;
    n->count = 1;
    n->prev_ref_frame_num = 0;
}

/* 7.4.1.2.1 */
static const char *sequence_breach(struct judge_numbers *n, const struct h264_picture *pic)
{
    bool other = n->sps && n->sps != pic->sps && !pic->idr;
    if (n->sps != pic->sps) {
        h264_sps_unref(n->sps);
        n->sps = h264_sps_ref(pic->sps);
    }
    return other ? "7.4.1.2.1: another SPS without an IDR picture" : NULL;
}

/* 7.4.3: idr_pic_id of IDR pictures in a row differ. */
static const char *idr_breach(struct judge_numbers *n, const struct h264_picture *pic)
{
    const struct h264_slice_header *h = &pic->slices[0].hdr;
    bool again = n->after_idr && h->idr_pic_id == n->idr_pic_id;
    if (pic->first_field)
        return NULL;
    n->after_idr = pic->idr;
    if (!pic->idr)
        return NULL;
    n->idr_pic_id = h->idr_pic_id;
    n->count = 0;
    return again ? "7.4.3: idr_pic_id of the IDR picture before" : NULL;
}

/* 8.2.1.3 */
static const char *nonref_breach(struct judge_numbers *n, const struct h264_picture *pic)
{
    bool nonref = !pic->slices[0].hdr.nal_ref_idc,
         breach = pic->sps->poc_type == 2 && nonref && n->after_nonref && !pic->first_field;
    n->after_nonref = nonref;
    return breach ? "8.2.1.3: two pictures in a row that are no references" : NULL;
}

bool judge_numbers(struct judge_numbers *n, const struct h264_picture *pic,
                   const char *breaches[JUDGE_NUMBERS])
{
    const struct h264_slice_header *h = &pic->slices[0].hdr;
    breaches[0] = idr_breach(n, pic);
    breaches[1] = sequence_breach(n, pic);
    breaches[2] = frame_num_breach(n, pic, h);
    breaches[3] = poc_breach(n, pic);
    breaches[4] = nonref_breach(n, pic);
    n->begun = true;
    if (!number_add(n, pic))
        return false;
    numbers_after(n, pic, h);
    n->alone = h->nal_ref_idc && !pic->first_field ? pic->structure : 0;
    return true;
}
