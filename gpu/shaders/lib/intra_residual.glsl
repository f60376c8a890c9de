/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual samples of an intra macroblock: fetched by all threads at once, which takes no neighbour and so goes ahead of the
 * wavefront, then added one at a time; lossless ones included.
 */
#ifndef PELTON_INTRA_RESIDUAL_GLSL
#define PELTON_INTRA_RESIDUAL_GLSL

layout(set = SET_BATCH, binding = BIND_RESIDUAL, std430) readonly buffer residual_buffer { uvec4 residual[]; };

shared int residual_tile[256 + 2 * 64];

/* A thread's share of a macroblock's residual: half a block of luma, a row of a block of chroma. */
struct intra_residual {
    uvec4 y;
    uvec2 c;
};

intra_residual residual_fetch(uint coeff_base, rec_mb mb)
{
    intra_residual f = intra_residual(uvec4(0u), uvec2(0u));
    uint t = gl_LocalInvocationIndex, b = t >> 1, block = (t >> 2) & 3u, y = uint(mb.coded[0]);
    uint c = t < 16u ? uint(mb.coded[1]) : uint(mb.coded[2]), unit = coeff_base + mb.coeff;
    if ((y >> b & 1u) != 0u)
        f.y = residual[(unit + uint(bitCount(y & ((1u << b) - 1u)))) * 2u + (t & 1u)];
    if ((c >> block & 1u) != 0u) {
        unit += uint(bitCount(y)) + uint(t < 16u ? 0 : bitCount(uint(mb.coded[1])));
        uvec4 rows = residual[(unit + uint(bitCount(c & ((1u << block) - 1u)))) * 2u + ((t >> 1) & 1u)];
        f.c = (t & 1u) == 0u ? rows.xy : rows.zw;
    }
    return f;
}

void residual_put(uint at, uvec2 w)
{
    residual_tile[at] = low16(w.x);
    residual_tile[at + 1u] = high16(w.x);
    residual_tile[at + 2u] = low16(w.y);
    residual_tile[at + 3u] = high16(w.y);
}

void residual_stage(intra_residual f)
{
    uint t = gl_LocalInvocationIndex, raster = swap_blk(t >> 1), block = (t >> 2) & 3u;
    uint y = (raster >> 2) * 64u + (t & 1u) * 32u + (raster & 3u) * 4u;
    residual_put(y, f.y.xy);
    residual_put(y + 16u, f.y.zw);
    residual_put(256u + (t >> 4) * 64u + ((block >> 1) * 4u + (t & 3u)) * 8u + (block & 1u) * 4u, f.c);
}

int residual_at(uint c, int x, int y)
{
    return residual_tile[c == 0u ? y * 16 + x : 192 + int(c) * 64 + y * 8 + x];
}

/* Residual of a sample, summed along the direction of prediction where a lossless block of size n predicts straight down or
 * straight to the right (8.5.15). mode is 0 vertical, 1 horizontal. */
int residual_of(rec_mb mb, uint c, int x, int y, int mode, int n)
{
    if ((uint(mb.flags) & REC_MB_BYPASS) == 0u || mode > 1)
        return residual_at(c, x, y);
    int sum = 0;
    for (int k = (mode == 0 ? y : x) & -n; k <= (mode == 0 ? y : x); k++)
        sum += mode == 0 ? residual_at(c, x, k) : residual_at(c, k, y);
    return sum;
}

#endif
