/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Syntax of slice headers and picture parameter sets (7.3.2.2, 7.3.3).
 */
#include "encode/header_lists.h"

void write_nal_header(unsigned nal_ref_idc, unsigned nal_unit_type, struct bit_writer *out)
{
    bit_writer_u(out, 8, nal_ref_idc << 5 | nal_unit_type);
}

/* ---- pic_parameter_set_rbsp() ---- */

static void write_groups(const struct h264_pps *pps, struct bit_writer *s)
{
    unsigned type = pps->slice_group_map_type, bits = 0;
    bit_writer_ue(s, pps->num_slice_groups - 1u);
    if (pps->num_slice_groups == 1)
        return;
    bit_writer_ue(s, type);
    for (unsigned i = 0; i < pps->num_slice_groups && type == 0; i++)
        bit_writer_ue(s, pps->run_length[i] - 1);
    for (unsigned i = 0; i + 1 < pps->num_slice_groups && type == 2; i++) {
        bit_writer_ue(s, pps->top_left[i]);
        bit_writer_ue(s, pps->bottom_right[i]);
    }
    if (type >= 3 && type <= 5) {
        bit_writer_u(s, 1, pps->slice_group_change_direction_flag);
        bit_writer_ue(s, pps->slice_group_change_rate - 1);
    }
    if (type == 6) {
        while (1u << bits < pps->num_slice_groups)
            bits++;
        bit_writer_ue(s, pps->pic_size_in_map_units - 1);
        for (unsigned i = 0; i < pps->pic_size_in_map_units; i++)
            bit_writer_u(s, bits, pps->slice_group_id[i]);
    }
}

void write_pps_data(const struct h264_sps *sps, const struct h264_pps *pps,
                    const struct scaling_lists *lists, struct bit_writer *s)
{
    unsigned lists_8x8 = !pps->transform_8x8_mode_flag ? 0 : sps->chroma_format_idc == 3 ? 6 : 2;
    bit_writer_ue(s, pps->id);
    bit_writer_ue(s, pps->sps_id);
    bit_writer_u(s, 1, pps->entropy_coding_mode_flag);
    bit_writer_u(s, 1, pps->bottom_field_pic_order_in_frame_present_flag);
    write_groups(pps, s);
    bit_writer_ue(s, pps->num_ref_default[0] - 1u);
    bit_writer_ue(s, pps->num_ref_default[1] - 1u);
    bit_writer_u(s, 1, pps->weighted_pred_flag);
    bit_writer_u(s, 2, pps->weighted_bipred_idc);
    bit_writer_se(s, pps->pic_init_qp - 26);
    bit_writer_se(s, pps->pic_init_qs - 26);
    bit_writer_se(s, pps->chroma_qp_offset[0]);
    bit_writer_u(s, 1, pps->deblocking_filter_control_present_flag);
    bit_writer_u(s, 1, pps->constrained_intra_pred_flag);
    bit_writer_u(s, 1, pps->redundant_pic_cnt_present_flag);
    if (!pps->transform_8x8_mode_flag && !pps->pic_scaling_matrix_present_flag &&
        pps->chroma_qp_offset[0] == pps->chroma_qp_offset[1])
        return;
    bit_writer_u(s, 1, pps->transform_8x8_mode_flag);
    bit_writer_u(s, 1, pps->pic_scaling_matrix_present_flag);
    if (pps->pic_scaling_matrix_present_flag)
        write_scaling_lists(lists, 6 + lists_8x8, s);
    bit_writer_se(s, pps->chroma_qp_offset[1]);
}

/* ---- slice_header() ---- */

static void write_identity(const struct h264_sps *sps, const struct h264_pps *pps,
                           const struct h264_slice_header *h, struct bit_writer *out)
{
    bool bottom = pps->bottom_field_pic_order_in_frame_present_flag && !h->field_pic_flag;
    if (sps->separate_colour_plane_flag)
        bit_writer_u(out, 2, h->colour_plane_id);
    bit_writer_u(out, sps->log2_max_frame_num, h->frame_num);
    if (!sps->frame_mbs_only_flag) {
        bit_writer_u(out, 1, h->field_pic_flag);
        if (h->field_pic_flag)
            bit_writer_u(out, 1, h->bottom_field_flag);
    }
    if (h->idr)
        bit_writer_ue(out, h->idr_pic_id);
    if (sps->poc_type == 0) {
        bit_writer_u(out, sps->log2_max_poc_lsb, h->poc_lsb);
        if (bottom)
            bit_writer_se(out, h->delta_poc_bottom);
    }
    if (sps->poc_type == 1 && !sps->delta_pic_order_always_zero_flag) {
        bit_writer_se(out, h->delta_poc[0]);
        if (bottom)
            bit_writer_se(out, h->delta_poc[1]);
    }
}

static void write_ref_lists(const struct h264_pps *pps, const struct h264_slice_header *h,
                            struct bit_writer *out)
{
    unsigned lists = h->type == H264_B ? 2 : 1;
    bool override = false;
    for (unsigned list = 0; list < lists; list++)
        override |= h->num_ref[list] != pps->num_ref_default[list];
    bit_writer_u(out, 1, override);
    for (unsigned list = 0; list < lists && override; list++)
        bit_writer_ue(out, h->num_ref[list] - 1u);
    for (unsigned list = 0; list < lists; list++) {
        bit_writer_u(out, 1, h->list_mod_count[list] > 0);
        for (unsigned i = 0; i < h->list_mod_count[list]; i++) {
            bit_writer_ue(out, h->list_mod[list][i].op);
            bit_writer_ue(out, h->list_mod[list][i].value);
        }
        if (h->list_mod_count[list])
            bit_writer_ue(out, 3);
    }
}

