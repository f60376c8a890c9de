/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The search in a quarter of the size: 33 x 33 positions, 8x8 samples around the macroblock's 4x4.
 * Those 8x8 samples are four blocks of 4x4, and each block belongs to four macroblocks. So a
 * workgroup takes tiles of 8 x 8 macroblocks, and sums up each block once: by a thread for each
 * block, and for each third of the rows of positions. Grid: tiles in x, references in y, pictures
 * in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define SEARCH_THREADS 256
#include "gpu/shaders/lib/encode_search.glsl"

#define RANGE  16
#define SIDE   (2 * RANGE + 1)
#define TILE   ENC_SEARCH_TILE
#define BLOCKS (TILE + 1) /* in a row of the tile */
#define THIRDS 3
#define ROWS   (SIDE / THIRDS)

shared uint16_t sads[THIRDS][BLOCKS * BLOCKS][SIDE]; /* of blocks, for a row of positions each */
shared uint place_bits[SIDE];                        /* of a component of a vector */
shared uint best_cost[THIRDS][TILE * TILE], best_order[THIRDS][TILE * TILE];

ivec2 tile_at; /* its first macroblock */

uint bits_cost(ivec2 at)
{
    return pictures[picture].lambda * (place_bits[at.x] + place_bits[at.y]) / 16u;
}

/* The thread's block at all positions of a row */
void row_sums(uint third, uint block, ivec4 source[4], int y)
{
    int stride = int(plane_stride(ENC_PLANE_FOURTH));
    ivec2 at = 4 * min(tile_at + ivec2(block % BLOCKS, block / BLOCKS),
                       ivec2(args.mb_width, args.mb_height)) -
               2 + ivec2(-RANGE, y - RANGE);
    int from = int(plane_origin(uint(pictures[picture].reference[reference]), ENC_PLANE_FOURTH)) +
               at.y * stride + at.x;
    uvec4 window, next;
    [[unroll]] for (int i = 0; i < 4; i++)
        window[i] = four_samples(from + i * stride);
    [[dont_unroll]] for (int x = 0; x < SIDE; x += 4) {
        [[unroll]] for (int i = 0; i < 4; i++)
            next[i] = four_samples(from + i * stride + x + 4);
        [[unroll]] for (int k = 0; k < 4; k++) {
            int sum = 0;
            [[unroll]] for (int i = 0; i < 4; i++) {
                ivec4 v = ivec4(window[i] & 255u, window[i] >> 8 & 255u, window[i] >> 16 & 255u,
                                window[i] >> 24);
                ivec4 d = abs(source[i] - v);
                sum += d.x + d.y + d.z + d.w;
                window[i] = window[i] >> 8 | next[i] << 24;
                next[i] >>= 8;
            }
            if (x + k < SIDE)
                sads[third][block][x + k] = uint16_t(sum);
        }
    }
}

/* A macroblock's best position of a row, its first one among equals */
void row_choose(uint third, uint in_tile, int y, inout uint best, inout uint order)
{
    uint block = in_tile / TILE * BLOCKS + in_tile % TILE;
    for (int x = 0; x < SIDE; x++) {
        if (!allowed(16 * (ivec2(x, y) - RANGE)))
            continue;
        uint cost = 4u * (uint(sads[third][block][x]) + uint(sads[third][block + 1u][x]) +
                          uint(sads[third][block + BLOCKS][x]) +
                          uint(sads[third][block + BLOCKS + 1u][x])) +
                    bits_cost(ivec2(x, y));
        /* no motion comes first */
        uint place = x == RANGE && y == RANGE ? 0u : uint(y * SIDE + x) + 1u;
        if (cost < best || (cost == best && place < order)) {
            best = cost;
            order = place;
        }
    }
}

/* Of the thirds the best one */
void mb_store(uint in_tile)
{
    uint best = best_cost[0][in_tile], order = best_order[0][in_tile];
    for (uint i = 1u; i < THIRDS; i++)
        if (best_cost[i][in_tile] < best ||
            (best_cost[i][in_tile] == best && best_order[i][in_tile] < order)) {
            best = best_cost[i][in_tile];
            order = best_order[i][in_tile];
        }
    ivec2 mv = order == 0u ? ivec2(0) : ivec2((order - 1u) % SIDE, (order - 1u) / SIDE) - RANGE;
    search[search_at(mb)].coarse[0] = int16_t(mv.x);
    search[search_at(mb)].coarse[1] = int16_t(mv.y);
}

void main()
{
    uint t = gl_LocalInvocationIndex, tiles = (args.mb_width + TILE - 1u) / TILE;
    if (!search_begin())
        return;
    tile_at = TILE * ivec2(gl_WorkGroupID.x % tiles, gl_WorkGroupID.x / tiles);
    if (t < SIDE)
        place_bits[t] = se_bits(16 * (int(t) - RANGE));
    /* 81 threads a third for blocks; the first 64 of them have macroblocks, too */
    uint third = t / (BLOCKS * BLOCKS), block = t % (BLOCKS * BLOCKS), best = NO_COST, order = 0u;
    ivec2 at = tile_at + ivec2(block % BLOCKS, block / BLOCKS);
    int stride = int(plane_stride(ENC_PLANE_FOURTH)),
        from = int(plane_origin(pictures[picture].source, ENC_PLANE_FOURTH)) - 2 * stride - 2;
    ivec4 source[4];
    bool counts = third < THIRDS;
    at = 4 * min(at, ivec2(args.mb_width, args.mb_height));
    [[unroll]] for (int i = 0; i < 4; i++) {
        uint v = four_samples(from + (at.y + i) * stride + at.x);
        source[i] = ivec4(v & 255u, v >> 8 & 255u, v >> 16 & 255u, v >> 24);
    }
    mb_at = tile_at + ivec2(block % TILE, block / TILE);
    mb = uint(mb_at.y) * args.mb_width + uint(mb_at.x);
    bool chooses = counts && block < TILE * TILE && mb_at.x < int(args.mb_width) &&
                   mb_at.y < int(args.mb_height);
    [[dont_unroll]] for (int i = 0; i < ROWS; i++) {
        int y = int(third) * ROWS + i;
        barrier();
        if (counts)
            row_sums(third, block, source, y);
        barrier();
        if (chooses)
            row_choose(third, block, y, best, order);
    }
    if (chooses) {
        best_cost[third][block] = best;
        best_order[third][block] = order;
    }
    barrier();
    if (chooses && third == 0u)
        mb_store(block);
}
