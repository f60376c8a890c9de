/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bench_blur_runs with arithmetic in halves, two channels an instruction. A workgroup of 128
 * threads makes 32 x TY pixels. It filters along x from memory into shared memory, then along y, in
 * runs of eight pixels a thread. Weights are push constants. A half has 11 bits, so sums of
 * weighted bytes have steps of 1/8.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint TY = 64;
layout(constant_id = 6) const uint TAPS = 3;
layout(local_size_x = 128) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly restrict buffer Words
{
    uint words[];
};
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly restrict buffer Quads
{
    uvec4 quads[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly restrict buffer Output
{
    uint result[];
};

/* pixels that a run's loads begin in front of it */
const int R = int(TAPS) / 2, RUN = 8, TX = 32, BEFORE = 12;
const int PITCH = TX + TX / RUN; /* a gap after each run: stores of a subgroup meet other banks */
/* 1024 as a half: one that holds an integer in its low bits */
const uint EVEN = 0x00ff00ffu, MAGIC = 0x64006400u;

shared uvec2 middle[(TY + BENCH_MAX_TAPS - 1) * PITCH];

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

/* 32 pixels from x on, which is a multiple of 4. */
void fetch_run(int x, int y, out uint p[32])
{
    uint row = uint(clamp(y, 0, int(push.height) - 1)) * push.width;
    if (x >= 0 && x + 32 <= int(push.width)) {
        [[unroll]] for (int k = 0; k < 8; k++) {
            uvec4 q = quads[(row + uint(x)) / 4u + uint(k)];
            p[4 * k] = q.x;
            p[4 * k + 1] = q.y;
            p[4 * k + 2] = q.z;
            p[4 * k + 3] = q.w;
        }
    } else {
        [[unroll]] for (int k = 0; k < 32; k++)
            p[k] = words[row + uint(clamp(x + k, 0, int(push.width) - 1))];
    }
}

void along_x(int row, int run, ivec2 tile)
{
    uint p[32];
    f16vec2 even[RUN], odd[RUN];
    int at = row * PITCH + run * (RUN + 1);
    fetch_run(tile.x + run * RUN - BEFORE, tile.y + row - R, p);
    [[unroll]] for (int j = 0; j < RUN; j++)
        even[j] = odd[j] = f16vec2(0);
    [[unroll]] for (int k = 0; k < RUN + 2 * R; k++) {
        f16vec2 a = even_of(p[BEFORE - R + k]), b = even_of(p[BEFORE - R + k] >> 8);
        [[unroll]] for (int j = 0; j < RUN; j++) {
            if (k - j >= 0 && k - j < int(TAPS)) {
                even[j] = fma(weight(k - j), a, even[j]);
                odd[j] = fma(weight(k - j), b, odd[j]);
            }
        }
    }
    [[unroll]] for (int j = 0; j < RUN; j++)
        middle[at + j] = uvec2(packFloat2x16(even[j]), packFloat2x16(odd[j]));
}

void along_y(int column, int run, ivec2 tile)
{
    int at = column + column / RUN;
    f16vec2 even[RUN], odd[RUN];
    [[unroll]] for (int j = 0; j < RUN; j++)
        even[j] = odd[j] = f16vec2(0);
    [[unroll]] for (int k = 0; k < RUN + 2 * R; k++) {
        uvec2 v = middle[(run * RUN + k) * PITCH + at];
        f16vec2 a = unpackFloat2x16(v.x), b = unpackFloat2x16(v.y);
        [[unroll]] for (int j = 0; j < RUN; j++) {
            if (k - j >= 0 && k - j < int(TAPS)) {
                even[j] = fma(weight(k - j), a, even[j]);
                odd[j] = fma(weight(k - j), b, odd[j]);
            }
        }
    }
    [[unroll]] for (int j = 0; j < RUN; j++) {
        uint x = uint(tile.x + column), y = uint(tile.y + run * RUN + j);
        if (x < push.width && y < push.height)
            result[y * push.width + x] = rounded(even[j]) | rounded(odd[j]) << 8;
    }
}

void main()
{
    ivec2 tile = ivec2(gl_WorkGroupID.xy) * ivec2(TX, TY);
    int tid = int(gl_LocalInvocationIndex);
    for (int k = tid; k < (int(TY) + 2 * R) * (TX / RUN); k += 128)
        along_x(k / (TX / RUN), k % (TX / RUN), tile);
    barrier();
    for (int k = tid; k < TX * int(TY) / RUN; k += 128)
        along_y(k % TX, k / TX, tile);
}
