/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A box blur of 32-bit pixels in one dispatch, by subgroups that never wait for each other. A subgroup goes down a strip of 4 * QUADS columns a
 * lane, of which NEAR lanes at either end only serve the others. Each lane keeps sums over TAPS rows of its columns, two channels a word: a row
 * that comes is added, the one that goes subtracted. Along x lanes shuffle what they need of their neighbours, quads of columns already added
 * up. Sums of 361 bytes are halved where 16 bits would not hold them.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#include "gpu/shaders/lib/bench_args.h"

layout(constant_id = 0) const uint THREADS = 64; /* with 32 the H200's driver makes code that is five times as slow */
layout(constant_id = 1) const uint DOWN = 64;  /* rows of a strip */
layout(constant_id = 2) const uint ROWS = 4;   /* asked for at once */
layout(constant_id = 3) const uint MODE = 2;   /* QUADS, 1 or 2, times 2; 1 more: rows stay in shared memory until they go, else are fetched again */
layout(constant_id = 6) const uint TAPS = 3;
layout(local_size_x_id = 0) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly restrict buffer Quads { uvec4 quads[]; };
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly restrict buffer Output { uvec4 result[]; };

const int R = int(TAPS) / 2, QUADS = int(MODE) / 2, COLUMNS = 4 * QUADS, NEAR = (R + COLUMNS - 1) / COLUMNS, BEFORE = NEAR * COLUMNS;
const bool KEEP = (MODE & 1) != 0;
const uint EVEN = 0x00ff00ffu, LOW = 0xffffu;
const uint HALVED = TAPS > 15 ? 1 : 0, KEPT = HALVED != 0 ? 0x7fff7fffu : 0xffffffffu;
const float MAGIC = 8388608.0; /* 2^23: a float that holds an integer in its low bits */
const uint MAGIC_BITS = 0x4b000000u;

/* Each lane reads only what it has written. */
shared uvec4 ring[KEEP ? TAPS * THREADS * QUADS : 1];

uvec4 even[QUADS], odd[QUADS]; /* sums over rows of the lane's columns: channels 0 and 2, 1 and 3 */
uint sums[2][4 * QUADS];       /* sums around them */

/* Columns x..x+3; those outside repeat the border's. inside: no lane of the strip needs that. */
uvec4 fetch(int x, int y, const bool inside)
{
    uint row = uint(clamp(y, 0, int(push.height) - 1)) * (push.width / 4);
    if (inside)
        return quads[row + uint(x) / 4];
    uvec4 q = quads[row + uint(clamp(x, 0, int(push.width) - 4)) / 4];
    return x < 0 ? q.xxxx : x >= int(push.width) ? q.wwww : q;
}

/* s: at most 16 bits; the mean's low bits, MAGIC_BITS on top */
uint mean_of(uint s)
{
    float scale = float(1u << HALVED) / float(TAPS * TAPS);
    precise float mean = fma(uintBitsToFloat(s | MAGIC_BITS), scale, MAGIC - MAGIC * scale);
    return floatBitsToUint(mean);
}

/* MAGIC_BITS leave the word by the shifts but for one, which is taken off. */
uint mean_of_both(uint a, uint b)
{
    uint word = mean_of(b & LOW) * 0x100u + mean_of(a & LOW);
    word += mean_of(a >> 16) * 0x10000u;
    return mean_of(b >> 16) * 0x1000000u + word - MAGIC_BITS;
}

