/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The search in whole samples: the results of the half size and the vectors of the picture before,
 * here and beside; then 7 x 7 positions for each partition.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"

layout(set = 0, binding = ENC_BIND_LAST, scalar) readonly buffer last_buffer
{
    rec_motion last[];
};

#define RANGE      3
#define SIDE       (2 * RANGE + 1)
#define CANDIDATES 11
#define POSITIONS  (SIDE * SIDE + 1) /* no motion, then the window */

shared uint quadrants[POSITIONS][4], bits[POSITIONS];
ivec2 predicted;

/* The median of the level before, on the left, above and here */
void predict()
{
    uint left = beside(1u), above = beside(3u);
    enc_search a = search[search_at(left == NO_COST ? mb : left)];
    enc_search b = search[search_at(above == NO_COST ? mb : above)];
    enc_search c = search[search_at(mb)];
    ivec2 p = ivec2(a.half_size[0], a.half_size[1]), q = ivec2(b.half_size[0], b.half_size[1]);
    ivec2 r = ivec2(c.half_size[0], c.half_size[1]);
    predicted = 8 * max(min(p, q), min(max(p, q), r));
}

bool candidate(uint i, out ivec2 mv)
{
    uint address = i == 0u ? mb : beside((i - 1u) / 2u);
    mv = ivec2(0);
    if (address == NO_COST)
        return false;
    if (i == 0u)
        return true;
    if ((i & 1u) == 1u) {
        enc_search at = search[search_at(address)];
        mv = 2 * ivec2(at.half_size[0], at.half_size[1]);
    } else {
        uint at = picture * args.mb_width * args.mb_height + address;
        mv = (ivec2(last[at].mv[0][5][0], last[at].mv[0][5][1]) * int(reference + 1u) + 2) >> 2;
    }
    return true;
}

/* Differences of the quadrants at a position, and the cost of its bits */
void position_store(uint i, ivec2 mv)
{
    bits[i] = allowed(4 * mv) ? vector_cost(4 * mv, predicted) : NO_COST;
    for (uint q = 0u; q < 4u && bits[i] != NO_COST; q++)
        quadrants[i][q] = sad(0u, 16 * mb_at + 8 * ivec2(q & 1u, q >> 1), mv, 8);
}

/* Quadrants of a partition, a bit each */
const uint part_quadrants[ENC_PARTS] = uint[ENC_PARTS](15u, 3u, 12u, 5u, 10u, 1u, 2u, 4u, 8u);

void part_choose(uint part, ivec2 centre)
{
    uint best = NO_COST, order = 0u;
    for (uint i = 0u; i < POSITIONS; i++) {
        if (bits[i] == NO_COST)
            continue;
        uint cost = bits[i];
        for (uint q = 0u; q < 4u; q++)
            cost += (part_quadrants[part] >> q & 1u) != 0u ? quadrants[i][q] : 0u;
        if (cost < best) {
            best = cost;
            order = i;
        }
    }
    ivec2 mv =
        order == 0u ? ivec2(0) : centre + ivec2((order - 1u) % SIDE, (order - 1u) / SIDE) - RANGE;
    search[search_at(mb)].part[part].mv[0] = int16_t(4 * mv.x);
    search[search_at(mb)].part[part].mv[1] = int16_t(4 * mv.y);
    search[search_at(mb)].part[part].cost = best;
}

void main()
{
    if (!search_begin())
        return;
    uint t = gl_LocalInvocationIndex;
    ivec2 mv, centre;
    predict();
    uint cost = NO_COST;
    if (t < CANDIDATES && candidate(t, mv) && allowed(4 * mv))
        cost = sad(0u, 16 * mb_at, mv, 16) + vector_cost(4 * mv, predicted);
    uvec2 first = least(cost, t);
    candidate(first.y, centre);
    if (t == 0u)
        position_store(0u, ivec2(0));
    else if (t < POSITIONS)
        position_store(t, centre + ivec2((t - 1u) % SIDE, (t - 1u) / SIDE) - RANGE);
    barrier();
    if (t < ENC_PARTS)
        part_choose(t, centre);
    if (t == 0u) {
        search[search_at(mb)].predicted[0] = int16_t(predicted.x);
        search[search_at(mb)].predicted[1] = int16_t(predicted.y);
    }
}
