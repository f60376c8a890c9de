/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks of 4x4 by 16 threads each: a sample, then a place of the scan, then a sample again. All
 * values stay in registers. encode_lanes.glsl says how they pass between threads.
 */
#ifndef PELTON_ENCODE_LANES4_GLSL
#define PELTON_ENCODE_LANES4_GLSL

#include "gpu/shaders/lib/encode_lanes.glsl"
#include "gpu/shaders/lib/encode_quantise.glsl"

/* The place of each coefficient in the scan */
const uint scan_of4[16] =
    uint[16](0u, 1u, 5u, 6u, 2u, 4u, 7u, 12u, 3u, 8u, 11u, 13u, 9u, 10u, 14u, 15u);

/* A transform leaves coefficients 0, 2, 1, 3 of a line in its four threads. */
uint swapped4(uint i)
{
    return (i & 5u) << 1 | (i >> 1 & 5u);
}

/* Of a thread and a QP */
struct lane_quantiser {
    int at;            /* its coefficient, as a place of the scan */
    uint from, back;   /* the thread that has this coefficient; its place, of a thread with one */
    int factor, shift; /* to levels */
    int norm, scale;   /* and back */
};

lane_quantiser lane_quantiser_of(uint qp)
{
    lane_quantiser q;
    uint place = LANE & 15u, half_of = LANE & 16u;
    q.at = zigzag4[place];
    q.from = half_of | swapped4(uint(q.at));
    q.back = half_of | scan_of4[swapped4(place)];
    q.factor = at_position(
        ivec3(factor_of(qp, 0, false), factor_of(qp, 5, false), factor_of(qp, 1, false)), q.at);
    q.shift = int(qp / 6u) + 9;
    q.norm = at_position(norm4[qp % 6u], q.at);
    q.scale = int(qp / 6u);
    return q;
}

/* One dimension of the forward transform, by threads `step` apart */
int forward_lane(int v, uint step)
{
    uint place = LANE / step & 3u;
    int w = of_other(v, 3u * step);
    v = place < 2u ? v + w : w - v;
    w = of_other(v, step);
    return place == 0u ? v + w : place == 1u ? w - v : place == 2u ? v + 2 * w : v - 2 * w;
}

/* One dimension of 8.5.12.2 */
int inverse_lane(int v, uint step)
{
    uint place = LANE / step & 3u;
    int w = of_other(v, step);
    v = place == 0u ? v + w : place == 1u ? w - v : place == 2u ? (v >> 1) - w : w + (v >> 1);
    w = of_other(v, 3u * step);
    return place < 2u ? v + w : w - v;
}

/* The coefficient at the thread's place of the scan, of a block's residual */
int lane_coefficient(lane_quantiser q, int residual)
{
    return of_lane(forward_lane(forward_lane(residual, 1u), 4u), q.from);
}

/* The level of the thread's place. alone: DC is coded elsewhere, and 0 here. any: the block has a
 * level. What a last level costs is counted from a block without levels on. */
int lane_level(lane_quantiser q, int c, bool alone, out bool any)
{
    place_choice p = place_of(c, q.factor, q.shift);
    int place = int(LANE & 15u);
    bool none = alone && place == 0;
    bool may = p.near != 0 && !none;
    int end = lanes_before(none ? 0 : kept_more(p), 16u) + p.more + COST_BLOCK;
    int best = lanes_min(may && end < 0 ? 16 * end + place : 0x7fffffff, 16u), last = best & 15;
    any = best < 0;
    return any && may && (place < last && p.keep || place == last) ? signed_level(c, p.near) : 0;
}

/* The residual of the thread's sample, of the scaled coefficient at its place of the scan */
int lane_residual(lane_quantiser q, int scaled)
{
    int v = inverse_lane(inverse_lane(of_lane(scaled, q.back), 1u), 4u);
    return (v + 32) >> 6;
}

int lane_scaled(lane_quantiser q, int level)
{
    return (level * q.norm) << q.scale;
}

#endif
