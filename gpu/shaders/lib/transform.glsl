/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inverse transforms (8.5.12.2, 8.5.13) and level scales (8.5.9). After unrolling, arrays are
 * indexed by constants only.
 */
#ifndef PELTON_TRANSFORM_GLSL
#define PELTON_TRANSFORM_GLSL

/* normAdjust of m = qP % 6 by position class (8.5.9). */
const ivec3 norm4[6] = ivec3[](ivec3(10, 16, 13), ivec3(11, 18, 14), ivec3(13, 20, 16),
                               ivec3(14, 23, 18), ivec3(16, 25, 20), ivec3(18, 29, 23));
const int norm8[36] = int[](20, 18, 32, 19, 25, 24, 22, 19, 35, 21, 28, 26, 26, 23, 42, 24, 33, 31,
                            28, 25, 45, 26, 35, 33, 32, 28, 51, 30, 40, 38, 36, 32, 58, 34, 46, 43);

/* What stands for coefficient i in n: x where row and column are even, y where both are odd. */
int at_position(ivec3 n, int i)
{
    int odd = (i & 1) + ((i >> 2) & 1);
    return odd == 0 ? n.x : odd == 2 ? n.y : n.z;
}

/* normAdjust4x4(m, row y, column x) */
int norm_adjust4(int m, int i)
{
    return at_position(norm4[m], i);
}

int norm_adjust8(int m, int x, int y)
{
    int k;
    if (((x | y) & 3) == 0)
        k = 0;
    else if ((x & y & 1) == 1)
        k = 1;
    else if ((x & 3) == 2 && (y & 3) == 2)
        k = 2;
    else if (((x ^ y) & 1) == 1)
        k = (x & 3) == 0 || (y & 3) == 0 ? 3 : 5;
    else
        k = 4;
    return norm8[m * 6 + k];
}

/* One dimension of 8.5.12.2. */
ivec4 butterfly4(int a, int b, int c, int d)
{
    int e0 = a + c, e1 = a - c, e2 = (b >> 1) - d, e3 = b + (d >> 1);
    return ivec4(e0 + e3, e1 + e2, e1 - e2, e0 - e3);
}

/* Both dimensions, without the last shift */
void inverse4_lines(inout int d[16])
{
    for (int y = 0; y < 4; y++) {
        ivec4 f = butterfly4(d[4 * y], d[4 * y + 1], d[4 * y + 2], d[4 * y + 3]);
        d[4 * y] = f.x, d[4 * y + 1] = f.y, d[4 * y + 2] = f.z, d[4 * y + 3] = f.w;
    }
    for (int x = 0; x < 4; x++) {
        ivec4 f = butterfly4(d[x], d[4 + x], d[8 + x], d[12 + x]);
        d[x] = f.x, d[4 + x] = f.y, d[8 + x] = f.z, d[12 + x] = f.w;
    }
}

void inverse4(inout int d[16])
{
    inverse4_lines(d);
    for (int i = 0; i < 16; i++)
        d[i] = (d[i] + 32) >> 6;
}

/* One dimension of 8.5.13. */
void butterfly8_of(inout int d[8])
{
    int e0 = d[0] + d[4], e2 = d[0] - d[4], e4 = (d[2] >> 1) - d[6], e6 = d[2] + (d[6] >> 1);
    int e1 = d[5] - d[3] - d[7] - (d[7] >> 1), e3 = d[1] + d[7] - d[3] - (d[3] >> 1);
    int e5 = d[7] - d[1] + d[5] + (d[5] >> 1), e7 = d[3] + d[5] + d[1] + (d[1] >> 1);
    int f0 = e0 + e6, f2 = e2 + e4, f4 = e2 - e4, f6 = e0 - e6;
    int f1 = e1 + (e7 >> 2), f3 = e3 + (e5 >> 2), f5 = (e3 >> 2) - e5, f7 = e7 - (e1 >> 2);
    d[0] = f0 + f7, d[1] = f2 + f5, d[2] = f4 + f3, d[3] = f6 + f1;
    d[4] = f6 - f1, d[5] = f4 - f3, d[6] = f2 - f5, d[7] = f0 - f7;
}

/* The same of d[at], d[at + step], ... */
void butterfly8(inout int d[64], int at, int step)
{
    int v[8] = int[8](d[at], d[at + step], d[at + 2 * step], d[at + 3 * step], d[at + 4 * step],
                      d[at + 5 * step], d[at + 6 * step], d[at + 7 * step]);
    butterfly8_of(v);
    for (int i = 0; i < 8; i++)
        d[at + i * step] = v[i];
}

void inverse8(inout int d[64])
{
    for (int y = 0; y < 8; y++)
        butterfly8(d, 8 * y, 1);
    for (int x = 0; x < 8; x++)
        butterfly8(d, x, 8);
}

/* Scale a level by s and 2^(qp / 6 - bits), rounding where that is a division. */
int scale_level(int level, int s, int qp, int bits)
{
    int shift = qp / 6 - bits;
    return shift >= 0 ? (level * s) << shift : (level * s + (1 << (-shift - 1))) >> -shift;
}

#endif
