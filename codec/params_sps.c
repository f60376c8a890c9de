/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sequence parameter set (7.3.2.1.1, 7.4.2.1.1).
 */
#include "codec/diag.h"
#include "codec/parameter_sets.h"

#include <stdlib.h>

#define MAX_FRAME_MBS 139264 /* MaxFS of level 6.2 */
#define MAX_SIDE_MBS  1055   /* Sqrt(8 * MaxFS) (A.3.1, A.3.2) */

static int sps_range_error(const struct h264_bits *b, struct h264_diag *diag, const char *element,
                           int64_t value, const char *what)
{
    return h264_fail(diag, h264_bits_overrun(b) ? H264_ERR_TRUNCATED : H264_ERR_DATA, element,
                     value, what);
}

static bool has_chroma_format(unsigned profile_idc)
{
    static const uint8_t profiles[] = {100, 110, 122, 244, 44,  83, 86,
                                       118, 128, 138, 139, 134, 135};
    return memchr(profiles, (int)profile_idc, sizeof(profiles)) != NULL;
}

static void parse_scaling_matrix(struct h264_bits *b, struct h264_sps *sps)
{
    unsigned count = sps->chroma_format_idc == 3 ? 12 : 8, present = 0, use_default = 0;
    memset(&sps->scaling, 16, sizeof(sps->scaling)); /* Flat_4x4_16, Flat_8x8_16 */
    sps->seq_scaling_matrix_present_flag = (uint8_t)h264_bits_flag(b);
    if (!sps->seq_scaling_matrix_present_flag)
        return;
    for (unsigned i = 0; i < count; i++) {
        if (!h264_bits_flag(b))
            continue;
        present |= 1u << i;
        if (h264_scaling_list(b, i < 6 ? 16 : 64,
                              i < 6 ? sps->scaling.m4[i] : sps->scaling.m8[i - 6]))
            use_default |= 1u << i;
    }
    h264_scaling_fill(&sps->scaling, present, use_default, NULL); /* fall-back rule set A */
}

static int parse_format(struct h264_bits *b, struct h264_sps *sps, struct h264_diag *diag)
{
    uint32_t chroma = h264_bits_ue(b), luma_depth, chroma_depth;
    if (chroma > 3)
        return sps_range_error(b, diag, "chroma_format_idc", chroma, "must be at most 3");
    sps->chroma_format_idc = (uint8_t)chroma;
    if (chroma == 3)
        sps->separate_colour_plane_flag = (uint8_t)h264_bits_flag(b);
    luma_depth = h264_bits_ue(b);
    chroma_depth = h264_bits_ue(b);
    if (luma_depth > 6)
        return sps_range_error(b, diag, "bit_depth_luma_minus8", luma_depth, "must be at most 6");
    if (chroma_depth > 6)
        return sps_range_error(b, diag, "bit_depth_chroma_minus8", chroma_depth,
                               "must be at most 6");
    sps->bit_depth[0] = (uint8_t)(8 + luma_depth);
    sps->bit_depth[1] =
        (uint8_t)(8 + (sps->chroma_format_idc == 0 || sps->separate_colour_plane_flag
                           ? luma_depth
                           : chroma_depth));
    sps->qpprime_y_zero_transform_bypass_flag = (uint8_t)h264_bits_flag(b);
    parse_scaling_matrix(b, sps);
    return H264_OK;
}

static int parse_poc(struct h264_bits *b, struct h264_sps *sps, struct h264_diag *diag)
{
    uint32_t type = h264_bits_ue(b), value;
    if (type > 2)
        return sps_range_error(b, diag, "pic_order_cnt_type", type, "must be at most 2");
    sps->poc_type = (uint8_t)type;
    if (type == 0) {
        value = h264_bits_ue(b);
        if (value > 12)
            return sps_range_error(b, diag, "log2_max_pic_order_cnt_lsb_minus4", value,
                                   "must be at most 12");
        sps->log2_max_poc_lsb = (uint8_t)(value + 4);
    } else if (type == 1) {
        sps->delta_pic_order_always_zero_flag = (uint8_t)h264_bits_flag(b);
        sps->offset_for_non_ref_pic = h264_bits_se(b);
        sps->offset_for_top_to_bottom_field = h264_bits_se(b);
        value = h264_bits_ue(b);
        if (value > 255)
            return sps_range_error(b, diag, "num_ref_frames_in_pic_order_cnt_cycle", value,
                                   "must be at most 255");
        sps->num_ref_frames_in_poc_cycle = (uint8_t)value;
        for (uint32_t i = 0; i < value; i++)
            sps->offset_for_ref_frame[i] = h264_bits_se(b);
    }
    return H264_OK;
}

