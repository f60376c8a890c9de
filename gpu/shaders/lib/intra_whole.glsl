/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction of whole macroblocks (8.3.3, 8.3.4): Intra16x16 and chroma. A thread makes
 * several samples at once. The mode is the same for all threads.
 */
#ifndef PELTON_INTRA_WHOLE_GLSL
#define PELTON_INTRA_WHOLE_GLSL

#include "gpu/shaders/lib/intra_block.glsl"

/* 8.3.3.4, 8.3.4.4: sample (x, y) of a plane of n x n samples is (x * result.x + y * result.y +
 * result.z) >> 5. h and v are sums of the borders. */
ivec3 intra_plane(int h, int v, int ends, int n)
{
    int scale = n == 16 ? 5 : 34, b = (scale * h + 32) >> 6, c = (scale * v + 32) >> 6,
        centre = n / 2 - 1;
    return ivec3(b, c, 16 * ends - (b + c) * centre + 16);
}

/* Intra16x16 of samples (x, y), (x, y + 2), .. (x, y + 14). Mode 4 is none: I_PCM. */
void intra_16x16(int mode, int base, int x, int y, bool left, bool top, out int p[8])
{
    if (mode == 1) {
        [[unroll]] for (int k = 0; k < 8; k++)
            p[k] = LUMA_AT(base, -1, y + 2 * k);
        return;
    }
    ivec3 plane = ivec3(0);
    if (mode == 0) {
        plane.z = LUMA_AT(base, x, -1) << 5;
    } else if (mode == 2) {
        ivec2 sums = ivec2(0);
        [[unroll]] for (int k = 0; k < 16; k++)
            sums += ivec2(LUMA_AT(base, -1, k), LUMA_AT(base, k, -1));
        plane.z = intra_dc(left, top, sums.x, sums.y, 4) << 5;
    } else if (mode == 3) {
        ivec2 sums = ivec2(0);
        [[unroll]] for (int k = 0; k < 8; k++)
            sums += (k + 1) * ivec2(LUMA_AT(base, 8 + k, -1) - LUMA_AT(base, 6 - k, -1),
                                    LUMA_AT(base, -1, 8 + k) - LUMA_AT(base, -1, 6 - k));
        plane = intra_plane(sums.x, sums.y, LUMA_AT(base, -1, 15) + LUMA_AT(base, 15, -1), 16);
    }
    [[unroll]] for (int k = 0; k < 8; k++)
        p[k] = clip1((plane.x * x + plane.y * (y + 2 * k) + plane.z) >> 5);
}

/* 8.3.4.1..3: DC of the chroma block of 4x4 samples at (x0, y0) (4:2:0); c is 0 or 1. */
int intra_chroma_dc(int c, int x0, int y0, bool left, bool top)
{
    ivec2 sums = ivec2(0);
    [[unroll]] for (int k = 0; k < 4; k++)
        sums += ivec2(CHROMA_AT(c, -1, y0 + k), CHROMA_AT(c, x0 + k, -1));
    if (x0 != y0 && left && top) { /* off the diagonal one side is preferred */
        left = y0 != 0;
        top = x0 != 0;
    }
    return intra_dc(left, top, sums.x, sums.y, 2);
}

/* Of samples (x, y) .. (x + 3, y), x a multiple of 4. Mode 4 is none: I_PCM. */
ivec4 intra_chroma(int mode, int c, int x, int y, bool left, bool top)
{
    if (mode == 0)
        return ivec4(intra_chroma_dc(c, x, y & 4, left, top));
    if (mode == 1)
        return ivec4(CHROMA_AT(c, -1, y));
    if (mode == 2)
        return ivec4(CHROMA_AT(c, x, -1), CHROMA_AT(c, x + 1, -1), CHROMA_AT(c, x + 2, -1),
                     CHROMA_AT(c, x + 3, -1));
    if (mode == 4)
        return ivec4(0);
    ivec2 sums = ivec2(0);
    [[unroll]] for (int k = 0; k < 4; k++)
        sums += (k + 1) * ivec2(CHROMA_AT(c, 4 + k, -1) - CHROMA_AT(c, 2 - k, -1),
                                CHROMA_AT(c, -1, 4 + k) - CHROMA_AT(c, -1, 2 - k));
    ivec3 plane = intra_plane(sums.x, sums.y, CHROMA_AT(c, -1, 7) + CHROMA_AT(c, 7, -1), 8);
    return clamp((plane.x * (x + ivec4(0, 1, 2, 3)) + plane.y * y + plane.z) >> 5, 0, 255);
}

#endif
