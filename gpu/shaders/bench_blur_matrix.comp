/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A separable blur of 32-bit pixels in one dispatch, by products of matrices (VK_NV_cooperative_matrix). A subgroup goes down a strip of 16
 * pixels, 16 rows at a time. A row's bytes times a banded matrix, its weights four bytes apart as channels alternate, is the row filtered
 * along x: bytes and weights of 8 bits, exact sums of 32. Scaled to halves, three such blocks times three banded matrices are filtered
 * along y, in floats. Weights along x are multiples of the largest's 255th, those along y halves. Subgroups share the banded matrices and
 * nothing else.
 */
#version 450
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_NV_cooperative_matrix : require
#extension GL_NV_integer_cooperative_matrix : require
#include "gpu/shaders/lib/bench_args.h"

layout(constant_id = 1) const uint DOWN = 128; /* rows of a strip, a multiple of 16 */
layout(constant_id = 6) const uint TAPS = 3;
layout(local_size_x = 128) in;                 /* four subgroups of 32 */

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly restrict buffer Words { uint words[]; };
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly restrict buffer Output { uvec4 result[]; };

#define BYTES_16x32 ucoopmatNV<8, gl_ScopeSubgroup, 16, 32>
#define BYTES_32x16 ucoopmatNV<8, gl_ScopeSubgroup, 32, 16>
#define SUMS ucoopmatNV<32, gl_ScopeSubgroup, 16, 16>
#define FLOATS fcoopmatNV<32, gl_ScopeSubgroup, 16, 16>
#define HALVES fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>

const int R = int(TAPS) / 2, WIDE = 16;
const int BEFORE = 9, LOADED = 36; /* pixels in front of a strip, and of a row of it in all */
const int PARTS = 4, ACROSS = 3;   /* of 16 bytes, of a strip's row; matrices that a part's 88 bytes meet */
const int OUT_PITCH = 9;           /* quads of a row of sums; one more than there are: other banks */
const int MATRIX = 128;            /* words */

shared uint rows[4][16 * LOADED];
shared uvec4 sums[4 * 16 * OUT_PITCH];
shared uint banded[(ACROSS + 3) * MATRIX];

uint byte_weight(int i)
{
    return abs(i) <= R ? uint(push.weights[abs(i)] * (255.0 / push.weights[0]) + 0.5) : 0;
}

/* Of rows `at` of the matrix for bytes from 32 * i - 36 on, seen from the part's first one: four bytes of it. */
uint along_x_word(int i, int at, int n)
{
    uint word = 0;
    [[unroll]] for (int k = 0; k < 4; k++) {
        int away = 32 * i - 4 * BEFORE + at - n - k;
        word |= (away % 4 == 0 ? byte_weight(away / 4) : 0) << 8 * k;
    }
    return word;
}

uint along_y_weight(int away)
{
    return abs(away) <= R ? push.halves[abs(away)] & 0xffffu : 0;
}

void make_matrices()
{
    int tid = int(gl_LocalInvocationIndex);
    for (int i = 0; i < ACROSS; i++)
        banded[i * MATRIX + tid] = along_x_word(i, tid / 4, tid % 4 * 4);
    for (int i = 0; i < 3; i++) {
        int away = 16 * (i - 1) + tid % 8 * 2 - tid / 8;
        banded[(ACROSS + i) * MATRIX + tid] = along_y_weight(away) | along_y_weight(away + 1) << 16;
    }
}

uint fetch(int x, int y)
{
    return words[uint(clamp(y, 0, int(push.height) - 1)) * push.width + uint(x)];
}

/* Of halves of 1024 and more the low bytes. */
uint low_bytes(uvec2 h)
{
    return h.x & 255u | h.x >> 8 & 0xff00u | h.y << 16 & 0xff0000u | h.y << 8 & 0xff000000u;
}