static int parse_size(struct h264_bits *b, struct h264_sps *sps, struct h264_diag *diag)
{
    uint32_t width = h264_bits_ue(b), height = h264_bits_ue(b);
    uint64_t mbs;
    sps->frame_mbs_only_flag = (uint8_t)h264_bits_flag(b);
    mbs = ((uint64_t)width + 1) * ((uint64_t)height + 1) * (2u - sps->frame_mbs_only_flag);
    if (width >= MAX_SIDE_MBS || mbs > MAX_FRAME_MBS)
        return sps_range_error(b, diag, "pic_width_in_mbs_minus1", width,
                               "the picture is larger than any level allows");
    if (mbs / (width + 1) > MAX_SIDE_MBS)
        return sps_range_error(b, diag, "pic_height_in_map_units_minus1", height,
                               "the picture is higher than any level allows");
    sps->mb_width = (uint16_t)(width + 1);
    sps->map_height = (uint16_t)(height + 1);
    sps->mb_height = (uint16_t)((height + 1) * (2u - sps->frame_mbs_only_flag));
    if (!sps->frame_mbs_only_flag)
        sps->mb_adaptive_frame_field_flag = (uint8_t)h264_bits_flag(b);
    sps->direct_8x8_inference_flag = (uint8_t)h264_bits_flag(b);
    return H264_OK;
}

static int parse_cropping(struct h264_bits *b, struct h264_sps *sps, struct h264_diag *diag)
{
    bool subsampled_x = !sps->separate_colour_plane_flag &&
                        (sps->chroma_format_idc == 1 || sps->chroma_format_idc == 2);
    bool subsampled_y = !sps->separate_colour_plane_flag && sps->chroma_format_idc == 1;
    uint64_t unit_x = subsampled_x ? 2 : 1,
             unit_y = (subsampled_y ? 2u : 1u) * (2u - sps->frame_mbs_only_flag);
    uint64_t left, right, top, bottom;
    if (!h264_bits_flag(b))
        return H264_OK;
    left = h264_bits_ue(b) * unit_x;
    right = h264_bits_ue(b) * unit_x;
    top = h264_bits_ue(b) * unit_y;
    bottom = h264_bits_ue(b) * unit_y;
    if (left + right >= sps->mb_width * 16u)
        return sps_range_error(b, diag, "frame_crop_right_offset", (int64_t)right,
                               "cropping leaves nothing of the picture");
    if (top + bottom >= sps->mb_height * 16u)
        return sps_range_error(b, diag, "frame_crop_bottom_offset", (int64_t)bottom,
                               "cropping leaves nothing of the picture");
    sps->crop_left = (uint16_t)left;
    sps->crop_right = (uint16_t)right;
    sps->crop_top = (uint16_t)top;
    sps->crop_bottom = (uint16_t)bottom;
    return H264_OK;
}

/* From seq_parameter_set_id on. */
static int sps_parse_body(struct h264_bits *b, struct h264_sps *sps, struct h264_diag *diag)
{
    uint32_t value = h264_bits_ue(b);
    int error;
    if (value >= H264_MAX_SPS)
        return sps_range_error(b, diag, "seq_parameter_set_id", value, "must be at most 31");
    sps->id = (uint8_t)value;
    sps->chroma_format_idc = 1;
    sps->bit_depth[0] = sps->bit_depth[1] = 8;
    memset(&sps->scaling, 16, sizeof(sps->scaling));
    if (has_chroma_format(sps->profile_idc) && (error = parse_format(b, sps, diag)))
        return error;
    value = h264_bits_ue(b);
    if (value > 12)
        return sps_range_error(b, diag, "log2_max_frame_num_minus4", value, "must be at most 12");
    sps->log2_max_frame_num = (uint8_t)(value + 4);
    if ((error = parse_poc(b, sps, diag)))
        return error;
    value = h264_bits_ue(b);
    if (value > 16)
        return sps_range_error(b, diag, "max_num_ref_frames", value, "must be at most 16");
    sps->max_num_ref_frames = (uint8_t)value;
    sps->gaps_in_frame_num_allowed = (uint8_t)h264_bits_flag(b);
    if ((error = parse_size(b, sps, diag)) || (error = parse_cropping(b, sps, diag)))
        return error;
    sps->vui.video_format = 5;
    sps->vui.colour_primaries = sps->vui.transfer = sps->vui.matrix = 2;
    sps->vui_present = (uint8_t)h264_bits_flag(b);
    /* Decoding needs none of it, and cameras write broken ones. */
    if (sps->vui_present && !h264_bits_overrun(b))
        sps->vui_broken = !h264_vui_parse(b, &sps->vui);
    h264_sps_dpb_size(sps);
    return H264_OK;
}

