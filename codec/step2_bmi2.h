/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 2 is compiled twice for x86-64: for any processor, and for those with BMI2 and LZCNT. With
 * these, Intel processors shift by a variable in one operation instead of three, and count leading
 * zeros in one. The second build includes this header before everything else, which renames its
 * functions.
 */
#define h264_cabac_coded_block_pattern     h264_cabac_coded_block_pattern_bmi2
#define h264_cabac_intra_chroma_pred_mode  h264_cabac_intra_chroma_pred_mode_bmi2
#define h264_cabac_intra_pred_mode         h264_cabac_intra_pred_mode_bmi2
#define h264_cabac_mb_field_decoding_flag  h264_cabac_mb_field_decoding_flag_bmi2
#define h264_cabac_mb_qp_delta             h264_cabac_mb_qp_delta_bmi2
#define h264_cabac_mb_skip_flag            h264_cabac_mb_skip_flag_bmi2
#define h264_cabac_mb_type                 h264_cabac_mb_type_bmi2
#define h264_cabac_mvd                     h264_cabac_mvd_bmi2
#define h264_cabac_ref_idx                 h264_cabac_ref_idx_bmi2
#define h264_cabac_sub_mb_type             h264_cabac_sub_mb_type_bmi2
#define h264_cabac_transform_size_8x8_flag h264_cabac_transform_size_8x8_flag_bmi2
#define h264_inter_partitions              h264_inter_partitions_bmi2
#define h264_inter_sub_partitions          h264_inter_sub_partitions_bmi2
#define h264_intra_16x16_mode              h264_intra_16x16_mode_bmi2
#define h264_intra_chroma_mode             h264_intra_chroma_mode_bmi2
#define h264_intra_nxn_modes               h264_intra_nxn_modes_bmi2
#define h264_intra_pcm                     h264_intra_pcm_bmi2
#define h264_macroblock                    h264_macroblock_bmi2
#define h264_macroblock_keep_prediction    h264_macroblock_keep_prediction_bmi2
#define h264_macroblock_skip               h264_macroblock_skip_bmi2
#define h264_set_qp                        h264_set_qp_bmi2
#define h264_edge_none                     h264_edge_none_bmi2
#define h264_neighbours_find               h264_neighbours_find_bmi2
#define h264_neighbours_publish            h264_neighbours_publish_bmi2
#define h264_neighbours_publish_group      h264_neighbours_publish_group_bmi2
#define h264_mbaff_begin                   h264_mbaff_begin_bmi2
#define h264_mbaff_find                    h264_mbaff_find_bmi2
#define h264_mbaff_left_of_intra           h264_mbaff_left_of_intra_bmi2
#define h264_mbaff_publish                 h264_mbaff_publish_bmi2
#define h264_mbaff_select                  h264_mbaff_select_bmi2
#define h264_cavlc_levels_16               h264_cavlc_levels_16_bmi2
#define h264_residual_cabac_16             h264_residual_cabac_16_bmi2
#define h264_residual_cavlc_16             h264_residual_cavlc_16_bmi2
#define h264_cavlc_levels_32               h264_cavlc_levels_32_bmi2
#define h264_residual_cabac_32             h264_residual_cabac_32_bmi2
#define h264_residual_cavlc_32             h264_residual_cavlc_32_bmi2
#define h264_next_in_group                 h264_next_in_group_bmi2
#define h264_slice_parse                   h264_slice_parse_bmi2
#define h264_coeff_blocks_reserve          h264_coeff_blocks_reserve_bmi2
#define h264_coeff_blocks_done             h264_coeff_blocks_done_bmi2
#define h264_pack_levels                   h264_pack_levels_bmi2
#define h264_coeff_blocks_return           h264_coeff_blocks_return_bmi2
#define h264_slice_data_mbaff_cabac        h264_slice_data_mbaff_cabac_bmi2
#define h264_slice_data_mbaff_cavlc        h264_slice_data_mbaff_cavlc_bmi2
