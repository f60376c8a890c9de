/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference: transform coefficient decoding (8.5).
 */
#include "ref_internal.h"

/* One dimension of 8.5.12.2, over v[0], v[step], .. */
void ref_idct4_line(int32_t *v, int step)
{
    int32_t e0 = v[0] + v[2 * step];
    int32_t e1 = v[0] - v[2 * step];
    int32_t e2 = (v[step] >> 1) - v[3 * step];
    int32_t e3 = v[step] + (v[3 * step] >> 1);
    v[0] = e0 + e3;
    v[step] = e1 + e2;
    v[2 * step] = e1 - e2;
    v[3 * step] = e0 - e3;
}

void ref_idct4(const int32_t d[16], int32_t r[16])
{
    int32_t t[16];
    memcpy(t, d, sizeof(t));
    for (int i = 0; i < 4; i++)
        ref_idct4_line(t + 4 * i, 1);
    for (int i = 0; i < 4; i++)
        ref_idct4_line(t + i, 4);
    for (int i = 0; i < 16; i++)
        r[i] = (t[i] + 32) >> 6;
}

/* One dimension of 8.5.13 */
void ref_idct8_line(int32_t *v, int step)
{
    int32_t in[8], a[8], b[8];
    for (int i = 0; i < 8; i++)
        in[i] = v[i * step];
    a[0] = in[0] + in[4];
    a[1] = -in[3] + in[5] - in[7] - (in[7] >> 1);
    a[2] = in[0] - in[4];
    a[3] = in[1] + in[7] - in[3] - (in[3] >> 1);
    a[4] = (in[2] >> 1) - in[6];
    a[5] = -in[1] + in[7] + in[5] + (in[5] >> 1);
    a[6] = in[2] + (in[6] >> 1);
    a[7] = in[3] + in[5] + in[1] + (in[1] >> 1);
    b[0] = a[0] + a[6];
    b[1] = a[1] + (a[7] >> 2);
    b[2] = a[2] + a[4];
    b[3] = a[3] + (a[5] >> 2);
    b[4] = a[2] - a[4];
    b[5] = (a[3] >> 2) - a[5];
    b[6] = a[0] - a[6];
    b[7] = a[7] - (a[1] >> 2);
    v[0] = b[0] + b[7];
    v[step] = b[2] + b[5];
    v[2 * step] = b[4] + b[3];
    v[3 * step] = b[6] + b[1];
    v[4 * step] = b[6] - b[1];
    v[5 * step] = b[4] - b[3];
    v[6 * step] = b[2] - b[5];
    v[7 * step] = b[0] - b[7];
}

void ref_idct8(const int32_t d[64], int32_t r[64])
{
    int32_t t[64];
    memcpy(t, d, sizeof(t));
    for (int i = 0; i < 8; i++)
        ref_idct8_line(t + 8 * i, 1);
    for (int i = 0; i < 8; i++)
        ref_idct8_line(t + i, 8);
    for (int i = 0; i < 64; i++)
        r[i] = (t[i] + 32) >> 6;
}

/* 8.5.9 */
void ref_level_scale4(const uint8_t weight[16], int m, int32_t scale[16])
{
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) {
            int v = x % 2 == 0 && y % 2 == 0 ? 0 : x % 2 == 1 && y % 2 == 1 ? 1 : 2;
            scale[4 * y + x] = weight[4 * y + x] * ref_norm_adjust4[m][v];
        }
}

static int norm_adjust8_index(int x, int y)
{
    if (x % 4 == 0 && y % 4 == 0)
        return 0;
    if (x % 2 == 1 && y % 2 == 1)
        return 1;
    if (x % 4 == 2 && y % 4 == 2)
        return 2;
    if ((x % 4 == 0 && y % 2 == 1) || (x % 2 == 1 && y % 4 == 0))
        return 3;
    if ((x % 4 == 0 && y % 4 == 2) || (x % 4 == 2 && y % 4 == 0))
        return 4;
    return 5;
}

void ref_level_scale8(const uint8_t weight[64], int m, int32_t scale[64])
{
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            scale[8 * y + x] = weight[8 * y + x] * ref_norm_adjust8[m][norm_adjust8_index(x, y)];
}

/* v << (qp / 6 - shift) with rounding where that is to the right. Levels are at most 32 bits with
 * their scale in a legal stream; unsigned arithmetic keeps an illegal one defined. */
