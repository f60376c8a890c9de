/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slice header (7.3.3, 7.4.3) with its list modifications, weights and marking operations. Syntax
 * only: nothing depends on earlier pictures.
 */
#include "codec/diag.h"
#include "codec/nal.h"
#include "codec/slice_header.h"

static int header_range_error(const struct h264_bits *b, struct h264_diag *diag,
                              const char *element, int64_t value, const char *what)
{
    return h264_fail(diag, h264_bits_overrun(b) ? H264_ERR_TRUNCATED : H264_ERR_DATA, element,
                     value, what);
}

int h264_slice_peek(const uint8_t *rbsp, size_t size, uint32_t *first_mb, uint32_t *type,
                    uint32_t *pps_id)
{
    struct h264_bits b;
    uint32_t v[3];
    h264_bits_init(&b, rbsp, size);
    h264_bits_skip(&b, size && (rbsp[0] & 31) == H264_NAL_EXTENSION ? 32 : 8);
    for (unsigned i = 0; i < 3; i++)
        v[i] = h264_bits_ue(&b);
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    *first_mb = v[0];
    *type = v[1];
    *pps_id = v[2];
    return H264_OK;
}

/* MbaffFrameFlag (7.4.3) */
static unsigned mbaff_frame(const struct h264_sps *sps, const struct h264_slice_header *h)
{
    return sps->mb_adaptive_frame_field_flag && !h->field_pic_flag;
}

static bool inter_slice(const struct h264_slice_header *h)
{
    return h->type != H264_I && h->type != H264_SI;
}

/* frame_num to delta_pic_order_cnt */
static int parse_identity(struct h264_bits *b, const struct h264_sps *sps,
                          const struct h264_pps *pps, struct h264_slice_header *h,
                          struct h264_diag *diag)
{
    if (sps->separate_colour_plane_flag) {
        h->colour_plane_id = (uint8_t)h264_bits_u(b, 2);
        if (h->colour_plane_id > 2)
            return header_range_error(b, diag, "colour_plane_id", h->colour_plane_id,
                                      "must be at most 2");
    }
    h->frame_num = h264_bits_u(b, sps->log2_max_frame_num);
    if (!sps->frame_mbs_only_flag) {
        h->field_pic_flag = (uint8_t)h264_bits_flag(b);
        if (h->field_pic_flag)
            h->bottom_field_flag = (uint8_t)h264_bits_flag(b);
    }
    if (h->idr) {
        h->idr_pic_id = h264_bits_ue(b);
        if (h->idr_pic_id > 65535)
            return header_range_error(b, diag, "idr_pic_id", h->idr_pic_id,
                                      "must be at most 65535");
    }
    if (sps->poc_type == 0) {
        h->poc_lsb = h264_bits_u(b, sps->log2_max_poc_lsb);
        if (pps->bottom_field_pic_order_in_frame_present_flag && !h->field_pic_flag)
            h->delta_poc_bottom = h264_bits_se(b);
    } else if (sps->poc_type == 1 && !sps->delta_pic_order_always_zero_flag) {
        h->delta_poc[0] = h264_bits_se(b);
        if (pps->bottom_field_pic_order_in_frame_present_flag && !h->field_pic_flag)
            h->delta_poc[1] = h264_bits_se(b);
    }
    return H264_OK;
}

static int parse_num_ref(struct h264_bits *b, const struct h264_pps *pps,
                         struct h264_slice_header *h, struct h264_diag *diag)
{
    uint32_t most = h->field_pic_flag ? 32 : 16, n[2] = {0, 0};
    if (!inter_slice(h))
        return H264_OK;
    n[0] = pps->num_ref_default[0];
    if (h->type == H264_B)
        n[1] = pps->num_ref_default[1];
    if (h264_bits_flag(b)) { /* num_ref_idx_active_override_flag */
        n[0] = h264_bits_ue(b) + 1;
        if (h->type == H264_B)
            n[1] = h264_bits_ue(b) + 1;
    }
    for (unsigned list = 0; list < 2; list++) {
        if (n[list] > most || (!n[list] && (list == 0 || h->type == H264_B)))
            return header_range_error(
                b, diag, list ? "num_ref_idx_l1_active_minus1" : "num_ref_idx_l0_active_minus1",
                (int64_t)n[list] - 1, "more entries than a reference list can have");
        h->num_ref[list] = (uint8_t)n[list];
    }
    return H264_OK;
}

