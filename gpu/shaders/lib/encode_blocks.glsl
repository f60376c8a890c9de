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

/* ---- blocks of 4x4 by 16 threads each: a place of the scan, then a sample ---- */

/* What a place costs in the choice of the quantiser, and without a level; as the last level; the
 * scaled coefficients in raster order */
shared int place_costs[64], place_zeros[64], end_costs[64], scaled[64];

/* Of a QP: to levels and back; the shift to levels */
struct block_factors {
    ivec3 factor, norm;
    int shift, scale;
};

block_factors factors4(uint qp)
{
    return block_factors(
        ivec3(factor_of(qp, 0, false), factor_of(qp, 5, false), factor_of(qp, 1, false)),
        norm4[qp % 6u], int(qp / 6u) + 9, int(qp / 6u));
}

/* Weights of row i of the forward transform */
ivec4 forward_weights(int i)
{
    return i == 0   ? ivec4(1, 1, 1, 1)
           : i == 1 ? ivec4(2, 1, -1, -2)
           : i == 2 ? ivec4(1, -1, -1, 1)
                    : ivec4(1, -2, 2, -1);
}

int weigh(ivec4 v, ivec4 w)
{
    return v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
}

/* c: the coefficient of the thread's place; first: where the block lies in residual; alone: DC is
 * coded elsewhere. */
place_choice place4_begin(int first, int stride, bool alone, block_factors f, out int c)
{
    uint t = gl_LocalInvocationIndex;
    int at = zigzag4[t & 15u];
    ivec4 across = forward_weights(at & 3), rows;
    [[unroll]] for (int y = 0; y < 4; y++) {
        int row = first + stride * y;
        rows[y] = weigh(
            ivec4(residual[row], residual[row + 1], residual[row + 2], residual[row + 3]), across);
    }
    c = weigh(rows, forward_weights(at >> 2));
    place_choice p = place_of(c, at_position(f.factor, at), f.shift);
    bool none = alone && at == 0;
    p.near = none ? 0 : p.near;
    place_costs[t] = none ? 0 : p.keep ? p.cost : p.zero + COST_ZERO;
    place_zeros[t] = none ? 0 : p.zero;
    return p;
}

/* Those of the block's places that come before the thread's one, and those after it */
void place4_cost(place_choice p)
{
    int t = int(gl_LocalInvocationIndex), from = t & 48, sum = p.cost + COST_BLOCK;
    [[unroll]] for (int i = 0; i < 16; i++)
        sum += from + i < t ? place_costs[from + i] : from + i > t ? place_zeros[from + i] : 0;
    end_costs[t] = p.near != 0 ? sum : 0x7fffffff;
}

/* The level of the thread's place, of a block whose levels begin at `first`; whether the block has
 * any */
bool place4_level(int first, block_factors f, place_choice p, int c)
{
    int t = int(gl_LocalInvocationIndex), from = t & 48, mine = t & 15, at = zigzag4[mine],
        least = 0, last = -1;
    [[unroll]] for (int i = 0; i < 16; i++)
        least += place_zeros[from + i];
    [[unroll]] for (int i = 0; i < 16; i++) {
        last = end_costs[from + i] < least ? i : last;
        least = min(end_costs[from + i], least);
    }
    int v = p.near != 0 && (mine < last && p.keep || mine == last) ? signed_level(c, p.near) : 0;
    level[first + at] = v;
    scaled[from + at] = (v * at_position(f.norm, at)) << f.scale;
    return last >= 0;
}

/* The reconstruction of the thread's sample, which was predicted as p */
int place4_sample(int p)
{
    int t = int(gl_LocalInvocationIndex), from = t & 48, x = t & 3, y = t >> 2 & 3;
    ivec4 column;
    [[unroll]] for (int i = 0; i < 4; i++) {
        int row = from + 4 * i;
        column[i] = butterfly4(scaled[row], scaled[row + 1], scaled[row + 2], scaled[row + 3])[x];
    }
    int r = butterfly4(column.x, column.y, column.z, column.w)[y];
    return clamp(p + ((r + 32) >> 6), 0, 255);
}

/* Chroma: the block's DC level and what becomes of it, of all four DC coefficients of the
 * component c; any: the block has other levels */
void place4_dc(uint c, int first, bool any)
{
    uint t = gl_LocalInvocationIndex, qp = qps[c], way = WAY_CB + c - 1u, blk = t >> 4;
    ivec4 v = hadamard2(ivec4(dc[0], dc[1], dc[2], dc[3]));
    for (int i = 0; i < 4; i++)
        v[i] = quantise_dc(v[i], qp, ROUNDING_INTRA);
    bool any_dc = v != ivec4(0);
    level[first] = v[blk];
    v = hadamard2(v) * 16 * norm_adjust4(int(qp % 6u), 0);
    scaled[16u * blk] = (v[blk] << (qp / 6u)) >> 5;
    if (any || any_dc)
        atomicOr(coded[way], any_dc ? 15u : 1u << blk);
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
