/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Syntax of sequence parameter sets and their VUI (7.3.2.1, E.1.1, E.1.2).
 */
#include "encode/header_lists.h"

/* scaling_list() (7.3.2.1.1.1) */
static void write_list(const struct scaling_lists *l, unsigned i, struct bit_writer *s)
{
    unsigned count = i < 6 ? 16 : 64;
    int last = 8;
    if (l->use_default >> i & 1) {
        bit_writer_se(s, -8);
        return;
    }
    for (unsigned k = 0; k < l->sent[i]; k++) {
        int delta = l->value[i][k] - last;
        bit_writer_se(s, delta < -128 ? delta + 256 : delta > 127 ? delta - 256 : delta);
        last = l->value[i][k];
    }
    if (l->sent[i] < count) /* nextScale 0: the last one repeats */
        bit_writer_se(s, -last < -128 ? 256 - last : -last);
}

void write_scaling_lists(const struct scaling_lists *lists, unsigned count, struct bit_writer *out)
{
    for (unsigned i = 0; i < count; i++) {
        bit_writer_u(out, 1, lists->present >> i & 1);
        if (lists->present >> i & 1)
            write_list(lists, i, out);
    }
}

/* ---- VUI ---- */

static void write_aspect_ratio(const struct h264_vui *v, struct bit_writer *s)
{
    bit_writer_u(s, 1, v->aspect_ratio_idc != 0); /* 0 is what absence means */
    if (v->aspect_ratio_idc)
        bit_writer_u(s, 8, v->aspect_ratio_idc);
    if (v->aspect_ratio_idc == 255) {
        bit_writer_u(s, 16, v->sar_width);
        bit_writer_u(s, 16, v->sar_height);
    }
}

static void write_signal(const struct h264_vui *v, struct bit_writer *s)
{
    bit_writer_u(s, 1, v->video_signal_type_present);
    if (!v->video_signal_type_present)
        return;
    bit_writer_u(s, 3, v->video_format);
    bit_writer_u(s, 1, v->full_range);
    bit_writer_u(s, 1, v->colour_description_present);
    if (v->colour_description_present) {
        bit_writer_u(s, 8, v->colour_primaries);
        bit_writer_u(s, 8, v->transfer);
        bit_writer_u(s, 8, v->matrix);
    }
}

static void write_timing(const struct h264_vui *v, struct bit_writer *s)
{
    bit_writer_u(s, 1, v->timing_info_present);
    if (!v->timing_info_present)
        return;
    bit_writer_u(s, 32, v->num_units_in_tick);
    bit_writer_u(s, 32, v->time_scale);
    bit_writer_u(s, 1, v->fixed_frame_rate);
}

/* hrd_parameters() */
static void write_hrd(const struct h264_vui *v, unsigned count, const struct hrd_rates *rates,
                      struct bit_writer *s)
{
    bit_writer_ue(s, count - 1);
    bit_writer_u(s, 4, rates->bit_rate_scale);
    bit_writer_u(s, 4, rates->cpb_size_scale);
    for (unsigned i = 0; i < count; i++) {
        bit_writer_ue(s, rates->bit_rate_value[i] - 1);
        bit_writer_ue(s, rates->cpb_size_value[i] - 1);
        bit_writer_u(s, 1, rates->cbr_flags >> i & 1);
    }
    bit_writer_u(s, 5, v->initial_cpb_removal_delay_length - 1u);
    bit_writer_u(s, 5, v->cpb_removal_delay_length - 1u);
    bit_writer_u(s, 5, v->dpb_output_delay_length - 1u);
    bit_writer_u(s, 5, v->time_offset_length);
}

static void write_buffering(const struct h264_vui *v, const struct hrd_rates *rates,
                            struct bit_writer *s)
{
    const bool present[2] = {v->nal_hrd_present, v->vcl_hrd_present};
    for (unsigned i = 0; i < 2; i++) {
        bit_writer_u(s, 1, present[i]);
        if (present[i])
            write_hrd(v, v->cpb_count[i], rates, s);
    }
    if (present[0] || present[1])
        bit_writer_u(s, 1, 0); /* low_delay_hrd_flag */
    bit_writer_u(s, 1, v->pic_struct_present);
}

static void write_restriction(const struct h264_vui *v, unsigned log2_max_mv_length,
                              struct bit_writer *s)
{
    bit_writer_u(s, 1, v->bitstream_restriction_flag);
    if (!v->bitstream_restriction_flag)
        return;
    bit_writer_u(s, 1, 1); /* motion_vectors_over_pic_boundaries_flag */
    bit_writer_ue(s, 0);   /* max_bytes_per_pic_denom */
    bit_writer_ue(s, 0);   /* max_bits_per_mb_denom */
    bit_writer_ue(s, log2_max_mv_length);
    bit_writer_ue(s, log2_max_mv_length);
    bit_writer_ue(s, v->max_num_reorder_frames);
    bit_writer_ue(s, v->max_dec_frame_buffering);
}

