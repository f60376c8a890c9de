/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of codec share among themselves and no one else sees.
 */
#ifndef PELTON_CODEC_INTERNAL_H
#define PELTON_CODEC_INTERNAL_H

#include "codec/bits.h"
#include "codec/h264.h"

/* nal_unit_type (Table 7-1) */
enum h264_nal_type {
    H264_NAL_SLICE = 1,
    H264_NAL_PARTITION_A = 2,
    H264_NAL_PARTITION_B = 3,
    H264_NAL_PARTITION_C = 4,
    H264_NAL_IDR = 5,
    H264_NAL_SEI = 6,
    H264_NAL_SPS = 7,
    H264_NAL_PPS = 8,
    H264_NAL_AUD = 9,
    H264_NAL_END_SEQUENCE = 10,
    H264_NAL_END_STREAM = 11,
    H264_NAL_FILLER = 12,
    H264_NAL_SPS_EXTENSION = 13,
    H264_NAL_PREFIX = 14,
    H264_NAL_SUBSET_SPS = 15,
    H264_NAL_AUXILIARY = 19,
    H264_NAL_EXTENSION = 20
};

/* Scans: idx -> raster position (row * 4 + column, row * 8 + column), [0] zig-zag (frame), [1]
 * field (Tables 8-13, 8-14). */
extern const uint8_t h264_scan_4x4[2][16];
extern const uint8_t h264_scan_8x8[2][64];

/* Tables 7-3, 7-4 in scaling_list() order, [0] intra, [1] inter; Table E-1 (index
 * aspect_ratio_idc). */
extern const uint8_t h264_default_scaling_4x4[2][16];
extern const uint8_t h264_default_scaling_8x8[2][64];
extern const uint8_t h264_sample_aspect_ratio[17][2];
/* MaxDpbMbs of Table A-1; 0 for a level_idc that is not in it. */
uint32_t h264_max_dpb_mbs(unsigned level_idc);

/* Fill diag where it is not NULL and return error. */
int h264_fail(struct h264_diag *diag, int error, const char *element, int64_t value,
              const char *what);

/* ---- parameter sets (params_*.c) ---- */

/* rbsp holds the header byte too. The set has one reference. */
int h264_sps_parse(const uint8_t *rbsp, size_t size, struct h264_sps **out, struct h264_diag *diag);
int h264_subset_sps_parse(const uint8_t *rbsp, size_t size, struct h264_sps **out,
                          struct h264_diag *diag);
/* transform_8x8 lists: six instead of two for 4:4:4, hence chroma_format_idc of the SPS that the
 * PPS names. */
int h264_pps_parse(const uint8_t *rbsp, size_t size, unsigned chroma_format_idc,
                   struct h264_pps **out, struct h264_diag *diag);
/* The ids of a PPS without parsing the rest. */
int h264_pps_peek_ids(const uint8_t *rbsp, size_t size, unsigned *pps_id, unsigned *sps_id);
/* References of immutable sets are counted through const pointers. */
const struct h264_sps *h264_sps_ref(const struct h264_sps *sps);
void h264_sps_unref(const struct h264_sps *sps);
const struct h264_pps *h264_pps_ref(const struct h264_pps *pps);
void h264_pps_unref(const struct h264_pps *pps);

/* scaling_list() (7.3.2.1.1.1) of count coefficients into raster order. Returns whether
 * useDefaultScalingMatrixFlag. */
bool h264_scaling_list(struct h264_bits *b, unsigned count, uint8_t *raster);
/* List i of 0..11 becomes its default (Table 7-2); list 0..5 are 4x4. */
void h264_scaling_default(struct rec_scaling *s, unsigned i);
/* Lists in `use_default` become their defaults; those not in `present` fall back (Table 7-2): the
 * first of each kind to `base` (rule set B) or, where it is NULL, to the default (rule set A), the
 * others to the list before of their kind. */
void h264_scaling_fill(struct rec_scaling *s, unsigned present, unsigned use_default,
                       const struct rec_scaling *base);

/* ---- slice header (slice_header.c) ---- */

/* What follows first_mb_in_slice, slice_type and pic_parameter_set_id needs the sets: peek gives
 * the id first. */
int h264_slice_peek(const uint8_t *rbsp, size_t size, uint32_t *first_mb, uint32_t *type,
                    uint32_t *pps_id);
/* rbsp from the NAL unit header byte. On success *data_bit is the first bit of slice_data(). */
int h264_slice_header_parse(const uint8_t *rbsp, size_t size, const struct h264_sps *sps,
                            const struct h264_pps *pps, struct h264_slice_header *hdr,
                            size_t *data_bit, struct h264_diag *diag);

/* ---- slice data ---- */

/* h264_slice_decode for a redundant slice too. */
int h264_slice_decode_now(struct h264_slice *slice, struct h264_scratch *scratch);
/* What it calls: compiled for any processor, and where the build has H264_BMI2 for those with BMI2.
 */
int h264_slice_parse(struct h264_slice *slice, struct h264_scratch *scratch);
int h264_slice_parse_bmi2(struct h264_slice *slice, struct h264_scratch *scratch);
/* Redundant slices of pic in place of primary ones that step 2 did not get through (redundant.c).
 */
void h264_decode_redundant(struct h264_picture *pic);

/* ---- pictures (picture.c, recovery.c) ---- */

/* mbs, motion and syntax */
void h264_picture_drop_records(struct h264_picture *pic);

/* The number of damage that happens in picture id; above 1. */
uint32_t h264_damage_of(uint32_t id);

static inline unsigned h264_coeff_bytes(const struct h264_sps *sps)
{
    return sps->bit_depth[0] > 8 || sps->bit_depth[1] > 8 ? 4 : 2;
}

/* Most coefficient blocks (16 coefficients each) that a macroblock has: 16 luma, 8, 16 or 32
 * chroma. */
static inline unsigned h264_coeff_blocks_per_mb(const struct h264_sps *sps)
{
    static const uint8_t coeff_blocks[4] = {16, 24, 32, 48};
    return coeff_blocks[sps->chroma_format_idc & 3];
}

/* Slices take coefficient blocks from pic->coeff_block_count in chunks of this many, never less
 * than a macroblock's worth. Capacity: every macroblock at its most, plus one chunk for each slice.
 */
#define H264_COEFF_BLOCK_CHUNK 64

void *h264_alloc(const struct h264_allocator *allocator, size_t size);
void h264_free(const struct h264_allocator *allocator, void *memory, size_t size);

/* weights and scaling are allocated with h264_alloc(pic->allocator) by view.c, sizes weight_count *
 * sizeof(int16_t) and scaling_count * sizeof(struct rec_scaling); picture.c frees them. rec_slices
 * is allocated by picture.c when the picture is complete, with one entry more than slice_count for
 * concealment. */

#endif