static int32_t scaled(int32_t v, int32_t scale, int qp, int shift)
{
    int32_t product = (int32_t)((uint32_t)v * (uint32_t)scale);
    if (qp / 6 >= shift)
        return (int32_t)((uint32_t)product << (qp / 6 - shift));
    return (int32_t)((uint32_t)product + (1u << (shift - 1 - qp / 6))) >> (shift - qp / 6);
}

void ref_scale4(const int32_t c[16], const uint8_t weight[16], int qp, bool dc_ready, int32_t d[16])
{
    int32_t scale[16];
    ref_level_scale4(weight, qp % 6, scale);
    for (int i = 0; i < 16; i++)
        d[i] = i == 0 && dc_ready ? c[0] : scaled(c[i], scale[i], qp, 4);
}

void ref_scale8(const int32_t c[64], const uint8_t weight[64], int qp, int32_t d[64])
{
    int32_t scale[64];
    ref_level_scale8(weight, qp % 6, scale);
    for (int i = 0; i < 64; i++)
        d[i] = scaled(c[i], scale[i], qp, 6);
}

static const int8_t hadamard4[4][4] = {
    {1, 1, 1, 1}, {1, 1, -1, -1}, {1, -1, -1, 1}, {1, -1, 1, -1}};

/* rows x columns: f = H(rows) * c * H(columns); columns is 2 or 4, rows 2 or 4 */
static void hadamard(const int32_t *c, int rows, int columns, int32_t *f)
{
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            int32_t sum = 0;
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++) {
                    int vertical = rows == 4 ? hadamard4[y][i] : (y & i ? -1 : 1);
                    int horizontal = columns == 4 ? hadamard4[j][x] : (x & j ? -1 : 1);
                    sum += vertical * horizontal * c[i * columns + j];
                }
            f[y * columns + x] = sum;
        }
}

/* 8.5.10 */
void ref_luma_dc(const int32_t c[16], const uint8_t weight[16], int qp, int32_t dc[16])
{
    int32_t f[16], scale[16];
    ref_level_scale4(weight, qp % 6, scale);
    hadamard(c, 4, 4, f);
    for (int i = 0; i < 16; i++)
        dc[i] = scaled(f[i], scale[0], qp, 6);
}

/* 8.5.11.1, 8.5.11.2 */
void ref_chroma_dc(const int32_t *c, int count, const uint8_t weight[16], int qp, int32_t *dc)
{
    int32_t f[8], scale[16];
    hadamard(c, count / 2, 2, f);
    if (count == 4) {
        ref_level_scale4(weight, qp % 6, scale);
        for (int i = 0; i < 4; i++)
            dc[i] = (int32_t)(((uint32_t)f[i] * (uint32_t)scale[0]) << (qp / 6)) >> 5;
    } else {
        ref_level_scale4(weight, (qp + 3) % 6, scale); /* QP'c,dc */
        for (int i = 0; i < 8; i++)
            dc[i] = scaled(f[i], scale[0], qp + 3, 6);
    }
}

/* ---- the residual of a macroblock ---- */

/* What one component of one macroblock needs. */
struct component {
    const struct rec_view *view;
    const struct rec_mb *mb;
    int index;         /* 0 Y, 1 Cb, 2 Cr */
    int width, height; /* of the macroblock, in samples */
    int qp;            /* qP: with QpBdOffset */
    bool bypass;
    const struct rec_scaling *scaling;
    int32_t *out; /* stride width */
};

/* A byte of packed levels; beyond them 0. */
static uint32_t byte_at(const struct rec_view *view, uint64_t at)
{
    return at / 4 < view->packed_words ? view->packed[at / 4] >> at % 4 * 8 & 0xff : 0;
}

int ref_packed_level(const struct rec_view *view, uint32_t addr, unsigned n, unsigned block,
                     unsigned i)
{
    uint32_t word = addr < view->packed_words ? view->packed[addr] : 0, wide = word & 1, mask = 0;
    uint64_t at = 4 * (uint64_t)(word >> 1), before = 0;
    for (unsigned k = 0; k <= block; k++) {
        before += (unsigned)__builtin_popcount(mask);
        mask = byte_at(view, at + 2 * k) | byte_at(view, at + 2 * k + 1) << 8;
    }
    if (!(mask >> i & 1))
        return 0;
    before += (unsigned)__builtin_popcount(mask & ((1u << i) - 1));
    at += 2 * n + (before << wide);
    return wide ? (int16_t)(byte_at(view, at) | byte_at(view, at + 1) << 8)
                : (int8_t)byte_at(view, at);
}

