/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction (8.3) of one macroblock by 32 threads. Shared tiles hold the macroblock and its
 * neighbours. The including shader first defines three names:
 * - LUMA_TILES, the number of luma tiles;
 * - LANE, the thread's number of 32;
 * - role_barrier(), which the 32 threads pass together.
 */
#ifndef PELTON_INTRA_BLOCK_GLSL
#define PELTON_INTRA_BLOCK_GLSL

#include "gpu/shaders/lib/intra_direction.glsl"

#define INTRA_THREADS 32
#define LUMA_PITCH    25 /* columns -1..23 */
#define CHROMA_PITCH  9  /* columns -1..7 */
#define CHROMA_TILE   81

#define LUMA_TILE (17 * LUMA_PITCH)
#define LUMA_GREY (LUMA_TILES * LUMA_TILE) /* a sample of 128 behind the tiles */

shared int luma_tile[LUMA_GREY + 1];
shared int chroma_tile[2 * CHROMA_TILE];
shared int border8[32]; /* filtered E(-8..16) */

#define LUMA_INDEX(x, y) (((y) + 1) * LUMA_PITCH + (x) + 1)
/* of a tile that begins at base */
#define LUMA_AT(base, x, y) luma_tile[(base) + LUMA_INDEX(x, y)]
#define CHROMA_AT(c, x, y)  chroma_tile[(c)*CHROMA_TILE + ((y) + 1) * CHROMA_PITCH + (x) + 1]

/* 8.3.1.1: a DC of n samples on each side; sums of unavailable sides are not used. */
int intra_dc(bool left, bool top, int left_sum, int top_sum, int log2_n)
{
    if (left && top)
        return (left_sum + top_sum + (1 << log2_n)) >> (log2_n + 1);
    return left  ? (left_sum + (1 << (log2_n - 1))) >> log2_n
           : top ? (top_sum + (1 << (log2_n - 1))) >> log2_n
                 : 128;
}

/* How a sample is made, decided before the border is known: three indices of 10 bits and whether
 * the last two only are averaged. 0: DC. */
uint plan_of(int before, int e, int next, int taps)
{
    return uint(taps) | uint(taps == 3 ? before : e) << 2 | uint(e) << 12 |
           uint(taps == 1 ? e : next) << 22;
}

#define PLAN_EACH         (1u << 2 | 1u << 12 | 1u << 22)
#define PLAN_BEFORE(plan) (((plan) >> 2) & 1023u)
#define PLAN_E(plan)      (((plan) >> 12) & 1023u)
#define PLAN_NEXT(plan)   ((plan) >> 22)

int plan_filter(uint plan, int before, int e, int next)
{
    return (plan & 3u) == 2u ? (e + next + 1) >> 1 : (before + 2 * e + next + 2) >> 2;
}

/* The same for DC of a 4x4 block whose first sample has this index (8.3.1.2.3): where its two rows
 * of four samples begin, and their steps. Where one is not there the other counts twice; where none
 * is, both are grey. */
uint plan_dc4(int index, bool left, bool top)
{
    int a = index - LUMA_PITCH, a_step = 1, b = index - 1, b_step = LUMA_PITCH;
    if (!left && !top) {
        a = b = LUMA_GREY;
        a_step = b_step = 0;
    } else if (!left) {
        b = a;
        b_step = 1;
    } else if (!top) {
        a = b;
        a_step = LUMA_PITCH;
    }
    return uint(a) << 2 | uint(b) << 12 | uint(a_step) << 22 | uint(b_step) << 27;
}

/* Tile index of E of the block at (bx, by) in samples. */
int border_index(int bx, int by, int i)
{
    return i >= 0 ? LUMA_INDEX(bx + i - 1, by - 1) : LUMA_INDEX(bx - 1, by - i - 1);
}

/* Of sample (x, y) of the 4x4 block at (0, 0); without top_right what is above and to the right is
 * unavailable. */
uint work_out_4x4(int mode, int x, int y, bool top_right)
{
    ivec2 d = intra_direction(mode, x, y);
    int last = top_right ? 8 : 4;
    return plan_of(border_index(0, 0, clamp(d.x - 1, -4, last)),
                   border_index(0, 0, clamp(d.x, -4, last)),
                   border_index(0, 0, clamp(d.x + 1, -4, last)), d.y);
}

