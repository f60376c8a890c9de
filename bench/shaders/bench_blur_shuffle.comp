/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A box blur of 32-bit pixels in one dispatch, by subgroups that never wait for each other. A
 * subgroup goes down a strip of four columns a lane. The three lanes at either end only serve the
 * others. Each lane keeps sums over TAPS rows of its columns, two channels a word. It adds each new
 * row and subtracts the oldest. Along x, lanes shuffle sums of three neighbours on either side;
 * quads of columns are already added up. Sums of 361 bytes are halved where 16 bits cannot hold
 * them.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint THREADS = 64;
layout(constant_id = 1) const uint DOWN = 64; /* rows of a strip */
layout(constant_id = 2) const uint ROWS = 4;  /* asked for at once */
/* rows stay in shared memory until they go, else are fetched again */
layout(constant_id = 3) const uint KEEP = 0;
layout(constant_id = 6) const uint TAPS = 3;
layout(local_size_x_id = 0) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly restrict buffer Quads
{
    uvec4 quads[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly restrict buffer Output
{
    uvec4 result[];
};

const int R = int(TAPS) / 2;
const uint EVEN = 0x00ff00ffu, LOW = 0xffffu;
const uint HALVED = TAPS > 15 ? 1 : 0, KEPT = HALVED != 0 ? 0x7fff7fffu : 0xffffffffu;
const float MAGIC = 8388608.0; /* 2^23: a float that holds an integer in its low bits */
const uint MAGIC_BITS = 0x4b000000u;

/* Each lane reads only what it has written. */
shared uvec4 ring[KEEP != 0 ? TAPS * THREADS : 1];

/* The four columns of quad `column`, or outside of those of the border. */
uvec4 fetch(uint column, int y)
{
    return quads[uint(clamp(y, 0, int(push.height) - 1)) * (push.width / 4) + column];
}

/* beyond: less than 0, more than 0: the lane is left or right of the picture and has the border's
 * quad. */
uvec4 repeated(uvec4 q, int beyond)
{
    return beyond < 0 ? q.xxxx : beyond > 0 ? q.wwww : q;
}

/* s: at most 16 bits; the mean's low bits, MAGIC_BITS on top */
uint mean_of(uint s)
{
    float scale = float(1u << HALVED) / float(TAPS * TAPS);
    precise float mean = fma(uintBitsToFloat(s | MAGIC_BITS), scale, MAGIC - MAGIC * scale);
    return floatBitsToUint(mean);
}

/* MAGIC_BITS leave the word by the shifts but for one, which is taken off. */
uint mean_of_both(uint even, uint odd)
{
    uint word = mean_of(odd & LOW) * 0x100u + mean_of(even & LOW);
    word += mean_of(even >> 16) * 0x10000u;
    return mean_of(odd >> 16) * 0x1000000u + word - MAGIC_BITS;
}

/* The sums around each of a lane's four columns, from the columns' own. */
uvec4 along_x(uvec4 own)
{
    uint e[28], quad[7]; /* from twelve columns before the lane's first on */
    uint all = own.x + own.y + own.z + own.w;
    [[unroll]] for (int k = 1; k <= 3; k++) {
        [[unroll]] for (int i = 0; i < 4; i++) {
            e[12 - 4 * k + i] = subgroupShuffleUp(own[i], k);
            e[12 + 4 * k + i] = subgroupShuffleDown(own[i], k);
        }
        quad[3 - k] = subgroupShuffleUp(all, k);
        quad[3 + k] = subgroupShuffleDown(all, k);
    }
    [[unroll]] for (int i = 0; i < 4; i++)
        e[12 + i] = own[i];
    quad[3] = all;
    uint sum = 0;
    [[unroll]] for (int q = -3; q <= 3; q++) {
        if (4 * q >= -R && 4 * q + 3 <= R) {
            sum += quad[q + 3];
        } else {
            [[unroll]] for (int i = 0; i < 4; i++)
                if (abs(4 * q + i) <= R)
                    sum += e[12 + 4 * q + i];
        }
    }
    uvec4 sums;
    [[unroll]] for (int j = 0; j < 4; j++) {
        sums[j] = sum;
        if (j < 3)
            sum += e[12 + R + 1 + j] - e[12 - R + j];
    }
    return sums;
}

void main()
{
    int lanes = int(gl_SubgroupSize),
        left = int(gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID) * (4 * lanes - 24);
    int x = left - 12 + 4 * int(gl_SubgroupInvocationID), width = int(push.width);
    int top = int(gl_WorkGroupID.y * DOWN), end = min(top + int(DOWN), int(push.height)),
        beyond = x < 0       ? -1
                 : x < width ? 0
                             : 1;
    bool at_border = left < 12 || left - 12 + 4 * lanes > width; /* of some lane */
    bool stores =
        gl_SubgroupInvocationID >= 3 && int(gl_SubgroupInvocationID) + 3 < lanes && beyond == 0;
    uint column = uint(clamp(x, 0, width - 4)) / 4, at = gl_LocalInvocationIndex, slot = 0;
    uvec4 even = uvec4(0), odd = uvec4(0);
    if (left >= width)
        return;
    [[unroll]] for (int k = 0; k < int(TAPS); k++) { /* the rows around the one above the strip */
        uvec4 come = repeated(fetch(column, top - 1 - R + k), beyond);
        even += come & EVEN;
        odd += come >> 8 & EVEN;
        if (KEEP != 0)
            ring[uint(k) * THREADS + at] = come;
    }
    for (int y = top; y < end; y += int(ROWS)) {
        uvec4 come[ROWS], go[ROWS];
        [[unroll]] for (int row = 0; row < int(ROWS); row++) {
            come[row] = fetch(column, y + row + R);
            go[row] = KEEP != 0 ? uvec4(0) : fetch(column, y + row - R - 1);
        }
        if (at_border) {
            [[unroll]] for (int row = 0; row < int(ROWS); row++) {
                come[row] = repeated(come[row], beyond);
                go[row] = repeated(go[row], beyond);
            }
        }
        [[unroll]] for (int row = 0; row < int(ROWS); row++) {
            if (KEEP != 0) {
                go[row] = ring[slot * THREADS + at];
                ring[slot * THREADS + at] = come[row];
                slot = slot + 1 == TAPS ? 0 : slot + 1;
            }
            even = even + (come[row] & EVEN) - (go[row] & EVEN);
            odd = odd + (come[row] >> 8 & EVEN) - (go[row] >> 8 & EVEN);
            uvec4 a = along_x(even >> HALVED & KEPT), b = along_x(odd >> HALVED & KEPT), mean;
            [[unroll]] for (int j = 0; j < 4; j++)
                mean[j] = mean_of_both(a[j], b[j]);
            if (stores)
                result[(uint(y + row) * push.width + uint(x)) / 4] = mean;
        }
    }
}
