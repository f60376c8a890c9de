/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual samples of an intra macroblock. 32 threads fetch them at once. The fetch needs no
 * neighbour, so it runs ahead of the wavefront. The samples are then added one at a time.
 */
#ifndef PELTON_INTRA_RESIDUAL_GLSL
#define PELTON_INTRA_RESIDUAL_GLSL

layout(set = SET_BATCH, binding = BIND_RESIDUAL, std430) readonly buffer residual_buffer
{
    uvec4 residual[];
};

/* Luma, one after the other for each tile of samples; Cb, Cr. */
#define CHROMA_RESIDUAL (LUMA_TILES * 256)
shared int residual_tile[CHROMA_RESIDUAL + 2 * 64];

/* A thread's share of a macroblock's luma: half a block. */
uvec4 luma_residual(uint coeff_base, rec_mb mb)
{
    uint b = uint(LANE) >> 1, coded = uint(mb.coded[0]);
    if ((coded >> b & 1u) == 0u)
        return uvec4(0u);
    return residual[(coeff_base + mb.coeff + uint(bitCount(coded & ((1u << b) - 1u)))) * 2u +
                    (uint(LANE) & 1u)];
}

/* Of chroma: a row of a block. */
uvec2 chroma_residual(uint coeff_base, rec_mb mb)
{
    uint t = uint(LANE), block = (t >> 2) & 3u, c = 1u + (t >> 4);
    if ((uint(mb.coded[c]) >> block & 1u) == 0u)
        return uvec2(0u);
    uvec4 rows = residual[coeff_block_of(coeff_base, mb, c, block) * 2u + ((t >> 1) & 1u)];
    return (t & 1u) == 0u ? rows.xy : rows.zw;
}

void residual_put(uint at, uvec2 w)
{
    residual_tile[at] = low16(w.x);
    residual_tile[at + 1u] = high16(w.x);
    residual_tile[at + 2u] = low16(w.y);
    residual_tile[at + 3u] = high16(w.y);
}

void stage_luma_residual(uint tile, uvec4 w)
{
    uint raster = swap_blk(uint(LANE) >> 1),
         at = tile * 256u + (raster >> 2) * 64u + (uint(LANE) & 1u) * 32u + (raster & 3u) * 4u;
    residual_put(at, w.xy);
    residual_put(at + 16u, w.zw);
}

void stage_chroma_residual(uvec2 w)
{
    uint t = uint(LANE), block = (t >> 2) & 3u;
    residual_put(CHROMA_RESIDUAL + (t >> 4) * 64u + ((block >> 1) * 4u + (t & 3u)) * 8u +
                     (block & 1u) * 4u,
                 w);
}

/* A lossless block that predicts straight down or straight to the right (8.5.15): residual becomes
 * the sum of what lies before it in the block. Sample (x, y) of the component whose tile begins at
 * `at`; n: size of the block; mode: 0 vertical, 1 horizontal. */
int residual_sum(uint at, int pitch, int x, int y, int mode, int n)
{
    int sum = 0;
    for (int k = (mode == 0 ? y : x) & -n; k <= (mode == 0 ? y : x); k++)
        sum += residual_tile[at + uint(mode == 0 ? k * pitch + x : y * pitch + k)];
    return mode > 1 ? residual_tile[at + uint(y * pitch + x)] : sum;
}

#endif
