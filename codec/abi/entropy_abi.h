/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ABI of entropy decoding on the GPU (step 2): a slice before it is decoded there, and its
 * result.
 *
 * C and GLSL include it, as they do codec/abi/records.h: plain structs of fixed-width integers in
 * scalar layout, sizes asserted. The decoded data are the records: rec_mb, rec_motion,
 * h264_mb_syntax and coefficient blocks, equal to those of h264_slice_decode.
 */
#ifndef PELTON_ENTROPY_H
#define PELTON_ENTROPY_H

#include "codec/abi/records.h"

/* Contexts of ChromaArrayType 0 and 1. */
#define ENT_CONTEXTS 460
/* Limits of PicWidthInMbs: edges above are read two macroblocks ahead. ENT_MAX_BYTES limits a
 * slice: positions in it are counted in bits. */
#define ENT_MIN_WIDTH 3
#define ENT_MAX_WIDTH 512
#define ENT_MAX_BYTES (1u << 28)
#define ENT_PADDING   31 /* least zero bytes behind a slice: reading stops there */
/* Whole bytes between the end of slice data and the byte of the stop bit: x264 leaves up to 7 bits.
 * More are of another unit, or the bins are wrong. */
#define ENT_BYTES_BEHIND 0

/* A dispatch decodes a piece of each slice: rows that add up to a weight or a little more. The
 * weight is in bytes, with ENT_MB_WEIGHT for each macroblock. The heaviest slice has so many
 * pieces. 64 KiB take 70 ms on an H200, and 240 where slices share: below the hang limit of
 * drivers. */
#define ENT_PIECES      4
#define ENT_PIECE_LEAST (4u << 10)
#define ENT_PIECE_MOST  (64u << 10)
#define ENT_MB_WEIGHT   3
/* The same on software devices: llvmpipe ends loops after 65535 iterations. */
#define ENT_PIECE_SOFTWARE 1024

/* ent_slice.flags */
#define ENT_FIELD             1  /* a field picture: scans and contexts */
#define ENT_TRANSFORM_8X8     2  /* transform_8x8_mode_flag */
#define ENT_CONSTRAINED_INTRA 4  /* constrained_intra_pred_flag */
#define ENT_DIRECT_8X8        8  /* direct_8x8_inference_flag */
#define ENT_BYPASS            16 /* qpprime_y_zero_transform_bypass_flag */
#define ENT_CAVLC             32 /* entropy_coding_mode_flag 0 */

/* One slice. 76 bytes. */
struct ent_slice {
    REC_U32 word;     /* its RBSP in the batch's bytes, in words of four */
    REC_U32 start;    /* first bit of slice data in the RBSP; CABAC: of a byte */
    REC_U32 size;     /* bytes of the RBSP; CAVLC: the last one has rbsp_stop_one_bit */
    REC_U32 weights;  /* where its rec_scaling is, in bytes from the RBSP on; 0: all are 16 */
    REC_U32 first_mb; /* addresses [first_mb, end_mb) */
    REC_U32 end_mb;
    REC_U32 mb_width; /* PicWidthInMbs */
    REC_U32 mb_base;  /* first macroblock of its picture in the batch's arrays */
    /* first coefficient block of its picture in those of the batch */
    REC_U32 coeff_block_base;
    REC_U32 coeff_block_count; /* coefficient blocks that its picture may take */
    REC_U32 picture;           /* index of its picture in the batch */
    /* packed levels of its picture: first word in those of the batch, words that there is room for
     * (0: none are wanted), macroblocks of the picture */
    REC_U32 packed_base, packed_count, picture_mbs;
    REC_U32 line;  /* first of its min(mb_width, macroblocks) edges in the batch's lines */
    REC_U32 slice; /* rec_mb.slice */
    REC_U8 type;   /* 0 P, 1 B, 2 I */
    REC_U8 model;  /* 0: I, CAVLC; else 1 + cabac_init_idc */
    REC_I8 qp;     /* SliceQPY */
    REC_U8 flags;  /* ENT_* */
    REC_I8 chroma_qp_offset[2];
    REC_U8 num_ref[2];
    REC_U8 deblock_idc;   /* disable_deblocking_filter_idc */
    REC_U8 chroma_blocks; /* 4x4 blocks of a chroma component: 0 or 4 */
    REC_U8 most_weight;   /* largest of weights; 16 where all are */
    REC_U8 reserved;
};