/* vui_parameters() */
static void write_vui(const struct h264_vui *v, const struct sps_details *details,
                      struct bit_writer *s)
{
    write_aspect_ratio(v, s);
    bit_writer_u(s, 1, v->overscan_info_present);
    if (v->overscan_info_present)
        bit_writer_u(s, 1, v->overscan_appropriate);
    write_signal(v, s);
    bit_writer_u(s, 1, v->chroma_loc_present);
    if (v->chroma_loc_present) {
        bit_writer_ue(s, v->chroma_loc_top);
        bit_writer_ue(s, v->chroma_loc_bottom);
    }
    write_timing(v, s);
    write_buffering(v, details->hrd, s);
    write_restriction(v, details->log2_max_mv_length, s);
}

/* ---- seq_parameter_set_data() ---- */

static void write_format(const struct h264_sps *sps, const struct scaling_lists *lists,
                         struct bit_writer *s)
{
    if (sps->profile_idc < 100 && sps->profile_idc != 44)
        return;
    bit_writer_ue(s, sps->chroma_format_idc);
    if (sps->chroma_format_idc == 3)
        bit_writer_u(s, 1, sps->separate_colour_plane_flag);
    bit_writer_ue(s, sps->bit_depth[0] - 8u);
    bit_writer_ue(s, sps->bit_depth[1] - 8u);
    bit_writer_u(s, 1, sps->qpprime_y_zero_transform_bypass_flag);
    bit_writer_u(s, 1, sps->seq_scaling_matrix_present_flag);
    if (sps->seq_scaling_matrix_present_flag)
        write_scaling_lists(lists, sps->chroma_format_idc == 3 ? 12 : 8, s);
}

static void write_poc(const struct h264_sps *sps, struct bit_writer *s)
{
    bit_writer_ue(s, sps->poc_type);
    if (sps->poc_type == 0)
        bit_writer_ue(s, sps->log2_max_poc_lsb - 4u);
    if (sps->poc_type != 1)
        return;
    bit_writer_u(s, 1, sps->delta_pic_order_always_zero_flag);
    bit_writer_se(s, sps->offset_for_non_ref_pic);
    bit_writer_se(s, sps->offset_for_top_to_bottom_field);
    bit_writer_ue(s, sps->num_ref_frames_in_poc_cycle);
    for (unsigned i = 0; i < sps->num_ref_frames_in_poc_cycle; i++)
        bit_writer_se(s, sps->offset_for_ref_frame[i]);
}

static void write_crop(const struct h264_sps *sps, struct bit_writer *s)
{
    unsigned chroma = h264_chroma_array_type(sps), unit_x = chroma == 1 || chroma == 2 ? 2 : 1,
             unit_y = (chroma == 1 ? 2u : 1u) << !sps->frame_mbs_only_flag;
    bool crop = sps->crop_left || sps->crop_right || sps->crop_top || sps->crop_bottom;
    bit_writer_u(s, 1, crop);
    if (!crop)
        return;
    bit_writer_ue(s, sps->crop_left / unit_x);
    bit_writer_ue(s, sps->crop_right / unit_x);
    bit_writer_ue(s, sps->crop_top / unit_y);
    bit_writer_ue(s, sps->crop_bottom / unit_y);
}

void write_sps_data(const struct h264_sps *sps, const struct sps_details *details,
                    struct bit_writer *s)
{
    bit_writer_u(s, 8, sps->profile_idc);
    bit_writer_u(s, 8, sps->constraint_flags);
    bit_writer_u(s, 8, sps->level_idc);
    bit_writer_ue(s, sps->id);
    write_format(sps, details->lists, s);
    bit_writer_ue(s, sps->log2_max_frame_num - 4u);
    write_poc(sps, s);
    bit_writer_ue(s, sps->max_num_ref_frames);
    bit_writer_u(s, 1, sps->gaps_in_frame_num_allowed);
    bit_writer_ue(s, sps->mb_width - 1u);
    bit_writer_ue(s, sps->map_height - 1u);
    bit_writer_u(s, 1, sps->frame_mbs_only_flag);
    if (!sps->frame_mbs_only_flag)
        bit_writer_u(s, 1, sps->mb_adaptive_frame_field_flag);
    bit_writer_u(s, 1, sps->direct_8x8_inference_flag);
    write_crop(sps, s);
    bit_writer_u(s, 1, sps->vui_present);
    if (sps->vui_present)
        write_vui(&sps->vui, details, s);
}
