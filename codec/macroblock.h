/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 2: the parser of one slice, the edges that macroblocks leave for their neighbours, and the
 * functions of each clause.
 *
 * A macroblock is parsed with small grids around it: one row above, one column to the left. They
 * are filled from the edges of its neighbours. A complete macroblock's edge replaces the edge of
 * the macroblock above in the line. So syntax functions know no addresses: slice groups and
 * macroblock pairs (6.4.12.2) only fill the grids differently.
 */
#ifndef PELTON_CODEC_MACROBLOCK_H
#define PELTON_CODEC_MACROBLOCK_H

#include "codec/cabac.h"
#include "codec/h264.h"
#include "codec/h264_params.h"
#include "codec/mb_edge.h"

/* The edges of a macroblock pair of an MBAFF frame: top and bottom macroblock. */
struct mb_pair {
    struct mb_edge mb[2];
    /* as ref_gt0 of the edge, for ref_idx > 1: what frame macroblocks see of field macroblocks */
    uint8_t ref_gt1[2];
    uint32_t pair; /* CurrMbAddr / 2 */
    uint8_t field; /* mb_field_decoding_flag */
};

#define ADDR_NONE 0xffffffffu /* the line holds no macroblock of this slice here */

/* Neighbours in MBAFF frames, neighbours_mbaff.c. */
struct mb_mbaff {
    struct mb_pair *line;            /* [mb_width], scratch */
    struct mb_pair cur;              /* the pair being parsed */
    const struct mb_pair *a, *b, *c; /* neighbouring pairs (6.4.10), NULL: not available */
    struct {
        uint32_t pair;
        uint16_t flags[2]; /* of both edges */
        uint8_t field;
    } d, replaced;   /* pair D (ADDR_NONE: not available); the pair whose place in the line the last
                        one took */
    uint8_t ref_gt1; /* for the pair, under construction */
    /* stand for A and B where those are of the other kind, frame or field */
    struct mb_edge mixed[2];
    uint8_t bottom;   /* the macroblock is the bottom one of its pair */
    uint8_t inferred; /* mb_field_decoding_flag where it is not present (7.4.4) */
};

/* Coefficient blocks are taken from the picture for this many macroblocks at once, at their most:
 * so no layout of slices needs more coefficient blocks than the macroblocks of the picture at their
 * most. */
#define COEFF_BLOCK_CHUNK_MBS 8

struct mb_inter_type {
    uint8_t part;     /* enum h264_part */
    uint8_t lists[2]; /* of each partition: bit 0 list 0, bit 1 list 1 */
};

struct mb_sub_type {
    uint8_t sub; /* enum h264_sub */
    uint8_t lists;
};

extern const struct mb_inter_type h264_mb_type_p[5];
extern const struct mb_inter_type h264_mb_type_b[23];
extern const struct mb_sub_type h264_sub_mb_type_p[4];
extern const struct mb_sub_type h264_sub_mb_type_b[13];
extern const uint8_t h264_chroma_qpc[52];
extern const uint8_t h264_scan_chroma_dc_422[8];
extern const uint8_t h264_scan_luma_dc[2][16];

/* Arrays of the picture. The parser has their addresses itself, as another thread uses the picture
 * while this slice is followed. */
struct mb_arrays {
    struct rec_mb *mbs;
    struct rec_motion *motions;
    struct h264_mb_syntax *syntaxes;
    void *coeffs; /* of packed levels: the blocks of one macroblock, in scratch */
    uint32_t *packed;
};

/* Properties of the slice that its macroblocks do not change. */
struct mb_format {
    uint8_t cabac_mode; /* entropy_coding_mode_flag */
    uint8_t slice_type; /* SP counts as P, SI as I */
    uint8_t si_slice;
    /* residual data is in partitions: of intra macroblocks in B, of inter macroblocks in C */
    uint8_t partitioned;
    uint8_t mbaff_frame;       /* MbaffFrameFlag */
    uint8_t plain;             /* neither MBAFF nor slice groups */
    uint8_t chroma_array_type; /* ChromaArrayType */
    uint8_t chroma_blocks;     /* 4x4 blocks of a chroma component: 0, 4, 8, 16 */
    uint8_t wide;              /* 32-bit levels */
    uint8_t deblock_idc;       /* disable_deblocking_filter_idc */
    int qp_bd_offset[2];       /* QpBdOffsetY, QpBdOffsetC */
    /* the largest qP of all components is this more than QPY, and h264_levels_suspect's factor */
    int range_qp;
    uint32_t range_factor;
    /* A neighbour serves intra prediction where flags & avail_mask == avail_need. */
    uint16_t avail_mask, avail_need;
};

/* The edges of the macroblocks above, in scratch. */
struct mb_line {
    struct mb_edge skipped; /* the edge of a skipped macroblock */
    struct mb_edge *edges;  /* [mb_width] */
    uint32_t *addr; /* [mb_width] slice groups: address of the macroblock whose edge is there */
};

