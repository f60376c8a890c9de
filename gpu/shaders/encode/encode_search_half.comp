/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The search in half of the size: the coarse results here and beside, then 7 x 7 positions.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"

#define RANGE      3
#define SIDE       (2 * RANGE + 1)
#define CANDIDATES 6

uint position_cost(ivec2 mv)
{
    if (!allowed(8 * mv))
        return NO_COST;
    return 4u * sad(ENC_PLANE_HALF, 8 * mb_at, mv, 8) + vector_cost(8 * mv, ivec2(0));
}

/* No motion, then the results of the coarse search; false: there is none */
bool candidate(uint i, out ivec2 mv)
{
    uint address = i == 0u ? mb : beside(i - 1u);
    mv = ivec2(0);
    if (address == NO_COST)
        return false;
    enc_search at = search[search_at(address)];
    if (i > 0u)
        mv = 2 * ivec2(at.coarse[0], at.coarse[1]);
    return true;
}

void main()
{
    if (!search_begin())
        return;
    uint t = gl_LocalInvocationIndex;
    ivec2 mv, centre;
    uint cost = t < CANDIDATES && candidate(t, mv) ? position_cost(mv) : NO_COST;
    uvec2 first = least(cost, t);
    candidate(first.y, centre);
    mv = centre + ivec2(t % SIDE, t / SIDE) - RANGE;
    cost = t < SIDE * SIDE ? position_cost(mv) : NO_COST;
    uvec2 second = least(cost, t);
    if (second.x < first.x)
        centre += ivec2(second.y % SIDE, second.y / SIDE) - RANGE;
    if (t == 0u) {
        search[search_at(mb)].half_size[0] = int16_t(centre.x);
        search[search_at(mb)].half_size[1] = int16_t(centre.y);
    }
}
