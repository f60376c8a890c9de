/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Syntax elements of the macroblock layer except residual: CAVLC (9.1), or binarization and
 * contexts of CABAC (9.3.2, 9.3.3.1).
 */
#include "mbw.h"

#include "encode/bin_elements.h"

#include "codec/cavlc.h"

#include <string.h>

static void bin(struct mbw *w, unsigned ctx, unsigned b)
{
    bins_put(&w->bins, ctx, b);
}

/* Bins as text, one context each. */
static void bins_text(struct mbw *w, const char *text, const uint8_t *ctx)
{
    for (; *text; text++)
        bin(w, *ctx++, *text == '1');
}

/* 9.3.3.1.1.1 */
void put_skip_flag(struct mbw *w, unsigned flag)
{
    const struct mb *a = neighbour_a(w), *b = neighbour_b(w);
    unsigned inc = (a && a->kind != MB_SKIP) + (b && b->kind != MB_SKIP);
    bin(w, (w->type == H264_B ? 24 : 11) + inc, flag);
}

/* 9.3.3.1.1.2 */
void put_field_flag(struct mbw *w, unsigned flag)
{
    const struct mb *a = pair_a(w), *b = pair_b(w);
    if (w->cabac_mode)
        bin(w, 70 + (a && a->field) + (b && b->field), flag);
    else
        bit_writer_u(w->out[0], 1, flag);
}

/* 9.3.3.1.1.3 */
static void mb_type_i(struct mbw *w, unsigned type)
{
    const struct mb *n[2] = {neighbour_a(w), neighbour_b(w)};
    unsigned inc = 0;
    for (unsigned i = 0; i < 2; i++)
        inc += n[i] && n[i]->kind != MB_I4X4 && n[i]->kind != MB_I8X8;
    bins_mb_type_i(&w->bins, inc, type);
}

static void mb_type_b(struct mbw *w, unsigned type)
{
    static const char *const text[24] = {
        "0",       "100",     "101",     "110000",  "110001",  "110010",  "110011",  "110100",
        "110101",  "110110",  "110111",  "111110",  "1110000", "1110001", "1110010", "1110011",
        "1110100", "1110101", "1110110", "1110111", "1111000", "1111001", "111111",  "111101"};
    static const uint8_t suffix[5] = {33, 34, 34, 35, 35};
    const struct mb *n[2] = {neighbour_a(w), neighbour_b(w)};
    uint8_t ctx[7] = {27, 30, 31, 32, 32, 32, 32};

    for (unsigned i = 0; i < 2; i++)
        ctx[0] += n[i] && n[i]->kind != MB_SKIP && n[i]->kind != MB_DIRECT;
    if (type == 1 || type == 2)
        ctx[2] = 32;
    bins_text(w, text[type < 23 ? type : 23], ctx);
    if (type < 23)
        return;
    bin(w, 32, type > 23);
    if (type > 23)
        bins_intra_16x16(&w->bins, suffix, type - 23);
}

void put_mb_type(struct mbw *w, unsigned type)
{
    if (!w->cabac_mode)
        bit_writer_ue(w->out[0], type);
    else if (w->type == H264_I)
        mb_type_i(w, type);
    else if (w->type == H264_P)
        bins_mb_type_p(&w->bins, type);
    else
        mb_type_b(w, type);
}

/* Table 9-38 */
void put_sub_mb_type(struct mbw *w, unsigned type)
{
    static const char *const b_text[13] = {"0",      "100",   "101",    "11000",  "11001",
                                           "11010",  "11011", "111000", "111001", "111010",
                                           "111011", "11110", "11111"};
    uint8_t b_ctx[6] = {36, 37, 38, 39, 39, 39};
    if (!w->cabac_mode) {
        bit_writer_ue(w->out[0], type);
        return;
    }
    if (type == 1 || type == 2)
        b_ctx[2] = 39;
    if (w->type == H264_P)
        bins_sub_mb_type_p(&w->bins, type);
    else
        bins_text(w, b_text[type], b_ctx);
}

/* 9.3.3.1.1.6: refIdxZeroFlagN and predModeEqualFlagN; direct and intra macroblocks have ref -1. */
static bool ref_counts(const struct mbw *w, struct location n, unsigned list)
{
    int ref;
    if (!n.mb)
        return false;
    ref = n.mb->ref[list][n.y / 8 * 2 + n.x / 8];
    return ref > (w->pic->mbaff && !w->mb->field && n.mb->field ? 1 : 0);
}

void put_ref_idx(struct mbw *w, unsigned list, unsigned quadrant, unsigned num, unsigned value)
{
    int x = (int)(quadrant & 1) * 8, y = (int)(quadrant >> 1) * 8;
    unsigned inc;
    if (num == 1)
        return;
    if (!w->cabac_mode) {
        bit_writer_te(w->out[0], value, num - 1);
        return;
    }
    inc = ref_counts(w, neighbour(w, x - 1, y, 16, 16), list) +
          2 * ref_counts(w, neighbour(w, x, y - 1, 16, 16), list);
    bins_ref_idx(&w->bins, inc, value);
}

