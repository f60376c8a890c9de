/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Redundant coded slices (7.4.3, redundant_pic_cnt). They are decoded after all primary slices of
 * their picture, and only where a primary slice was lost or damaged.
 */
#include "codec/h264.h"
#include "codec/slice_decode.h"

enum { MOST_PASSES = 2 };

/* Where the record of the macroblock at this address is. */
static uint32_t record_of(const struct h264_picture *pic, uint32_t address)
{
    uint32_t pair = address / 2;
    if (!pic->mbaff)
        return address;
    return (2 * (pair / pic->mb_width) + (address & 1)) * pic->mb_width + pair % pic->mb_width;
}

/* Where its first macroblock is lost, or of a damaged slice. */
static bool redundant_needed(const struct h264_picture *pic, const struct h264_slice *redundant)
{
    uint32_t i = record_of(pic, redundant->hdr.first_mb), owner = pic->arrays.mbs[i].slice;
    return !pic->arrays.syntax[i].decoded || owner >= pic->slice_count ||
           pic->slices[owner].status < 0;
}

/* A slice of ten bytes may skip all macroblocks of the picture, and then break off. So damaged
 * redundant slices may decode the picture a few times over, and not once each. */
bool h264_decode_redundant(struct h264_picture *pic)
{
    bool any = false;
    struct h264_scratch *scratch = NULL;
    uint64_t left = (uint64_t)MOST_PASSES * pic->mb_count;
    for (uint32_t i = 0; i < pic->slice_count && left; i++) {
        if (!pic->slices[i].hdr.redundant_pic_cnt || !redundant_needed(pic, &pic->slices[i]))
            continue;
        if (!scratch && !(scratch = h264_scratch_create()))
            return any; /* what it would repair is concealed */
        any = true;
        if (h264_slice_decode_now(&pic->slices[i], scratch) < 0)
            left -= pic->slices[i].mbs_decoded < left ? pic->slices[i].mbs_decoded : left;
    }
    h264_scratch_free(scratch);
    return any;
}
