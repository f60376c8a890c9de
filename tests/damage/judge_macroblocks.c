/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rules of slice data: its end, vectors, weights, and the ranges of the inverse transforms.
 */
#include "codec/macroblock.h"
#include "reference/ref_internal.h"
#include "tests/damage/judge.h"

/* ---- the end of slice data ---- */

enum { END_BITS = 16 }; /* x264 leaves up to 7 bits behind the last bin, in all of its streams */

const char *judge_slice_end(const struct h264_slice *slice, const struct h264_scratch *scratch)
{
    const struct mb_parser *p = &scratch->parser;
    const struct h264_cabac_engine *e = &p->cabac.e;
    if (slice->status < 0)
        return "7.3.4: slice data is broken";
    if (!p->format.cabac_mode)
        return p->bits.pos == p->bits.end ? NULL
                                          : "7.3.2.11: slice data do not end at the stop bit";
    /* 9.3.1.2: the last bit in the 9-bit register is rbsp_stop_one_bit */
    int64_t read = (e->next - p->bits.data) * 8 - (54 - __builtin_ctzll(e->value));
    int64_t off = read - 1 - (int64_t)p->bits.end;
    if (off < -END_BITS || off > END_BITS)
        return "9.3.1.2: slice data end bytes before the stop bit or behind it";
    return off ? "9.3.1.2: slice data do not end at the stop bit" : NULL;
}

/* ---- motion ---- */

struct ranges {
    int horizontal, vertical; /* quarter samples: -x .. x - 1 */
    bool small_bi;            /* both lists below 8x8 are forbidden (A.3.3) */
};

static struct ranges ranges_of(const struct h264_sps *sps)
{
    bool limited = sps->profile_idc == 77 || sps->profile_idc >= 100;
    struct ranges r = {sps->level_idc >= 60 ? 32768 : 8192, judge_vertical_limit(sps),
                       limited && sps->level_idc >= 31};
    const struct h264_vui *v = &sps->vui;
    if (!v->bitstream_restriction_flag)
        return r;
    int restricted[2] = {1 << v->log2_max_mv_length[0], 1 << v->log2_max_mv_length[1]};
    r.horizontal = restricted[0] < r.horizontal ? restricted[0] : r.horizontal;
    r.vertical = restricted[1] < r.vertical ? restricted[1] : r.vertical;
    return r;
}

static const char *motion_breach(const struct h264_picture *pic, uint32_t i, struct ranges r)
{
    const struct rec_motion *m = &pic->arrays.motion[i];
    const struct h264_mb_syntax *syntax = &pic->arrays.syntax[i];
    int vertical =
        r.vertical >> (pic->structure != REC_FRAME || pic->arrays.mbs[i].flags & REC_MB_FIELD);
    for (unsigned k = 0; k < 32; k++) {
        unsigned q = (k % 16 / 8) * 2 + (k % 4) / 2;
        const int16_t *mv = m->mv[k / 16][k % 16];
        if (m->ref_idx[k / 16][q] < 0)
            continue;
        if (mv[0] < -r.horizontal || mv[0] >= r.horizontal)
            return "A.3.1: a vector is too long horizontally";
        if (mv[1] < -vertical || mv[1] >= vertical)
            return JUDGE_TEXT_LEVEL_VECTOR;
        if (r.small_bi && syntax->part == H264_PART_8X8 && syntax->sub[q] != H264_SUB_8X8 &&
            syntax->sub[q] != H264_SUB_DIRECT && m->ref_idx[0][q] >= 0 && m->ref_idx[1][q] >= 0)
            return "A.3.3: prediction from both lists below 8x8";
    }
    return NULL;
}

/* 8.4.2.3: sums of explicit weights */
static const char *weights_breach(const struct h264_slice *slice, const struct rec_motion *m,
                                  bool field_of_frame)
{
    const struct h264_slice_header *h = &slice->hdr;
    if (h->type != H264_B || slice->pps->weighted_bipred_idc != 1)
        return NULL;
    for (unsigned q = 0; q < 4; q++) {
        int a = m->ref_idx[0][q] >> field_of_frame, b = m->ref_idx[1][q] >> field_of_frame;
        for (unsigned c = 0; a >= 0 && b >= 0 && c < 3; c++) {
            int denom = c ? h->chroma_log2_denom : h->luma_log2_denom;
            int sum = h->weight[0][a][c][0] + h->weight[1][b][c][0];
            if (sum < -128 || sum > (denom == 7 ? 127 : 128))
                return "8.4.2.3: the sum of two weights";
        }
    }
    return NULL;
}

/* ---- transforms ---- */

#define TEXT_SCALED    "8.5.12.1: a scaled coefficient is out of range"
#define TEXT_TRANSFORM "8.5.12.2: a value of the inverse transform is out of range"

static bool all_within(const int32_t *v, int n, int bits, int less)
{
    for (int i = 0; i < n; i++)
        if (v[i] < -(1 << bits) || v[i] > (1 << bits) - 1 - less)
            return false;
    return true;
}

/* Rows, then columns, of a transform of 4 or 8; line works on v[0], v[step] and so on. The last
 * sums get 32 added. */
