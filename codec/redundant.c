/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Redundant coded slices (7.4.3, redundant_pic_cnt). They are decoded after all primary slices of
 * their picture, and only where a primary slice was lost or damaged.
 */
#include "codec/h264.h"
#include "codec/slice_decode.h"

/* Where the record of the macroblock at this address is. */
static uint32_t record_of(const struct h264_picture *pic, uint32_t address)
{
    uint32_t pair = address / 2;
    if (!pic->mbaff)
        return address;
    return (2 * (pair / pic->mb_width) + (address & 1)) * pic->mb_width + pair % pic->mb_width;
}

static bool redundant_needed(const struct h264_picture *pic, const struct h264_slice *redundant)
{
    if (!pic->arrays.syntax[record_of(pic, redundant->hdr.first_mb)].decoded)
        return true;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *slice = &pic->slices[i];
        if (slice->hdr.redundant_pic_cnt < redundant->hdr.redundant_pic_cnt &&
            slice->hdr.first_mb == redundant->hdr.first_mb)
            return slice->status < 0;
    }
    return false;
}

void h264_decode_redundant(struct h264_picture *pic)
{
    struct h264_scratch *scratch = NULL;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        if (!pic->slices[i].hdr.redundant_pic_cnt || !redundant_needed(pic, &pic->slices[i]))
            continue;
        if (!scratch && !(scratch = h264_scratch_create()))
            return; /* what it would repair is concealed */
        h264_slice_decode_now(&pic->slices[i], scratch);
    }
    h264_scratch_free(scratch);
}
