/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One workgroup sums the results of the workgroups of bench_reduce.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#include "bench/shaders/bench_args.h"

layout(local_size_x = 1024) in;
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) buffer Output
{
    uint result[];
};
layout(set = 0, binding = BENCH_BIND_SCRATCH, std430) readonly buffer Scratch
{
    uint ticket, unused[3], partial[];
};

shared uint low[1024], high[1024];

void main()
{
    uint tid = gl_LocalInvocationIndex, lo = 0, hi = 0, carry;
    for (uint i = tid; i < push.groups; i += 1024) {
        lo = uaddCarry(lo, partial[i], carry);
        hi += carry;
    }
    low[tid] = lo & 0xffffu;
    high[tid] = lo >> 16 | hi << 16;
    barrier();
    for (uint s = 512; s > 0; s >>= 1) {
        if (tid < s) {
            low[tid] += low[tid + s];
            high[tid] += high[tid + s];
        }
        barrier();
    }
    if (tid == 0) {
        result[0] = uaddCarry(high[0] << 16, low[0], carry);
        result[1] = (high[0] >> 16) + carry;
    }
}