/* A weight and its offset, unless they are what absence means. Both chroma components have one
 * flag. */
static void write_weights_of(const int16_t (*w)[2], unsigned components, unsigned log2_denom,
                             struct bit_writer *out)
{
    bool sent = false;
    for (unsigned c = 0; c < components; c++)
        sent |= w[c][0] != 1 << log2_denom || w[c][1];
    bit_writer_u(out, 1, sent);
    for (unsigned c = 0; c < components && sent; c++) {
        bit_writer_se(out, w[c][0]);
        bit_writer_se(out, w[c][1]);
    }
}

/* pred_weight_table() */
static void write_weights(const struct h264_sps *sps, const struct h264_slice_header *h,
                          struct bit_writer *out)
{
    bool chroma = h264_chroma_array_type(sps) != 0;
    bit_writer_ue(out, h->luma_log2_denom);
    if (chroma)
        bit_writer_ue(out, h->chroma_log2_denom);
    for (unsigned list = 0; list < (h->type == H264_B ? 2u : 1u); list++)
        for (unsigned i = 0; i < h->num_ref[list]; i++) {
            const int16_t(*w)[2] = h->weight[list][i];
            write_weights_of(w, 1, h->luma_log2_denom, out);
            if (chroma)
                write_weights_of(w + 1, 2, h->chroma_log2_denom, out);
        }
}

/* dec_ref_pic_marking() */
static void write_marking(const struct h264_slice_header *h, struct bit_writer *out)
{
    if (h->idr) {
        bit_writer_u(out, 1, h->no_output_of_prior_pics_flag);
        bit_writer_u(out, 1, h->long_term_reference_flag);
        return;
    }
    bit_writer_u(out, 1, h->adaptive_marking_flag);
    for (unsigned i = 0; i < h->mmco_count; i++) {
        bit_writer_ue(out, h->mmco[i].op);
        if (h->mmco[i].op != 5)
            bit_writer_ue(out, h->mmco[i].a);
        if (h->mmco[i].op == 3)
            bit_writer_ue(out, h->mmco[i].b);
    }
    if (h->adaptive_marking_flag)
        bit_writer_ue(out, 0);
}

static void write_group_cycle(const struct h264_sps *sps, const struct h264_pps *pps,
                              const struct h264_slice_header *h, struct bit_writer *out)
{
    unsigned units = (unsigned)sps->mb_width * sps->map_height, rate = pps->slice_group_change_rate,
             bits = 0;
    if (pps->num_slice_groups == 1 || pps->slice_group_map_type < 3 ||
        pps->slice_group_map_type > 5)
        return;
    /* Ceil(Log2(PicSizeInMapUnits / SliceGroupChangeRate + 1)) */
    while (1u << bits < (units + rate - 1) / rate + 1)
        bits++;
    bit_writer_u(out, bits, h->slice_group_change_cycle);
}

static void write_deblocking(const struct h264_slice_header *h, struct bit_writer *out)
{
    bit_writer_ue(out, h->disable_deblocking_filter_idc);
    if (h->disable_deblocking_filter_idc == 1)
        return;
    bit_writer_se(out, h->filter_offset_a / 2);
    bit_writer_se(out, h->filter_offset_b / 2);
}

void write_slice_header(const struct h264_sps *sps, const struct h264_pps *pps,
                        const struct h264_slice_header *h, struct bit_writer *out)
{
    bool mbaff = sps->mb_adaptive_frame_field_flag && !h->field_pic_flag,
         intra = h->type == H264_I || h->type == H264_SI;
    bit_writer_ue(out, h->first_mb >> mbaff);
    bit_writer_ue(out, h->type);
    bit_writer_ue(out, h->pps_id);
    write_identity(sps, pps, h, out);
    if (pps->redundant_pic_cnt_present_flag)
        bit_writer_ue(out, h->redundant_pic_cnt);
    if (h->type == H264_B)
        bit_writer_u(out, 1, h->direct_spatial_mv_pred_flag);
    if (!intra) {
        write_ref_lists(pps, h, out);
        if (h->type == H264_B ? pps->weighted_bipred_idc == 1 : pps->weighted_pred_flag)
            write_weights(sps, h, out);
    }
    if (h->nal_ref_idc)
        write_marking(h, out);
    if (pps->entropy_coding_mode_flag && !intra)
        bit_writer_ue(out, h->cabac_init_idc);
    bit_writer_se(out, h->qp - pps->pic_init_qp);
    if (h->type == H264_SP)
        bit_writer_u(out, 1, h->sp_for_switch_flag);
    if (h->type == H264_SP || h->type == H264_SI)
        bit_writer_se(out, h->qs - pps->pic_init_qs);
    if (pps->deblocking_filter_control_present_flag)
        write_deblocking(h, out);
    write_group_cycle(sps, pps, h, out);
    if (h->nal_unit_type == 2)
        bit_writer_ue(out, h->slice_id);
}
