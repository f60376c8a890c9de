/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Picture parameter set (7.3.2.2, 7.4.2.2).
 */
#include "codec/diag.h"
#include "codec/parameter_sets.h"

#include <stdlib.h>

#define MAX_MAP_UNITS 139264 /* MaxFS of level 6.2 */

static int pps_range_error(const struct h264_bits *b, struct h264_diag *diag, const char *element,
                           int64_t value, const char *what)
{
    return h264_fail(diag, h264_bits_overrun(b) ? H264_ERR_TRUNCATED : H264_ERR_DATA, element,
                     value, what);
}

static int bits_for(uint32_t values)
{
    int n = 0;
    while ((1u << n) < values)
        n++;
    return n;
}

/* slice_group_id[] of map type 6 */
static int parse_group_ids(struct h264_bits *b, struct h264_pps *pps, struct h264_diag *diag)
{
    uint32_t units = h264_bits_ue(b);
    unsigned bits = (unsigned)bits_for(pps->num_slice_groups);
    if (units >= MAX_MAP_UNITS || ((size_t)units + 1) * bits > b->limit - b->pos)
        return pps_range_error(b, diag, "pic_size_in_map_units_minus1", units,
                               "more than the picture parameter set holds");
    pps->slice_group_id = malloc((size_t)units + 1);
    if (!pps->slice_group_id)
        return H264_ERR_NOMEM;
    pps->pic_size_in_map_units = units + 1;
    for (uint32_t i = 0; i <= units; i++) {
        uint32_t group = h264_bits_u(b, bits);
        if (group >= pps->num_slice_groups)
            return pps_range_error(b, diag, "slice_group_id", group,
                                   "must be below num_slice_groups");
        pps->slice_group_id[i] = (uint8_t)group;
    }
    return H264_OK;
}

static int parse_slice_groups(struct h264_bits *b, struct h264_pps *pps, struct h264_diag *diag)
{
    uint32_t groups = h264_bits_ue(b), type, last;
    if (groups > 7)
        return pps_range_error(b, diag, "num_slice_groups_minus1", groups, "must be at most 7");
    pps->num_slice_groups = (uint8_t)(groups + 1);
    if (!groups)
        return H264_OK;
    type = h264_bits_ue(b);
    if (type > 6 || (type >= 3 && type <= 5 && groups != 1))
        return pps_range_error(b, diag, "slice_group_map_type", type,
                               "must be at most 6; 3 to 5 have two slice groups");
    pps->slice_group_map_type = (uint8_t)type;
    if (type == 0) {
        for (uint32_t i = 0; i <= groups; i++) {
            last = h264_bits_ue(b); /* run_length_minus1 */
            pps->run_length[i] = last < MAX_MAP_UNITS ? last + 1 : MAX_MAP_UNITS;
        }
    } else if (type == 2) {
        for (uint32_t i = 0; i < groups; i++) {
            pps->top_left[i] = h264_bits_ue(b);
            pps->bottom_right[i] = h264_bits_ue(b);
            if (pps->top_left[i] > pps->bottom_right[i])
                return pps_range_error(b, diag, "top_left", pps->top_left[i],
                                       "must be at most bottom_right");
        }
    } else if (type >= 3 && type <= 5) {
        pps->slice_group_change_direction_flag = (uint8_t)h264_bits_flag(b);
        last = h264_bits_ue(b); /* slice_group_change_rate_minus1 */
        if (last >= MAX_MAP_UNITS)
            return pps_range_error(b, diag, "slice_group_change_rate_minus1", last,
                                   "must be below PicSizeInMapUnits");
        pps->slice_group_change_rate = last + 1;
    } else if (type == 6) {
        return parse_group_ids(b, pps, diag);
    }
    return H264_OK;
}

static int parse_quantisers(struct h264_bits *b, struct h264_pps *pps, struct h264_diag *diag)
{
    int32_t qp = h264_bits_se(b), qs = h264_bits_se(b), offset = h264_bits_se(b);
    /* The lower bound is -(26 + QpBdOffsetY): up to 36 below 0 at 14 bits. The slice's QP is
     * checked against the SPS. */
    if (qp < -62 || qp > 25)
        return pps_range_error(b, diag, "pic_init_qp_minus26", qp,
                               "must be in -26 - QpBdOffset .. 25");
    if (qs < -26 || qs > 25)
        return pps_range_error(b, diag, "pic_init_qs_minus26", qs, "must be in -26 .. 25");
    if (offset < -12 || offset > 12)
        return pps_range_error(b, diag, "chroma_qp_index_offset", offset, "must be in -12 .. 12");
    pps->pic_init_qp = (int8_t)(26 + qp);
    pps->pic_init_qs = (int8_t)(26 + qs);
    pps->chroma_qp_offset[0] = pps->chroma_qp_offset[1] = (int8_t)offset;
    return H264_OK;
}

