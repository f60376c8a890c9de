/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction from source samples, and its SATD (encode/reference/choose_intra.c).
 */
#ifndef PELTON_ENCODE_SOURCE_GLSL
#define PELTON_ENCODE_SOURCE_GLSL

#include "gpu/shaders/lib/encode_intra.glsl"

layout(set = 0, binding = ENC_BIND_INTRA, scalar) buffer intra_buffer
{
    enc_intra intra[];
};
layout(set = 0, binding = ENC_BIND_MBS, scalar) readonly buffer mb_buffer
{
    rec_mb mbs[];
};

#define NXN_MODES (REC_MAX_MODE_NXN + 1)

uint record_at(uint address)
{
    return picture * args.mb_width * args.mb_height + address;
}

/* Samples of the macroblock and around it. Those beyond chroma planes are not used. */
void tile_source(uint c)
{
    int size = c == 0u ? 16 : 8, stride = int(c == 0u ? plane_stride(0u) : luma_width() / 2u);
    uint set = pictures[picture].source;
    int base = int(c == 0u ? plane_origin(set, 0u) : chroma_origin(set, c - 1u));
    ivec2 last = c == 0u ? ivec2(1 << 20) : ivec2(luma_width() / 2u, luma_height() / 2u) - 1;
    for (int i = int(gl_LocalInvocationIndex); i < 17 * TILE_PITCH; i += SEARCH_THREADS) {
        ivec2 at = size * mb_at + ivec2(i % TILE_PITCH, i / TILE_PITCH) - 1;
        at = c == 0u ? at : clamp(at, ivec2(0), last);
        tile[i] = int(planes[base + at.y * stride + at.x]);
    }
    barrier();
}

/* Twice the SATD of 4x4 differences */
uint satd_twice(ivec4 d[4])
{
    ivec4 v[4];
    for (int y = 0; y < 4; y++) {
        ivec2 s = d[y].xy + d[y].zw, t = d[y].xy - d[y].zw;
        v[y] = ivec4(s.x + s.y, s.x - s.y, t.x + t.y, t.x - t.y);
    }
    ivec4 a = v[0] + v[2], b = v[1] + v[3], c = v[0] - v[2], e = v[1] - v[3];
    ivec4 sum = abs(a + b) + abs(a - b) + abs(c + e) + abs(c - e);
    return uint(sum.x + sum.y + sum.z + sum.w);
}

shared uint nxn_costs[16 * NXN_MODES]; /* of 4x4 blocks, without bits */

void cost_4x4(uint task, uint avail)
{
    uint blk = task / NXN_MODES, mode = task % NXN_MODES;
    ivec2 place = block_place(blk);
    block_sides s = sides_of(avail, place, 1);
    ivec4 d[4];
    nxn_costs[task] = NO_COST;
    if (!serves(s, REC_NEEDS_NXN, mode))
        return;
    [[dont_unroll]] for (int i = 0; i < 16; i++) {
        int x = i & 3, y = i >> 2;
        d[y][x] =
            TILE_AT(4 * place.x + x, 4 * place.y + y) -
            intra_4x4(int(mode), 4 * place.x, 4 * place.y, x, y, s.left, s.top, s.right, DEPTH);
    }
    nxn_costs[task] = satd_twice(d) / 2u;
}

/* All of them, from the tile */
void costs_4x4(uint avail)
{
    for (uint task = gl_LocalInvocationIndex; task < 16u * NXN_MODES; task += SEARCH_THREADS)
        cost_4x4(task, avail);
    barrier();
}

#endif
