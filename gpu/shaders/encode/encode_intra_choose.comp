/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra modes from source samples with rates, by the modes of the first round beside
 * (encode/reference/choose_intra.c). Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_source.glsl"

/* Bits of a kind: 4x4, 8x8, 16x16 */
const uint kind_bits[3] = uint[3](40u, 20u, 5u);

shared uint sums[NXN_MODES];                        /* by mode, twice the SATD */
shared uint block_costs[2][16], block_modes[2][16]; /* of 4x4, and of 8x8 blocks, by blkIdx */
shared uint chroma_costs[4];

uint weighed_bits(uint n)
{
    return pictures[picture].lambda * n / 16u;
}

/* The mode of a 4x4 block of the first round; at: in units of blocks; -1: not available */
int mode_near(uint avail, ivec2 at)
{
    if ((at.x < 0 && (avail & REC_AVAIL_A) == 0u) || (at.y < 0 && (avail & REC_AVAIL_B) == 0u))
        return -1;
    uint address = mb - (at.x < 0 ? 1u : at.y < 0 ? args.mb_width : 0u);
    uint x = uint(at.x & 3), y = uint(at.y & 3);
    uint blk = (x & 1u) | (y & 1u) << 1 | (x & 2u) << 1 | (y & 2u) << 2;
    return int(intra[record_at(address)].mode4[blk]);
}

/* predIntra4x4PredMode by the modes of the first round */
uint mode_predicted(uint avail, ivec2 at)
{
    int a = mode_near(avail, at - ivec2(1, 0)), b = mode_near(avail, at - ivec2(0, 1));
    return a < 0 || b < 0 ? 2u : uint(min(a, b));
}

uint mode_cost(uint satd, uint mode, uint predicted)
{
    return satd == NO_COST ? NO_COST : satd + weighed_bits(mode == predicted ? 1u : 6u);
}

void choose_4x4(uint blk, uint avail)
{
    uint predicted = mode_predicted(avail, block_place(blk));
    block_costs[0][blk] = NO_COST;
    for (uint mode = 0u; mode < NXN_MODES; mode++) {
        uint cost = mode_cost(nxn_costs[blk * NXN_MODES + mode], mode, predicted);
        if (cost < block_costs[0][blk]) {
            block_costs[0][blk] = cost;
            block_modes[0][blk] = mode;
        }
    }
}

/* One 8x8 block, by all threads */
void choose_8x8(uint blk, uint avail)
{
    uint t = gl_LocalInvocationIndex;
    ivec2 place = block_place(blk), part = 4 * ivec2(t & 1u, t >> 1 & 1u);
    block_sides s = sides_of(avail, place, 2);
    ivec4 d[4];
    if (t < NXN_MODES)
        sums[t] = 0u;
    border_fill(place, s);
    barrier();
    if (t < 4u * NXN_MODES) {
        [[dont_unroll]] for (int i = 0; i < 16; i++) {
            int x = i & 3, y = i >> 2;
            d[y][x] = TILE_AT(4 * place.x + part.x + x, 4 * place.y + part.y + y) -
                      intra_8x8(int(t >> 2), part.x + x, part.y + y, s.left, s.top, DEPTH);
        }
        atomicAdd(sums[t >> 2], satd_twice(d));
    }
    barrier();
    if (t == 0u) {
        uint predicted = mode_predicted(avail, place);
        block_costs[1][blk] = NO_COST;
        for (uint mode = 0u; mode < NXN_MODES; mode++) {
            uint cost = serves(s, REC_NEEDS_NXN, mode) ? mode_cost(sums[mode] / 2u, mode, predicted)
                                                       : NO_COST;
            if (cost < block_costs[1][blk]) {
                block_costs[1][blk] = cost;
                block_modes[1][blk] = mode;
            }
        }
    }
    barrier();
}

/* Four modes of a component that lies in the tile: twice their SATD in sums */
void sum_whole(uint c, uint avail)
{
    uint t = gl_LocalInvocationIndex, blocks = c == 0u ? 16u : 4u, mode = t / blocks;
    uint b = t % blocks;
    ivec2 at = c == 0u ? 4 * ivec2(b & 3u, b >> 2) : 4 * ivec2(b & 1u, b >> 1);
    block_sides s = sides_of(avail, ivec2(0), 4);
    ivec4 d[4];
    if (t < 4u)
        sums[t] = 0u;
    barrier();
    if (mode < 4u) {
        [[dont_unroll]] for (int i = 0; i < 16; i++) {
            int x = i & 3, y = i >> 2;
            int p = c == 0u ? intra_16x16(int(mode), at.x + x, at.y + y, s.left, s.top, DEPTH)
                            : intra_chroma(int(mode), at.x + x, at.y + y, 8, s.left, s.top, DEPTH);
            d[y][x] = TILE_AT(at.x + x, at.y + y) - p;
        }
        atomicAdd(sums[mode], satd_twice(d));
    }
    barrier();
}

#include "gpu/shaders/lib/encode_intra_kinds.glsl"

void main()
{
    uint t = gl_LocalInvocationIndex, flags = uint(pictures[gl_WorkGroupID.z].flags);
    search_begin();
    uint avail = uint(mbs[record_at(mb)].intra_avail);
    tile_source(0u);
    costs_4x4(avail);
    if (t < 16u)
        choose_4x4(t, avail);
    if ((flags & ENC_TRANSFORM_8X8) != 0u)
        for (uint blk = 0u; blk < 16u; blk += 4u)
            choose_8x8(blk, avail);
    sum_whole(0u, avail);
    if (t == 0u)
        kinds_choose(avail, (flags & ENC_TRANSFORM_8X8) != 0u);
    if (t < 4u)
        chroma_costs[t] = weighed_bits(2u * uint(findMSB(t + 1u)) + 1u);
    for (uint c = 1u; c <= 2u && (flags & ENC_CHROMA) != 0u; c++) {
        barrier();
        tile_source(c);
        sum_whole(c, avail);
        if (t < 4u)
            chroma_costs[t] += sums[t] / 2u;
    }
    barrier();
    if (t == 0u && (flags & ENC_CHROMA) != 0u)
        chroma_choose(avail);
}