int intra_4x4(uint plan)
{
    if ((plan & 3u) == 0u) {
        uint a = PLAN_BEFORE(plan), b = PLAN_E(plan), a_step = plan >> 22 & 31u,
             b_step = plan >> 27;
        int sum_a = luma_tile[a] + luma_tile[a + a_step] + luma_tile[a + 2u * a_step] +
                    luma_tile[a + 3u * a_step];
        int sum_b = luma_tile[b] + luma_tile[b + b_step] + luma_tile[b + 2u * b_step] +
                    luma_tile[b + 3u * b_step];
        return (sum_a + sum_b + 4) >> 3;
    }
    return plan_filter(plan, luma_tile[PLAN_BEFORE(plan)], luma_tile[PLAN_E(plan)],
                       luma_tile[PLAN_NEXT(plan)]);
}

/* 8.3.2.2.1 for E(i), -8 <= i <= 16: a side without a neighbour counts itself. */
uint plan_border8(int base, int bx, int by, int i, bool left, bool top, bool corner, bool top_right)
{
    ivec3 e;
    for (int k = -1; k <= 1; k++) {
        int n = clamp(i + k, -8, 16);
        bool there = n == 0 ? corner : n < 0 ? left : top;
        n = there ? n : i;
        n = top_right ? n : min(n, 8);
        e[k + 1] = base + border_index(bx, by, n);
    }
    return plan_of(e.x, e.y, e.z, 3);
}

/* Indices of border8. */
uint work_out_8x8(int mode, int x, int y)
{
    if (mode == 2)
        return 0u;
    ivec2 d = intra_direction(mode, x, y);
    return plan_of(clamp(d.x - 1, -8, 16) + 8, clamp(d.x, -8, 16) + 8, clamp(d.x + 1, -8, 16) + 8,
                   d.y);
}

int intra_8x8_dc(bool left, bool top)
{
    int left_sum = 0, top_sum = 0;
    [[unroll]] for (int k = 0; k < 8; k++) {
        left_sum += border8[k];
        top_sum += border8[9 + k];
    }
    return intra_dc(left, top, left_sum, top_sum, 3);
}

/* Two samples that are no DC. */
ivec2 intra_8x8(uint plan, uint other)
{
    ivec3 a = ivec3(border8[PLAN_BEFORE(plan)], border8[PLAN_E(plan)], border8[PLAN_NEXT(plan)]);
    ivec3 b = ivec3(border8[PLAN_BEFORE(other)], border8[PLAN_E(other)], border8[PLAN_NEXT(other)]);
    return ivec2(plan_filter(plan, a.x, a.y, a.z), plan_filter(other, b.x, b.y, b.z));
}

#ifdef PLAN_TABLES
/* For a workgroup that does many macroblocks: by mode, then sample. table4 is with what is above
 * and to the right, then without it.
 */
#define TABLE4_MODES (9 * 16)
shared uint table4[2 * TABLE4_MODES];
shared uint table8[9 * 64];

void fill_tables()
{
    for (int i = int(gl_LocalInvocationIndex); i < 2 * TABLE4_MODES; i += int(gl_WorkGroupSize.x))
        table4[i] = work_out_4x4((i % TABLE4_MODES) >> 4, i & 3, (i >> 2) & 3, i < TABLE4_MODES);
    for (int i = int(gl_LocalInvocationIndex); i < 9 * 64; i += int(gl_WorkGroupSize.x))
        table8[i] = work_out_8x8(i >> 6, i & 7, (i >> 3) & 7);
}

uint directed_4x4(int mode, int x, int y, bool top_right)
{
    return table4[(top_right ? 0 : TABLE4_MODES) + mode * 16 + y * 4 + x];
}

uint plan_8x8(int mode, int x, int y)
{
    return table8[mode * 64 + y * 8 + x];
}
#else
#define directed_4x4 work_out_4x4
#define plan_8x8     work_out_8x8
#endif

/* Of sample (x, y) of the block at (bx, by) of a tile. */
uint plan_4x4(int mode, int base, int bx, int by, int x, int y, bool left, bool top, bool top_right)
{
    if (mode == 2)
        return plan_dc4(base + LUMA_INDEX(bx, by), left, top);
    return directed_4x4(mode, x, y, top_right) +
           uint(base + LUMA_INDEX(bx - 1, by - 1)) * PLAN_EACH;
}

#endif
