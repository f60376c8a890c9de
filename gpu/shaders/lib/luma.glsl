/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma samples at fractional positions (8.4.2.2.1), 4x4 at a time. Every fetched texel serves four
 * columns and up to six rows. Each class of positions (cases.h) reads only the texels it needs: 8,
 * 12, 18 or 27. Samples are named as in Figure 8-4.
 */
#ifndef PELTON_LUMA_GLSL
#define PELTON_LUMA_GLSL

#include "gpu/shaders/lib/luma_fetch.glsl"

/* The six-tap filter in x at four positions, unscaled. */
ivec4 tap_row(ivec4 a, ivec4 b, int c)
{
    ivec4 p1 = ivec4(a.yzw, b.x), p2 = ivec4(a.zw, b.xy), p3 = ivec4(a.w, b.xyz),
          p5 = ivec4(b.yzw, c);
    return a - 5 * p1 + 20 * p2 + 20 * p3 - 5 * b + p5;
}

int tap_weight(int i)
{
    return i == 0 || i == 5 ? 1 : i == 1 || i == 4 ? -5 : i == 2 || i == 3 ? 20 : 0;
}

ivec4 scale5(ivec4 v)
{
    return clamp((v + 16) >> 5, 0, luma_source.top);
}

ivec4 mean2(ivec4 a, ivec4 b)
{
    return (a + b + 1) >> 1;
}

void luma_full(luma_block k, out ivec4 p[4])
{
    for (int r = 0; r < 4; r++)
        p[r] = luma_row4(k.x, k.y + r, k.slot);
}

/* a, b, c */
void luma_rows(luma_block k, out ivec4 p[4])
{
    for (int r = 0; r < 4; r++) {
        ivec4 a, b;
        int c;
        luma_row9(k.x - 2, k.y + r, k.slot, a, b, c);
        p[r] = scale5(tap_row(a, b, c));
        if (k.fraction.x != 2u)
            p[r] = mean2(p[r], k.fraction.x == 1u ? ivec4(a.zw, b.xy) : ivec4(a.w, b.xyz));
    }
}

/* d, h, n */
void luma_columns(luma_block k, out ivec4 p[4])
{
    ivec4 sum[4] = ivec4[](ivec4(0), ivec4(0), ivec4(0), ivec4(0)), whole[4];
    for (int r = 0; r < 9; r++) {
        ivec4 v = luma_row4(k.x, k.y + r - 2, k.slot);
        for (int i = 0; i < 4; i++) {
            sum[i] += tap_weight(r - i) * v;
            if (r == i + (k.fraction.y == 3u ? 3 : 2))
                whole[i] = v;
        }
    }
    for (int i = 0; i < 4; i++)
        p[i] = k.fraction.y == 2u ? scale5(sum[i]) : mean2(scale5(sum[i]), whole[i]);
}

/* e, g, p, r: a half sample of the nearest row and one of the nearest column. */
void luma_diagonal(luma_block k, out ivec4 p[4])
{
    int lower = k.fraction.y == 3u ? 3 : 2;
    ivec4 sum[4] = ivec4[](ivec4(0), ivec4(0), ivec4(0), ivec4(0)), half_row[4];
    for (int r = 0; r < 9; r++) {
        ivec4 a, b;
        int c;
        luma_row9(k.x - 2, k.y + r - 2, k.slot, a, b, c);
        ivec4 v = k.fraction.x == 3u ? ivec4(a.w, b.xyz) : ivec4(a.zw, b.xy);
        ivec4 h = scale5(tap_row(a, b, c));
        for (int i = 0; i < 4; i++) {
            sum[i] += tap_weight(r - i) * v;
            if (r == i + lower)
                half_row[i] = h;
        }
    }
    for (int i = 0; i < 4; i++)
        p[i] = mean2(scale5(sum[i]), half_row[i]);
}

/* f, j, q: j from unscaled row filters; b or s beside it. */
void luma_centre_v(luma_block k, out ivec4 p[4])
{
    int lower = k.fraction.y == 3u ? 3 : 2;
    ivec4 sum[4] = ivec4[](ivec4(0), ivec4(0), ivec4(0), ivec4(0)), half_row[4];
    for (int r = 0; r < 9; r++) {
        ivec4 a, b;
        int c;
        luma_row9(k.x - 2, k.y + r - 2, k.slot, a, b, c);
        ivec4 v = tap_row(a, b, c);
        for (int i = 0; i < 4; i++) {
            sum[i] += tap_weight(r - i) * v;
            if (r == i + lower)
                half_row[i] = v;
        }
    }
    for (int i = 0; i < 4; i++) {
        ivec4 j = clamp((sum[i] + 512) >> 10, 0, luma_source.top);
        p[i] = k.fraction.y == 2u ? j : mean2(j, scale5(half_row[i]));
    }
}

/* i, k: j from unscaled column filters; h or m beside it. */
void luma_centre_h(luma_block k, out ivec4 p[4])
{
    ivec4 sum_a[4] = ivec4[](ivec4(0), ivec4(0), ivec4(0), ivec4(0)), sum_b[4] = sum_a;
    int sum_c[4] = int[](0, 0, 0, 0);
    for (int r = 0; r < 9; r++) {
        ivec4 a, b;
        int c;
        luma_row9(k.x - 2, k.y + r - 2, k.slot, a, b, c);
        for (int i = 0; i < 4; i++) {
            sum_a[i] += tap_weight(r - i) * a;
            sum_b[i] += tap_weight(r - i) * b;
            sum_c[i] += tap_weight(r - i) * c;
        }
    }
    for (int i = 0; i < 4; i++) {
        ivec4 j = clamp((tap_row(sum_a[i], sum_b[i], sum_c[i]) + 512) >> 10, 0, luma_source.top);
        ivec4 h =
            k.fraction.x == 1u ? ivec4(sum_a[i].zw, sum_b[i].xy) : ivec4(sum_a[i].w, sum_b[i].xyz);
        p[i] = mean2(j, scale5(h));
    }
}

void luma_predict(uint position_class, luma_block k, out ivec4 p[4])
{
    if (position_class == LUMA_FULL)
        luma_full(k, p);
    else if (position_class == LUMA_ROW)
        luma_rows(k, p);
    else if (position_class == LUMA_COLUMN)
        luma_columns(k, p);
    else if (position_class == LUMA_DIAGONAL)
        luma_diagonal(k, p);
    else if (position_class == LUMA_CENTRE_V)
        luma_centre_v(k, p);
    else
        luma_centre_h(k, p);
}

#endif
