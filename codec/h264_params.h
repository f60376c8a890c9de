/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parameter sets and slice headers: the syntax elements of a stream that are no slice data.
 */
#ifndef PELTON_H264_PARAMS_H
#define PELTON_H264_PARAMS_H

#include "codec/abi/records.h"

#include <stdatomic.h>
#include <stdint.h>

/* ---- parameter sets (7.3.2.1, 7.3.2.2); immutable and refcounted once parsed ---- */

#define H264_MAX_SPS 32
#define H264_MAX_PPS 256

struct h264_vui {
    uint8_t aspect_ratio_idc;
    uint16_t sar_width, sar_height; /* 0:0 unknown */
    uint8_t overscan_info_present, overscan_appropriate;
    uint8_t video_signal_type_present, video_format, full_range;
    /* H.273 code points, 2 = unspecified */
    uint8_t colour_description_present, colour_primaries, transfer, matrix;
    uint8_t chroma_loc_present, chroma_loc_top, chroma_loc_bottom;
    uint8_t timing_info_present, fixed_frame_rate;
    uint32_t num_units_in_tick, time_scale;
    uint8_t nal_hrd_present, vcl_hrd_present, pic_struct_present;
    uint8_t cpb_count[2]; /* cpb_cnt_minus1 + 1 of the NAL and the VCL HRD, where present */
    uint8_t cpb_removal_delay_length, dpb_output_delay_length, time_offset_length,
        initial_cpb_removal_delay_length;
    uint8_t bitstream_restriction_flag;
    uint8_t max_num_reorder_frames, max_dec_frame_buffering;
    uint8_t log2_max_mv_length[2]; /* horizontal, vertical; at most 16 */
    uint8_t rest; /* with a VUI or without: something follows the last element of the SPS */
};

struct h264_sps {
    atomic_int refs;
    uint32_t serial; /* from 1: counts the different sets of a stream, or of its second view */
    uint8_t profile_idc, constraint_flags /* constraint_set0_flag is bit 7 */, level_idc, id;
    uint8_t chroma_format_idc, separate_colour_plane_flag, bit_depth[2] /* luma, chroma */;
    uint8_t qpprime_y_zero_transform_bypass_flag;
    uint8_t seq_scaling_matrix_present_flag;
    struct rec_scaling scaling; /* after fall-back rule set A; Flat_16 when absent */
    uint8_t log2_max_frame_num, poc_type, log2_max_poc_lsb, delta_pic_order_always_zero_flag;
    int32_t offset_for_non_ref_pic, offset_for_top_to_bottom_field;
    uint8_t num_ref_frames_in_poc_cycle;
    int32_t offset_for_ref_frame[255];
    uint8_t max_num_ref_frames, gaps_in_frame_num_allowed;
    uint16_t mb_width, map_height; /* PicWidthInMbs, PicHeightInMapUnits */
    uint16_t mb_height;            /* FrameHeightInMbs */
    uint8_t frame_mbs_only_flag, mb_adaptive_frame_field_flag, direct_8x8_inference_flag;
    uint16_t crop_left, crop_right, crop_top, crop_bottom; /* in luma samples of the frame */
    uint8_t vui_present;
    uint8_t vui_broken; /* vui holds the elements before the broken one */
    struct h264_vui vui;
    /* MaxDpbFrames, or max_dec_frame_buffering where given (A.3.1, E.2.1) */
    uint8_t max_dpb_frames;
    uint8_t reorder_frames; /* max_num_reorder_frames, given or inferred */
    /* Subset sequence parameter sets of multiview streams (H.7.3.2.1.4), else 0. */
    uint16_t num_views, view_id[2]; /* of the first two views */
    /* [anchor_pic_flag]: bit X: the second view refers to the first in list X */
    uint8_t view_refs[2];
};