/* ent_result.status; 0 before the slice is begun */
#define ENT_COMPLETE 1 /* all macroblocks up to end_mb, without an error */
/* an error of the bitstream, or too few coefficient blocks, or a value of an inverse transform that
 * is out of range: h264_slice_decode tells which */
#define ENT_FAILED  2
#define ENT_PAUSED  3 /* the next dispatch goes on */
#define ENT_CHECKED 4 /* complete, and all values are in range */

/* 8 bytes */
struct ent_result {
    REC_U32 status;
    REC_U32 mbs; /* macroblocks decoded */
};

/* All that a slice has between two pieces, at the beginning of a row. The shader's alone.
 * 492 bytes. */
struct ent_state {
    REC_U32 mb_addr, ring;
    REC_U32 coeff_block_next, coeff_block_end;
    REC_U32 value, next_half; /* of the CABAC engine, or the bit reader */
    REC_U32 coder;            /* CABAC: range; CAVLC: what is left of mb_skip_run */
    REC_U8 contexts[ENT_CONTEXTS];
    REC_I8 qp, ahead;
    REC_U8 last_delta, reserved;
};

/* Roots of ent_tables.tree, of mb_type by slice type and of sub_mb_type. */
#define ENT_TREE_I     0
#define ENT_TREE_P     1
#define ENT_TREE_B     6
#define ENT_TREE_SUB_P 30
#define ENT_TREE_SUB_B 33
#define ENT_TREE_NODES 45
#define ENT_TREE_LEAF  64
/* the value of all of Table 9-36 but I_NxN, whose other bins follow */
#define ENT_TREE_INTRA_16X16 63

/* In what a context becomes: the bin was 1. Below it: the state. */
#define ENT_STATE_BIN 128

/* Tables of 9.2, 9.3 and 8.5.6, filled by h264_entropy_tables: the shader has none of its own.
 * Frame, then field where there are two. */
struct ent_tables {
    /* by pStateIdx << 1 | valMPS: rangeTabLPS, a byte each; what the context becomes after the MPS,
     * after the LPS << 16: the next state and ENT_STATE_BIN */
    REC_U32 states[128][2];
    REC_I8 init[4][ENT_CONTEXTS][2]; /* (m, n) by ent_slice.model */
    REC_U8 scan_4x4[2][16];
    REC_U8 scan_8x8[2][64];
    REC_U8 sig_8x8[2][64];
    REC_U8 last_8x8[64];
    REC_U8 scan_luma_dc[2][16];
    REC_U8 chroma_qpc[52];
    /* Binarizations of mb_type and sub_mb_type (Tables 9-36 to 9-38) as trees: ctxIdx | where a bin
     * of 0 leads to << 8 | a bin of 1
     * << 16, to a node or to a value, which is ENT_TREE_LEAF more. Values are those of the tables
     * below. */
    REC_U32 tree[ENT_TREE_NODES];
    /* Tables 7-13, 7-14 by mb_type: enum h264_part | lists of the first partition << 4, of the
     * second << 6 */
    REC_U8 type_p[5], type_b[23];
    REC_U8 sub_p[4], sub_b[13]; /* Tables 7-17, 7-18 by sub_mb_type: enum h264_sub | lists << 4 */
    REC_U8 reserved[3];
    /* by ctxBlockCat 0..5: first contexts of coded_block_flag (5: none), of both maps, of
     * coeff_abs_level_minus1 */
    REC_U16 category[2][6][4];
    /* CAVLC, as codec/cavlc.h has them */
    REC_U16 coeff_token[4][16][8];
    REC_U8 coeff_token_8[64];
    REC_U8 total_zeros[15][10][4];
    REC_U8 total_zeros_420[3][4][4];
    REC_U8 run_before[7][8];
    REC_U8 cbp[2][2][48];
};

#ifndef VULKAN
_Static_assert(sizeof(struct ent_slice) == 76, "ent_slice");
_Static_assert(sizeof(struct ent_result) == 8, "ent_result");
_Static_assert(sizeof(struct ent_state) == 492, "ent_state");
_Static_assert(sizeof(struct ent_tables) == 7448, "ent_tables");
#endif

#endif