/* The chunk of coefficient blocks that the slice has taken from the picture. */
struct mb_coeff_chunk {
    uint32_t per_mb;                  /* most that a macroblock has */
    uint32_t next, end;               /* free blocks of the chunk */
    uint32_t base;                    /* the block that lies first in mb_arrays.coeffs */
    uint32_t packed_next, packed_end; /* words for packed levels that the slice has taken */
};

/* Neighbours of the macroblock being parsed. */
struct mb_neighbours {
    const struct mb_edge *a, *b; /* or the edge that is not available */
    /* A of the lower half. It differs from a where a field macroblock has a frame pair there. */
    const struct mb_edge *a_lower;
    uint16_t d_flags; /* flags of the edge that the line held at mb_x - 1 before this row */
    uint32_t d_addr;  /* slice groups: address of that macroblock */
};

/* Values of 4x4 blocks of the macroblock and around it, at GRID(x, y). */
struct mb_grids {
    int8_t mode[GRID_SIZE];
    uint8_t total[3][GRID_SIZE];
    uint8_t mvd[2][GRID_SIZE][2];
};

/* The decode of one slice. */
struct mb_parser {
    /* of the slice */
    struct h264_slice *slice;
    struct h264_picture *pic;
    struct mb_arrays to;
    uint32_t slice_index, mbs_decoded;
    const struct h264_sps *sps;
    const struct h264_pps *pps;
    uint32_t mb_width, first_mb, end_mb;
    struct mb_format format;
    uint8_t field;      /* field macroblock: scans and contexts */
    uint8_t num_ref[2]; /* ref_idx is below this: in MBAFF field macroblocks twice as many */
    struct mb_line line;
    const uint8_t *groups; /* slice group by macroblock address, NULL: one */
    struct mb_coeff_chunk chunk;

    /* of the macroblock being parsed */
    uint32_t addr, mb_x;
    uint32_t index; /* of its records: raster */
    struct mb_neighbours near;
    uint8_t intra_avail, deblock; /* REC_AVAIL_*, REC_DEBLOCK_* */
    uint8_t last_delta;           /* mb_qp_delta of the macroblock before was not 0 */
    int8_t qp, qpc[2];            /* QPY and QPC of both components */
    struct rec_mb *mb;
    struct rec_motion *motion;
    struct h264_mb_syntax *syntax;
    uint8_t cbp;
    uint8_t sub_lists[4]; /* B_8x8, P_8x8: lists of each quadrant */
    uint32_t level_sum;   /* the largest sum of |level| of its blocks */
    struct mb_edge edge;  /* its own, under construction */
    struct mb_grids grid;

    struct h264_bits bits;    /* CAVLC, and I_PCM samples */
    struct h264_bits part[2]; /* data partitions B and C; data NULL: lost */
    bool lost_partition;      /* a macroblock lacks residual for it */
    bool out_of_range;        /* values of an inverse transform are (8.5.10 to 8.5.13) */
    size_t residual_at;       /* bit at which its residual begins; SIZE_MAX: none has begun */
    struct h264_cabac cabac;
    struct mb_mbaff mbaff;
};

/* What one worker keeps from slice to slice. */
struct h264_scratch {
    struct mb_parser parser;
    int16_t blocks[48 * 16]; /* of one macroblock, where levels are packed */
    uint8_t *rbsp;
    size_t rbsp_capacity;
    void *line;
    size_t line_capacity; /* macroblocks */
};

static inline unsigned mb_context_bin(struct mb_parser *p, unsigned ctx)
{
    return h264_cabac_decide(&p->cabac.e, &p->cabac.state[ctx]);
}

/* neighbours.c (6.4.9 to 6.4.12): find before a macroblock is parsed, publish when it is complete.
 */
void h264_neighbours_find(struct mb_parser *p);
void h264_neighbours_publish(struct mb_parser *p);
void h264_neighbours_publish_group(struct mb_parser *p); /* with slice groups */
/* neighbours_mbaff.c (6.4.10, 6.4.12.2): a pair begins at p->addr; one of its macroblocks is
 * chosen, and p->field with it: then p->a and p->b serve mb_skip_flag; then all of the above. */
void h264_mbaff_begin(struct mb_parser *p);
void h264_mbaff_select(struct mb_parser *p, unsigned bottom, unsigned field);
void h264_mbaff_find(struct mb_parser *p);
/* For nC of an intra macroblock with data partitions: inter macroblocks of a mixed left column
 * count as empty. */
void h264_mbaff_left_of_intra(struct mb_parser *p);
void h264_mbaff_publish(struct mb_parser *p);
/* slice_data_mbaff.c: slice_data() (7.3.4) of an MBAFF frame, from p->addr on. */
int h264_slice_data_mbaff_cavlc(struct mb_parser *p);
int h264_slice_data_mbaff_cabac(struct mb_parser *p);
/* Whether intra prediction may use a neighbour with these flags (8.3.1.2,
 * constrained_intra_pred_flag). */
