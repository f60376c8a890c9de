/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks of a macroblock whose prediction and residual lie in shared memory. A thread has a block
 * of 4x4 in registers. Eight threads have a block of 8x8: each a row, a column or an eighth of the
 * scan, with a barrier after each step. encode_code.glsl comes before.
 */
#ifndef PELTON_ENCODE_BLOCKS_GLSL
#define PELTON_ENCODE_BLOCKS_GLSL

#include "gpu/shaders/lib/encode_lanes.glsl"
#include "gpu/shaders/lib/encode_quantise.glsl"

/* Coefficients and levels of 8x8 blocks; rows and blocks are apart by what avoids bank conflicts */
#define ROW8   9
#define BLOCK8 72
shared int wide[4 * BLOCK8];

/* ---- blocks of 4x4 in registers ---- */

/* Levels from `from` on, a constant, and 0 before; whether any is not 0 */
bool quantise4(inout int v[16], uint qp, int from)
{
    ivec3 factor = ivec3(factor_of(qp, 0, false), factor_of(qp, 5, false), factor_of(qp, 1, false));
    int shift = int(qp / 6u) + 9, last = -1, before = 0, least = 0, last_level = 0;
    if (from > 0)
        v[0] = 0;
    [[unroll]] for (int i = from; i < 16; i++) {
        int at = zigzag4[i];
        place_choice p = place_of(v[at], at_position(factor, at), shift);
        int level = signed_level(v[at], p.near);
        if (before + p.more + COST_BLOCK < least) {
            least = before + p.more + COST_BLOCK;
            last = i;
            last_level = level;
        }
        v[at] = p.keep ? level : 0;
        before += kept_more(p);
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

int wide_at(uint block, int place)
{
    return int(BLOCK8 * block) + ROW8 * (place >> 3) + (place & 7);
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

/* Of 32 threads, which have two places of the scan each: where they lie, to levels and back */
struct lane_place8 {
    int at, factor, norm;
};

lane_place8 lane_place8_of(uint i, uint qp)
{
    int at = zigzag8[2u * LANE + i];
    return lane_place8(at, factor_of(qp, at, true),
                       16 * norm_adjust8(int(qp % 6u), at & 7, at >> 3));
}

/* The last level of a block; -1: it has none. end: what it costs with one of the thread's places as
 * the last one, counted from a block without levels on */
int last_place8(ivec2 end)
{
    int mine = min(end.x, end.y), least = lanes_min(mine, LANES), first = 2 * int(LANE);
    int last = lanes_min(mine > least ? 64 : end.x == least ? first : first + 1, LANES);
    return least < 0 ? last : -1;
}

int end8(place_choice p, int before)
{
    return p.near != 0 ? before + p.more + COST_BLOCK : 0x7fffffff;
}

/* Levels of a block, and their scaled coefficients. All threads. */
void quantise8(uint block, lane_place8 own[2])
{
    int c[2], shift = int(qps.x / 6u) + 10;
    place_choice p[2];
    [[unroll]] for (int k = 0; k < 2; k++) {
        c[k] = wide[wide_at(block, own[k].at)];
        p[k] = place_of(c[k], own[k].factor, shift);
    }
    int before = lanes_before(kept_more(p[0]) + kept_more(p[1]), LANES);
    int last = last_place8(ivec2(end8(p[0], before), end8(p[1], before + kept_more(p[0]))));
    [[unroll]] for (int k = 0; k < 2; k++) {
        int i = 2 * int(LANE) + k;
        int v = i < last && p[k].keep || i == last ? signed_level(c[k], p[k].near) : 0;
        level[LUMA8_FIRST + 64 * int(block) + own[k].at] = v;
        wide[wide_at(block, own[k].at)] = scale_level(v, own[k].norm, int(qps.x), 6);
    }
    if (last >= 0 && LANE == 0u)
        atomicOr(coded[WAY_LUMA8], 15u << 4u * block);
}

/* Prediction and residual of a block are there; eight threads transform. */
void code_luma8(uint block, lane_place8 own[2])
{
    uint t = 8u * block + gl_LocalInvocationIndex;
    bool mine = gl_LocalInvocationIndex < 8u;
    if (mine)
        rows_forward8(t);
    barrier();
    if (mine)
        columns_forward8(t);
    barrier();
    quantise8(block, own);
    barrier();
    if (mine)
        rows_back8(t);
    barrier();
    if (mine)
        columns_back8(t);
    barrier();
}

#endif
