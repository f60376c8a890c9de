/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Values that pass between the 32 threads of a workgroup. Where they are one subgroup
 * (PELTON_LANES), a shuffle does it. Else shared memory does, with a barrier each time: so all
 * threads call each function.
 */
#ifndef PELTON_ENCODE_LANES_GLSL
#define PELTON_ENCODE_LANES_GLSL

#define LANES 32u

#ifdef PELTON_LANES
#extension GL_KHR_shader_subgroup_shuffle : require

#define LANE gl_SubgroupInvocationID

int of_lane(int v, uint lane)
{
    return subgroupShuffle(v, lane);
}
#else
#define LANE gl_LocalInvocationIndex

shared int lane_values[2][LANES];
uint lane_turn = 0u; /* the two take turns, so one barrier is enough */

int of_lane(int v, uint lane)
{
    lane_turn ^= 1u;
    lane_values[lane_turn][LANE] = v;
    barrier();
    return lane_values[lane_turn][lane];
}
#endif

int of_other(int v, uint distance)
{
    return of_lane(v, LANE ^ distance);
}

/* The least value of `count` threads: a power of two */
int lanes_min(int v, uint count)
{
    [[unroll]] for (uint i = 1u; i < count; i *= 2u)
        v = min(v, of_other(v, i));
    return v;
}

/* The sum of the values of those of `count` threads that come before this one */
int lanes_before(int v, uint count)
{
    int sum = v;
    [[unroll]] for (uint i = 1u; i < count; i *= 2u) {
        int other = of_lane(sum, LANE - i & LANES - 1u);
        sum += (LANE & count - 1u) >= i ? other : 0;
    }
    return sum - v;
}

#endif
