/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction (8.3) of samples of any depth. A shared tile holds a component of a macroblock
 * and its neighbours.
 */
#ifndef PELTON_ANY_INTRA_BLOCK_GLSL
#define PELTON_ANY_INTRA_BLOCK_GLSL

#include "gpu/shaders/lib/intra_direction.glsl"

#define TILE_PITCH 25 /* columns -1..23 */
shared int tile[17 * TILE_PITCH];
shared int border8[25]; /* filtered E(-8..16) */

#define TILE_AT(x, y) tile[((y) + 1) * TILE_PITCH + (x) + 1]

/* 8.3.1.1: a DC of n samples on each side; sums of unavailable sides are not used. */
int intra_dc(bool left, bool top, int left_sum, int top_sum, int log2_n, int depth)
{
    if (left && top)
        return (left_sum + top_sum + (1 << log2_n)) >> (log2_n + 1);
    if (!left && !top)
        return 1 << (depth - 1);
    return ((left ? left_sum : top_sum) + (1 << (log2_n - 1))) >> log2_n;
}

/* E of the 4x4 block at (bx, by) in samples; last is 8, or 4 where what is above and to the right
 * is unavailable. */
int border4(int bx, int by, int i, int last)
{
    i = clamp(i, -4, last);
    return i >= 0 ? TILE_AT(bx + i - 1, by - 1) : TILE_AT(bx - 1, by - i - 1);
}

int intra_4x4(int mode, int bx, int by, int x, int y, bool left, bool top, bool top_right,
              int depth)
{
    if (mode == 2) {
        int left_sum = 0, top_sum = 0;
        for (int k = 0; k < 4; k++) {
            left_sum += TILE_AT(bx - 1, by + k);
            top_sum += TILE_AT(bx + k, by - 1);
        }
        return intra_dc(left, top, left_sum, top_sum, 2, depth);
    }
    ivec2 d = intra_direction(mode, x, y);
    int last = top_right ? 8 : 4, e = border4(bx, by, d.x, last);
    if (d.y == 1)
        return e;
    int next = border4(bx, by, d.x + 1, last);
    return d.y == 2 ? (e + next + 1) >> 1
                    : (border4(bx, by, d.x - 1, last) + 2 * e + next + 2) >> 2;
}

/* 8.3.2.2.1 for E(i), -8 <= i <= 16: a side without a neighbour counts itself. */
int filter_border8(int bx, int by, int i, bool left, bool top, bool corner, bool top_right)
{
    int e[3];
    for (int k = -1; k <= 1; k++) {
        int n = clamp(i + k, -8, 16);
        bool there = n == 0 ? corner : n < 0 ? left : top;
        n = there ? n : i;
        n = top_right ? n : min(n, 8);
        e[k + 1] = n >= 0 ? TILE_AT(bx + n - 1, by - 1) : TILE_AT(bx - 1, by - n - 1);
    }
    return (e[0] + 2 * e[1] + e[2] + 2) >> 2;
}

int intra_8x8(int mode, int x, int y, bool left, bool top, int depth)
{
    if (mode == 2) {
        int left_sum = 0, top_sum = 0;
        for (int k = 0; k < 8; k++) {
            left_sum += border8[k];
            top_sum += border8[9 + k];
        }
        return intra_dc(left, top, left_sum, top_sum, 3, depth);
    }
    ivec2 d = intra_direction(mode, x, y);
    int e = border8[clamp(d.x, -8, 16) + 8], next = border8[clamp(d.x + 1, -8, 16) + 8],
        before = border8[clamp(d.x - 1, -8, 16) + 8];
    return d.y == 1 ? e : d.y == 2 ? (e + next + 1) >> 1 : (before + 2 * e + next + 2) >> 2;
}

/* 8.3.3.4, 8.3.4.4 over width x height samples. */
int intra_plane(int width, int height, int x, int y, int depth)
{
    int h = 0, v = 0, half_width = width / 2, half_height = height / 2;
    for (int k = 0; k < half_width; k++)
        h += (k + 1) * (TILE_AT(half_width + k, -1) - TILE_AT(half_width - 2 - k, -1));
    for (int k = 0; k < half_height; k++)
        v += (k + 1) * (TILE_AT(-1, half_height + k) - TILE_AT(-1, half_height - 2 - k));
    int b = ((width == 16 ? 5 : 34) * h + 32) >> 6, c = ((height == 16 ? 5 : 34) * v + 32) >> 6;
    int ends = TILE_AT(-1, height - 1) + TILE_AT(width - 1, -1);
    return clamp((16 * ends + b * (x - half_width + 1) + c * (y - half_height + 1) + 16) >> 5, 0,
                 (1 << depth) - 1);
}

int intra_16x16(int mode, int x, int y, bool left, bool top, int depth)
{
    if (mode == 0)
        return TILE_AT(x, -1);
    if (mode == 1)
        return TILE_AT(-1, y);
    if (mode == 3)
        return intra_plane(16, 16, x, y, depth);
    int left_sum = 0, top_sum = 0;
    for (int k = 0; k < 16; k++) {
        left_sum += TILE_AT(-1, k);
        top_sum += TILE_AT(k, -1);
    }
    return intra_dc(left, top, left_sum, top_sum, 4, depth);
}

/* 8.3.4 for 4:2:0 and 4:2:2; left says whether the neighbours of the sample's half of the
 * macroblock are available. */
int intra_chroma(int mode, int x, int y, int height, bool left, bool top, int depth)
{
    if (mode == 2)
        return TILE_AT(x, -1);
    if (mode == 1)
        return TILE_AT(-1, y);
    if (mode == 3)
        return intra_plane(8, height, x, y, depth);
    int x0 = x & ~3, y0 = y & ~3, left_sum = 0, top_sum = 0;
    for (int k = 0; k < 4; k++) {
        left_sum += TILE_AT(-1, y0 + k);
        top_sum += TILE_AT(x0 + k, -1);
    }
    /* in the first row and the first column one side is preferred */
    if (left && top && x0 > 0 && y0 == 0)
        left = false;
    else if (left && top && x0 == 0 && y0 > 0)
        top = false;
    return intra_dc(left, top, left_sum, top_sum, 2, depth);
}

#endif