static const char *transform_breach(int32_t *d, int size, int bits,
                                    void (*line)(int32_t *v, int step))
{
    if (!all_within(d, size * size, bits, 0))
        return TEXT_SCALED;
    for (int i = 0; i < size; i++)
        line(d + size * i, 1);
    if (!all_within(d, size * size, bits, 0))
        return TEXT_TRANSFORM;
    for (int i = 0; i < size; i++)
        line(d + i, size);
    return all_within(d, size * size, bits, 32) ? NULL : TEXT_TRANSFORM;
}

struct component {
    const struct rec_view *view;
    const struct rec_mb *mb;
    int index, qp, bits; /* 7 + bitDepth */
    const struct rec_scaling *scaling;
};

static const uint8_t *weight4(const struct component *c)
{
    return c->scaling->m4[c->index + (ref_is_intra(c->mb) ? 0 : 3)];
}

/* Blocks of 4x4, with DC of their own where dc is not NULL. */
static const char *blocks4_breach(const struct component *c, int blocks, const int32_t *dc)
{
    for (int blk = 0; blk < blocks; blk++) {
        int32_t v[16];
        const char *breach;
        ref_load_coeff_block(c->view, c->mb, c->index, blk, v);
        if (dc)
            v[0] = dc[blk];
        ref_scale4(v, weight4(c), c->qp, dc, v);
        if ((breach = transform_breach(v, 4, c->bits, ref_idct4_line)))
            return breach;
    }
    return NULL;
}

static const char *blocks8_breach(const struct component *c)
{
    const uint8_t *weight = c->scaling->m8[2 * c->index + (ref_is_intra(c->mb) ? 0 : 1)];
    for (int quadrant = 0; quadrant < 4; quadrant++) {
        int32_t v[64];
        const char *breach;
        for (int i = 0; i < 4; i++)
            ref_load_coeff_block(c->view, c->mb, c->index, 4 * quadrant + i, v + 16 * i);
        ref_scale8(v, weight, c->qp, v);
        if ((breach = transform_breach(v, 8, c->bits, ref_idct8_line)))
            return breach;
    }
    return NULL;
}

static const char *luma16_breach(const struct component *c)
{
    int32_t raster[16], dc[16];
    for (int blk = 0; blk < 16; blk++) {
        int32_t v[16];
        ref_load_coeff_block(c->view, c->mb, c->index, blk, v);
        raster[ref_blk_y(blk) * 4 + ref_blk_x(blk)] = v[0];
    }
    ref_luma_dc(raster, weight4(c), c->qp, raster);
    if (!all_within(raster, 16, c->bits, 0))
        return "8.5.10: a DC value is out of range";
    for (int blk = 0; blk < 16; blk++)
        dc[blk] = raster[ref_blk_y(blk) * 4 + ref_blk_x(blk)];
    return blocks4_breach(c, 16, dc);
}

static const char *chroma_breach(const struct component *c)
{
    int blocks = c->view->head.chroma_format_idc == 1 ? 4 : 8;
    int32_t dc[8];
    for (int blk = 0; blk < blocks; blk++) {
        int32_t v[16];
        ref_load_coeff_block(c->view, c->mb, c->index, blk, v);
        dc[blk] = v[0];
    }
    ref_chroma_dc(dc, blocks, weight4(c), c->qp, dc);
    return all_within(dc, blocks, c->bits, 0) ? blocks4_breach(c, blocks, dc)
                                              : "8.5.11.2: a DC value is out of range";
}

static const char *residual_breach(const struct rec_view *view, const struct rec_mb *mb)
{
    const char *breach = NULL;
    bool planes = view->head.chroma_format_idc == 3;
    for (int i = 0; i < (view->head.chroma_format_idc ? 3 : 1) && !breach; i++) {
        struct component c = {view,
                              mb,
                              i,
                              mb->qp[i] + 6 * (ref_bit_depth(view, i) - 8),
                              7 + ref_bit_depth(view, i),
                              &view->scaling[view->slices[mb->slice].scaling]};
        if (!mb->coded[i])
            continue;
        if (i && !planes)
            breach = chroma_breach(&c);
        else if (mb->kind == REC_MB_INTRA_16X16)
            breach = luma16_breach(&c);
        else if (mb->flags & REC_MB_TRANSFORM_8X8)
            breach = blocks8_breach(&c);
        else
            breach = blocks4_breach(&c, 16, NULL);
    }
    return breach;
}

const char *judge_macroblocks(const struct h264_picture *pic, const struct rec_view *view)
{
    struct ranges ranges = ranges_of(pic->sps);
    for (uint32_t i = 0; i < pic->mb_count; i++) {
        const struct rec_mb *mb = &pic->arrays.mbs[i];
        const struct h264_slice *slice = mb->slice < pic->slice_count ? &pic->slices[mb->slice] : 0;
        const char *breach = NULL;
        if (!slice)
            continue; /* concealed, and told */
        if (mb->kind == REC_MB_INTER) {
            breach = motion_breach(pic, i, ranges);
            if (!breach)
                breach = weights_breach(slice, &pic->arrays.motion[i],
                                        pic->mbaff && mb->flags & REC_MB_FIELD);
        }
        if (!breach && mb->kind != REC_MB_INTRA_PCM && !(mb->flags & REC_MB_BYPASS) &&
            slice->hdr.type != H264_SP && slice->hdr.type != H264_SI)
            breach = residual_breach(view, mb);
        if (breach)
            return breach;
    }
    return NULL;
}
