/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A box blur of 32-bit pixels in one dispatch. Its work does not grow with its width. A workgroup
 * goes down a strip of 232 columns. Each of its 64 threads keeps the sums over TAPS rows of four
 * columns. It adds each new row and subtracts the oldest. After every eight rows the sums pass
 * through shared memory to threads that slide along x. Two channels share a word. Sums of 19 * 19
 * bytes are halved where they do not fit.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 6) const uint TAPS = 3;
layout(local_size_x = 64) in;

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
    uvec4 result[];
};

const int R = int(TAPS) / 2, WIDTH = 232, DOWN = 64, ROWS = 8, BEFORE = 12, RUN = 8;
const uint EVEN = 0x00ff00ffu;
const uint HALVED = TAPS > 15 ? 1 : 0, KEPT = HALVED != 0 ? 0x7fff7fffu : 0xffffffffu;
/* byte 3 of s * SCALE + ROUND is the mean, rounded: s * SCALE stays below 256 << 24 */
const uint SCALE = (1u << 24 + HALVED) / (TAPS * TAPS), ROUND = 1u << 23;

shared uvec4 even_sums[ROWS * 64], odd_sums[ROWS * 64];

uint word_at(uint row, int x)
{
    return words[row + uint(clamp(x, 0, int(push.width) - 1))];
}

/* Four pixels of a row from x on, which is a multiple of 4. */
uvec4 fetch(int x, int y)
{
    uint row = uint(clamp(y, 0, int(push.height) - 1)) * push.width;
    if (x >= 0 && x + 4 <= int(push.width))
        return quads[(row + uint(x)) / 4];
    return uvec4(word_at(row, x), word_at(row, x + 1), word_at(row, x + 2), word_at(row, x + 3));
}

void along_x(int row, int run, int x, int y)
{
    uint a[32], b[32];
    if (x >= int(push.width) || y >= int(push.height))
        return;
    [[unroll]] for (int k = 0; k < 8; k++) {
        uvec4 qa = even_sums[row * 64 + 2 * run + k], qb = odd_sums[row * 64 + 2 * run + k];
        [[unroll]] for (int i = 0; i < 4; i++) {
            a[4 * k + i] = qa[i];
            b[4 * k + i] = qb[i];
        }
    }
    uint even = 0, odd = 0, out_words[RUN];
    [[unroll]] for (int k = 0; k < int(TAPS); k++) {
        even += a[BEFORE - R + k];
        odd += b[BEFORE - R + k];
    }
    [[unroll]] for (int j = 0; j < RUN; j++) {
        uint r = (even & 0xffffu) * SCALE + ROUND, g = (odd & 0xffffu) * SCALE + ROUND;
        uint bl = (even >> 16) * SCALE + ROUND, al = (odd >> 16) * SCALE + ROUND;
        out_words[j] = r >> 24 | g >> 16 & 0xff00u | bl >> 8 & 0xff0000u | al & 0xff000000u;
        if (j + 1 < RUN) {
            even += a[BEFORE + R + 1 + j] - a[BEFORE - R + j];
            odd += b[BEFORE + R + 1 + j] - b[BEFORE - R + j];
        }
    }
    uint at = (uint(y) * push.width + uint(x)) / 4;
    result[at] = uvec4(out_words[0], out_words[1], out_words[2], out_words[3]);
    result[at + 1] = uvec4(out_words[4], out_words[5], out_words[6], out_words[7]);
}

void main()
{
    int tid = int(gl_LocalInvocationIndex), left = int(gl_WorkGroupID.x) * WIDTH,
        top = int(gl_WorkGroupID.y) * DOWN;
    int x = left - BEFORE + 4 * tid;
    uvec4 even = uvec4(0), odd = uvec4(0);
    [[unroll]] for (int k = -R; k < R; k++) {
        uvec4 q = fetch(x, top + k);
        even += q & EVEN;
        odd += q >> 8 & EVEN;
    }
    for (int y = top; y < top + DOWN && y < int(push.height); y += ROWS) {
        [[unroll]] for (int row = 0; row < ROWS; row++) {
            uvec4 come = fetch(x, y + row + R), go = fetch(x, y + row - R);
            even += come & EVEN;
            odd += come >> 8 & EVEN;
            even_sums[row * 64 + tid] = even >> HALVED & KEPT;
            odd_sums[row * 64 + tid] = odd >> HALVED & KEPT;
            even -= go & EVEN;
            odd -= go >> 8 & EVEN;
        }
        barrier();
        for (int k = tid; k < ROWS * (WIDTH / RUN); k += 64)
            along_x(k / (WIDTH / RUN), k % (WIDTH / RUN), left + k % (WIDTH / RUN) * RUN,
                    y + k / (WIDTH / RUN));
        barrier();
    }
}
