/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether a frame is to be shown as fields, and which one first: what picture timing says (Table
 * D-1, ct_type), else how the picture is coded; the order is that of the fields' picture order
 * counts.
 */
#include "daemon/worker/source/field_order.h"
#include "codec/h264.h"
#include "codec/h264_error.h"

enum pic_struct { TOP_BOTTOM = 3, BOTTOM_TOP = 4, TOP_BOTTOM_TOP = 5, BOTTOM_TOP_BOTTOM = 6 };

static bool read_timing(const struct h264_picture *pic, struct h264_pic_timing *out)
{
    const struct h264_sei_message *m = h264_sei_find(pic->sei, H264_SEI_PIC_TIMING);
    return m && h264_sei_pic_timing(m, pic->sps, out) == H264_OK && out->has_pic_struct;
}

static bool is_interlaced(const struct h264_picture *pic, const struct h264_pic_timing *timing,
                          bool previous)
{
    bool coded = pic->structure != REC_FRAME || pic->mbaff, progressive = false, interlaced = false;
    if (!timing)
        return coded;
    for (unsigned i = 0; i < timing->clock_count && timing->pic_struct <= BOTTOM_TOP; i++) {
        progressive |= timing->clock[i].present && timing->clock[i].ct_type == 0;
        interlaced |= timing->clock[i].present && timing->clock[i].ct_type == 1;
    }
    if (progressive || interlaced)
        return interlaced;
    switch (timing->pic_struct) {
    case 1:
    case 2:
        return true;
    case TOP_BOTTOM:
    case BOTTOM_TOP:
        return coded ||
               previous; /* two fields of a film frame are told from two of video by nothing else */
    default:
        return false; /* frames, also repeated ones and those of a pull-down */
    }
}

enum pelton_field_order field_order(const struct h264_picture *pic, const int32_t poc[2],
                                    bool *interlaced)
{
    struct h264_pic_timing timing;
    bool timed = read_timing(pic, &timing);
    *interlaced = is_interlaced(pic, timed ? &timing : NULL, *interlaced);
    if (!*interlaced)
        return PELTON_PROGRESSIVE;
    if (poc[0] != poc[1])
        return poc[0] < poc[1] ? PELTON_TOP_FIRST : PELTON_BOTTOM_FIRST;
    return timed && (timing.pic_struct == BOTTOM_TOP || timing.pic_struct == BOTTOM_TOP_BOTTOM)
               ? PELTON_BOTTOM_FIRST
               : PELTON_TOP_FIRST;
}
