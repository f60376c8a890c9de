/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A separable blur of 32-bit pixels in one dispatch, eight pixels a thread. A workgroup makes 64 x 32 pixels: each thread filters runs of
 * eight along x, from eight loads of 16 bytes, into shared memory (halves), then runs of eight along y. What a thread fetches serves all
 * eight of its pixels. With equal weights (GAUSS 0) a run is a sliding sum: one addition and one subtraction a pixel, whatever the width.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/bench_args.h"

layout(constant_id = 6) const uint TAPS = 3;
layout(constant_id = 7) const uint GAUSS = 0;
layout(local_size_x = 256) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Words { uint words[]; };
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Quads { uvec4 quads[]; };
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer Output { uint result[]; };
layout(set = 0, binding = BENCH_BIND_PARAMS, std430) readonly buffer Weights { float weights[BENCH_MAX_TAPS]; };

const int R = int(TAPS) / 2, RUN = 8, TX = 64, TY = 32, BEFORE = 12; /* pixels that a run's loads begin in front of it */
const int PITCH = TX + TX / RUN;                                     /* a gap after each run: stores of a subgroup meet other banks */

shared uvec2 middle[(TY + BENCH_MAX_TAPS - 1) * PITCH];

vec4 unpack_bytes(uint word)
{
    return vec4(word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24);
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
                    sums[j] += weights[k - j] * v;
        }
        [[unroll]] for (int j = 0; j < RUN; j++)
            middle[at + j] = uvec2(packHalf2x16(sums[j].xy), packHalf2x16(sums[j].zw));
    } else { /* two channels of a pixel in one word: 19 * 255 is less than 65536 */
        uint a = 0, b = 0;
        [[unroll]] for (int k = 0; k < int(TAPS); k++) {
            a += p[BEFORE - R + k] & 0x00ff00ffu;
            b += p[BEFORE - R + k] >> 8 & 0x00ff00ffu;
        }
        [[unroll]] for (int j = 0; j < RUN; j++) {
            middle[at + j] = uvec2(a, b);
            a += (p[BEFORE + R + 1 + j] & 0x00ff00ffu) - (p[BEFORE - R + j] & 0x00ff00ffu);
            b += (p[BEFORE + R + 1 + j] >> 8 & 0x00ff00ffu) - (p[BEFORE - R + j] >> 8 & 0x00ff00ffu);
        }
    }
}

void put(int x, int y, uvec4 v)
{
    if (x < int(push.width) && y < int(push.height))
        result[uint(y) * push.width + uint(x)] = v.x | v.y << 8 | v.z << 16 | v.w << 24;
}

vec4 middle_of(int row, int at)
{
    uvec2 h = middle[row * PITCH + at];
    return vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
}

uvec4 middle_sums(int row, int at)
{
    uvec2 s = middle[row * PITCH + at];
    return uvec4(s.x & 0xffffu, s.y & 0xffffu, s.x >> 16, s.y >> 16);
}

void along_y(int column, int run, ivec2 tile)
{
    int at = column + column / RUN, x = tile.x + column, y = tile.y + run * RUN;
    if (GAUSS != 0) {
        vec4 sums[RUN];
        [[unroll]] for (int j = 0; j < RUN; j++)
            sums[j] = vec4(0);
        [[unroll]] for (int k = 0; k < RUN + 2 * R; k++) {
            vec4 v = middle_of(run * RUN + k, at);
            [[unroll]] for (int j = 0; j < RUN; j++)
                if (k - j >= 0 && k - j < int(TAPS))
                    sums[j] += weights[k - j] * v;
        }
        [[unroll]] for (int j = 0; j < RUN; j++)
            put(x, y + j, uvec4(sums[j] + 0.5));
    } else {
        uvec4 sum = uvec4(0);
        [[unroll]] for (int k = 0; k < int(TAPS); k++)
            sum += middle_sums(run * RUN + k, at);
        [[unroll]] for (int j = 0; j < RUN; j++) {
            put(x, y + j, uvec4(vec4(sum) * (1.0 / float(TAPS * TAPS)) + 0.5));
            if (j + 1 < RUN)
                sum += middle_sums(run * RUN + j + int(TAPS), at) - middle_sums(run * RUN + j, at);
        }
    }
}

void main()
{
    ivec2 tile = ivec2(gl_WorkGroupID.xy) * ivec2(TX, TY);
    for (int k = int(gl_LocalInvocationIndex); k < (TY + 2 * R) * (TX / RUN); k += 256)
        along_x(k / (TX / RUN), k % (TX / RUN), tile);
    barrier();
    int k = int(gl_LocalInvocationIndex);
    along_y(k % TX, k / TX, tile);
}
