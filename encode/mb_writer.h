/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The writer of one slice's macroblocks (7.3.5): records to syntax elements in CAVLC, or in bins of
 * CABAC. A plan says what a macroblock's syntax is; it follows from records alone, but for the
 * vectors and modes that are predicted. Edges are those of the parser.
 */
#ifndef PELTON_ENCODE_MB_WRITER_H
#define PELTON_ENCODE_MB_WRITER_H

#include "codec/mb_edge.h"
#include "codec/motion_derive.h"
#include "encode/cabac_coder.h"
#include "encode/cavlc_writer.h"
#include "encode/encoding.h"

/* The syntax of a macroblock */
struct mb_plan {
    uint8_t mb_type;    /* Table 7-11 or 7-13; intra types in P slices without their offset */
    uint8_t part;       /* enum h264_part */
    uint8_t sub[4];     /* enum h264_sub of each quadrant */
    uint8_t cbp;        /* CodedBlockPatternLuma | CodedBlockPatternChroma << 4 */
    uint8_t flags;      /* of the record */
    uint16_t ac[3];     /* blocks with levels, in order of blkIdx; but for DC where that is apart */
    bool dc[3];         /* DC levels that are apart: Intra_16x16 and chroma */
    int16_t mvd[16][2]; /* of each partition, at the raster block of its upper left corner */
};

/* What does not change in a slice */
struct mb_writer_slice {
    const struct rec_view *view;
    const struct h264_sps *sps;
    const struct h264_pps *pps;
    const struct encoding_limits *limits; /* NULL: none */
    const struct cavlc_codes *codes;
    uint32_t first, end; /* addresses */
    uint8_t type, num_ref;
    uint8_t deblocking; /* disable_deblocking_filter_idc */
};

struct mb_writer {
    struct mb_writer_slice slice;
    struct mb_edge *line; /* [mb_width] edges of the macroblocks above, in scratch */
    struct bit_writer *bits;
    struct bin_string *bins;
    char *why; /* ENCODING_WHY bytes, of a refusal */

    /* of the macroblock */
    uint32_t addr, mb_x;
    const struct rec_mb *mb;
    const struct rec_motion *motion;
    struct motion_walk walk; /* its neighbours alone */
    const struct mb_edge *a, *b;
    struct mb_edge edge; /* its own, under construction */
    struct mb_plan plan;

    int qp;          /* QPY of the macroblock before, I_PCM left out */
    bool last_delta; /* whose mb_qp_delta was not 0 */
    uint32_t skip_run;
};

static inline bool mb_writer_cabac(const struct mb_writer *w)
{
    return w->slice.pps->entropy_coding_mode_flag;
}

static inline bool mb_is_intra(const struct rec_mb *mb)
{
    return mb->kind != REC_MB_INTER;
}

/* Coefficient blocks of a component, in order of the bits of coded[] */
static inline const int16_t *mb_levels(const struct mb_writer *w, unsigned component)
{
    unsigned before = 0;
    for (unsigned c = 0; c < component; c++)
        before += (unsigned)__builtin_popcount(w->mb->coded[c]);
    return (const int16_t *)w->slice.view->coeffs + ((size_t)w->mb->coeff + before) * 16;
}

/* A refusal of the macroblock; returns false. */
bool mb_refuse(struct mb_writer *w, const char *cause);

/* mb_plan.c: false: the records cannot be written, and w->why says so. */
bool mb_plan_make(struct mb_writer *w);

/* mb_elements.c: one syntax element each, in the slice's entropy coding. */
void put_skip_flag(struct mb_writer *w, unsigned flag); /* CABAC only */
void put_mb_type(struct mb_writer *w);
void put_sub_mb_type(struct mb_writer *w, unsigned sub);
void put_ref_idx(struct mb_writer *w, unsigned inc, unsigned value);
/* both components; sum: of |mvd| of the neighbours */
void put_mvd(struct mb_writer *w, const unsigned sum[2], const int16_t mvd[2]);
void put_intra_mode(struct mb_writer *w, int predicted, int mode);
void put_chroma_mode(struct mb_writer *w, unsigned mode);
void put_cbp(struct mb_writer *w);
void put_transform_8x8(struct mb_writer *w, unsigned flag);
void put_qp_delta(struct mb_writer *w, int delta);

/* mb_pred.c: mb_pred() and sub_mb_pred() */
void write_intra_modes(struct mb_writer *w);
void write_inter_pred(struct mb_writer *w);

/* mb_residual.c: residual() */
void write_residual_cavlc(struct mb_writer *w);
void write_residual_cabac(struct mb_writer *w);

/* mb_write.c: the macroblock at w->addr, with mb_skip_flag or mb_skip_run; then w->addr is the
 * next. False: refused. */
bool write_macroblock(struct mb_writer *w);

#endif