int h264_sps_parse_data(struct h264_bits *b, struct h264_sps **out, struct h264_diag *diag)
{
    struct h264_sps *sps;
    int error;
    if (b->size < 5)
        return h264_fail(diag, H264_ERR_TRUNCATED, "seq_parameter_set_rbsp", (int64_t)b->size,
                         "the data ends too early");
    sps = calloc(1, sizeof(*sps));
    if (!sps)
        return H264_ERR_NOMEM;
    atomic_init(&sps->refs, 1);
    h264_bits_skip(b, 8);
    sps->profile_idc = (uint8_t)h264_bits_u(b, 8);
    sps->constraint_flags = (uint8_t)h264_bits_u(b, 8);
    sps->level_idc = (uint8_t)h264_bits_u(b, 8);
    error = sps_parse_body(b, sps, diag);
    if (!error && h264_bits_overrun(b) && !sps->vui_broken)
        error = h264_fail(diag, H264_ERR_TRUNCATED, "seq_parameter_set_rbsp", (int64_t)b->size,
                          "the data ends too early");
    if (error) {
        free(sps);
        return error;
    }
    *out = sps;
    return H264_OK;
}

int h264_sps_parse(const uint8_t *rbsp, size_t size, struct h264_sps **out, struct h264_diag *diag)
{
    struct h264_bits b;
    int error;
    h264_bits_init(&b, rbsp, size);
    error = h264_sps_parse_data(&b, out, diag);
    if (!error)
        (*out)->vui.rest = !(*out)->vui_broken && h264_bits_more_data(&b);
    if (error != H264_ERR_TRUNCATED || size < 5)
        return error;
    /* Without rbsp_stop_one_bit the last bit that is 1 belongs to an element. */
    h264_bits_init(&b, rbsp, size);
    b.end = size * 8;
    return h264_sps_parse_data(&b, out, NULL) ? error : H264_OK;
}

/* Sets are immutable but for their count. */
const struct h264_sps *h264_sps_ref(const struct h264_sps *sps)
{
    atomic_fetch_add_explicit(&((struct h264_sps *)(uintptr_t)sps)->refs, 1, memory_order_relaxed);
    return sps;
}

bool h264_sps_same_samples(const struct h264_sps *a, const struct h264_sps *b)
{
    return a->mb_width == b->mb_width && a->mb_height == b->mb_height &&
           a->frame_mbs_only_flag == b->frame_mbs_only_flag &&
           a->chroma_format_idc == b->chroma_format_idc && a->bit_depth[0] == b->bit_depth[0] &&
           a->bit_depth[1] == b->bit_depth[1] &&
           a->separate_colour_plane_flag == b->separate_colour_plane_flag;
}

bool h264_sps_same_decoding(const struct h264_sps *a, const struct h264_sps *b)
{
    return h264_sps_same_samples(a, b) && !memcmp(&a->scaling, &b->scaling, sizeof(a->scaling)) &&
           a->qpprime_y_zero_transform_bypass_flag == b->qpprime_y_zero_transform_bypass_flag &&
           a->log2_max_frame_num == b->log2_max_frame_num && a->poc_type == b->poc_type &&
           a->log2_max_poc_lsb == b->log2_max_poc_lsb &&
           a->delta_pic_order_always_zero_flag == b->delta_pic_order_always_zero_flag &&
           a->offset_for_non_ref_pic == b->offset_for_non_ref_pic &&
           a->offset_for_top_to_bottom_field == b->offset_for_top_to_bottom_field &&
           a->num_ref_frames_in_poc_cycle == b->num_ref_frames_in_poc_cycle &&
           !memcmp(a->offset_for_ref_frame, b->offset_for_ref_frame,
                   a->num_ref_frames_in_poc_cycle * sizeof(*a->offset_for_ref_frame)) &&
           a->max_num_ref_frames == b->max_num_ref_frames &&
           a->mb_adaptive_frame_field_flag == b->mb_adaptive_frame_field_flag &&
           a->direct_8x8_inference_flag == b->direct_8x8_inference_flag;
}

void h264_sps_unref(const struct h264_sps *sps)
{
    struct h264_sps *own = (struct h264_sps *)(uintptr_t)sps;
    if (own && atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) == 1)
        free(own);
}
