/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A separable blur of 32-bit pixels in one dispatch, in runs of pixels a thread. A workgroup makes
 * 32 x 64 pixels. Each thread filters runs of eight along x, from eight loads of 16 bytes, into
 * shared memory. Then it filters runs along y. One load serves a whole run. Weights are push
 * constants, which cost no register.
 *
 * With equal weights (GAUSS 0) a run is a sliding sum of two channels a word, so the width hardly
 * matters. Shared memory then holds half of a sum; otherwise it holds halves.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 6) const uint TAPS = 3;
layout(constant_id = 7) const uint GAUSS = 0;
layout(local_size_x = 128) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Words
{
    uint words[];
};
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Quads
{
    uvec4 quads[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer Output
{
    uint result[];
};

/* pixels that a run's loads begin in front of it */
const int R = int(TAPS) / 2, RUN = 8, TX = 32, TY = 64, BEFORE = 12;
const int PITCH = TX + TX / RUN; /* a gap after each run: stores of a subgroup meet other banks */
const int DOWN = 16;             /* pixels of a sliding sum along y */
const uint EVEN = 0x00ff00ffu;
/* byte 3 of s * SCALE + ROUND is s / (TAPS * TAPS / 2), rounded: s is at most 255 * 361 / 2 */
const uint SCALE = (2u << 24) / (TAPS * TAPS), ROUND = 1u << 23;
const float MAGIC = 8388608.0; /* 2^23: a float that holds a small integer in its low bits */

shared uvec2 middle[(TY + BENCH_MAX_TAPS - 1) * PITCH];

float weight(int i)
{
    return push.weights[abs(i - R)];
}

/* Without conversions, of which a device makes few at a time. */
vec4 unpack_bytes(uint word)
{
    uvec4 b = uvec4(word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24);
    precise vec4 v = uintBitsToFloat(b | floatBitsToUint(MAGIC)) - MAGIC;
    return v;
}

uint pack_bytes(vec4 v)
{
    precise vec4 rounded = v + MAGIC; /* to nearest; regrouped, it would not be */
    uvec4 b = floatBitsToUint(rounded) & 255u;
    return b.x | b.y << 8 | b.z << 16 | b.w << 24;
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
    vec4 sums[RUN];
    int at = row * PITCH + run * (RUN + 1);
    fetch_run(tile.x + run * RUN - BEFORE, tile.y + row - R, p);
    if (GAUSS != 0) {
        [[unroll]] for (int j = 0; j < RUN; j++)
            sums[j] = vec4(0);
        [[unroll]] for (int k = 0; k < RUN + 2 * R; k++) {
            vec4 v = unpack_bytes(p[BEFORE - R + k]);
            [[unroll]] for (int j = 0; j < RUN; j++)
                if (k - j >= 0 && k - j < int(TAPS))
                    sums[j] += weight(k - j) * v;
        }
        [[unroll]] for (int j = 0; j < RUN; j++)
            middle[at + j] = uvec2(packHalf2x16(sums[j].xy), packHalf2x16(sums[j].zw));
    } else { /* two channels of a pixel in one word: 19 * 255 is less than 65536 */
        uint a = 0, b = 0;
        [[unroll]] for (int k = 0; k < int(TAPS); k++) {
            a += p[BEFORE - R + k] & EVEN;
            b += p[BEFORE - R + k] >> 8 & EVEN;
        }
        [[unroll]] for (int j = 0; j < RUN; j++) {
            /* so that sums of 19 of them stay below 65536 */
            middle[at + j] = uvec2(a, b) >> 1 & 0x7fff7fffu;
            a += (p[BEFORE + R + 1 + j] & EVEN) - (p[BEFORE - R + j] & EVEN);
            b += (p[BEFORE + R + 1 + j] >> 8 & EVEN) - (p[BEFORE - R + j] >> 8 & EVEN);
        }
    }
}

void put(int x, int y, uint word)
{
    if (x < int(push.width) && y < int(push.height))
        result[uint(y) * push.width + uint(x)] = word;
}

vec4 middle_of(int row, int at)
{
    uvec2 h = middle[row * PITCH + at];
    return vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
}

uint mean_of(uvec2 s)
{
    uint r = (s.x & 0xffffu) * SCALE + ROUND, g = (s.y & 0xffffu) * SCALE + ROUND;
    uint b = (s.x >> 16) * SCALE + ROUND, a = (s.y >> 16) * SCALE + ROUND;
    return r >> 24 | (g >> 24) << 8 | (b >> 24) << 16 | (a >> 24) << 24;
}

void weigh_along_y(int column, int run, ivec2 tile)
{
    int at = column + column / RUN;
    vec4 sums[RUN];
    [[unroll]] for (int j = 0; j < RUN; j++)
        sums[j] = vec4(0);
    [[unroll]] for (int k = 0; k < RUN + 2 * R; k++) {
        vec4 v = middle_of(run * RUN + k, at);
        [[unroll]] for (int j = 0; j < RUN; j++)
            if (k - j >= 0 && k - j < int(TAPS))
                sums[j] += weight(k - j) * v;
    }
    [[unroll]] for (int j = 0; j < RUN; j++)
        put(tile.x + column, tile.y + run * RUN + j, pack_bytes(sums[j]));
}

void slide_along_y(int column, int run, ivec2 tile)
{
    int at = run * DOWN * PITCH + column + column / RUN;
    uvec2 sum = uvec2(0);
    [[unroll]] for (int k = 0; k < int(TAPS); k++)
        sum += middle[at + k * PITCH];
    [[unroll]] for (int j = 0; j < DOWN; j++) {
        put(tile.x + column, tile.y + run * DOWN + j, mean_of(sum));
        if (j + 1 < DOWN)
            sum += middle[at + (j + int(TAPS)) * PITCH] - middle[at + j * PITCH];
    }
}

void main()
{
    ivec2 tile = ivec2(gl_WorkGroupID.xy) * ivec2(TX, TY);
    int tid = int(gl_LocalInvocationIndex);
    for (int k = tid; k < (TY + 2 * R) * (TX / RUN); k += 128)
        along_x(k / (TX / RUN), k % (TX / RUN), tile);
    barrier();
    if (GAUSS != 0) {
        for (int k = tid; k < TX * TY / RUN; k += 128)
            weigh_along_y(k % TX, k / TX, tile);
    } else {
        slide_along_y(tid % TX, tid / TX, tile);
    }
}
