/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A separable blur of 32-bit pixels in one dispatch, in halves. It unpacks each pixel once. A
 * workgroup goes down a strip, one column a thread. The thread's registers hold the rows around the
 * current eight. Their sums along y pass through shared memory to other threads, which add up runs
 * of eight along x. One instruction handles two channels. Weights are push constants. A half has 11
 * bits, so sums of weighted bytes have steps of 1/8.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint THREADS = 128;
layout(constant_id = 1) const uint DOWN = 64; /* rows of a strip */
layout(constant_id = 6) const uint TAPS = 3;
layout(local_size_x_id = 0) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly restrict buffer Words
{
    uint words[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly restrict buffer Output
{
    uvec4 result[];
};

/* columns that a strip's threads begin in front of it */
const int R = int(TAPS) / 2, RUN = 8, ROWS = 8, BEFORE = 12;
const int RUNS = (int(THREADS) - 2 * BEFORE) / RUN;
/* quads, a gap after two: loads of a subgroup meet other banks */
const int PITCH = int(THREADS) / 4 * 3 / 2;
/* 1024 as a half: one that holds an integer in its low bits */
const uint EVEN = 0x00ff00ffu, MAGIC = 0x64006400u;

shared uvec4 even_sums[ROWS * PITCH], odd_sums[ROWS * PITCH];

f16vec2 weight(int i)
{
    return unpackFloat2x16(push.halves[abs(i - R)]);
}

/* Bytes 0 and 2 of a word. */
f16vec2 even_of(uint word)
{
    precise f16vec2 v = unpackFloat2x16(word & EVEN | MAGIC) - unpackFloat2x16(MAGIC);
    return v;
}

/* To the nearest whole numbers, in the low bytes. */
uint rounded(f16vec2 v)
{
    precise f16vec2 biased = min(v, f16vec2(255)) + unpackFloat2x16(MAGIC);
    return packFloat2x16(biased) & EVEN;
}

uint fetch(uint column, int y)
{
    return words[uint(clamp(y, 0, int(push.height) - 1)) * push.width + column];
}

void along_x(int row, int run, int x, int y)
{
    uint from = uint(row * PITCH + run * 3);
    f16vec2 even[RUN], odd[RUN];
    [[unroll]] for (int j = 0; j < RUN; j++)
        even[j] = odd[j] = f16vec2(0);
    [[unroll]] for (int q = (BEFORE - R) / 4; q <= (BEFORE + RUN - 1 + R) / 4; q++) {
        uvec4 a = even_sums[from + q + q / 2], b = odd_sums[from + q + q / 2];
        [[unroll]] for (int i = 0; i < 4; i++) {
            int k = 4 * q + i - BEFORE + R;
            [[unroll]] for (int j = 0; j < RUN; j++) {
                if (k - j >= 0 && k - j < int(TAPS)) {
                    even[j] = fma(weight(k - j), unpackFloat2x16(a[i]), even[j]);
                    odd[j] = fma(weight(k - j), unpackFloat2x16(b[i]), odd[j]);
                }
            }
        }
    }
    uint p[RUN];
    [[unroll]] for (int j = 0; j < RUN; j++)
        p[j] = rounded(even[j]) | rounded(odd[j]) << 8;
    uint at = (uint(y) * push.width + uint(x)) / 4;
    result[at] = uvec4(p[0], p[1], p[2], p[3]);
    result[at + 1] = uvec4(p[4], p[5], p[6], p[7]);
}

void main()
{
    int tid = int(gl_LocalInvocationIndex), left = int(gl_WorkGroupID.x) * RUNS * RUN,
        top = int(gl_WorkGroupID.y * DOWN);
    int row = tid / RUNS, run = tid % RUNS, quad = tid / 4,
        end = min(top + int(DOWN), int(push.height));
    uint column = uint(clamp(left - BEFORE + tid, 0, int(push.width) - 1)), next[ROWS];
    /* of rows from R above the first of eight on */
    f16vec2 even[ROWS + TAPS - 1], odd[ROWS + TAPS - 1];
    [[unroll]] for (int k = 0; k < 2 * R; k++) {
        uint word = fetch(column, top - R + k);
        even[k] = even_of(word);
        odd[k] = even_of(word >> 8);
    }
    [[unroll]] for (int k = 0; k < ROWS; k++)
        next[k] = fetch(column, top + R + k);
    for (int y = top; y < end; y += ROWS) {
        [[unroll]] for (int k = 0; k < ROWS; k++) {
            even[2 * R + k] = even_of(next[k]);
            odd[2 * R + k] = even_of(next[k] >> 8);
        }
        [[unroll]] for (int k = 0; k < ROWS; k++)
            next[k] = fetch(column, y + ROWS + R + k);
        [[unroll]] for (int j = 0; j < ROWS; j++) {
            f16vec2 a = f16vec2(0), b = f16vec2(0);
            [[unroll]] for (int k = 0; k < int(TAPS); k++) {
                a = fma(weight(k), even[j + k], a);
                b = fma(weight(k), odd[j + k], b);
            }
            even_sums[j * PITCH + quad + quad / 2][tid & 3] = packFloat2x16(a);
            odd_sums[j * PITCH + quad + quad / 2][tid & 3] = packFloat2x16(b);
        }
        [[unroll]] for (int k = 0; k < 2 * R; k++) {
            even[k] = even[k + ROWS];
            odd[k] = odd[k + ROWS];
        }
        barrier();
        if (row < ROWS && left + run * RUN < int(push.width) && y + row < end)
            along_x(row, run, left + run * RUN, y + row);
        barrier();
    }
}
