/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Values that the standard allows in parameter sets and slice headers, by profile and level (annex
 * A), where the codec takes more.
 */
#include "codec/nal.h"
#include "codec/parameter_sets.h"
#include "tests/damage/judge.h"

#include <string.h>

enum { BASELINE = 66, MAIN = 77, EXTENDED = 88, HIGH = 100, HIGH_10 = 110, HIGH_422 = 122 };

/* Table A-1 */
static const struct level {
    uint8_t idc;
    uint32_t max_fs;
    uint16_t vertical; /* of vectors, in samples */
} levels[] = {{10, 99, 64},     {9, 99, 64},        {11, 396, 128},     {12, 396, 128},
              {13, 396, 128},   {20, 396, 128},     {21, 792, 256},     {22, 1620, 256},
              {30, 1620, 256},  {31, 3600, 512},    {32, 5120, 512},    {40, 8192, 512},
              {41, 8192, 512},  {42, 8704, 512},    {50, 22080, 512},   {51, 36864, 512},
              {52, 36864, 512}, {60, 139264, 8192}, {61, 139264, 8192}, {62, 139264, 8192}};

/* Level 1b has another level_idc in profiles without one for it. */
static unsigned level_idc(const struct h264_sps *sps)
{
    bool low =
        sps->profile_idc == BASELINE || sps->profile_idc == MAIN || sps->profile_idc == EXTENDED;
    return low && sps->level_idc == 11 && sps->constraint_flags & 0x10 ? 9 : sps->level_idc;
}

static const struct level *level_of(const struct h264_sps *sps)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (levels[i].idc == level_idc(sps))
            return &levels[i];
    return NULL;
}

int judge_vertical_limit(const struct h264_sps *sps)
{
    const struct level *level = level_of(sps);
    return 4 * (level ? level->vertical : 8192);
}

unsigned judge_dpb_frames(const struct h264_sps *sps)
{
    uint32_t mbs = h264_max_dpb_mbs(level_idc(sps)) / ((uint32_t)sps->mb_width * sps->mb_height);
    return mbs < 16 ? mbs : 16;
}

/* ---- sequence parameter sets ---- */

/* A.2 */
static const char *sps_profile(const struct h264_sps *sps)
{
    static const uint8_t known[] = {44,  66,  77,  83,  86,  88,  100, 110,
                                    118, 122, 128, 134, 135, 138, 139, 244};
    unsigned depth = sps->bit_depth[0] > sps->bit_depth[1] ? sps->bit_depth[0] : sps->bit_depth[1];
    if (!memchr(known, sps->profile_idc, sizeof(known)))
        return "7.4.2.1.1: profile_idc is reserved";
    if (sps->constraint_flags & 3)
        return "7.4.2.1.1: reserved_zero_2bits is not 0";
    if (sps->profile_idc == BASELINE && !sps->frame_mbs_only_flag)
        return "A.2.1: fields in the Baseline profile";
    if (sps->profile_idc == EXTENDED && !sps->direct_8x8_inference_flag)
        return "A.2.3: direct_8x8_inference_flag is 0";
    if ((sps->profile_idc == HIGH && (depth > 8 || sps->chroma_format_idc > 1)) ||
        (sps->profile_idc == HIGH_10 && (depth > 10 || sps->chroma_format_idc > 1)) ||
        (sps->profile_idc == HIGH_422 && (depth > 10 || sps->chroma_format_idc > 2)))
        return "A.2: the profile does not have the format";
    if (sps->profile_idc <= HIGH_422 && sps->profile_idc != 44 &&
        sps->qpprime_y_zero_transform_bypass_flag)
        return "A.2: the profile has no lossless macroblocks";
    return NULL;
}

