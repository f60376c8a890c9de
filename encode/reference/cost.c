/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Measures of decisions.
 */
#include "encode/reference/cost.h"

#include <stdlib.h>

uint32_t cost_sad(const uint16_t *a, ptrdiff_t a_stride, const uint16_t *b, ptrdiff_t b_stride,
                  int w, int h)
{
    uint32_t sum = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            sum += (uint32_t)abs(a[y * a_stride + x] - b[y * b_stride + x]);
    return sum;
}

static void butterfly4(int32_t *v, int step)
{
    int32_t a = v[0] + v[2 * step], b = v[step] + v[3 * step];
    int32_t c = v[0] - v[2 * step], d = v[step] - v[3 * step];
    v[0] = a + b;
    v[step] = a - b;
    v[2 * step] = c + d;
    v[3 * step] = c - d;
}

static uint32_t satd4(const uint16_t *a, ptrdiff_t a_stride, const uint16_t *b, ptrdiff_t b_stride)
{
    int32_t v[16];
    uint32_t sum = 0;
    for (int i = 0; i < 16; i++)
        v[i] = a[(i >> 2) * a_stride + (i & 3)] - b[(i >> 2) * b_stride + (i & 3)];
    for (int i = 0; i < 4; i++)
        butterfly4(v + 4 * i, 1);
    for (int i = 0; i < 4; i++)
        butterfly4(v + i, 4);
    for (int i = 0; i < 16; i++)
        sum += (uint32_t)abs(v[i]);
    return sum;
}

uint32_t cost_satd(const uint16_t *a, ptrdiff_t a_stride, const uint16_t *b, ptrdiff_t b_stride,
                   int w, int h)
{
    uint32_t sum = 0;
    for (int y = 0; y < h; y += 4)
        for (int x = 0; x < w; x += 4)
            sum += satd4(a + y * a_stride + x, a_stride, b + y * b_stride + x, b_stride);
    return sum / 2;
}

int cost_ue_bits(unsigned v)
{
    int bits = 1;
    for (v = (v + 1) >> 1; v; v >>= 1)
        bits += 2;
    return bits;
}

int cost_se_bits(int v)
{
    return cost_ue_bits(v > 0 ? 2 * (unsigned)v - 1 : 2 * (unsigned)-v);
}

/* 16 * 2^((QP modulo 6) / 6), for QP from 12 on; divided below it */
static const uint8_t sixth_root[6] = {16, 18, 20, 23, 25, 29};

uint32_t cost_lambda(int qp)
{
    uint32_t base = sixth_root[qp % 6];
    return qp >= 12 ? base << (qp / 6 - 2) : base >> (2 - qp / 6);
}

uint32_t cost_lambda_ssd(int qp)
{
    uint32_t lambda = cost_lambda(qp);
    return (lambda * lambda * 6 / 10 + 8) >> 4;
}