/* ref_pic_list_modification() (7.3.3.1) of one list */
static int parse_list_mod(struct h264_bits *b, struct h264_slice_header *h, unsigned list,
                          struct h264_diag *diag)
{
    const unsigned most = sizeof(h->list_mod[0]) / sizeof(h->list_mod[0][0]);
    if (!h264_bits_flag(b))
        return H264_OK;
    for (unsigned n = 0;; n++) {
        uint32_t op = h264_bits_ue(b);
        if (op == 3) {
            h->notes |= n == 0 ? H264_NOTE_EMPTY_MODIFICATION : 0;
            break;
        }
        if (op > (h->nal_unit_type == H264_NAL_EXTENSION ? 5 : 3) || h264_bits_overrun(b))
            return header_range_error(b, diag, "modification_of_pic_nums_idc", op,
                                      "must be at most 3, or 5 in other views");
        if (n == most)
            return header_range_error(b, diag, "modification_of_pic_nums_idc", n,
                                      "more modifications than a list has entries");
        h->list_mod[list][n].op = (uint8_t)op;
        h->list_mod[list][n].value = h264_bits_ue(b);
        h->list_mod_count[list] = (uint8_t)(n + 1);
    }
    return H264_OK;
}

static int parse_weight(struct h264_bits *b, int16_t weight[2], struct h264_diag *diag)
{
    int32_t w = h264_bits_se(b), o = h264_bits_se(b);
    if (w < -128 || w > 127)
        return header_range_error(b, diag, "luma_weight", w, "must be in -128 .. 127");
    if (o < -128 || o > 127)
        return header_range_error(b, diag, "luma_offset", o, "must be in -128 .. 127");
    weight[0] = (int16_t)w;
    weight[1] = (int16_t)o;
    return H264_OK;
}

/* pred_weight_table() (7.3.3.2) */
static int parse_weights(struct h264_bits *b, const struct h264_sps *sps,
                         struct h264_slice_header *h, struct h264_diag *diag)
{
    bool chroma = sps->chroma_format_idc && !sps->separate_colour_plane_flag;
    uint32_t luma_denom = h264_bits_ue(b), chroma_denom = chroma ? h264_bits_ue(b) : 0;
    int error;
    if (luma_denom > 7 || chroma_denom > 7)
        return header_range_error(
            b, diag, luma_denom > 7 ? "luma_log2_weight_denom" : "chroma_log2_weight_denom",
            luma_denom > 7 ? luma_denom : chroma_denom, "must be at most 7");
    h->luma_log2_denom = (uint8_t)luma_denom;
    h->chroma_log2_denom = (uint8_t)chroma_denom;
    for (unsigned list = 0; list < 2; list++)
        for (unsigned i = 0; i < h->num_ref[list]; i++) {
            int16_t(*w)[2] = h->weight[list][i];

            w[0][0] = (int16_t)(1 << luma_denom);
            w[1][0] = w[2][0] = (int16_t)(1 << chroma_denom);
            if (h264_bits_flag(b) && (error = parse_weight(b, w[0], diag)))
                return error;
            if (chroma && h264_bits_flag(b) &&
                ((error = parse_weight(b, w[1], diag)) || (error = parse_weight(b, w[2], diag))))
                return error;
        }
    return H264_OK;
}

/* dec_ref_pic_marking() (7.3.3.3) */
static int parse_marking(struct h264_bits *b, struct h264_slice_header *h, struct h264_diag *diag)
{
    const unsigned most = sizeof(h->mmco) / sizeof(h->mmco[0]);
    if (h->idr) {
        h->no_output_of_prior_pics_flag = (uint8_t)h264_bits_flag(b);
        h->long_term_reference_flag = (uint8_t)h264_bits_flag(b);
        return H264_OK;
    }
    h->adaptive_marking_flag = (uint8_t)h264_bits_flag(b);
    if (!h->adaptive_marking_flag)
        return H264_OK;
    for (unsigned n = 0;; n++) {
        uint32_t op = h264_bits_ue(b);
        struct h264_mmco *m = &h->mmco[n];
        if (op == 0)
            break;
        if (op > 6 || h264_bits_overrun(b))
            return header_range_error(b, diag, "memory_management_control_operation", op,
                                      "must be at most 6");
        if (n == most)
            return header_range_error(b, diag, "memory_management_control_operation", n,
                                      "too many operations");
        m->op = (uint8_t)op;
        if (op != 5)
            m->a = h264_bits_ue(b);
        if (op == 3)
            m->b = h264_bits_ue(b);
        h->mmco_count = (uint8_t)(n + 1);
    }
    return H264_OK;
}

