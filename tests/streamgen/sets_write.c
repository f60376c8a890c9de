/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Syntax of parameter sets (7.3.2.1, 7.3.2.2, E.1.1).
 */
#include "gen.h"

/* scaling_list() (7.3.2.1.1.1) */
static void write_list(struct sink *s, const struct scaling_lists *l, unsigned i)
{
    unsigned count = i < 6 ? 16 : 64;
    int last = 8;
    if (l->use_default >> i & 1) {
        sink_se(s, -8);
        return;
    }
    for (unsigned k = 0; k < l->sent[i]; k++) {
        int delta = l->value[i][k] - last;
        sink_se(s, delta < -128 ? delta + 256 : delta > 127 ? delta - 256 : delta);
        last = l->value[i][k];
    }
    if (l->sent[i] < count) /* nextScale 0: the last one repeats */
        sink_se(s, -last < -128 ? 256 - last : -last);
}

static void write_lists(struct sink *s, const struct scaling_lists *l, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        sink_u(s, 1, l->present >> i & 1);
        if (l->present >> i & 1)
            write_list(s, l, i);
    }
}

static void write_vui(struct gen *g, struct sink *s)
{
    vui_write_head(g, s);
    sink_u(s, 1, 1); /* bitstream_restriction_flag */
    sink_u(s, 1, 1); /* motion_vectors_over_pic_boundaries_flag */
    sink_ue(s, 0);   /* max_bytes_per_pic_denom */
    sink_ue(s, 0);   /* max_bits_per_mb_denom */
    sink_ue(s, 16);  /* log2_max_mv_length_horizontal */
    sink_ue(s, 16);
    sink_ue(s, g->sps.reorder_frames);
    sink_ue(s, g->sps.max_dpb_frames);
}

static void write_poc(const struct h264_sps *sps, struct sink *s)
{
    sink_ue(s, sps->poc_type);
    if (sps->poc_type == 0)
        sink_ue(s, sps->log2_max_poc_lsb - 4u);
    if (sps->poc_type != 1)
        return;
    sink_u(s, 1, sps->delta_pic_order_always_zero_flag);
    sink_se(s, sps->offset_for_non_ref_pic);
    sink_se(s, sps->offset_for_top_to_bottom_field);
    sink_ue(s, sps->num_ref_frames_in_poc_cycle);
    for (unsigned i = 0; i < sps->num_ref_frames_in_poc_cycle; i++)
        sink_se(s, sps->offset_for_ref_frame[i]);
}

static void write_crop(const struct h264_sps *sps, struct sink *s)
{
    bool crop = sps->crop_left || sps->crop_right || sps->crop_top || sps->crop_bottom;
    sink_u(s, 1, crop);
    if (!crop)
        return;
    sink_ue(s, sps->crop_left);
    sink_ue(s, sps->crop_right);
    sink_ue(s, sps->crop_top);
    sink_ue(s, sps->crop_bottom);
}

/* seq_parameter_set_data() */
static void write_sps_data(struct gen *g, unsigned profile_idc, unsigned id, struct sink *s)
{
    const struct h264_sps *sps = &g->sps;
    sink_u(s, 8, profile_idc);
    sink_u(s, 8, sps->constraint_flags);
    sink_u(s, 8, sps->level_idc);
    sink_ue(s, id);
    if (profile_idc >= 100 || profile_idc == 44) {
        sink_ue(s, sps->chroma_format_idc);
        if (sps->chroma_format_idc == 3)
            sink_u(s, 1, sps->separate_colour_plane_flag);
        sink_ue(s, sps->bit_depth[0] - 8u);
        sink_ue(s, sps->bit_depth[1] - 8u);
        sink_u(s, 1, sps->qpprime_y_zero_transform_bypass_flag);
        sink_u(s, 1, sps->seq_scaling_matrix_present_flag);
        if (sps->seq_scaling_matrix_present_flag)
            write_lists(s, &g->sps_lists, sps->chroma_format_idc == 3 ? 12 : 8);
    }
    sink_ue(s, sps->log2_max_frame_num - 4u);
    write_poc(sps, s);
    sink_ue(s, sps->max_num_ref_frames);
    sink_u(s, 1, sps->gaps_in_frame_num_allowed);
    sink_ue(s, sps->mb_width - 1u);
    sink_ue(s, sps->map_height - 1u);
    sink_u(s, 1, sps->frame_mbs_only_flag);
    if (!sps->frame_mbs_only_flag)
        sink_u(s, 1, sps->mb_adaptive_frame_field_flag);
    sink_u(s, 1, sps->direct_8x8_inference_flag);
    write_crop(sps, s);
    sink_u(s, 1, sps->vui_present);
    if (sps->vui_present)
        write_vui(g, s);
}