static inline bool h264_edge_serves_intra(const struct mb_parser *p, unsigned flags)
{
    return (flags & p->format.avail_mask) == p->format.avail_need;
}
/* mb_cabac.c: syntax elements (9.3.2, 9.3.3.1). Values out of range are left to the caller. */
unsigned h264_cabac_mb_skip_flag(struct mb_parser *p);
unsigned h264_cabac_mb_field_decoding_flag(struct mb_parser *p);
/* I: 0..25, P: intra from 5, B: intra from 23; SI: SI, then as I */
unsigned h264_cabac_mb_type(struct mb_parser *p);
unsigned h264_cabac_sub_mb_type(struct mb_parser *p);
unsigned h264_cabac_ref_idx(struct mb_parser *p, unsigned inc);
/* both components */
void h264_cabac_mvd(struct mb_parser *p, unsigned sum_x, unsigned sum_y, int32_t mvd[2]);
int32_t h264_cabac_mb_qp_delta(struct mb_parser *p);
unsigned h264_cabac_intra_chroma_pred_mode(struct mb_parser *p);
/* -1: prev_intra4x4_pred_mode_flag, else rem_intra4x4_pred_mode */
int h264_cabac_intra_pred_mode(struct mb_parser *p);
unsigned h264_cabac_coded_block_pattern(struct mb_parser *p);
unsigned h264_cabac_transform_size_8x8_flag(struct mb_parser *p);

/* mb_layer.c (7.3.5). Both return false on an error of the bitstream. */
bool h264_macroblock(struct mb_parser *p);
void h264_macroblock_skip(struct mb_parser *p);
/* After an error of h264_macroblock by CAVLC, in an inter macroblock whose data end within its
 * residual: it stays, with the components whose residual is whole. False: it is not so. */
bool h264_macroblock_keep_prediction(struct mb_parser *p);

/* mb_intra.c, mb_inter.c (7.3.5.1, 7.3.5.2) */
bool h264_intra_nxn_modes(struct mb_parser *p, bool transform_8x8);
bool h264_intra_16x16_mode(struct mb_parser *p, unsigned mode);
bool h264_intra_chroma_mode(struct mb_parser *p);
bool h264_intra_pcm(struct mb_parser *p);
bool h264_inter_partitions(struct mb_parser *p, const struct mb_inter_type *type);
/* ref0: P_8x8ref0, every ref_idx is 0. *transform_8x8: no partition is smaller than 8x8
 * (noSubMbPartSizeLessThan8x8Flag). */
bool h264_inter_sub_partitions(struct mb_parser *p, bool ref0, bool *transform_8x8);

/* mb_state.c */
/* QPY changes: QPC follows (8.5.8). */
void h264_set_qp(struct mb_parser *p, int qp);
/* Room for the coefficient blocks of one more macroblock at its most. False: the picture has none
 * left. */
bool h264_coeff_blocks_reserve(struct mb_parser *p);
/* The rest of the last chunk goes back, unless another slice has taken one since. */
void h264_coeff_blocks_return(struct mb_parser *p);
/* The macroblock has all of its coefficient blocks. Where levels are packed, they are now. */
void h264_coeff_blocks_done(struct mb_parser *p);
/* NextMbAddress (8.2.2.9) with slice groups. step: 1 macroblock, or the 2 of a pair. */
void h264_next_in_group(struct mb_parser *p, uint32_t step);

/* NextMbAddress without slice groups. At the end of a row the macroblocks before it are released to
 * the thread that derives motion. */
static inline void mb_next_in_row(struct mb_parser *p, uint32_t step)
{
    p->addr += step;
    if (++p->mb_x == p->mb_width) {
        p->mb_x = 0;
        atomic_store_explicit(&p->slice->ready, p->addr, memory_order_release);
    }
}

/* NextMbAddress of the macroblock pair that p->addr names. */
static inline void mb_next_pair(struct mb_parser *p)
{
    p->addr &= ~1u;
    if (p->groups)
        h264_next_in_group(p, 2);
    else
        mb_next_in_row(p, 2);
}

/* residual_range.c: the limit of p->level_sum for the slice; and whether a value of the inverse
 * transforms of the macroblock is out of range (8.5.10 to 8.5.13), whose record has no QP yet. */
extern const uint16_t h264_level_limits[100];
void h264_range_begin(struct mb_parser *p);
bool h264_residual_out_of_range(const struct mb_parser *p);

static inline void mb_level_sum(struct mb_parser *p, uint32_t sum)
{
    if (sum > p->level_sum)
        p->level_sum = sum;
}

/* A sum of |level| may be so large that a value is out of range. Few macroblocks have such a sum.
 */
static inline bool h264_levels_suspect(const struct mb_parser *p)
{
    return p->level_sum > h264_level_limits[p->qp + p->format.range_qp] * p->format.range_factor >>
           8;
}

/* residual_16.c, residual_32.c: residual() (7.3.5.3) into coefficient blocks, and the masks of the
 * record. */
bool h264_residual_cavlc_16(struct mb_parser *p);
bool h264_residual_cavlc_32(struct mb_parser *p);
bool h264_residual_cabac_16(struct mb_parser *p);
bool h264_residual_cabac_32(struct mb_parser *p);

#endif
