/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks of a macroblock whose prediction and residual lie in shared memory. A thread has a block
 * of 4x4 in registers. Eight threads have a block of 8x8: each a row, a column or an eighth of the
 * scan, with a barrier after each step. encode_code.glsl comes before.
 */
#ifndef PELTON_ENCODE_BLOCKS_GLSL
#define PELTON_ENCODE_BLOCKS_GLSL

#include "gpu/shaders/lib/encode_quantise.glsl"

/* Coefficients and levels of 8x8 blocks; rows and blocks are apart by what avoids bank conflicts */
#define ROW8   9
#define BLOCK8 72
shared int wide[4 * BLOCK8];
shared int scan8[64]; /* zigzag8, which the caller fills in */
/* by thread of an 8x8 block: what its eighth of the scan costs with levels, and without; the last
 * level that it would choose */
shared int eighth_cost[32], eighth_zero[32], end_cost[32], end_at[32];

/* ---- blocks of 4x4 in registers ---- */

/* Levels from `from` on, a constant, and 0 before; whether any is not 0 */
bool quantise4(inout int v[16], uint qp, int from)
{
    ivec3 factor = ivec3(factor_of(qp, 0, false), factor_of(qp, 5, false), factor_of(qp, 1, false));
    int shift = int(qp / 6u) + 9, last = -1, before = 0, after = 0;
    [[unroll]] for (int i = from; i < 16; i++)
        after += place_of(v[zigzag4[i]], at_position(factor, zigzag4[i]), shift).zero;
    int least = after, last_level = 0;
    if (from > 0)
        v[0] = 0;
    [[unroll]] for (int i = from; i < 16; i++) {
        int at = zigzag4[i];
        place_choice p = place_of(v[at], at_position(factor, at), shift);
        int level = signed_level(v[at], p.near);
        after -= p.zero;
        if (p.near != 0 && before + p.cost + COST_BLOCK + after < least) {
            least = before + p.cost + COST_BLOCK + after;
            last = i;
            last_level = level;
        }
        v[at] = p.keep ? level : 0;
        before += p.keep ? p.cost : p.zero + COST_ZERO;
    }
    [[unroll]] for (int i = from; i < 16; i++)
        v[zigzag4[i]] = i > last ? 0 : i == last ? last_level : v[zigzag4[i]];
    return last >= 0;
}

/* Levels of a thread's block to their place, and to the reconstruction in work */
void finish4(int v[16], int first, int from, int stride, uint qp, bool dc_ready, int dc_value)
{
    ivec3 norm = norm4[qp % 6u];
    [[unroll]] for (int i = 0; i < 16; i++) {
        level[first + i] = v[i];
        v[i] = i == 0 && dc_ready ? dc_value : (v[i] * at_position(norm, i)) << (qp / 6u);
    }
    inverse4_lines(v);
    [[unroll]] for (int i = 0; i < 16; i++) {
        int at = from + stride * (i >> 2) + (i & 3);
        work[first + i] = clamp(pred[at] + ((v[i] + 32) >> 6), 0, 255);
    }
}

void load4(out int v[16], int from, int stride)
{
    [[unroll]] for (int i = 0; i < 16; i++)
        v[i] = residual[from + stride * (i >> 2) + (i & 3)];
}

/* A block of Intra16x16 before the DC levels are known, and after it */
void whole4_begin(uint blk, inout int v[16])
{
    ivec2 corner = block_corner(blk);
    load4(v, 16 * corner.y + corner.x, 16);
    forward4(v);
    dc[corner.y + corner.x / 4] = v[0];
    if (quantise4(v, qps.x, 1))
        atomicOr(coded[WAY_LUMA4], 1u << blk);
}

void whole4_end(uint blk, inout int v[16])
{
    ivec2 corner = block_corner(blk);
    v[0] = level[16 * int(blk)];
    finish4(v, 16 * int(blk), 16 * corner.y + corner.x, 16, qps.x, true,
            dc[corner.y + corner.x / 4]);
}

/* ---- blocks of 8x8 by eight threads each ---- */

/* A line of a block in `wide` */
void line8_load(out int v[8], int at, int step)
{
    [[unroll]] for (int i = 0; i < 8; i++)
        v[i] = wide[at + i * step];
}

void line8_store(int v[8], int at, int step)
{
    [[unroll]] for (int i = 0; i < 8; i++)
        wide[at + i * step] = v[i];
}

/* Where sample (0, n) of the 8x8 block of thread t lies in pred and residual */
int corner8(uint t)
{
    return int(8u * (t >> 3 & 1u) + 128u * (t >> 4));
}

void rows_forward8(uint t)
{
    int v[8], from = corner8(t) + 16 * int(t & 7u);
    [[unroll]] for (int i = 0; i < 8; i++)
        v[i] = residual[from + i];
    forward8(v);
    line8_store(v, int(BLOCK8 * (t >> 3) + ROW8 * (t & 7u)), 1);
}