static int parse_qp(struct h264_bits *b, const struct h264_sps *sps, const struct h264_pps *pps,
                    struct h264_slice_header *h, struct h264_diag *diag)
{
    int32_t lowest = -6 * (sps->bit_depth[0] - 8);
    int64_t qp = (int64_t)pps->pic_init_qp + h264_bits_se(b), qs;
    if (qp < lowest || qp > 51)
        return header_range_error(b, diag, "slice_qp_delta", qp - pps->pic_init_qp,
                                  "the slice's QP is out of range");
    h->qp = (int8_t)qp;
    if (h->type == H264_SP || h->type == H264_SI) {
        if (h->type == H264_SP)
            h->sp_for_switch_flag = (uint8_t)h264_bits_flag(b);
        qs = (int64_t)pps->pic_init_qs + h264_bits_se(b);
        if (qs < 0 || qs > 51)
            return header_range_error(b, diag, "slice_qs_delta", qs - pps->pic_init_qs,
                                      "the slice's QS is out of range");
        h->qs = (int8_t)qs;
    }
    return H264_OK;
}

static int parse_deblocking(struct h264_bits *b, const struct h264_pps *pps,
                            struct h264_slice_header *h, struct h264_diag *diag)
{
    uint32_t idc;
    int32_t a, c;
    if (!pps->deblocking_filter_control_present_flag)
        return H264_OK;
    idc = h264_bits_ue(b);
    if (idc > 2)
        return header_range_error(b, diag, "disable_deblocking_filter_idc", idc,
                                  "must be at most 2");
    h->disable_deblocking_filter_idc = (uint8_t)idc;
    if (idc == 1)
        return H264_OK;
    a = h264_bits_se(b);
    c = h264_bits_se(b);
    if (a < -6 || a > 6 || c < -6 || c > 6)
        return header_range_error(
            b, diag, a < -6 || a > 6 ? "slice_alpha_c0_offset_div2" : "slice_beta_offset_div2",
            a < -6 || a > 6 ? a : c, "must be in -6 .. 6");
    h->filter_offset_a = (int8_t)(2 * a);
    h->filter_offset_b = (int8_t)(2 * c);
    return H264_OK;
}

/* redundant_pic_cnt to dec_ref_pic_marking() */
static int parse_references(struct h264_bits *b, const struct h264_sps *sps,
                            const struct h264_pps *pps, struct h264_slice_header *h,
                            struct h264_diag *diag)
{
    int error;
    if (pps->redundant_pic_cnt_present_flag) {
        h->redundant_pic_cnt = h264_bits_ue(b);
        if (h->redundant_pic_cnt > 127)
            return header_range_error(b, diag, "redundant_pic_cnt", h->redundant_pic_cnt,
                                      "must be at most 127");
    }
    if (h->type == H264_B)
        h->direct_spatial_mv_pred_flag = (uint8_t)h264_bits_flag(b);
    if ((error = parse_num_ref(b, pps, h, diag)))
        return error;
    if (inter_slice(h) && (error = parse_list_mod(b, h, 0, diag)))
        return error;
    if (h->type == H264_B && (error = parse_list_mod(b, h, 1, diag)))
        return error;
    if (((h->type == H264_P || h->type == H264_SP) && pps->weighted_pred_flag) ||
        (h->type == H264_B && pps->weighted_bipred_idc == 1))
        if ((error = parse_weights(b, sps, h, diag)))
            return error;
    return h->nal_ref_idc ? parse_marking(b, h, diag) : H264_OK;
}

/* slice_group_change_cycle: Ceil(Log2(PicSizeInMapUnits / SliceGroupChangeRate + 1)) bits (7.4.3)
 */
static int parse_group_cycle(struct h264_bits *b, const struct h264_sps *sps,
                             const struct h264_pps *pps, struct h264_slice_header *h,
                             struct h264_diag *diag)
{
    uint32_t units = (uint32_t)sps->mb_width * sps->map_height, most;
    unsigned bits = 0;
    if (pps->num_slice_groups == 1 || pps->slice_group_map_type < 3 ||
        pps->slice_group_map_type > 5)
        return H264_OK;
    most = (units + pps->slice_group_change_rate - 1) / pps->slice_group_change_rate;
    while ((1u << bits) < most + 1)
        bits++;
    h->slice_group_change_cycle = h264_bits_u(b, bits);
    if (h->slice_group_change_cycle > most)
        return header_range_error(b, diag, "slice_group_change_cycle", h->slice_group_change_cycle,
                                  "the slice group has fewer units");
    return H264_OK;
}