static unsigned coeff_blocks_of(const struct rec_mb *mb)
{
    return (unsigned)(__builtin_popcount(mb->coded[0]) + __builtin_popcount(mb->coded[1]) +
                      __builtin_popcount(mb->coded[2]));
}

static int32_t coeff_at(const struct rec_view *view, const struct rec_mb *mb, uint32_t coeff_block,
                        int i)
{
    if (view->packed)
        return ref_packed_level(view, (uint32_t)(mb - view->mbs), coeff_blocks_of(mb),
                                coeff_block - mb->coeff, (unsigned)i);
    size_t at = (size_t)coeff_block * 16 + (size_t)i;
    return view->head.coeff_bytes == 2 ? ((const int16_t *)view->coeffs)[at]
                                       : ((const int32_t *)view->coeffs)[at];
}

void ref_load_coeff_block(const struct rec_view *view, const struct rec_mb *mb, int component,
                          int blk, int32_t *v)
{
    uint32_t coeff_block = mb->coeff;
    memset(v, 0, 16 * sizeof(v[0]));
    if (!(mb->coded[component] >> blk & 1))
        return;
    for (int i = 0; i < component; i++)
        coeff_block += (uint32_t)__builtin_popcount(mb->coded[i]);
    coeff_block += (uint32_t)__builtin_popcount(mb->coded[component] & ((1u << blk) - 1));
    for (int i = 0; i < 16; i++)
        v[i] = coeff_at(view, mb, coeff_block, i);
}

/* Residual samples have 16 bits here and in the shaders. 8.5.12 bounds those of a legal stream:
 * 7 + bitDepth bits and a sign before the shift by 6. Others saturate, before prediction and
 * 8.5.15 add to them. */
static void residual_saturate(int32_t *r, int count)
{
    for (int i = 0; i < count; i++)
        r[i] = ref_clip3(INT16_MIN, INT16_MAX, r[i]);
}

static void load_coeff_block(const struct component *c, int blk, int32_t v[16])
{
    ref_load_coeff_block(c->view, c->mb, c->index, blk, v);
    if (c->bypass)
        residual_saturate(v, 16);
}

static void store(const struct component *c, int x, int y, int size, const int32_t *r)
{
    for (int j = 0; j < size; j++) {
        int32_t *row = c->out + (y + j) * c->width + x;
        memcpy(row, r + j * size, (size_t)size * sizeof(r[0]));
        residual_saturate(row, size);
    }
}

/* 8.5.15: sums along the prediction direction */
static void bypass_accumulate(int32_t *r, int stride, int width, int height, bool horizontal)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            if (horizontal && x > 0)
                r[y * stride + x] += r[y * stride + x - 1];
            if (!horizontal && y > 0)
                r[y * stride + x] += r[(y - 1) * stride + x];
        }
}

static int intra_mode_of(const struct rec_mb *mb, int blk)
{
    return (int)(mb->intra_mode[blk >> 3] >> (4 * (blk & 7)) & 15);
}

static const uint8_t *weight4(const struct component *c)
{
    return c->scaling->m4[c->index + (ref_is_intra(c->mb) ? 0 : 3)];
}

/* 8.5.1 and the 4x4 part of 8.5.5: Intra_4x4 and Inter with the 4x4 transform */
static void residual_4x4(const struct component *c)
{
    for (int blk = 0; blk < 16; blk++) {
        int32_t v[16];
        load_coeff_block(c, blk, v);
        if (!c->bypass) {
            ref_scale4(v, weight4(c), c->qp, false, v);
            ref_idct4(v, v);
        } else if (c->mb->kind == REC_MB_INTRA_4X4 && intra_mode_of(c->mb, blk) < 2) {
            bypass_accumulate(v, 4, 4, 4, intra_mode_of(c->mb, blk) == 1);
        }
        store(c, ref_blk_x(blk) * 4, ref_blk_y(blk) * 4, 4, v);
    }
}

