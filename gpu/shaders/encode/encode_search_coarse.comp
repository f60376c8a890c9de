/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The search in a quarter of the size: 33 x 33 positions, 8x8 samples around the macroblock's 4x4.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"

#define RANGE 16
#define SIDE  (2 * RANGE + 1)

uint position_cost(ivec2 mv)
{
    if (!allowed(16 * mv))
        return NO_COST;
    return 4u * sad(ENC_PLANE_FOURTH, 4 * mb_at - 2, mv, 8) + vector_cost(16 * mv, ivec2(0));
}

void main()
{
    if (!search_begin())
        return;
    uint best = NO_COST, order = NO_COST, t = gl_LocalInvocationIndex;
    if (t == 0u) { /* no motion comes first */
        best = position_cost(ivec2(0));
        order = 0u;
    }
    for (uint i = t; i < SIDE * SIDE; i += SEARCH_THREADS) {
        uint cost = position_cost(ivec2(i % SIDE, i / SIDE) - RANGE);
        if (cost < best) {
            best = cost;
            order = i + 1u;
        }
    }
    uvec2 found = least(best, order);
    ivec2 mv =
        found.y == 0u ? ivec2(0) : ivec2((found.y - 1u) % SIDE, (found.y - 1u) / SIDE) - RANGE;
    if (t == 0u) {
        search[search_at(mb)].coarse[0] = int16_t(mv.x);
        search[search_at(mb)].coarse[1] = int16_t(mv.y);
    }
}