/* SP and SI slices exist in the Extended profile only (A.2.3), and their transform of the
 * prediction (8.6) in its formats. */
static bool switching_allowed(const struct h264_sps *sps, const struct h264_pps *pps)
{
    return sps->chroma_format_idc == 1 && sps->bit_depth[0] == 8 && sps->bit_depth[1] == 8 &&
           !sps->qpprime_y_zero_transform_bypass_flag && !pps->transform_8x8_mode_flag;
}

static int header_parse_body(struct h264_bits *b, const struct h264_sps *sps,
                             const struct h264_pps *pps, struct h264_slice_header *h,
                             struct h264_diag *diag)
{
    uint32_t type, value;
    int error;
    h->first_mb = h264_bits_ue(b);
    type = h264_bits_ue(b);
    if (type > 9)
        return header_range_error(b, diag, "slice_type", type, "must be at most 9");
    h->type = (uint8_t)(type % 5);
    h->notes |= type > 4 ? H264_NOTE_TYPE_OF_ALL : 0;
    if ((h->type == H264_SP || h->type == H264_SI) && !switching_allowed(sps, pps))
        return h264_fail(diag, H264_ERR_DATA, "slice_type", type,
                         "SP and SI slices need an 8-bit 4:2:0 stream without 8x8 transform");
    value = h264_bits_ue(b);
    if (value >= H264_MAX_PPS)
        return header_range_error(b, diag, "pic_parameter_set_id", value, "must be at most 255");
    h->pps_id = (uint8_t)value;
    if ((error = parse_identity(b, sps, pps, h, diag)) ||
        (error = parse_references(b, sps, pps, h, diag)))
        return error;
    if (h->first_mb >= (uint32_t)sps->mb_width * sps->mb_height >>
        (h->field_pic_flag | mbaff_frame(sps, h)))
        return header_range_error(b, diag, "first_mb_in_slice", h->first_mb,
                                  "lies outside the picture");
    h->first_mb <<= mbaff_frame(sps, h);
    if (pps->entropy_coding_mode_flag && inter_slice(h)) {
        value = h264_bits_ue(b);
        if (value > 2)
            return header_range_error(b, diag, "cabac_init_idc", value, "must be at most 2");
        h->cabac_init_idc = (uint8_t)value;
    }
    if ((error = parse_qp(b, sps, pps, h, diag)) || (error = parse_deblocking(b, pps, h, diag)) ||
        (error = parse_group_cycle(b, sps, pps, h, diag)))
        return error;
    if (h->nal_unit_type == H264_NAL_PARTITION_A)
        h->slice_id = h264_bits_ue(b);
    return H264_OK;
}

/* nal_unit_header_mvc_extension() (H.7.3.1.1) */
static void parse_view(struct h264_bits *b, struct h264_slice_header *h)
{
    h264_bits_skip(b, 1);        /* svc_extension_flag */
    h->idr = !h264_bits_flag(b); /* non_idr_flag */
    h264_bits_skip(b, 6);        /* priority_id */
    h->view_id = (uint16_t)h264_bits_u(b, 10);
    h264_bits_skip(b, 3); /* temporal_id */
    h->anchor_pic_flag = (uint8_t)h264_bits_flag(b);
    h264_bits_skip(b, 2); /* inter_view_flag, reserved_one_bit */
}

int h264_slice_header_parse(const uint8_t *rbsp, size_t size, const struct h264_sps *sps,
                            const struct h264_pps *pps, struct h264_slice_header *hdr,
                            size_t *data_bit, struct h264_diag *diag)
{
    struct h264_slice_header h = {0};
    struct h264_bits b;
    int error;
    h264_bits_init(&b, rbsp, size);
    h264_bits_skip(&b, 1);
    h.nal_ref_idc = (uint8_t)h264_bits_u(&b, 2);
    h.nal_unit_type = (uint8_t)h264_bits_u(&b, 5);
    h.idr = h.nal_unit_type == H264_NAL_IDR;
    if (h.nal_unit_type == H264_NAL_EXTENSION)
        parse_view(&b, &h);
    error = header_parse_body(&b, sps, pps, &h, diag);
    if (!error && h264_bits_overrun(&b))
        error = h264_fail(diag, H264_ERR_TRUNCATED, "slice_header", (int64_t)size,
                          "the data ends inside the slice header");
    if (error)
        return error;
    *hdr = h;
    *data_bit = b.pos;
    return H264_OK;
}
