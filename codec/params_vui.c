/* SPDX-License-Identifier: BSD-2-Clause
 *
 * VUI parameters (E.1.1), and two values that decoding derives from them: the size of the DPB and
 * the reordering depth (A.3.1, E.2.1).
 */
#include "codec/parameter_sets.h"

/* hrd_parameters() (E.1.2) */
static bool parse_hrd(struct h264_bits *b, struct h264_vui *v, bool vcl)
{
    uint32_t cpb_cnt = h264_bits_ue(b);
    if (cpb_cnt > 31)
        return false;
    v->cpb_count[vcl] = (uint8_t)(cpb_cnt + 1);
    h264_bits_skip(b, 8); /* bit_rate_scale, cpb_size_scale */
    for (uint32_t i = 0; i <= cpb_cnt; i++) {
        h264_bits_ue(b); /* bit_rate_value_minus1 */
        h264_bits_ue(b); /* cpb_size_value_minus1 */
        h264_bits_skip(b, 1);
    }
    v->initial_cpb_removal_delay_length = (uint8_t)(h264_bits_u(b, 5) + 1);
    v->cpb_removal_delay_length = (uint8_t)(h264_bits_u(b, 5) + 1);
    v->dpb_output_delay_length = (uint8_t)(h264_bits_u(b, 5) + 1);
    v->time_offset_length = (uint8_t)h264_bits_u(b, 5);
    return true;
}

static bool parse_aspect_ratio(struct h264_bits *b, struct h264_vui *v)
{
    if (!h264_bits_flag(b))
        return true;
    v->aspect_ratio_idc = (uint8_t)h264_bits_u(b, 8);
    if (v->aspect_ratio_idc == 255) {
        v->sar_width = (uint16_t)h264_bits_u(b, 16);
        v->sar_height = (uint16_t)h264_bits_u(b, 16);
    } else if (v->aspect_ratio_idc < 17) {
        v->sar_width = h264_sample_aspect_ratio[v->aspect_ratio_idc][0];
        v->sar_height = h264_sample_aspect_ratio[v->aspect_ratio_idc][1];
    }
    return true;
}

static bool parse_overscan(struct h264_bits *b, struct h264_vui *v)
{
    v->overscan_info_present = (uint8_t)h264_bits_flag(b);
    if (v->overscan_info_present)
        v->overscan_appropriate = (uint8_t)h264_bits_flag(b);
    return true;
}

static bool parse_video_signal(struct h264_bits *b, struct h264_vui *v)
{
    v->video_signal_type_present = (uint8_t)h264_bits_flag(b);
    if (!v->video_signal_type_present)
        return true;
    v->video_format = (uint8_t)h264_bits_u(b, 3);
    v->full_range = (uint8_t)h264_bits_flag(b);
    v->colour_description_present = (uint8_t)h264_bits_flag(b);
    if (v->colour_description_present) {
        v->colour_primaries = (uint8_t)h264_bits_u(b, 8);
        v->transfer = (uint8_t)h264_bits_u(b, 8);
        v->matrix = (uint8_t)h264_bits_u(b, 8);
    }
    return true;
}

/* Reserved values tell nothing, and the elements behind them are sound. */
static bool parse_chroma_loc(struct h264_bits *b, struct h264_vui *v)
{
    uint32_t top, bottom;
    if (!h264_bits_flag(b))
        return true;
    top = h264_bits_ue(b);
    bottom = h264_bits_ue(b);
    if (top > 5 || bottom > 5)
        return true;
    v->chroma_loc_present = 1;
    v->chroma_loc_top = (uint8_t)top;
    v->chroma_loc_bottom = (uint8_t)bottom;
    return true;
}

static bool parse_timing(struct h264_bits *b, struct h264_vui *v)
{
    v->timing_info_present = (uint8_t)h264_bits_flag(b);
    if (v->timing_info_present) {
        v->num_units_in_tick = h264_bits_u(b, 32);
        v->time_scale = h264_bits_u(b, 32);
        v->fixed_frame_rate = (uint8_t)h264_bits_flag(b);
    }
    return true;
}

