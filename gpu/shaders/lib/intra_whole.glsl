/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction of whole macroblocks (8.3.3, 8.3.4): Intra16x16 and chroma.
 */
#ifndef PELTON_INTRA_WHOLE_GLSL
#define PELTON_INTRA_WHOLE_GLSL

#include "gpu/shaders/lib/intra_block.glsl"

/* 8.3.3.4, 8.3.4.4: sample (x, y) of a plane of n x n samples from its border sums (h, v). */
int intra_plane(int h, int v, int ends, int n, int x, int y)
{
    int scale = n == 16 ? 5 : 34, b = (scale * h + 32) >> 6, c = (scale * v + 32) >> 6, centre = n / 2 - 1;
    return clip1((16 * ends + b * (x - centre) + c * (y - centre) + 16) >> 5);
}

/* What samples of an Intra16x16 macroblock have in common: sums of the borders (DC), or H and V (plane). */
ivec2 intra_16x16_sums(int mode, int base)
{
    ivec2 sums = ivec2(0);
    if (mode == 2)
        for (int k = 0; k < 16; k++)
            sums += ivec2(LUMA_AT(base, -1, k), LUMA_AT(base, k, -1));
    if (mode == 3)
        for (int k = 0; k < 8; k++)
            sums += (k + 1) * ivec2(LUMA_AT(base, 8 + k, -1) - LUMA_AT(base, 6 - k, -1), LUMA_AT(base, -1, 8 + k) - LUMA_AT(base, -1, 6 - k));
    return sums;
}

int intra_16x16(int mode, int base, int x, int y, bool left, bool top, ivec2 sums)
{
    if (mode == 0)
        return LUMA_AT(base, x, -1);
    if (mode == 1)
        return LUMA_AT(base, -1, y);
    if (mode == 2)
        return intra_dc(left, top, sums.x, sums.y, 4);
    return intra_plane(sums.x, sums.y, LUMA_AT(base, -1, 15) + LUMA_AT(base, 15, -1), 16, x, y);
}

/* The same for the chroma block of 4x4 samples at (x0, y0) (8.3.4, 4:2:0); c is 0 or 1. */
ivec2 intra_chroma_sums(int mode, int c, int x0, int y0)
{
    ivec2 sums = ivec2(0);
    if (mode == 0)
        for (int k = 0; k < 4; k++)
            sums += ivec2(CHROMA_AT(c, -1, y0 + k), CHROMA_AT(c, x0 + k, -1));
    if (mode == 3)
        for (int k = 0; k < 4; k++)
            sums += (k + 1) * ivec2(CHROMA_AT(c, 4 + k, -1) - CHROMA_AT(c, 2 - k, -1),
                                    CHROMA_AT(c, -1, 4 + k) - CHROMA_AT(c, -1, 2 - k));
    return sums;
}

int intra_chroma(int mode, int c, int x, int y, bool left, bool top, ivec2 sums)
{
    if (mode == 2)
        return CHROMA_AT(c, x, -1);
    if (mode == 1)
        return CHROMA_AT(c, -1, y);
    if (mode == 0) {
        int x0 = x & 4, y0 = y & 4;
        if (x0 != y0 && left && top) { /* off the diagonal one side is preferred */
            left = y0 != 0;
            top = x0 != 0;
        }
        return intra_dc(left, top, sums.x, sums.y, 2);
    }
    return intra_plane(sums.x, sums.y, CHROMA_AT(c, -1, 7) + CHROMA_AT(c, 7, -1), 8, x, y);
}

#endif