static void write_groups(const struct h264_pps *pps, struct sink *s)
{
    unsigned type = pps->slice_group_map_type, bits = 0;
    sink_ue(s, pps->num_slice_groups - 1u);
    if (pps->num_slice_groups == 1)
        return;
    sink_ue(s, type);
    for (unsigned i = 0; i < pps->num_slice_groups && type == 0; i++)
        sink_ue(s, pps->run_length[i] - 1);
    for (unsigned i = 0; i + 1 < pps->num_slice_groups && type == 2; i++) {
        sink_ue(s, pps->top_left[i]);
        sink_ue(s, pps->bottom_right[i]);
    }
    if (type >= 3 && type <= 5) {
        sink_u(s, 1, pps->slice_group_change_direction_flag);
        sink_ue(s, pps->slice_group_change_rate - 1);
    }
    if (type == 6) {
        while (1u << bits < pps->num_slice_groups)
            bits++;
        sink_ue(s, pps->pic_size_in_map_units - 1);
        for (unsigned i = 0; i < pps->pic_size_in_map_units; i++)
            sink_u(s, bits, pps->slice_group_id[i]);
    }
}

static void write_pps(struct gen *g, unsigned i)
{
    const struct h264_pps *pps = &g->pps[i];
    struct sink s = {0};
    sink_u(&s, 8, 0x68);
    sink_ue(&s, pps->id);
    sink_ue(&s, pps->sps_id);
    sink_u(&s, 1, pps->entropy_coding_mode_flag);
    sink_u(&s, 1, pps->bottom_field_pic_order_in_frame_present_flag);
    write_groups(pps, &s);
    sink_ue(&s, pps->num_ref_default[0] - 1u);
    sink_ue(&s, pps->num_ref_default[1] - 1u);
    sink_u(&s, 1, pps->weighted_pred_flag);
    sink_u(&s, 2, pps->weighted_bipred_idc);
    sink_se(&s, pps->pic_init_qp - 26);
    sink_se(&s, pps->pic_init_qs - 26);
    sink_se(&s, pps->chroma_qp_offset[0]);
    sink_u(&s, 1, pps->deblocking_filter_control_present_flag);
    sink_u(&s, 1, pps->constrained_intra_pred_flag);
    sink_u(&s, 1, pps->redundant_pic_cnt_present_flag);
    if (pps->transform_8x8_mode_flag || pps->pic_scaling_matrix_present_flag ||
        pps->chroma_qp_offset[0] != pps->chroma_qp_offset[1]) {
        sink_u(&s, 1, pps->transform_8x8_mode_flag);
        sink_u(&s, 1, pps->pic_scaling_matrix_present_flag);
        if (pps->pic_scaling_matrix_present_flag)
            write_lists(
                &s, &g->pps_lists[i],
                6 + (pps->transform_8x8_mode_flag ? g->sps.chroma_format_idc == 3 ? 6u : 2u : 0));
        sink_se(&s, pps->chroma_qp_offset[1]);
    }
    sink_trailing(&s);
    sink_nal(&g->out, &s);
    sink_free(&s);
}

/* subset_seq_parameter_set_rbsp() of a stereo stream (H.7.3.2.1.4): how the second view may refer
 * to the first. */
static void write_subset(struct gen *g)
{
    struct sink s = {0};
    sink_u(&s, 8, 0x6f);
    write_sps_data(g, 128, g->sps.id, &s);
    sink_u(&s, 1, 1); /* bit_equal_to_one */
    sink_ue(&s, 1);   /* num_views_minus1 */
    sink_ue(&s, 0);
    sink_ue(&s, SECOND_VIEW_ID);
    for (unsigned anchor = 2; anchor-- > 0;)
        for (unsigned list = 0; list < 2; list++) { /* no reference, or one: the base view */
            sink_ue(&s, g->view_refs[anchor] >> list & 1);
            if (g->view_refs[anchor] >> list & 1)
                sink_ue(&s, 0);
        }
    sink_ue(&s, 0); /* num_level_values_signalled_minus1 */
    sink_u(&s, 8, g->sps.level_idc);
    sink_ue(&s, 0);   /* num_applicable_ops_minus1 */
    sink_u(&s, 3, 0); /* applicable_op_temporal_id */
    sink_ue(&s, 1);   /* applicable_op_num_target_views_minus1 */
    sink_ue(&s, 0);
    sink_ue(&s, SECOND_VIEW_ID);
    sink_ue(&s, 1);   /* applicable_op_num_views_minus1 */
    sink_u(&s, 1, 0); /* mvc_vui_parameters_present_flag */
    sink_u(&s, 1, 0); /* additional_extension2_flag */
    sink_trailing(&s);
    sink_nal(&g->out, &s);
    sink_free(&s);
}

void sets_write(struct gen *g)
{
    struct sink s = {0};
    sink_u(&s, 8, 0x67);
    write_sps_data(g, gen_has(g, F_MVC) ? 100 : g->sps.profile_idc, g->sps.id, &s);
    sink_trailing(&s);
    sink_nal(&g->out, &s);
    sink_free(&s);
    if (gen_has(g, F_MVC))
        write_subset(g);
    for (unsigned i = 0; i < g->pps_count; i++)
        write_pps(g, i);
}