struct h264_pps {
    atomic_int refs;
    uint8_t id, sps_id;
    uint8_t entropy_coding_mode_flag, bottom_field_pic_order_in_frame_present_flag;
    uint8_t num_slice_groups; /* 1: no FMO */
    uint8_t slice_group_map_type, slice_group_change_direction_flag;
    uint32_t slice_group_change_rate;
    uint32_t run_length[8];                /* type 0: run_length_minus1 + 1 */
    uint32_t top_left[8], bottom_right[8]; /* type 2, map units */
    uint32_t pic_size_in_map_units;        /* type 6: entries of slice_group_id */
    uint8_t *slice_group_id;               /* type 6, else NULL */
    uint8_t num_ref_default[2];
    uint8_t weighted_pred_flag, weighted_bipred_idc;
    int8_t pic_init_qp; /* 26 + pic_init_qp_minus26 */
    int8_t pic_init_qs;
    int8_t chroma_qp_offset[2]; /* Cb, Cr */
    uint8_t deblocking_filter_control_present_flag, constrained_intra_pred_flag,
        redundant_pic_cnt_present_flag;
    uint8_t transform_8x8_mode_flag;
    uint8_t pic_scaling_matrix_present_flag;
    uint8_t rest; /* bits follow the last element, which the standard forbids */
    /* Scaling lists as parsed; the effective lists depend on the SPS that is active:
     * h264_pps_scaling. A list not present (bit of list_present clear) falls back; use_default
     * likewise per list. 4x4 lists 0..5, 8x8 lists 6..11. */
    uint16_t list_present, list_default;
    struct rec_scaling lists; /* raster order */
};

/* The effective weight scale of (sps, pps), fall-back rule sets A and B applied (Table 7-2). */
void h264_pps_scaling(const struct h264_sps *sps, const struct h264_pps *pps,
                      struct rec_scaling *out);

/* ---- slice header (7.3.3) ---- */

enum h264_slice_type { H264_P = 0, H264_B = 1, H264_I = 2, H264_SP = 3, H264_SI = 4 };

/* modification_of_pic_nums_idc (4, 5: other views) and its operand */
struct h264_list_mod {
    uint8_t op;
    uint32_t value;
};
struct h264_mmco {
    uint8_t op;
    uint32_t a, b;
}; /* operands in the order of 7.3.3.3 */

/* slice_type above 4: all slices of the picture are of this type */
#define H264_NOTE_TYPE_OF_ALL 1
/* a list modification that ends at once, which 7.4.3.1 forbids */
#define H264_NOTE_EMPTY_MODIFICATION 2

struct h264_slice_header {
    uint8_t nal_unit_type, nal_ref_idc, idr;
    uint8_t anchor_pic_flag; /* nal_unit_type 20 (H.7.3.1.1): with view_id; else 0 */
    uint16_t view_id;
    uint8_t inter_view_flag; /* of the base view: the second one may refer to it (H.7.4.1.1) */
    uint32_t first_mb;       /* address: first_mb_in_slice * (1 + MbaffFrameFlag) */
    uint8_t type;            /* enum h264_slice_type, slice_type % 5 */
    uint8_t notes;           /* H264_NOTE_* */
    uint8_t pps_id;
    uint8_t colour_plane_id, field_pic_flag, bottom_field_flag;
    uint32_t frame_num, idr_pic_id, poc_lsb;
    int32_t delta_poc_bottom, delta_poc[2];
    uint32_t redundant_pic_cnt;
    uint8_t direct_spatial_mv_pred_flag;
    uint8_t num_ref[2]; /* num_ref_idx_lX_active, inferred values filled in */
    uint8_t list_mod_count[2];
    struct h264_list_mod list_mod[2][33 + 33];
    uint8_t luma_log2_denom, chroma_log2_denom;
    /* [list][ref][Y Cb Cr][weight, offset]; inferred values filled in */
    int16_t weight[2][32][3][2];
    uint8_t no_output_of_prior_pics_flag, long_term_reference_flag, adaptive_marking_flag;
    uint8_t mmco_count;
    struct h264_mmco mmco[66];
    uint8_t cabac_init_idc;
    int8_t qp; /* SliceQPY */
    int8_t qs;
    uint8_t sp_for_switch_flag;
    uint8_t disable_deblocking_filter_idc;
    int8_t filter_offset_a, filter_offset_b; /* doubled */
    uint32_t slice_group_change_cycle;
    uint32_t slice_id; /* of a data partition A */
};

/* ChromaArrayType of a picture's records: 0 for separate planes. */
static inline unsigned h264_chroma_array_type(const struct h264_sps *sps)
{
    return sps->separate_colour_plane_flag ? 0 : sps->chroma_format_idc;
}

#endif
