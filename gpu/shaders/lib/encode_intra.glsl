/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction for the encoder: samples around a macroblock, of the source or of the
 * reconstruction, and the neighbours of its blocks.
 */
#ifndef PELTON_ENCODE_INTRA_GLSL
#define PELTON_ENCODE_INTRA_GLSL

#extension GL_EXT_control_flow_attributes : require

#include "gpu/shaders/lib/generic_intra_block.glsl"

#define DEPTH 8

/* Neighbours of a block that are available (6.4.11) */
struct block_sides {
    bool left, top, corner, right;
};

/* at, size: in units of 4 samples. Of whole macroblocks the right side does not count. */
block_sides sides_of(uint avail, ivec2 at, int size)
{
    bool a = (avail & REC_AVAIL_A) != 0u, b = (avail & REC_AVAIL_B) != 0u;
    block_sides s;
    s.left = at.x > 0 || a;
    s.top = at.y > 0 || b;
    s.corner = at.x > 0 ? s.top : at.y > 0 ? a : (avail & REC_AVAIL_D) != 0u;
    if (at.y == 0)
        s.right = at.x + size < 4 ? b : (avail & REC_AVAIL_C) != 0u;
    else /* decoded already */
        s.right = size == 2 ? at.x == 0 : (0xa8a0u >> uint(4 * at.y + at.x) & 1u) == 0u;
    return s;
}

/* Whether a mode's samples are there; needs: REC_NEEDS_* */
bool serves(block_sides s, uint needs, uint mode)
{
    uint have = (s.left ? REC_NEED_LEFT : 0u) | (s.top ? REC_NEED_TOP : 0u) |
                (s.corner ? REC_NEED_CORNER : 0u);
    return (needs >> 3u * mode & 7u & ~have) == 0u;
}

/* Where a block lies in the macroblock, in units of 4 samples (6.4.3) */
ivec2 block_place(uint blk)
{
    return ivec2((blk & 1u) + (blk >> 1 & 2u), (blk >> 1 & 1u) + (blk >> 2 & 2u));
}

/* The filtered border of an 8x8 block at a place; all threads, with a barrier after it */
void border_fill(ivec2 place, block_sides s)
{
    int t = int(gl_LocalInvocationIndex);
    if (t < 25)
        border8[t] =
            filter_border8(4 * place.x, 4 * place.y, t - 8, s.left, s.top, s.corner, s.right);
}

/* What plane prediction (8.3.3.4) needs of a component of size x size at a column of the tile */
ivec3 plane_terms_of(int x, int size)
{
    int h = 0, v = 0, middle = size / 2, weight = size == 16 ? 5 : 34;
    for (int k = 0; k < middle; k++) {
        h += (k + 1) * (TILE_AT(x + middle + k, -1) - TILE_AT(x + middle - 2 - k, -1));
        v += (k + 1) * (TILE_AT(x - 1, middle + k) - TILE_AT(x - 1, middle - 2 - k));
    }
    return ivec3(16 * (TILE_AT(x - 1, size - 1) + TILE_AT(x + size - 1, -1)) + 16,
                 (weight * h + 32) >> 6, (weight * v + 32) >> 6);
}

/* Of the sample at a distance from the middle, as 8.3.3.4 counts it */
int plane_sample(ivec3 terms, ivec2 off)
{
    return clamp((terms.x + terms.y * off.x + terms.z * off.y) >> 5, 0, 255);
}

int mean_of_luma(block_sides s)
{
    int left = 0, top = 0;
    for (int k = 0; k < 16; k++) {
        left += TILE_AT(-1, k);
        top += TILE_AT(k, -1);
    }
    return intra_dc(s.left, s.top, left, top, 4, DEPTH);
}

/* Of the 4x4 block i of Cb (0 to 3) and Cr; Cr is in the tile's columns from 12 on. */
int mean_of_chroma(uint i, block_sides s)
{
    int x = 12 * int(i >> 2), x0 = 4 * int(i & 1u), y0 = 2 * int(i & 2u), left = 0, top = 0;
    for (int k = 0; k < 4; k++) {
        left += TILE_AT(x - 1, y0 + k);
        top += TILE_AT(x + x0 + k, -1);
    }
    /* in the first row and the first column one side is preferred (8.3.4) */
    bool by_left = s.left && !(s.top && x0 > 0 && y0 == 0);
    bool by_top = s.top && !(s.left && x0 == 0 && y0 > 0);
    return intra_dc(by_left, by_top, left, top, 2, DEPTH);
}

#endif
