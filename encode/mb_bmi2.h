/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Macroblocks to bins, and bins to bits, are compiled twice for x86-64, as step 2 of the decoder is
 * (codec/step2_bmi2.h). The second build includes this header before everything else, which renames
 * its functions.
 */
#define bin_string_free      bin_string_free_bmi2
#define bin_string_reserve   bin_string_reserve_bmi2
#define bins_chroma_mode     bins_chroma_mode_bmi2
#define bins_exp_golomb      bins_exp_golomb_bmi2
#define bins_intra_16x16     bins_intra_16x16_bmi2
#define bins_intra_mode      bins_intra_mode_bmi2
#define bins_mb_type_i       bins_mb_type_i_bmi2
#define bins_mb_type_p       bins_mb_type_p_bmi2
#define bins_mvd             bins_mvd_bmi2
#define bins_pcm             bins_pcm_bmi2
#define bins_qp_delta        bins_qp_delta_bmi2
#define bins_ref_idx         bins_ref_idx_bmi2
#define bins_residual        bins_residual_bmi2
#define bins_sub_mb_type_p   bins_sub_mb_type_p_bmi2
#define cabac_code           cabac_code_bmi2
#define cabac_coder_begin    cabac_coder_begin_bmi2
#define cabac_coder_contexts cabac_coder_contexts_bmi2
#define mb_plan_make         mb_plan_make_bmi2
#define mb_refuse            mb_refuse_bmi2
#define put_cbp              put_cbp_bmi2
#define put_chroma_mode      put_chroma_mode_bmi2
#define put_intra_mode       put_intra_mode_bmi2
#define put_mb_type          put_mb_type_bmi2
#define put_mvd              put_mvd_bmi2
#define put_qp_delta         put_qp_delta_bmi2
#define put_ref_idx          put_ref_idx_bmi2
#define put_skip_flag        put_skip_flag_bmi2
#define put_sub_mb_type      put_sub_mb_type_bmi2
#define put_transform_8x8    put_transform_8x8_bmi2
#define write_inter_pred     write_inter_pred_bmi2
#define write_intra_modes    write_intra_modes_bmi2
#define write_macroblock     write_macroblock_bmi2
#define write_residual_cabac write_residual_cabac_bmi2
#define write_residual_cavlc write_residual_cavlc_bmi2
