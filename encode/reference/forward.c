/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Forward transforms.
 */
#include "encode/reference/forward.h"

#include <string.h>

/* One dimension over v[0], v[step], ..: the rows of the matrix are the basis of 8.5.12.2 with its
 * halves doubled */
static void dct4_line(int32_t *v, int step)
{
    int32_t a = v[0] + v[3 * step], b = v[step] + v[2 * step];
    int32_t c = v[step] - v[2 * step], d = v[0] - v[3 * step];
    v[0] = a + b;
    v[step] = 2 * d + c;
    v[2 * step] = a - b;
    v[3 * step] = d - 2 * c;
}

/* Rows, then columns, of n x n values */
static void block_transform(const int32_t *in, int32_t *out, int n, void (*line)(int32_t *, int))
{
    memmove(out, in, (size_t)(n * n) * sizeof(out[0]));
    for (int i = 0; i < n; i++)
        line(out + n * i, 1);
    for (int i = 0; i < n; i++)
        line(out + i, n);
}

void forward_dct4(const int32_t r[16], int32_t c[16])
{
    block_transform(r, c, 4, dct4_line);
}

/* One dimension: the transpose of that of 8.5.13 */
static void dct8_line(int32_t *v, int step)
{
    int32_t s[4], d[4], e[4];
    for (int i = 0; i < 4; i++) {
        s[i] = v[i * step] + v[(7 - i) * step];
        d[i] = v[i * step] - v[(7 - i) * step];
    }
    v[0] = s[0] + s[3] + s[1] + s[2];
    v[4 * step] = s[0] + s[3] - s[1] - s[2];
    v[2 * step] = (s[0] - s[3]) + ((s[1] - s[2]) >> 1);
    v[6 * step] = ((s[0] - s[3]) >> 1) - (s[1] - s[2]);
    e[0] = d[1] + d[2] + (d[0] >> 1) + d[0];
    e[1] = d[0] - d[3] - (d[2] >> 1) - d[2];
    e[2] = d[0] + d[3] - (d[1] >> 1) - d[1];
    e[3] = d[1] - d[2] + (d[3] >> 1) + d[3];
    v[step] = e[0] + (e[3] >> 2);
    v[3 * step] = e[1] + (e[2] >> 2);
    v[5 * step] = e[2] - (e[1] >> 2);
    v[7 * step] = (e[0] >> 2) - e[3];
}

void forward_dct8(const int32_t r[64], int32_t c[64])
{
    block_transform(r, c, 8, dct8_line);
}

static void hadamard4_line(int32_t *v, int step)
{
    int32_t a = v[0] + v[step], b = v[0] - v[step];
    int32_t c = v[2 * step] + v[3 * step], d = v[2 * step] - v[3 * step];
    v[0] = a + c;
    v[step] = a - c;
    v[2 * step] = b - d;
    v[3 * step] = b + d;
}

void forward_luma_dc(const int32_t c[16], int32_t out[16])
{
    block_transform(c, out, 4, hadamard4_line);
    for (int i = 0; i < 16; i++)
        out[i] = (out[i] + 1) >> 1;
}

void forward_chroma_dc(const int32_t c[4], int32_t out[4])
{
    int32_t a = c[0] + c[1], b = c[0] - c[1], d = c[2] + c[3], e = c[2] - c[3];
    out[0] = a + d;
    out[1] = b + e;
    out[2] = a - d;
    out[3] = b - e;
}
