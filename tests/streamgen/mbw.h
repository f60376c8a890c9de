/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The writer of one slice's macroblocks.
 */
#ifndef PELTON_STREAMGEN_MBW_H
#define PELTON_STREAMGEN_MBW_H

#include "gen.h"

struct mbw {
    struct gen *g;
    struct picture *pic;
    const struct slice *slice;
    const struct h264_sps *sps;
    const struct h264_pps *pps;
    struct rng rng; /* of the macroblock */
    int32_t number; /* of the slice */
    uint8_t type;   /* enum h264_slice_type; SP counts as P, SI as I */
    uint8_t si, partitioned;
    uint8_t cabac_mode;
    uint8_t chroma_array_type;
    struct bit_writer *out[3]; /* slice data; of data partitions A, B, C */
    struct cabac_coder cabac;
    struct bin_string bins; /* that are not coded yet */
    unsigned addr;
    struct mb *mb;
    int qp;          /* QPY */
    bool last_delta; /* mb_qp_delta of the macroblock before was not 0 */
    bool sparse;     /* no residual: the macroblock would be longer than allowed (A.3.1) */
    uint32_t skip_run;
};

/* neighbour.c: where the sample at (x, y) of the current macroblock's component of size w x h lies;
 * x and y may be -1, and not both be inside. mb NULL: not available (6.4.12). */
struct location {
    const struct mb *mb;
    int x, y;
};
struct location neighbour(const struct mbw *w, int x, int y, int width, int height);
/* The macroblock to the left (A) of its first row, and above (B): for syntax elements of whole
 * macroblocks (6.4.9). */
const struct mb *neighbour_a(const struct mbw *w);
const struct mb *neighbour_b(const struct mbw *w);
/* Pairs of MBAFF frames: the top macroblocks of pairs A and B (6.4.10), NULL: not available. */
const struct mb *pair_a(const struct mbw *w);
const struct mb *pair_b(const struct mbw *w);
static inline unsigned raster_block(struct location at)
{
    return (unsigned)(at.y / 4 * 4 + at.x / 4);
}
static inline bool mb_intra(const struct mb *mb)
{
    return mb->kind <= MB_SI;
}

/* element.c: one syntax element each, in the slice's entropy coding. */
void put_skip_flag(struct mbw *w, unsigned flag); /* CABAC only */
void put_field_flag(struct mbw *w, unsigned flag);
void put_mb_type(struct mbw *w, unsigned type); /* of Tables 7-11 to 7-14 by slice type */
void put_sub_mb_type(struct mbw *w, unsigned type);
void put_ref_idx(struct mbw *w, unsigned list, unsigned quadrant, unsigned num, unsigned value);
/* mvd of the partition whose first block is at (x, y), both components */
void put_mvd(struct mbw *w, unsigned list, unsigned x, unsigned y, const int16_t mvd[2]);
void put_intra_mode(struct mbw *w, unsigned predicted, unsigned mode);
void put_chroma_mode(struct mbw *w, unsigned mode);
void put_cbp(struct mbw *w);
void put_transform_8x8(struct mbw *w, unsigned flag);
void put_qp_delta(struct mbw *w, int delta);

/* pred.c */
bool intra_16x16_allowed(const struct mbw *w, unsigned mode);
void write_intra_modes(struct mbw *w, bool t8x8);
void write_chroma_mode(struct mbw *w);
void write_inter(struct mbw *w, unsigned mb_type, const uint8_t sub_types[4]);

/* residual.c */
void write_residual(struct mbw *w);

/* mb.c */
void code_bins(struct mbw *w); /* those that are not coded yet */
void write_macroblock(struct mbw *w);
void write_skipped(struct mbw *w);
bool wants_skip(struct mbw *w);

#endif