void store_rows(int from, int left, int y, int end)
{
    [[unroll]] for (int k = 0; k < 2; k++) {
        int i = int(gl_SubgroupInvocationID) + 32 * k, row = i / 4, x = left + i % 4 * 4;
        uvec4 a = sums[from + row * OUT_PITCH + i % 4 * 2], b = sums[from + row * OUT_PITCH + i % 4 * 2 + 1];
        if (y + row < end && x < int(push.width))
            result[(uint(y + row) * push.width + uint(x)) / 4] = uvec4(low_bytes(a.xy), low_bytes(a.zw), low_bytes(b.xy), low_bytes(b.zw));
    }
}

void main()
{
    int part = int(gl_SubgroupID), lane = int(gl_SubgroupInvocationID), out_from = part * 16 * OUT_PITCH;
    int left = (int(gl_WorkGroupID.x) * 4 + part) * WIDE, top = int(gl_WorkGroupID.y * DOWN), end = min(top + int(DOWN), int(push.height));
    /* a lane has a column of 32, and of the other four one of every fourth row */
    int x = clamp(left - BEFORE + lane, 0, int(push.width) - 1), x_last = clamp(left - BEFORE + 32 + lane % 4, 0, int(push.width) - 1);
    BYTES_32x16 across[ACROSS];
    HALVES down[3], before[PARTS], here[PARTS], behind[PARTS];
    uint total = 0, next[16], next_last[2];
    make_matrices();
    barrier();
    if (left >= int(push.width))
        return;
    [[unroll]] for (int i = 0; i < ACROSS; i++)
        coopMatLoadNV(across[i], banded, i * MATRIX, 4, false);
    [[unroll]] for (int i = 0; i < 3; i++)
        coopMatLoadNV(down[i], banded, (ACROSS + i) * MATRIX, 8, false);
    for (int i = -R; i <= R; i++)
        total += byte_weight(i);
    float scale = 1.0 / float(total);
    [[unroll]] for (int j = 0; j < PARTS; j++)
        before[j] = here[j] = behind[j] = HALVES(0);
    [[unroll]] for (int row = 0; row < 16; row++)
        next[row] = fetch(x, top - 16 + row);
    [[unroll]] for (int k = 0; k < 2; k++)
        next_last[k] = fetch(x_last, top - 16 + 8 * k + lane / 4);
    for (int y = top - 16; y < end + 16; y += 16) {
        BYTES_16x32 blocks[PARTS + 2 * ACROSS - 2];
        [[unroll]] for (int row = 0; row < 16; row++)
            rows[part][row * LOADED + lane] = next[row];
        [[unroll]] for (int k = 0; k < 2; k++)
            rows[part][(8 * k + lane / 4) * LOADED + 32 + lane % 4] = next_last[k];
        subgroupBarrier();
        [[unroll]] for (int row = 0; row < 16; row++)
            next[row] = fetch(x, y + 16 + row);
        [[unroll]] for (int k = 0; k < 2; k++)
            next_last[k] = fetch(x_last, y + 16 + 8 * k + lane / 4);
        [[unroll]] for (int i = 0; i < PARTS + 2 * ACROSS - 2; i++)
            coopMatLoadNV(blocks[i], rows[part], 4 * i, LOADED, false);
        [[unroll]] for (int j = 0; j < PARTS; j++) {
            SUMS sum = SUMS(0);
            [[unroll]] for (int i = 0; i < ACROSS; i++)
                sum = coopMatMulAddNV(blocks[j + 2 * i], across[i], sum);
            before[j] = here[j];
            here[j] = behind[j];
            behind[j] = HALVES(FLOATS(sum) * scale);
        }
        if (y > top) { /* `here` are the 16 rows before these; 1024 + v as a half is v rounded, in the low bits */
            [[unroll]] for (int j = 0; j < PARTS; j++) {
                FLOATS sum = FLOATS(1024);
                sum = coopMatMulAddNV(down[0], before[j], sum);
                sum = coopMatMulAddNV(down[1], here[j], sum);
                sum = coopMatMulAddNV(down[2], behind[j], sum);
                coopMatStoreNV(HALVES(sum), sums, out_from + 2 * j, OUT_PITCH, false);
            }
            subgroupBarrier();
            store_rows(out_from, left, y - 16, end);
        }
        subgroupBarrier();
    }
}
