/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsing of sequence and picture parameter sets (7.3.2.1, 7.3.2.2), their references, scaling
 * lists and tables (params_*.c).
 *
 * Each parser takes the RBSP from its NAL unit header byte on. On success *out has one reference.
 */
#ifndef PELTON_CODEC_PARAMETER_SETS_H
#define PELTON_CODEC_PARAMETER_SETS_H

#include "codec/bits.h"
#include "codec/h264_error.h"
#include "codec/h264_params.h"

int h264_sps_parse(const uint8_t *rbsp, size_t size, struct h264_sps **out, struct h264_diag *diag);
/* H.7.3.2.1.4 */
int h264_subset_sps_parse(const uint8_t *rbsp, size_t size, struct h264_sps **out,
                          struct h264_diag *diag);
/* chroma_format_idc of the SPS that the PPS names: 4:4:4 has six transform_8x8 lists, not two.
 * H264_PPS_PLAIN: what follows redundant_pic_cnt_present_flag is junk. */
#define H264_PPS_PLAIN 4
int h264_pps_parse(const uint8_t *rbsp, size_t size, unsigned chroma_format_idc,
                   struct h264_pps **out, struct h264_diag *diag);
/* The ids of a PPS without parsing the rest. */
int h264_pps_peek_ids(const uint8_t *rbsp, size_t size, unsigned *pps_id, unsigned *sps_id);

/* Sets are immutable: references are counted through const pointers. Any thread. Unref: NULL is
 * allowed. */
const struct h264_sps *h264_sps_ref(const struct h264_sps *sps);
void h264_sps_unref(const struct h264_sps *sps);
/* Whether pictures of both have samples of one size and form, and so can refer to each other. */
bool h264_sps_same_samples(const struct h264_sps *a, const struct h264_sps *b);
/* Whether the same slices give the same samples under both. */
bool h264_sps_same_decoding(const struct h264_sps *a, const struct h264_sps *b);
const struct h264_pps *h264_pps_ref(const struct h264_pps *pps);
void h264_pps_unref(const struct h264_pps *pps);

/* ---- shared by params_*.c ---- */

/* nal_unit_header() and seq_parameter_set_data() (7.3.2.1.1). b stands behind it afterwards. */
int h264_sps_parse_data(struct h264_bits *b, struct h264_sps **out, struct h264_diag *diag);
/* vui_parameters() (E.1.1). False: an element is broken or cut off. The groups of elements before
 * it are in *v, the others keep their values. */
bool h264_vui_parse(struct h264_bits *b, struct h264_vui *v);
/* Fills max_dpb_frames and reorder_frames from the other members. */
void h264_sps_dpb_size(struct h264_sps *sps);

/* scaling_list() (7.3.2.1.1.1) of count coefficients into raster order. Returns
 * useDefaultScalingMatrixFlag. */
bool h264_scaling_list(struct h264_bits *b, unsigned count, uint8_t *raster);
/* List i becomes its default (Table 7-2). i: 0..5 are 4x4, 6..11 are 8x8. */
void h264_scaling_default(struct rec_scaling *s, unsigned i);
/* Bit masks by list: lists in use_default become their defaults, lists that are not in `present`
 * fall back (Table 7-2). The first list of a kind falls back to `base` (rule set B), or to the
 * default where base is NULL (rule set A). Other lists fall back to the one before. */
void h264_scaling_fill(struct rec_scaling *s, unsigned present, unsigned use_default,
                       const struct rec_scaling *base);

/* Tables 7-3 and 7-4 in the order of scaling_list(), [0] intra, [1] inter. */
extern const uint8_t h264_default_scaling_4x4[2][16];
extern const uint8_t h264_default_scaling_8x8[2][64];
/* Table E-1, by aspect_ratio_idc */
extern const uint8_t h264_sample_aspect_ratio[17][2];
/* MaxDpbMbs of Table A-1; 0: the level is not in it. */
uint32_t h264_max_dpb_mbs(unsigned level_idc);

/* Arbitrary slice order: Baseline and Extended (A.2.1, A.2.3) */
static inline bool h264_stream_any_slice_order(const struct h264_sps *sps)
{
    return sps->profile_idc == 88 || (sps->profile_idc == 66 && !(sps->constraint_flags & 0x40));
}

#endif
