/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ABI of motion derivation on the GPU (step 3): a picture after step 2, besides its rec_mb,
 * rec_motion and h264_mb_syntax, and its result.
 *
 * C and GLSL include it, as they do codec/abi/records.h: plain structs of fixed-width integers in
 * scalar layout, sizes asserted. The derived data are the rec_motion of h264_picture_derive_motion,
 * and a map.
 *
 * The map has 16 bits per macroblock, by address, one for each raster block. A bit is set where
 * refIdxCol is 0 and both components of mvCol are in -1..1, when the picture is the colocated one
 * of spatial direct prediction. That is colZeroFlag (8.4.1.2.2) without its condition on
 * RefPicList1[0]. With direct_8x8_inference_flag only the corner blocks have bits.
 *
 * Each slice has a word for each list. Bit i is set where a macroblock refers to entry i.
 */
#ifndef PELTON_DERIVE_H
#define PELTON_DERIVE_H

#include "codec/abi/records.h"

#define DER_CORNERS 0x9009 /* raster blocks 0, 3, 12 and 15 */
#define DER_NO_MAP  0xffffffffu

/* One slice. 20 bytes. */
struct der_slice {
    REC_U32 first_mb; /* addresses [first_mb, end_mb) */
    REC_U32 end_mb;
    /* B: first entry of the colocated picture's map in the batch's maps; DER_NO_MAP: no colZeroFlag
     * is 1 */
    REC_U32 map;
    REC_U8 type; /* 0 P, 1 B, 2 I */
    REC_U8 num_ref[2];
    REC_U8 corners;       /* direct_8x8_inference_flag */
    REC_U8 transform_8x8; /* transform_8x8_mode_flag */
    REC_U8 bypass;        /* qpprime_y_zero_transform_bypass_flag */
    REC_U8 field;         /* a field picture */
    REC_U8 reserved;
};

/* One picture of a batch. 32 bytes. */
struct der_picture {
    REC_U32 mb_base; /* first macroblock in the batch's arrays, and in its maps of results */
    REC_U32 mb_count;
    REC_U32 mb_width; /* PicWidthInMbs */
    REC_U32 slice_base;
    REC_U32 slice_count;
    REC_U32 coeff_blocks;  /* in use */
    REC_U32 chroma_blocks; /* 4x4 blocks of a chroma component: 0 or 4 */
    REC_U32 reserved;
};

/* The result of a picture */
#define DER_BAD     1 /* step 2 cannot have made its records: the other flags are invalid */
#define DER_INTRA   2 /* it has macroblocks that are intra, */
#define DER_INTER   4 /* that are not, */
#define DER_DEBLOCK 8 /* that are filtered */

#ifndef VULKAN
_Static_assert(sizeof(struct der_slice) == 20, "der_slice");
_Static_assert(sizeof(struct der_picture) == 32, "der_picture");
#endif

#endif