/* A.3 */
static const char *sps_level(const struct h264_sps *sps)
{
    const struct level *level = level_of(sps);
    uint32_t width = sps->mb_width, height = sps->mb_height;
    bool limits_fields = sps->profile_idc == MAIN || sps->profile_idc >= HIGH;
    if (!level)
        return "A.3: level_idc is reserved";
    if (width * height > level->max_fs || width * width > 8 * level->max_fs ||
        height * height > 8 * level->max_fs)
        return JUDGE_TEXT_LEVEL_SIZE;
    if (sps->max_num_ref_frames > judge_dpb_frames(sps))
        return JUDGE_TEXT_LEVEL_REFERENCES;
    if (limits_fields && !sps->frame_mbs_only_flag && (level->idc <= 20 || level->idc >= 42))
        return JUDGE_TEXT_LEVEL_FIELDS;
    if (limits_fields && !sps->direct_8x8_inference_flag && level->idc >= 30)
        return "A.3.3: the level needs direct_8x8_inference_flag";
    return NULL;
}

static const char *sps_vui(const struct h264_sps *sps)
{
    const struct h264_vui *v = &sps->vui;
    if (!sps->vui_present)
        return NULL;
    if (sps->vui_broken)
        return JUDGE_TEXT_VUI;
    if (!v->bitstream_restriction_flag)
        return NULL;
    if (v->max_dec_frame_buffering > judge_dpb_frames(sps) ||
        v->max_dec_frame_buffering < sps->max_num_ref_frames ||
        v->max_num_reorder_frames > v->max_dec_frame_buffering)
        return "E.2.1: max_dec_frame_buffering or max_num_reorder_frames";
    return NULL;
}

const char *judge_sps(const struct h264_sps *sps)
{
    const char *breach = sps_level(sps);
    if (!breach)
        breach = sps_profile(sps);
    if (!breach)
        breach = sps_vui(sps);
    if (breach)
        return breach;
    if (!sps->frame_mbs_only_flag && !sps->direct_8x8_inference_flag)
        return "7.4.2.1.1: direct_8x8_inference_flag is 0 with fields";
    if (sps->poc_type == 1 && sps->gaps_in_frame_num_allowed && !sps->max_num_ref_frames)
        return "7.4.2.1.1: gaps in frame_num without references";
    return NULL;
}

/* ---- picture parameter sets ---- */

static const char *pps_groups(const struct h264_sps *sps, const struct h264_pps *pps)
{
    uint32_t units = (uint32_t)sps->mb_width * sps->map_height, width = sps->mb_width;
    unsigned type = pps->slice_group_map_type, groups = pps->num_slice_groups;
    static const char *text = "7.4.2.2: a slice group reaches out of the picture";
    for (unsigned i = 0; type == 0 && i < groups; i++)
        if (pps->run_length[i] > units)
            return text;
    for (unsigned i = 0; type == 2 && i + 1 < groups; i++)
        if (pps->bottom_right[i] >= units ||
            pps->top_left[i] % width > pps->bottom_right[i] % width)
            return text;
    if (type >= 3 && type <= 5 && pps->slice_group_change_rate > units)
        return text;
    return type == 6 && pps->pic_size_in_map_units != units ? text : NULL;
}

const char *judge_pps(const struct h264_sps *sps, const struct h264_pps *pps)
{
    bool base = sps->profile_idc == BASELINE, extended = sps->profile_idc == EXTENDED,
         low = base || extended || sps->profile_idc == MAIN;
    if (pps->rest)
        return low && sps->constraint_flags & 0xe0
                   ? JUDGE_TEXT_PLAIN_PPS
                   : "7.3.2.2: something follows the elements of the PPS";
    if ((base || extended) && pps->entropy_coding_mode_flag)
        return "A.2: the profile has no CABAC";
    if (base && (pps->weighted_pred_flag || pps->weighted_bipred_idc))
        return "A.2.1: weighted prediction in the Baseline profile";
    if (!base && !extended && (pps->num_slice_groups > 1 || pps->redundant_pic_cnt_present_flag))
        return "A.2: the profile has no slice groups and no redundant pictures";
    if (low && (pps->transform_8x8_mode_flag || pps->pic_scaling_matrix_present_flag ||
                pps->chroma_qp_offset[0] != pps->chroma_qp_offset[1]))
        return JUDGE_TEXT_PLAIN_ELEMENTS;
    if (pps->pic_init_qp < -6 * (sps->bit_depth[0] - 8))
        return "7.4.2.2: pic_init_qp_minus26";
    return pps->num_slice_groups > 1 ? pps_groups(sps, pps) : NULL;
}

