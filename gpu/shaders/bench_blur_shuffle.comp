/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A box blur of 32-bit pixels in one dispatch, by subgroups that never wait for each other. A subgroup goes down a strip of four columns a
 * lane, of which the three lanes at either end only serve the others. Each lane keeps sums over TAPS rows of its four columns, two channels
 * a word: a row that comes, asked for ROWS rows ahead, is added, the one that goes subtracted. Along x lanes shuffle what they need
 * of three neighbours on either side, quads of columns already added up. Sums of 361 bytes are halved where 16 bits would not hold them.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#include "gpu/shaders/lib/bench_args.h"

layout(constant_id = 0) const uint THREADS = 64;
layout(constant_id = 1) const uint DOWN = 64; /* rows of a strip */
layout(constant_id = 2) const uint ROWS = 4;  /* asked for at once */
layout(constant_id = 3) const uint KEEP = 1;  /* rows stay in shared memory until they go; 0: they are fetched again */
layout(constant_id = 6) const uint TAPS = 3;
layout(local_size_x_id = 0) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly restrict buffer Quads { uvec4 quads[]; };
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly restrict buffer Output { uvec4 result[]; };

const int R = int(TAPS) / 2;
const uint EVEN = 0x00ff00ffu, LOW = 0xffffu;
const uint HALVED = TAPS > 15 ? 1 : 0, KEPT = HALVED != 0 ? 0x7fff7fffu : 0xffffffffu;
const float MAGIC = 8388608.0; /* 2^23: a float that holds an integer in its low bits */

/* Each lane reads only what it has written. */
shared uvec4 ring[KEEP != 0 ? TAPS * THREADS : 1];

void keep(uint slot, uvec4 row)
{
    if (KEEP != 0)
        ring[slot * THREADS + gl_LocalInvocationIndex] = row;
}

/* Columns x..x+3; those outside repeat the border's. inside: no lane of the strip needs that. */
uvec4 fetch(int x, int y, bool inside)
{
    uint row = uint(clamp(y, 0, int(push.height) - 1)) * (push.width / 4);
    if (inside)
        return quads[row + uint(x) / 4];
    uvec4 q = quads[row + uint(clamp(x, 0, int(push.width) - 4)) / 4];
    return x < 0 ? q.xxxx : x >= int(push.width) ? q.wwww : q;
}

/* s: at most 16 bits */
uint mean_of(uint s)
{
    float scale = float(1u << HALVED) / float(TAPS * TAPS);
    precise float mean = fma(uintBitsToFloat(s | floatBitsToUint(MAGIC)), scale, MAGIC - MAGIC * scale);
    return floatBitsToUint(mean);
}

uint mean_of_both(uint even, uint odd)
{
    return pack32(u8vec4(uvec4(mean_of(even & LOW), mean_of(odd & LOW), mean_of(even >> 16), mean_of(odd >> 16))));
}

/* The sums around each of a lane's four columns, from the columns' own. */
uvec4 along_x(uvec4 own)
{
    uint e[28], quad[7]; /* from twelve columns before the lane's first on */
    uint all = own.x + own.y + own.z + own.w;
    [[unroll]] for (int i = 0; i < 4; i++) {
        [[unroll]] for (int k = 1; k <= 3; k++) {
            e[12 - 4 * k + i] = subgroupShuffleUp(own[i], k);
            e[12 + 4 * k + i] = subgroupShuffleDown(own[i], k);
        }
        e[12 + i] = own[i];
    }
    quad[3] = all;
    [[unroll]] for (int k = 1; k <= 3; k++) {
        quad[3 - k] = subgroupShuffleUp(all, k);
        quad[3 + k] = subgroupShuffleDown(all, k);
    }
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
    uint lanes = gl_SubgroupSize, strip = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID;
    int left = int(strip * (4 * lanes - 24)), x = left - 12 + 4 * int(gl_SubgroupInvocationID);
    int top = int(gl_WorkGroupID.y * DOWN), end = min(top + int(DOWN), int(push.height));
    bool inside = left >= 12 && left - 12 + 4 * int(lanes) <= int(push.width);
    bool stores = gl_SubgroupInvocationID >= 3 && gl_SubgroupInvocationID + 3 < lanes && x < int(push.width);
    if (left >= int(push.width))
        return;
    uvec4 even = uvec4(0), odd = uvec4(0), come[ROWS], next[ROWS], go[ROWS];
    uint slot = 0;
    [[unroll]] for (int k = -R; k < R; k++) {
        uvec4 q = fetch(x, top + k, inside);
        even += q & EVEN;
        odd += q >> 8 & EVEN;
        keep(slot++, q);
    }
    [[unroll]] for (int row = 0; row < int(ROWS); row++)
        next[row] = fetch(x, top + row + R, inside);
    for (int y = top; y < end; y += int(ROWS)) {
        [[unroll]] for (int row = 0; row < int(ROWS); row++)
            come[row] = next[row];
        [[unroll]] for (int row = 0; row < int(ROWS); row++) {
            next[row] = fetch(x, y + int(ROWS) + row + R, inside);
            go[row] = KEEP == 0 ? fetch(x, y + row - R, inside) : uvec4(0);
        }
        [[unroll]] for (int row = 0; row < int(ROWS); row++) {
            even += come[row] & EVEN;
            odd += come[row] >> 8 & EVEN;
            keep(slot, come[row]);
            slot = slot + 1 == TAPS ? 0 : slot + 1; /* that of the row that goes */
            uvec4 a = along_x(even >> HALVED & KEPT), b = along_x(odd >> HALVED & KEPT), mean;
            [[unroll]] for (int j = 0; j < 4; j++)
                mean[j] = mean_of_both(a[j], b[j]);
            if (stores)
                result[(uint(y + row) * push.width + uint(x)) / 4] = mean;
            uvec4 gone = KEEP != 0 ? ring[slot * THREADS + gl_LocalInvocationIndex] : go[row];
            even -= gone & EVEN;
            odd -= gone >> 8 & EVEN;
        }
    }
}
