/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bindings, sizes and structures of the encoder's shaders, for C and GLSL. The reference of all of
 * them is encode/reference/.
 */
#ifndef PELTON_ENCODE_ARGS_H
#define PELTON_ENCODE_ARGS_H

#include "codec/abi/records.h"

#ifdef VULKAN
#define ENC_STRUCT
#else
#define ENC_STRUCT struct
#endif

#define ENC_BIND_PICTURES  0
#define ENC_BIND_FRAMES    1 /* samples of whole macroblocks, without margins */
#define ENC_BIND_PLANES    2
#define ENC_BIND_LAST      3 /* rec_motion of the picture before */
#define ENC_BIND_SEARCH    4 /* by reference, then by macroblock */
#define ENC_BIND_MOTION    5 /* rec_motion that was chosen */
#define ENC_BIND_QUANTISER 6
#define ENC_BIND_LUMA      7
#define ENC_BINDINGS       8

#define ENC_REFERENCES 4
#define ENC_PARTS      9 /* partitions that are searched, as in encode/reference/picture_work.h */

/* A set of planes: luma in full size, three planes of half samples, then two reduced sizes. Each
 * has a margin on all sides, and a byte a sample. */
#define ENC_MARGIN       40
#define ENC_HALF_X       1
#define ENC_HALF_Y       2
#define ENC_HALF_XY      3
#define ENC_PLANE_HALF   4
#define ENC_PLANE_FOURTH 5
#define ENC_PLANES       6
/* the level of a plane: its size is that of luma shifted right by it */
#define ENC_LEVEL(plane)         ((plane) < ENC_PLANE_HALF ? 0u : (plane)-3u)
#define ENC_STRIDE(width, level) (((width) >> (level)) + 2u * ENC_MARGIN)
#define ENC_SIZE(w, h, level)    (ENC_STRIDE(w, level) * ENC_STRIDE(h, level))
#define ENC_PLANE_AT(w, h, plane)                                                                  \
    ((plane) <= ENC_PLANE_HALF ? (plane)*ENC_SIZE(w, h, 0u)                                        \
                               : 4u * ENC_SIZE(w, h, 0u) + ENC_SIZE(w, h, 1u))
#define ENC_SET_SIZE(w, h) (4u * ENC_SIZE(w, h, 0u) + ENC_SIZE(w, h, 1u) + ENC_SIZE(w, h, 2u))

/* Samples outside of the picture that vectors may reach */
#define ENC_REACH 32

/* A picture of a batch. 32 bytes */
struct enc_picture {
    REC_U32 source;                   /* its set of planes */
    REC_U8 reference[ENC_REFERENCES]; /* sets of RefPicList0 */
    REC_U32 ref_count;
    REC_U32 lambda;    /* cost_lambda: a bit, in 16ths of a unit of cost */
    REC_U16 mv_max[2]; /* of the level, in quarter samples */
    REC_U32 qp;
    REC_U32 lambda_ssd; /* cost_lambda_ssd */
    REC_U32 reserved;
};

/* What the search found. The same as motion_search of the reference. */
struct enc_found {
    REC_I16 mv[2];
    REC_U32 cost;
};
struct enc_search {
    REC_I16 coarse[2], half_size[2], predicted[2];
    ENC_STRUCT enc_found part[ENC_PARTS];
};

/* The quantiser at a QP modulo 6 (encode/reference/quantise.h) */
struct enc_quantiser {
    REC_I32 factor4[16], factor8[64];
    REC_I32 level_max;
};

/* Luma of an inter macroblock with 4x4 and with 8x8 transforms: levels in the order of coefficient
 * blocks, which blocks have any, and the cost of all */
struct enc_luma {
    REC_I16 level[2][16][16];
    REC_U16 coded[2];
    REC_U32 cost[2];
};

/* Push constants */
struct enc_args {
    REC_U32 mb_width, mb_height;
    REC_U32 picture_count;
    REC_U32 first_set; /* planes of the sets from here on are made: one a picture */
};

#ifndef VULKAN
_Static_assert(sizeof(struct enc_picture) == 32, "enc_picture");
_Static_assert(sizeof(struct enc_search) == 84, "enc_search");
_Static_assert(sizeof(struct enc_luma) == 1036, "enc_luma");
#endif

#endif
