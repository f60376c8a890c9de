/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of a picture's arrays, and their sizes.
 *
 * h264_picture.c allocates and frees them all, but for weights and scaling: motion_weights.c
 * allocates those with the picture's allocator, weight_count * sizeof(int16_t) and scaling_count *
 * sizeof(struct rec_scaling) bytes. rec_slices has one entry more than slice_count, for
 * concealment.
 */
#ifndef PELTON_CODEC_ARRAYS_H
#define PELTON_CODEC_ARRAYS_H

#include "codec/h264.h"

/* Memory of an allocator; free: NULL is allowed. */
void *h264_alloc(const struct h264_allocator *allocator, size_t size);
void h264_free(const struct h264_allocator *allocator, void *memory, size_t size);

/* Where the bytes of slices lie. */
const struct h264_allocator *h264_bytes_allocator(const struct h264_picture *pic);

/* Frees mbs, motion and syntax. */
void h264_picture_drop_records(struct h264_picture *pic);

/* Of arrays.col_zero */
static inline size_t h264_map_bytes(const struct h264_picture *pic)
{
    return (size_t)pic->mb_count * sizeof(*pic->arrays.col_zero);
}

/* motion_export.c: from now on the picture keeps what h264_picture_restore_motion needs. Its lists
 * still name pictures. Returns H264_ERR_NOMEM: it keeps nothing. */
int h264_picture_keep(struct h264_picture *pic);
/* Frees that, but for the bytes. */
void h264_picture_drop_kept(struct h264_picture *pic);

/* Bytes of a coefficient */
static inline unsigned h264_coeff_bytes(const struct h264_sps *sps)
{
    return sps->bit_depth[0] > 8 || sps->bit_depth[1] > 8 ? 4 : 2;
}

/* Most coefficient blocks that a macroblock has: 16 luma, and 0, 8, 16 or 32 chroma. */
static inline unsigned h264_coeff_blocks_per_mb(const struct h264_sps *sps)
{
    static const uint8_t coeff_blocks[4] = {16, 24, 32, 48};
    return coeff_blocks[sps->chroma_format_idc & 3];
}

/* Slices take coefficient blocks from arrays.coeff_block_count in chunks. A chunk is never less
 * than the blocks of a macroblock. The capacity is that of all macroblocks, and one chunk for each
 * slice. Where one slice is the picture, it takes all, and there may be less at first. */
#define H264_COEFF_BLOCK_CHUNK 64

/* Step 2, h264_picture_alloc_growing: more room; the first `used` blocks stay. False: there is room
 * for all that the macroblocks can have, or no memory. */
bool h264_picture_grow_coeffs(struct h264_picture *pic, uint32_t used);
/* Slices of a picture take words for the packed levels of so many macroblocks at a time. */
#define H264_PACKED_MBS 8
/* The same for packed levels, in words. */
bool h264_picture_grow_packed(struct h264_picture *pic, uint32_t used);

#endif