void columns_forward8(uint t)
{
    int v[8], at = int(BLOCK8 * (t >> 3) + (t & 7u));
    line8_load(v, at, ROW8);
    forward8(v);
    line8_store(v, at, ROW8);
}

/* Place k of the thread's eighth of the scan: in a block of 64, and in `wide` */
int eighth_place(uint t, int k)
{
    return scan8[8u * (t & 7u) + uint(k)];
}

int wide_at(uint t, int place)
{
    return int(BLOCK8 * (t >> 3)) + ROW8 * (place >> 3) + (place & 7);
}

place_choice eighth_choice(uint t, int k, int c)
{
    return place_of(c, factor_of(qps.x, eighth_place(t, k), true), int(qps.x / 6u) + 10);
}

/* c: the thread's coefficients */
void eighth_begin(uint t, out int c[8])
{
    int cost = 0, zero = 0;
    [[unroll]] for (int k = 0; k < 8; k++) {
        c[k] = wide[wide_at(t, eighth_place(t, k))];
        place_choice p = eighth_choice(t, k, c[k]);
        cost += p.keep ? p.cost : p.zero + COST_ZERO;
        zero += p.zero;
    }
    eighth_cost[t] = cost;
    eighth_zero[t] = zero;
}

/* What no level at all costs, beside `eighth_end` */
int zero_of_block(uint t)
{
    int sum = 0;
    for (uint i = t & 24u; i < (t & 24u) + 8u; i++)
        sum += eighth_zero[i];
    return sum;
}

/* The best last level of the thread's eighth */
void eighth_end(uint t, int c[8])
{
    int before = 0, after = 0, least, last = -1;
    for (uint i = t & 24u; i < (t & 24u) + 8u; i++) {
        before += i < t ? eighth_cost[i] : 0;
        after += i >= t ? eighth_zero[i] : 0;
    }
    least = zero_of_block(t);
    [[unroll]] for (int k = 0; k < 8; k++) {
        place_choice p = eighth_choice(t, k, c[k]);
        after -= p.zero;
        if (p.near != 0 && before + p.cost + COST_BLOCK + after < least) {
            least = before + p.cost + COST_BLOCK + after;
            last = k;
        }
        before += p.keep ? p.cost : p.zero + COST_ZERO;
    }
    end_cost[t] = least;
    end_at[t] = last < 0 ? -1 : 8 * int(t & 7u) + last;
}

/* Levels of the eighth, and their scaled coefficients */
void eighth_levels(uint t, int c[8])
{
    int least = zero_of_block(t), last = -1, qp = int(qps.x), any = 0;
    for (uint i = t & 24u; i < (t & 24u) + 8u; i++)
        if (end_at[i] >= 0 && end_cost[i] < least) {
            least = end_cost[i];
            last = end_at[i];
        }
    [[unroll]] for (int k = 0; k < 8; k++) {
        int place = eighth_place(t, k), i = 8 * int(t & 7u) + k;
        place_choice p = eighth_choice(t, k, c[k]);
        int v = i < last && p.keep || i == last ? signed_level(c[k], p.near) : 0;
        level[LUMA8_FIRST + 64 * int(t >> 3) + place] = v;
        wide[wide_at(t, place)] =
            scale_level(v, 16 * norm_adjust8(qp % 6, place & 7, place >> 3), qp, 6);
    }
    if (last >= 0 && (t & 7u) == 0u)
        atomicOr(coded[WAY_LUMA8], 15u << (t >> 1));
}

void rows_back8(uint t)
{
    int v[8], at = int(BLOCK8 * (t >> 3) + ROW8 * (t & 7u));
    line8_load(v, at, 1);
    butterfly8_of(v);
    line8_store(v, at, 1);
}

void columns_back8(uint t)
{
    int v[8], from = corner8(t) + int(t & 7u);
    line8_load(v, int(BLOCK8 * (t >> 3) + (t & 7u)), ROW8);
    butterfly8_of(v);
    [[unroll]] for (int i = 0; i < 8; i++) {
        int p = pred[from + 16 * i], r = clamp(p + ((v[i] + 32) >> 6), 0, 255);
        work[LUMA8_FIRST + 64 * int(t >> 3) + 8 * i + int(t & 7u)] = r;
    }
}

/* The steps of an 8x8 block after its rows */
void code_rest8(bool mine, uint t)
{
    int c[8];
    barrier();
    if (mine)
        columns_forward8(t);
    barrier();
    if (mine)
        eighth_begin(t, c);
    barrier();
    if (mine)
        eighth_end(t, c);
    barrier();
    if (mine)
        eighth_levels(t, c);
    barrier();
    if (mine)
        rows_back8(t);
    barrier();
    if (mine)
        columns_back8(t);
}

#endif