/* What follows where more_rbsp_data(): transform_8x8_mode_flag to second_chroma_qp_index_offset. */
static int pps_parse_extension(struct h264_bits *b, unsigned chroma_format_idc,
                               struct h264_pps *pps, struct h264_diag *diag)
{
    unsigned lists = 6;
    int32_t offset;
    pps->transform_8x8_mode_flag = (uint8_t)h264_bits_flag(b);
    pps->pic_scaling_matrix_present_flag = (uint8_t)h264_bits_flag(b);
    if (pps->transform_8x8_mode_flag)
        lists += chroma_format_idc == 3 ? 6 : 2;
    for (unsigned i = 0; pps->pic_scaling_matrix_present_flag && i < lists; i++) {
        if (!h264_bits_flag(b))
            continue;
        pps->list_present |= (uint16_t)(1u << i);
        if (h264_scaling_list(b, i < 6 ? 16 : 64, i < 6 ? pps->lists.m4[i] : pps->lists.m8[i - 6]))
            pps->list_default |= (uint16_t)(1u << i);
    }
    offset = h264_bits_se(b);
    if (offset < -12 || offset > 12)
        return pps_range_error(b, diag, "second_chroma_qp_index_offset", offset,
                               "must be in -12 .. 12");
    pps->chroma_qp_offset[1] = (int8_t)offset;
    return H264_OK;
}

static int pps_parse_body(struct h264_bits *b, unsigned chroma_format_idc, struct h264_pps *pps,
                          struct h264_diag *diag)
{
    uint32_t id = h264_bits_ue(b), sps_id = h264_bits_ue(b), refs[2];
    int error;
    if (id >= H264_MAX_PPS)
        return pps_range_error(b, diag, "pic_parameter_set_id", id, "must be at most 255");
    if (sps_id >= H264_MAX_SPS)
        return pps_range_error(b, diag, "seq_parameter_set_id", sps_id, "must be at most 31");
    pps->id = (uint8_t)id;
    pps->sps_id = (uint8_t)sps_id;
    pps->entropy_coding_mode_flag = (uint8_t)h264_bits_flag(b);
    pps->bottom_field_pic_order_in_frame_present_flag = (uint8_t)h264_bits_flag(b);
    if ((error = parse_slice_groups(b, pps, diag)))
        return error;
    refs[0] = h264_bits_ue(b);
    refs[1] = h264_bits_ue(b);
    if (refs[0] > 31 || refs[1] > 31)
        return pps_range_error(b, diag,
                               refs[0] > 31 ? "num_ref_idx_l0_default_active_minus1"
                                            : "num_ref_idx_l1_default_active_minus1",
                               refs[0] > 31 ? refs[0] : refs[1], "must be at most 31");
    pps->num_ref_default[0] = (uint8_t)(refs[0] + 1);
    pps->num_ref_default[1] = (uint8_t)(refs[1] + 1);
    pps->weighted_pred_flag = (uint8_t)h264_bits_flag(b);
    pps->weighted_bipred_idc = (uint8_t)h264_bits_u(b, 2);
    if (pps->weighted_bipred_idc > 2)
        return pps_range_error(b, diag, "weighted_bipred_idc", pps->weighted_bipred_idc,
                               "must be at most 2");
    if ((error = parse_quantisers(b, pps, diag)))
        return error;
    pps->deblocking_filter_control_present_flag = (uint8_t)h264_bits_flag(b);
    pps->constrained_intra_pred_flag = (uint8_t)h264_bits_flag(b);
    pps->redundant_pic_cnt_present_flag = (uint8_t)h264_bits_flag(b);
    return chroma_format_idc != H264_PPS_PLAIN && h264_bits_more_data(b)
               ? pps_parse_extension(b, chroma_format_idc, pps, diag)
               : H264_OK;
}

int h264_pps_parse(const uint8_t *rbsp, size_t size, unsigned chroma_format_idc,
                   struct h264_pps **out, struct h264_diag *diag)
{
    struct h264_pps *pps;
    struct h264_bits b;
    int error;
    h264_bits_init(&b, rbsp, size);
    if (b.size < 2)
        return h264_fail(diag, H264_ERR_TRUNCATED, "pic_parameter_set_rbsp", (int64_t)size,
                         "the data ends too early");
    pps = calloc(1, sizeof(*pps));
    if (!pps)
        return H264_ERR_NOMEM;
    atomic_init(&pps->refs, 1);
    h264_bits_skip(&b, 8);
    error = pps_parse_body(&b, chroma_format_idc, pps, diag);
    if (!error && h264_bits_overrun(&b))
        error = h264_fail(diag, H264_ERR_TRUNCATED, "pic_parameter_set_rbsp", (int64_t)size,
                          "the data ends too early");
    if (error) {
        h264_pps_unref(pps);
        return error;
    }
    pps->rest = h264_bits_more_data(&b);
    *out = pps;
    return H264_OK;
}

int h264_pps_peek_ids(const uint8_t *rbsp, size_t size, unsigned *pps_id, unsigned *sps_id)
{
    struct h264_bits b;
    uint32_t pps, sps;
    h264_bits_init(&b, rbsp, size);
    h264_bits_skip(&b, 8);
    pps = h264_bits_ue(&b);
    sps = h264_bits_ue(&b);
    if (h264_bits_overrun(&b))
        return H264_ERR_TRUNCATED;
    if (pps >= H264_MAX_PPS || sps >= H264_MAX_SPS)
        return H264_ERR_DATA;
    *pps_id = pps;
    *sps_id = sps;
    return H264_OK;
}

const struct h264_pps *h264_pps_ref(const struct h264_pps *pps)
{
    atomic_fetch_add_explicit(&((struct h264_pps *)(uintptr_t)pps)->refs, 1, memory_order_relaxed);
    return pps;
}

void h264_pps_unref(const struct h264_pps *pps)
{
    struct h264_pps *own = (struct h264_pps *)(uintptr_t)pps;
    if (own && atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) == 1) {
        free(own->slice_group_id);
        free(own);
    }
}
