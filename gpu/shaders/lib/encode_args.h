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

#define ENC_BIND_PICTURES   0
#define ENC_BIND_FRAMES     1 /* samples of whole macroblocks, without margins: Y, Cb, Cr */
#define ENC_BIND_PLANES     2
#define ENC_BIND_LAST       3 /* enc_last of pictures: two of each stream */
#define ENC_BIND_SEARCH     4 /* by reference, then by macroblock */
#define ENC_BIND_MOTION     5 /* rec_motion: two fields, of this pass and of the one before */
#define ENC_BIND_QUANTISER  6
#define ENC_BIND_OFFSETS    7 /* of QP, by macroblock: int8 */
#define ENC_BIND_INTRA      8
#define ENC_BIND_MBS        9
#define ENC_BIND_LEVELS     10 /* by macroblock: 24 blocks, of which those that are coded count */
#define ENC_BIND_UNFILTERED 11 /* reconstruction before deblocking, laid out as FRAMES */
#define ENC_BIND_COEFFS     12 /* by picture: coefficient blocks without gaps, or slice data */
#define ENC_BIND_TOTALS     13 /* enc_total, by picture */
#define ENC_BIND_STRENGTHS  14 /* of deblocking, by macroblock: STRENGTH_WORDS of cases.h */
#define ENC_BIND_ANALYSIS   15
#define ENC_BIND_TICKETS    16 /* by picture: what intra macroblocks wait for, encode_marks.glsl */
#define ENC_BIND_CODES      17 /* enc_codes */
#define ENC_BIND_SYNTAX     18 /* enc_syntax, by macroblock */
#define ENC_BIND_PLACES     19 /* enc_place, by macroblock */
#define ENC_BIND_RUNS       20 /* enc_run: runs of ENC_RUN_MBS macroblocks, by picture */
#define ENC_BINDINGS        21

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
/* then Cb and Cr, without margins */
#define ENC_CHROMA_AT(w, h) (4u * ENC_SIZE(w, h, 0u) + ENC_SIZE(w, h, 1u) + ENC_SIZE(w, h, 2u))
#define ENC_SET_SIZE(w, h)  (ENC_CHROMA_AT(w, h) + (w) * (h) / 2u)
/* Bytes of a frame: in 4:0:0 chroma takes room, too. */
#define ENC_FRAME_SIZE(w, h) ((w) * (h)*3u / 2u)

/* Words of four samples of a workgroup that makes planes, and its rows; rows of a thread of
 * encode_half_samples */
#define ENC_PLANE_WORDS      64
#define ENC_PLANE_ROWS       4
#define ENC_HALF_SAMPLE_ROWS 4

/* Of macroblocks: diagonals x + 2 y = constant, and macroblocks of the longest one; words of their
 * bits, of one and of all; words of a picture in TICKETS */
#define ENC_DIAGONALS(w, h)       ((w) + 2u * ((h)-1u))
#define ENC_DIAGONAL_LENGTH(w, h) ((h) < ((w) + 1u) / 2u ? (h) : ((w) + 1u) / 2u)
#define ENC_MARK_WORDS(w, h)      ((ENC_DIAGONAL_LENGTH(w, h) + 31u) / 32u)
#define ENC_MARKS(w, h)           (ENC_DIAGONALS(w, h) * ENC_MARK_WORDS(w, h))
#define ENC_TICKETS(w, h)         (2u + ENC_MARKS(w, h) + 64u * (w) * (h))

/* Macroblocks of a run, whose coefficient blocks are added up by a workgroup */
#define ENC_RUN_MBS 32

/* Macroblocks of a workgroup of passes that do little with each */
#define ENC_STRENGTH_MBS 4
#define ENC_BEGIN_MBS    8
#define ENC_MARK_MBS     16
#define ENC_SYNTAX_MBS   2

/* Macroblocks on each side of a tile of the coarse search */
#define ENC_SEARCH_TILE 8