static bool parse_buffering(struct h264_bits *b, struct h264_vui *v)
{
    v->nal_hrd_present = (uint8_t)h264_bits_flag(b);
    if (v->nal_hrd_present && !parse_hrd(b, v, false))
        return false;
    v->vcl_hrd_present = (uint8_t)h264_bits_flag(b);
    if (v->vcl_hrd_present && !parse_hrd(b, v, true))
        return false;
    if (v->nal_hrd_present || v->vcl_hrd_present)
        h264_bits_skip(b, 1); /* low_delay_hrd_flag */
    v->pic_struct_present = (uint8_t)h264_bits_flag(b);
    return true;
}

static bool parse_bitstream_restriction(struct h264_bits *b, struct h264_vui *v)
{
    uint32_t reorder, buffering, length[2];
    v->bitstream_restriction_flag = (uint8_t)h264_bits_flag(b);
    if (!v->bitstream_restriction_flag)
        return true;
    h264_bits_skip(b, 1); /* motion_vectors_over_pic_boundaries_flag */
    h264_bits_ue(b);      /* max_bytes_per_pic_denom */
    h264_bits_ue(b);      /* max_bits_per_mb_denom */
    for (unsigned i = 0; i < 2; i++)
        length[i] = h264_bits_ue(b);
    reorder = h264_bits_ue(b);
    buffering = h264_bits_ue(b);
    /* Figures that contradict each other are worth less than the inferred ones. */
    if (reorder > buffering || buffering > 16) {
        v->bitstream_restriction_flag = 0;
        return true;
    }
    v->max_num_reorder_frames = (uint8_t)reorder;
    v->max_dec_frame_buffering = (uint8_t)buffering;
    for (unsigned i = 0; i < 2; i++)
        v->log2_max_mv_length[i] = (uint8_t)(length[i] < 16 ? length[i] : 16);
    return true;
}

bool h264_vui_parse(struct h264_bits *b, struct h264_vui *v)
{
    static bool (*const parts[])(struct h264_bits *, struct h264_vui *) = {
        parse_aspect_ratio, parse_overscan,  parse_video_signal,         parse_chroma_loc,
        parse_timing,       parse_buffering, parse_bitstream_restriction};
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct h264_vui next = *v;
        if (!parts[i](b, &next) || h264_bits_overrun(b))
            return false;
        *v = next;
    }
    return true;
}

/* MaxDpbFrames (A.3.1); 16 for an unknown level. */
static unsigned level_dpb_frames(const struct h264_sps *sps)
{
    bool low_profile = sps->profile_idc == 66 || sps->profile_idc == 77 || sps->profile_idc == 88;
    bool level_1b = sps->level_idc == 11 && low_profile && sps->constraint_flags & 0x10;
    uint32_t mbs = h264_max_dpb_mbs(level_1b ? 9 : sps->level_idc);
    uint32_t frames = mbs ? mbs / ((uint32_t)sps->mb_width * sps->mb_height) : 16;
    return frames < 16 ? frames : 16;
}

/* Intra-only profiles: no reordering, no DPB (E.2.1) */
static bool intra_only(const struct h264_sps *sps)
{
    switch (sps->profile_idc) {
    case 44:
    case 86:
    case 100:
    case 110:
    case 122:
    case 244:
        return sps->constraint_flags & 0x10;
    }
    return false;
}

void h264_sps_dpb_size(struct h264_sps *sps)
{
    unsigned frames = level_dpb_frames(sps), reorder;
    if (sps->vui.bitstream_restriction_flag)
        frames = sps->vui.max_dec_frame_buffering;
    else if (intra_only(sps))
        frames = 0;
    /* A level too small for its own reference frames lies. */
    if (frames < sps->max_num_ref_frames)
        frames = sps->max_num_ref_frames;
    reorder = sps->vui.bitstream_restriction_flag ? sps->vui.max_num_reorder_frames
              : intra_only(sps)                   ? 0
                                                  : frames;
    if (sps->poc_type == 2)
        reorder = 0; /* output order is decoding order (8.2.1.3) */
    sps->max_dpb_frames = (uint8_t)frames;
    sps->reorder_frames = (uint8_t)(reorder < frames ? reorder : frames);
}