/* Which: 0 even, 1 odd channels. */
void along_x(const int which)
{
    uint e[4 * QUADS + 8 * QUADS * NEAR], quad[QUADS + 2 * QUADS * NEAR]; /* from BEFORE columns before the lane's first on */
    [[unroll]] for (int q = 0; q < QUADS; q++) {
        uvec4 own = (which == 0 ? even[q] : odd[q]) >> HALVED & KEPT;
        uint all = own.x + own.y + own.z + own.w;
        [[unroll]] for (int k = 1; k <= NEAR; k++) {
            [[unroll]] for (int i = 0; i < 4; i++) {
                e[BEFORE + 4 * q + i - k * COLUMNS] = subgroupShuffleUp(own[i], k);
                e[BEFORE + 4 * q + i + k * COLUMNS] = subgroupShuffleDown(own[i], k);
            }
            quad[NEAR * QUADS + q - k * QUADS] = subgroupShuffleUp(all, k);
            quad[NEAR * QUADS + q + k * QUADS] = subgroupShuffleDown(all, k);
        }
        [[unroll]] for (int i = 0; i < 4; i++)
            e[BEFORE + 4 * q + i] = own[i];
        quad[NEAR * QUADS + q] = all;
    }
    uint sum = 0;
    [[unroll]] for (int q = -NEAR * QUADS; q < (NEAR + 1) * QUADS; q++) {
        if (4 * q >= -R && 4 * q + 3 <= R) {
            sum += quad[NEAR * QUADS + q];
        } else {
            [[unroll]] for (int i = 0; i < 4; i++)
                if (abs(4 * q + i) <= R)
                    sum += e[BEFORE + 4 * q + i];
        }
    }
    [[unroll]] for (int j = 0; j < COLUMNS; j++) {
        sums[which][j] = sum;
        if (j + 1 < COLUMNS)
            sum += e[BEFORE + R + 1 + j] - e[BEFORE - R + j];
    }
}

void store_row(int x, int y)
{
    along_x(0);
    along_x(1);
    [[unroll]] for (int q = 0; q < QUADS; q++) {
        uvec4 mean;
        [[unroll]] for (int j = 0; j < 4; j++)
            mean[j] = mean_of_both(sums[0][4 * q + j], sums[1][4 * q + j]);
        if (x >= 0)
            result[(uint(y) * push.width + uint(x)) / 4 + uint(q)] = mean;
    }
}

/* x: the lane's first column; to: the same, or less than 0 where nothing is stored. */
void strip(int x, int to, int top, int end, const bool inside)
{
    uint slot = 0;
    [[unroll]] for (int q = 0; q < QUADS; q++)
        even[q] = odd[q] = uvec4(0);
    [[unroll]] for (int k = 0; k < int(TAPS); k++) { /* the rows around the one above the strip */
        [[unroll]] for (int q = 0; q < QUADS; q++) {
            uvec4 come = fetch(x + 4 * q, top - 1 - R + k, inside);
            even[q] += come & EVEN;
            odd[q] += come >> 8 & EVEN;
            if (KEEP)
                ring[(k * QUADS + q) * THREADS + gl_LocalInvocationIndex] = come;
        }
    }
    for (int y = top; y < end; y += int(ROWS)) {
        uvec4 come[ROWS * QUADS], go[ROWS * QUADS];
        [[unroll]] for (int i = 0; i < int(ROWS) * QUADS; i++) {
            come[i] = fetch(x + 4 * (i % QUADS), y + i / QUADS + R, inside);
            if (!KEEP)
                go[i] = fetch(x + 4 * (i % QUADS), y + i / QUADS - R - 1, inside);
        }
        [[unroll]] for (int row = 0; row < int(ROWS); row++) {
            [[unroll]] for (int q = 0; q < QUADS; q++) {
                uint at = (slot * QUADS + q) * THREADS + gl_LocalInvocationIndex;
                uvec4 in_row = come[row * QUADS + q], out_row;
                if (KEEP) {
                    out_row = ring[at];
                    ring[at] = in_row;
                } else {
                    out_row = go[row * QUADS + q];
                }
                even[q] = even[q] + (in_row & EVEN) - (out_row & EVEN);
                odd[q] = odd[q] + (in_row >> 8 & EVEN) - (out_row >> 8 & EVEN);
            }
            slot = slot + 1 == TAPS ? 0 : slot + 1;
            store_row(to, y + row);
        }
    }
}

void main()
{
    int lanes = int(gl_SubgroupSize), lane = int(gl_SubgroupInvocationID), first = int(gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID);
    int left = first * (lanes * COLUMNS - 2 * BEFORE), x = left - BEFORE + lane * COLUMNS;
    int top = int(gl_WorkGroupID.y * DOWN), end = min(top + int(DOWN), int(push.height));
    bool stores = lane >= NEAR && lane + NEAR < lanes && x < int(push.width);
    if (left >= int(push.width))
        return;
    if (left >= BEFORE && left - BEFORE + lanes * COLUMNS <= int(push.width))
        strip(x, stores ? x : -1, top, end, true);
    else
        strip(x, stores ? x : -1, top, end, false);
}