/* Samples outside of the picture that vectors may reach */
#define ENC_REACH 32

/* Coefficient blocks of a macroblock: 16 of luma by blkIdx, 4 of Cb, 4 of Cr */
#define ENC_BLOCKS 24

/* enc_picture.flags */
#define ENC_TRANSFORM_8X8 1
#define ENC_SKIP_ALL      2 /* every macroblock is P_Skip; ref_count is 0 */
#define ENC_CHROMA        4 /* 4:2:0 */
#define ENC_LOADED        8 /* the planes of the source are there */
/* Slice data are wanted instead of records: coded by CAVLC, or strings of bins for CABAC */
#define ENC_CAVLC 16
#define ENC_BINS  32

#define ENC_NO_SET 0xffffffffu

/* Slice data take whole units of this size, in the room of coefficient blocks. A unit is as large
 * as one of these. */
#define ENC_UNIT_BITS  256 /* of CAVLC */
#define ENC_UNIT_CODES 16  /* of bins */
#define ENC_NO_UNITS   0xffffffffu
#define ENC_SLICES     4

/* enc_args.step of passes that make planes: of the source, or of the reconstruction */
#define ENC_STEP_SOURCE    0
#define ENC_STEP_REFERENCE 1

/* A picture of a batch. Without references it is an I picture. 64 bytes */
struct enc_picture {
    REC_U32 source;                    /* its set of planes */
    REC_U32 before;                    /* that of the source before; ENC_NO_SET: none */
    REC_U32 pending;                   /* the set that its reconstruction becomes */
    REC_U16 reference[ENC_REFERENCES]; /* sets of RefPicList0; the first one also with SKIP_ALL */
    REC_U32 ref_count;
    REC_U32 lambda;    /* cost_lambda: a bit, in 16ths of a unit of cost */
    REC_U16 mv_max[2]; /* of the level, in quarter samples */
    REC_U32 qp;
    REC_U32 lambda_ssd; /* cost_lambda_ssd */
    REC_U32 last;       /* place in LAST: motion of the picture before */
    REC_U32 kept;       /* the same: where its own motion is kept */
    REC_I32 level_max;  /* greatest magnitude that the entropy coder can write */
    REC_I32 chroma_qp_offset;
    REC_U8 flags, slices, deblocking; /* disable_deblocking_filter_idc */
    REC_I8 filter_offset[2];          /* FilterOffsetA, FilterOffsetB */
    REC_U8 reserved[3];
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

/* The vector in the middle of a macroblock, for the search of the picture that follows */
struct enc_last {
    REC_I16 mv[2];
};

/* The quantiser at a QP modulo 6 (encode/reference/quantise.h) */
struct enc_quantiser {
    REC_I32 factor4[16], factor8[64];
};

/* Intra prediction of a macroblock. The same as intra_choice of the reference. */
struct enc_intra {
    REC_U32 cost; /* NO_COST: the macroblock was left out, and the rest does not count */
    REC_U8 kind, chroma_mode;
    REC_U8 reserved[2];
    REC_U32 modes[2];
    REC_U8 mode4[16]; /* of the first round, by blkIdx; I pictures */
    REC_U32 kind_cost[3];
    REC_U32 kind_modes[3][2];
};

/* A source macroblock's costs in half of the size, and its offset of QP */
struct enc_analysis {
    REC_U16 intra, inter;
    REC_I8 qp_offset;
    REC_U8 reserved[3];
};

/* What follows from a macroblock's records, for its own syntax and that of those beside it */
struct enc_syntax {
    REC_I16 mvd[4][2]; /* by quadrant: that of its partition (8.4.1.3) */
    REC_U8
    total[ENC_BLOCKS]; /* levels that are not 0, of coefficient blocks; DC that is apart: not */
    REC_U8 cbp;        /* CodedBlockPatternLuma | CodedBlockPatternChroma << 4 */
    REC_U8 part;       /* REC_PART_*, the largest that have one motion */
    REC_U8 dc;         /* components that have a DC level apart: bits */
    REC_U8 reserved;
    REC_U32 run; /* skipped macroblocks before it, one after the other */
};

/* Parts of a macroblock's syntax, in their order. Each is coded by a thread. */
#define ENC_PART_HEAD      0 /* up to mb_qp_delta */
#define ENC_PART_LUMA_DC   1
#define ENC_PART_LUMA      2 /* 16 blocks */
#define ENC_PART_CHROMA_DC 18
#define ENC_PART_CHROMA    20 /* eight blocks */
#define ENC_PART_END       28 /* end_of_slice_flag */
#define ENC_PARTS_OF_MB    32

/* A macroblock's bits or codes: how many, where they begin in its picture, and its parts in them */
struct enc_place {
    REC_U32 count, at;
    REC_U16 part[ENC_PARTS_OF_MB];
};

/* Coefficient blocks of a run; the last macroblock whose QP is its own, and one more, 0: none */
struct enc_run {
    REC_U32 blocks, owner;
};

/* Numbers of a picture */
struct enc_total {
    REC_U32 blocks;            /* coefficient blocks */
    REC_U32 units;             /* of slice data; ENC_NO_UNITS: they are not wanted */
    REC_U32 count[ENC_SLICES]; /* bits, or codes */
    REC_I32 qp[ENC_SLICES];    /* QPY of the first macroblock */
};

/* Orders of levels in enc_codes.order: 4x4 zig-zag, DC of luma by blkIdx, 8x8 zig-zag, raster */
#define ENC_ORDER_4X4    0
#define ENC_ORDER_DC     16
#define ENC_ORDER_8X8    32
#define ENC_ORDER_RASTER 96
#define ENC_ORDERS       100
#define ENC_NC_CHROMA_DC 17 /* in nc_class */

/* Tables of entropy coding, which the host has from codec/ and encode/. Codes of CAVLC: length <<
 * 16 | bits */
struct enc_codes {
    REC_U32 coeff_token[6][17][4];  /* [class][TotalCoeff][TrailingOnes] */
    REC_U32 nc_class[18];           /* of nC */
    REC_U32 total_zeros[2][15][16]; /* [chroma DC][TotalCoeff - 1] */
    REC_U32 run_before[7][15];      /* [least of zerosLeft and 7, minus 1] */
    REC_U32 cbp[2][2][48];          /* codeNum: [4:2:0][inter] */
    REC_U32 order[ENC_ORDERS];
    /* by ctxBlockCat: first contexts */
    REC_U32 cbf_base[6], sig_base[6], last_base[6], abs_base[6];
    REC_U32 sig_8x8[64], last_8x8[64]; /* ctxIdxInc */
};

/* Push constants */
struct enc_args {
    REC_U32 mb_width, mb_height;
    REC_U32 picture_count;
    REC_U32 step; /* of passes of several dispatches */
};

/* Push constants of encode_take: a frame on the device. Places and distances are words of four
 * samples. */
struct enc_take_args {
    REC_U32 mb_width, mb_height;
    REC_U32 width, height; /* samples of luma that are there; the rest repeats them */
    REC_U32 picture, set;
    REC_U32 offset[3], stride[3];
};

#ifndef VULKAN
_Static_assert(sizeof(struct enc_take_args) == 48, "enc_take_args");
_Static_assert(sizeof(struct enc_picture) == 64, "enc_picture");
_Static_assert(sizeof(struct enc_search) == 84, "enc_search");
_Static_assert(sizeof(struct enc_last) == 4, "enc_last");
_Static_assert(sizeof(struct enc_intra) == 68, "enc_intra");
_Static_assert(sizeof(struct enc_analysis) == 8, "enc_analysis");
_Static_assert(sizeof(struct enc_syntax) == 48, "enc_syntax");
_Static_assert(sizeof(struct enc_place) == 72, "enc_place");
_Static_assert(sizeof(struct enc_total) == 40, "enc_total");
#endif

#endif
