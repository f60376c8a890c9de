/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference: decoding of P macroblocks in SP slices and of SI macroblocks (8.6): the prediction is
 * transformed and quantised again, so that different predictions may lead to the same samples.
 */
#include "ref_internal.h"

/* LevelScale2 (8.6.1), [m][v] with v as for normAdjust4x4 */
static const uint16_t level_scale2[6][3] = {
    {13107, 5243, 8066}, {11916, 4660, 7490}, {10082, 4194, 6554},
    {9362, 3647, 5825},  {8192, 3355, 5243},  {7282, 2893, 4559},
};

/* 0: both coordinates even, 1: both odd, 2: else */
static int kind_of(int i)
{
    int x = i & 1, y = i >> 2 & 1;
    return x == y ? x : 2;
}

/* A (8.6.1) */
static int norm_of(int i)
{
    static const uint8_t norm[3] = {16, 25, 20};
    return norm[kind_of(i)];
}

bool ref_is_switching(const struct rec_view *view, uint32_t mb)
{
    const struct rec_mb *m = &view->mbs[mb];
    return (m->flags & REC_MB_SI) ||
           (m->kind == REC_MB_INTER && view->slices[m->slice].slice_type == 3);
}

/* One dimension of the forward transform */
static void forward_line(int32_t *v, int step)
{
    int32_t a = v[0] + v[3 * step], b = v[step] + v[2 * step], c = v[step] - v[2 * step],
            d = v[0] - v[3 * step];
    v[0] = a + b;
    v[step] = 2 * d + c;
    v[2 * step] = a - b;
    v[3 * step] = d - 2 * c;
}

/* Transform of a block of prediction samples */
static void forward(const uint16_t *pred, int stride, int32_t c[16])
{
    for (int i = 0; i < 16; i++)
        c[i] = pred[(i >> 2) * stride + (i & 3)];
    for (int i = 0; i < 4; i++)
        forward_line(c + 4 * i, 1);
    for (int i = 0; i < 4; i++)
        forward_line(c + i, 4);
}

/* Sign(v) * ((Abs(v) * scale + half) >> bits) */
static int32_t quantised(int32_t v, int scale, int bits)
{
    int64_t level =
        ((int64_t)(v < 0 ? -(int64_t)v : v) * scale + ((int64_t)1 << (bits - 1))) >> bits;
    return (int32_t)(v < 0 ? -level : level);
}

/* Whether the levels are added after quantisation of the prediction (8.6.2) instead of before
 * (8.6.1) */
static bool secondary(const struct rec_view *view, const struct rec_mb *m)
{
    return (m->flags & REC_MB_SI) || view->slices[m->slice].sp_for_switch;
}

/* The level of coefficient i at QS, from the prediction's coefficient and the level in the stream.
 * extra: bits by which the chroma DC transform enlarges it. */
static int32_t requantised(bool after, int32_t pred, int32_t level, int i, int qp, int qs,
                           int extra)
{
    int scale = level_scale2[qs % 6][kind_of(i)], bits = 15 + extra + qs / 6;
    int32_t residual;
    if (after)
        return level + quantised(pred, scale, bits);
    residual = level * ref_norm_adjust4[qp % 6][kind_of(i)] * norm_of(i) * (1 << (qp / 6));
    return quantised(pred + (residual >> (6 - extra)), scale, bits);
}

/* 8.5.12.1, 8.5.12.2 at QS with Flat_4x4_16; the sum already holds the prediction. */
static void rebuild(const int32_t c[16], int qs, bool dc_ready, int32_t r[16])
{
    static const uint8_t flat[16] = {16, 16, 16, 16, 16, 16, 16, 16,
                                     16, 16, 16, 16, 16, 16, 16, 16};
    ref_scale4(c, flat, qs, dc_ready, r);
    ref_idct4(r, r);
}

void ref_switching_luma(const struct rec_view *view, uint32_t mb, int blk, const uint16_t pred[16],
                        uint16_t out[16])
{
    const struct rec_mb *m = &view->mbs[mb];
    int qs = view->slices[m->slice].qs[0];
    int32_t levels[16], c[16], r[16];
    ref_load_coeff_block(view, m, 0, blk, levels);
    forward(pred, 4, c);
    for (int i = 0; i < 16; i++)
        c[i] = requantised(secondary(view, m), c[i], levels[i], i, m->qp[0], qs, 0);
    rebuild(c, qs, false, r);
    for (int i = 0; i < 16; i++)
        out[i] = (uint16_t)ref_clip1(r[i], 8);
}

/* 2x2 transform, its own inverse but for a factor */
static void transform2x2(int32_t v[4])
{
    int32_t a = v[0] + v[1], b = v[0] - v[1], c = v[2] + v[3], d = v[2] - v[3];
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
}

void ref_switching_chroma(const struct rec_view *view, uint32_t mb, int component,
                          const uint16_t pred[64], uint16_t out[64])
{
    const struct rec_mb *m = &view->mbs[mb];
    int qp = m->qp[component], qs = view->slices[m->slice].qs[component];
    int32_t c[4][16], levels[4][16], dc[4], r[16];
    for (int blk = 0; blk < 4; blk++) {
        ref_load_coeff_block(view, m, component, blk, levels[blk]);
        forward(pred + (blk >> 1) * 32 + (blk & 1) * 4, 8, c[blk]);
        dc[blk] = c[blk][0];
        for (int i = 1; i < 16; i++)
            c[blk][i] = requantised(secondary(view, m), c[blk][i], levels[blk][i], i, qp, qs, 0);
    }
    transform2x2(dc);
    for (int blk = 0; blk < 4; blk++)
        dc[blk] = requantised(secondary(view, m), dc[blk], levels[blk][0], 0, qp, qs, 1);
    transform2x2(dc);
    for (int blk = 0; blk < 4; blk++) {
        c[blk][0] = (dc[blk] * ref_norm_adjust4[qs % 6][0] * (1 << (qs / 6))) >> 1;
        rebuild(c[blk], qs, true, r);
        for (int i = 0; i < 16; i++)
            out[((blk >> 1) * 4 + (i >> 2)) * 8 + (blk & 1) * 4 + (i & 3)] =
                (uint16_t)ref_clip1(r[i], 8);
    }
}