/* 8.5.3 */
static void residual_8x8(const struct component *c)
{
    const uint8_t *weight = c->scaling->m8[2 * c->index + (ref_is_intra(c->mb) ? 0 : 1)];
    for (int quadrant = 0; quadrant < 4; quadrant++) {
        int mode = intra_mode_of(c->mb, 4 * quadrant);
        int32_t v[64];
        for (int i = 0; i < 4; i++)
            load_coeff_block(c, 4 * quadrant + i, v + 16 * i);
        if (!c->bypass) {
            ref_scale8(v, weight, c->qp, v);
            ref_idct8(v, v);
        } else if (c->mb->kind == REC_MB_INTRA_8X8 && mode < 2) {
            bypass_accumulate(v, 8, 8, 8, mode == 1);
        }
        store(c, (quadrant & 1) * 8, (quadrant >> 1) * 8, 8, v);
    }
}

/* 8.5.2 */
static void residual_16x16(const struct component *c)
{
    int32_t v[16][16], dc[16];
    int mode = intra_mode_of(c->mb, 0);
    for (int blk = 0; blk < 16; blk++) {
        load_coeff_block(c, blk, v[blk]);
        dc[ref_blk_y(blk) * 4 + ref_blk_x(blk)] = v[blk][0];
    }
    if (!c->bypass)
        ref_luma_dc(dc, weight4(c), c->qp, dc);
    for (int blk = 0; blk < 16; blk++) {
        int x = ref_blk_x(blk), y = ref_blk_y(blk);
        v[blk][0] = dc[4 * y + x];
        if (!c->bypass) {
            ref_scale4(v[blk], weight4(c), c->qp, true, v[blk]);
            ref_idct4(v[blk], v[blk]);
        }
        store(c, 4 * x, 4 * y, 4, v[blk]);
    }
    if (c->bypass && mode < 2)
        bypass_accumulate(c->out, 16, 16, 16, mode == 1);
}

/* 8.5.4: 4:2:0 and 4:2:2 */
static void residual_chroma(const struct component *c)
{
    int blocks = c->width * c->height / 16;
    int mode = c->mb->intra_chroma_mode;
    int32_t v[8][16], dc[8];
    for (int blk = 0; blk < blocks; blk++) {
        load_coeff_block(c, blk, v[blk]);
        dc[blk] = v[blk][0];
    }
    if (!c->bypass)
        ref_chroma_dc(dc, blocks, weight4(c), c->qp, dc);
    for (int blk = 0; blk < blocks; blk++) {
        v[blk][0] = dc[blk];
        if (!c->bypass) {
            ref_scale4(v[blk], weight4(c), c->qp, true, v[blk]);
            ref_idct4(v[blk], v[blk]);
        }
        store(c, 4 * (blk & 1), 4 * (blk >> 1), 4, v[blk]);
    }
    if (c->bypass && ref_is_intra(c->mb) && (mode == 1 || mode == 2))
        bypass_accumulate(c->out, c->width, c->width, c->height, mode == 1);
}

static void residual_pcm(const struct component *c)
{
    int blocks = c->width * c->height / 16;
    bool luma_order = c->width == 16;
    for (int blk = 0; blk < blocks; blk++) {
        int32_t v[16];
        load_coeff_block(c, blk, v);
        store(c, 4 * (luma_order ? ref_blk_x(blk) : blk & 1),
              4 * (luma_order ? ref_blk_y(blk) : blk >> 1), 4, v);
    }
}

static void residual_component(const struct component *c)
{
    if (c->mb->kind == REC_MB_INTRA_PCM)
        residual_pcm(c);
    else if (c->index > 0 && c->view->head.chroma_format_idc != 3)
        residual_chroma(c);
    else if (c->mb->kind == REC_MB_INTRA_16X16)
        residual_16x16(c);
    else if (c->mb->flags & REC_MB_TRANSFORM_8X8)
        residual_8x8(c);
    else
        residual_4x4(c);
}

void ref_residual_mb(const struct rec_view *view, uint32_t mb, int32_t residual[3][256])
{
    const struct rec_mb *m = &view->mbs[mb];
    for (int i = 0; i < 3; i++) {
        struct component c = {
            .view = view,
            .mb = m,
            .index = i,
            .width = (int)ref_mb_width(view->head.chroma_format_idc, i),
            .height = (int)ref_mb_height(view->head.chroma_format_idc, i),
            .qp = m->qp[i] + 6 * (ref_bit_depth(view, i) - 8),
            .bypass = (m->flags & REC_MB_BYPASS) != 0,
            .scaling = &view->scaling[view->slices[m->slice].scaling],
            .out = residual[i],
        };

        if (c.width > 0)
            residual_component(&c);
    }
}