/* ---- slice headers ---- */

/* 7.4.3.3 */
static const char *header_marking(const struct h264_slice_header *h, const struct h264_sps *sps)
{
    unsigned n[7] = {0};
    for (unsigned i = 0; i < h->mmco_count; i++) {
        n[h->mmco[i].op]++;
        if (h->mmco[i].op == 4 && h->mmco[i].a > sps->max_num_ref_frames)
            return "7.4.3.3: max_long_term_frame_idx_plus1";
    }
    if (n[4] > 1 || n[5] > 1 || n[6] > 1 || (n[5] && (n[1] || n[3])))
        return "7.4.3.3: operations that exclude each other";
    return NULL;
}

const char *judge_header(const struct h264_slice_header *h, const struct h264_sps *sps,
                         const struct h264_pps *pps)
{
    bool intra = h->type == H264_I || h->type == H264_SI;
    if (h->idr && !h->nal_ref_idc)
        return "7.4.1: nal_ref_idc is 0 in an IDR picture";
    if (h->idr && !intra)
        return "7.4.1.2.4: an IDR picture with P or B slices";
    if (h->idr && h->frame_num)
        return "7.4.3: frame_num is not 0 in an IDR picture";
    if (h->type == H264_B && sps->profile_idc == BASELINE)
        return "A.2.1: B slices in the Baseline profile";
    if ((h->type == H264_SP || h->type == H264_SI) && sps->profile_idc != EXTENDED)
        return "A.2: SP or SI slices out of the Extended profile";
    if (h->nal_unit_type == H264_NAL_PARTITION_A && sps->profile_idc != EXTENDED)
        return "A.2: data partitions out of the Extended profile";
    if (h->notes & H264_NOTE_EMPTY_MODIFICATION)
        return "7.4.3.1: modification_of_pic_nums_idc is 3 at once";
    if (h->type == H264_B && pps->weighted_bipred_idc == 1 && sps->profile_idc == BASELINE)
        return "A.2.1: weighted prediction in the Baseline profile";
    if (!intra && !sps->max_num_ref_frames)
        return "7.4.2.1.1: P or B slices without reference frames";
    return h->nal_ref_idc ? header_marking(h, sps) : NULL;
}

static bool same_marking(const struct h264_slice_header *a, const struct h264_slice_header *b)
{
    bool same = a->mmco_count == b->mmco_count &&
                a->no_output_of_prior_pics_flag == b->no_output_of_prior_pics_flag &&
                a->long_term_reference_flag == b->long_term_reference_flag &&
                a->adaptive_marking_flag == b->adaptive_marking_flag;
    for (unsigned i = 0; i < a->mmco_count && same; i++)
        same = a->mmco[i].op == b->mmco[i].op && a->mmco[i].a == b->mmco[i].a &&
               a->mmco[i].b == b->mmco[i].b;
    return same;
}

const char *judge_siblings(const struct h264_slice_header *a, const struct h264_slice_header *b)
{
    if (a->nal_ref_idc != b->nal_ref_idc && (!a->nal_ref_idc || !b->nal_ref_idc))
        return "7.4.1: nal_ref_idc is 0 in some slices of a picture";
    if ((a->pps_id == b->pps_id && a->slice_group_change_cycle != b->slice_group_change_cycle) ||
        (a->type == H264_SP && b->type == H264_SP &&
         a->sp_for_switch_flag != b->sp_for_switch_flag))
        return "7.4.3: slice headers of a picture differ";
    if ((a->notes | b->notes) & H264_NOTE_TYPE_OF_ALL && a->type != b->type)
        return "7.4.3: slice_type says that all slices are of one type, and they are not";
    return same_marking(a, b) ? NULL : "7.4.3.3: marking differs between slices of a picture";
}
