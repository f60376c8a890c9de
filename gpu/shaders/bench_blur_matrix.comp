/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A separable blur of 32-bit pixels in one dispatch, by products of matrices (VK_NV_cooperative_matrix). A subgroup goes down a strip of 16
 * pixels, 16 rows at a time. A row's bytes times a banded matrix, its weights four bytes apart as channels alternate, is the row filtered
 * along x: bytes and weights of 8 bits, exact sums of 32. Scaled to halves, three such blocks times three banded matrices are filtered
 * along y, in floats. Weights along x are multiples of the largest's 255th, those along y halves.
 */
#version 450
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_NV_cooperative_matrix : require
#extension GL_NV_integer_cooperative_matrix : require
#include "gpu/shaders/lib/bench_args.h"

layout(constant_id = 1) const uint DOWN = 128; /* rows of a strip, a multiple of 16 */
layout(constant_id = 6) const uint TAPS = 3;
layout(local_size_x = 32) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly restrict buffer Quads { uvec4 quads[]; };
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly restrict buffer Output { uvec4 result[]; };

#define BYTES_16x32 ucoopmatNV<8, gl_ScopeSubgroup, 16, 32>
#define BYTES_32x16 ucoopmatNV<8, gl_ScopeSubgroup, 32, 16>
#define SUMS ucoopmatNV<32, gl_ScopeSubgroup, 16, 16>
#define FLOATS fcoopmatNV<32, gl_ScopeSubgroup, 16, 16>
#define HALVES fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>

const int R = int(TAPS) / 2, WIDE = 16, BEFORE = 16; /* pixels of a strip; those loaded in front of it and behind it */
const int BLOCKS = 6, PARTS = 4;                     /* of 32 bytes, of a row that is loaded; of 16, of one that is stored */
const int PITCH = 13, OUT_PITCH = 9;                 /* quads of a row in shared memory; one more than there are: other banks */

shared uvec4 rows[16 * PITCH];
shared uvec4 sums[16 * OUT_PITCH];
shared uint banded[128];

uint byte_weight(int i)
{
    return abs(i) <= R ? uint(push.weights[abs(i)] * (255.0 / push.weights[0]) + 0.5) : 0;
}

/* What byte `at` of block d, seen from the first byte of the strip's block 0, adds to byte n of the block's half. */
uint along_x_weight(int d, int half_, int at, int n)
{
    int away = 32 * d + at - 16 * half_ - n;
    return away % 4 == 0 ? byte_weight(away / 4) : 0;
}

void load_along_x(int d, int half_, out BYTES_32x16 m)
{
    for (int i = int(gl_LocalInvocationIndex); i < 128; i += 32) {
        uint word = 0;
        for (int k = 0; k < 4; k++)
            word |= along_x_weight(d, half_, i / 4, i % 4 * 4 + k) << 8 * k;
        banded[i] = word;
    }
    barrier();
    coopMatLoadNV(m, banded, 0, 4, false);
    barrier();
}

uint along_y_weight(int away)
{
    return abs(away) <= R ? push.halves[abs(away)] & 0xffffu : 0;
}

void load_along_y(int d, out HALVES m)
{
    for (int i = int(gl_LocalInvocationIndex); i < 128; i += 32) {
        int from = 16 * d + i % 8 * 2 - i / 8;
        banded[i] = along_y_weight(from) | along_y_weight(from + 1) << 16;
    }
    barrier();
    coopMatLoadNV(m, banded, 0, 8, false);
    barrier();
}

/* Beyond the picture the nearest pixel. */
void load_rows(int left, int y)
{
    int width = int(push.width), tid = int(gl_LocalInvocationIndex);
    [[unroll]] for (int k = 0; k < 6; k++) {
        int i = tid + 32 * k, row = i / 12, x = left - BEFORE + i % 12 * 4;
        uvec4 q = quads[uint(clamp(y + row, 0, int(push.height) - 1) * width + clamp(x, 0, width - 4)) / 4];
        rows[row * PITCH + i % 12] = x < 0 ? q.xxxx : x >= width ? q.wwww : q;
    }
}

/* Of halves of 1024 and more the low bytes. */
uint low_bytes(uvec2 h)
{
    return h.x & 255u | h.x >> 8 & 0xff00u | h.y << 16 & 0xff0000u | h.y << 8 & 0xff000000u;
}

void store_rows(int left, int y, int end)
{
    [[unroll]] for (int k = 0; k < 2; k++) {
        int i = int(gl_LocalInvocationIndex) + 32 * k, row = i / 4, x = left + i % 4 * 4;
        uvec4 a = sums[row * OUT_PITCH + i % 4 * 2], b = sums[row * OUT_PITCH + i % 4 * 2 + 1];
        if (y + row < end && x < int(push.width))
            result[(uint(y + row) * push.width + uint(x)) / 4] = uvec4(low_bytes(a.xy), low_bytes(a.zw), low_bytes(b.xy), low_bytes(b.zw));
    }
}

void main()
{
    int left = int(gl_WorkGroupID.x) * WIDE, top = int(gl_WorkGroupID.y * DOWN), end = min(top + int(DOWN), int(push.height));
    BYTES_32x16 across[2 * 4];
    HALVES down[3], before[PARTS], here[PARTS], behind[PARTS];
    uint total = 0;
    for (int i = -R; i <= R; i++)
        total += byte_weight(i);
    float scale = 1.0 / float(total);
    [[unroll]] for (int i = 0; i < 4; i++) {
        load_along_x(i - 2, 0, across[i]);
        load_along_x(i - 1, 1, across[4 + i]);
    }
    [[unroll]] for (int i = 0; i < 3; i++)
        load_along_y(i - 1, down[i]);
    [[unroll]] for (int j = 0; j < PARTS; j++)
        before[j] = here[j] = behind[j] = HALVES(0);
    for (int y = top - 16; y < end + 16; y += 16) {
        BYTES_16x32 blocks[BLOCKS];
        load_rows(left, y);
        barrier();
        [[unroll]] for (int i = 0; i < BLOCKS; i++)
            coopMatLoadNV(blocks[i], rows, 2 * i, PITCH, false);
        [[unroll]] for (int j = 0; j < PARTS; j++) {
            SUMS sum = SUMS(0);
            [[unroll]] for (int i = 0; i < 4; i++)
                sum = coopMatMulAddNV(blocks[j / 2 + j % 2 + i], across[4 * (j % 2) + i], sum);
            before[j] = here[j];
            here[j] = behind[j];
            behind[j] = HALVES(FLOATS(sum) * scale);
        }
        if (y > top) { /* what is `here` are the 16 rows before; 1024 + v as a half is v rounded, in the low bits */
            [[unroll]] for (int j = 0; j < PARTS; j++) {
                FLOATS sum = FLOATS(1024);
                sum = coopMatMulAddNV(down[0], before[j], sum);
                sum = coopMatMulAddNV(down[1], here[j], sum);
                sum = coopMatMulAddNV(down[2], behind[j], sum);
                coopMatStoreNV(HALVES(sum), sums, 2 * j, OUT_PITCH, false);
            }
            barrier();
            store_rows(left, y - 16, end);
        }
        barrier();
    }
}