/* absMvdComp of a neighbour (9.3.3.1.1.7) */
static unsigned abs_mvd(const struct mbw *w, struct location n, unsigned list, unsigned component)
{
    int v;
    if (!n.mb)
        return 0;
    v = n.mb->mvd[list][raster_block(n)][component];
    v = v < 0 ? -v : v;
    if (component && w->pic->mbaff && w->mb->field != n.mb->field)
        v = w->mb->field ? v / 2 : v * 2;
    return (unsigned)v;
}

void put_mvd(struct mbw *w, unsigned list, unsigned x, unsigned y, const int16_t mvd[2])
{
    struct location a = neighbour(w, (int)x * 4 - 1, (int)y * 4, 16, 16),
                    b = neighbour(w, (int)x * 4, (int)y * 4 - 1, 16, 16);
    for (unsigned i = 0; i < 2; i++)
        if (w->cabac_mode)
            bins_mvd(&w->bins, i, abs_mvd(w, a, list, i) + abs_mvd(w, b, list, i), mvd[i]);
        else
            bit_writer_se(w->out[0], mvd[i]);
}

void put_intra_mode(struct mbw *w, unsigned predicted, unsigned mode)
{
    unsigned rem = mode < predicted ? mode : mode - 1;
    if (w->cabac_mode) {
        bins_intra_mode(&w->bins, mode == predicted ? -1 : (int)rem);
    } else {
        bit_writer_u(w->out[0], 1, mode == predicted);
        if (mode != predicted)
            bit_writer_u(w->out[0], 3, rem);
    }
}

/* 9.3.3.1.1.8 */
void put_chroma_mode(struct mbw *w, unsigned mode)
{
    const struct mb *n[2] = {neighbour_a(w), neighbour_b(w)};
    unsigned inc = 0;
    if (!w->cabac_mode) {
        bit_writer_ue(w->out[0], mode);
        return;
    }
    for (unsigned i = 0; i < 2; i++)
        inc += n[i] && mb_intra(n[i]) && n[i]->kind != MB_PCM && n[i]->chroma_mode;
    bins_chroma_mode(&w->bins, inc, mode);
}

/* condTermFlagN of a luma bit (9.3.3.1.1.4) */
static unsigned luma_bit_clear(const struct mbw *w, int x, int y, unsigned sent)
{
    struct location n = neighbour(w, x, y, 16, 16);
    if (!n.mb || n.mb->kind == MB_PCM)
        return 0;
    return !((n.mb == w->mb ? sent : n.mb->cbp) >> (n.y / 8 * 2 + n.x / 8) & 1);
}

static void cbp_bins(struct mbw *w)
{
    const struct mb *a = neighbour_a(w), *b = neighbour_b(w);
    unsigned cbp = w->mb->cbp, ca, cb;
    for (unsigned i = 0; i < 4; i++) {
        int x = (int)(i & 1) * 8, y = (int)(i >> 1) * 8;
        bin(w, 73 + luma_bit_clear(w, x - 1, y, cbp) + 2 * luma_bit_clear(w, x, y - 1, cbp),
            cbp >> i & 1);
    }
    if (w->chroma_array_type == 0 || w->chroma_array_type == 3)
        return;
    ca = !a ? 0 : a->kind == MB_PCM ? 2 : a->cbp >> 4;
    cb = !b ? 0 : b->kind == MB_PCM ? 2 : b->cbp >> 4;
    bin(w, 77 + (ca > 0) + 2 * (cb > 0), cbp > 15);
    if (cbp > 15)
        bin(w, 81 + (ca == 2) + 2 * (cb == 2), cbp > 31);
}

void put_cbp(struct mbw *w)
{
    bool chroma = w->chroma_array_type == 1 || w->chroma_array_type == 2;
    const uint8_t *codes = h264_cavlc_cbp[chroma][!mb_intra(w->mb)];
    unsigned code = 0;
    if (w->cabac_mode) {
        cbp_bins(w);
        return;
    }
    while (codes[code] != w->mb->cbp)
        code++;
    bit_writer_ue(w->out[0], code);
}

void put_transform_8x8(struct mbw *w, unsigned flag)
{
    const struct mb *a = neighbour_a(w), *b = neighbour_b(w);
    if (w->cabac_mode)
        bin(w, 399 + (a && a->t8x8) + (b && b->t8x8), flag);
    else
        bit_writer_u(w->out[0], 1, flag);
}

/* 9.3.2.7 */
void put_qp_delta(struct mbw *w, int delta)
{
    if (w->cabac_mode)
        bins_qp_delta(&w->bins, w->last_delta, delta);
    else
        bit_writer_se(w->out[0], delta);
}
