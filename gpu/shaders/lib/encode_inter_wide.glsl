/* SPDX-License-Identifier: BSD-2-Clause
 *
 * 8x8 blocks of an inter macroblock. Eight threads have a block: each a row, a column, or an eighth
 * of the scan, with a barrier after each step. encode_inter_blocks.glsl comes before.
 */
#ifndef PELTON_ENCODE_INTER_WIDE_GLSL
#define PELTON_ENCODE_INTER_WIDE_GLSL

/* Coefficients; rows and blocks are apart by what avoids bank conflicts */
#define ROW8   9
#define BLOCK8 72
shared int wide[4 * BLOCK8];
shared int scan8[64]; /* zigzag8 */
/* by thread: what its eighth of the scan costs with levels, and without; the last level that it
 * would choose */
shared int eighth_cost[32], eighth_zero[32], end_cost[32], end_at[32];
shared uint near_one; /* is there a magnitude that may get a level? */

/* An eighth of the scan */
int own_c[8];
place_choice own_choice[8];

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

int row8_at(uint t)
{
    return int(BLOCK8 * (t >> 3) + ROW8 * (t & 7u));
}

int column8_at(uint t)
{
    return int(BLOCK8 * (t >> 3) + (t & 7u));
}

/* Where the two words of the thread's row are */
uint row8_words(uint t)
{
    return 4u * (8u * (t >> 4) + (t & 7u)) + 2u * (t >> 3 & 1u);
}

void rows8_forward(uint t)
{
    uint at = row8_words(t);
    int v[8];
    [[unroll]] for (int i = 0; i < 8; i++)
        v[i] = sample_of(source_words[at + uint(i >> 2)], i & 3) -
               sample_of(pred_words[at + uint(i >> 2)], i & 3);
    forward8(v);
    line8_store(v, row8_at(t), 1);
}

void columns8_forward(uint t)
{
    int v[8];
    line8_load(v, column8_at(t), ROW8);
    forward8(v);
    line8_store(v, column8_at(t), ROW8);
}

/* Place k of the thread's eighth: in its block, and in `wide` */
int eighth_place(uint t, int k)
{
    return scan8[8u * (t & 7u) + uint(k)];
}

int wide_at(uint t, int place)
{
    return int(BLOCK8 * (t >> 3)) + ROW8 * (place >> 3) + (place & 7);
}

void eighth_begin(uint t)
{
    int cost = 0, zero = 0, most = 0, shift = int(qps.x / 6u) + 10;
    [[unroll]] for (int k = 0; k < 8; k++) {
        int place = eighth_place(t, k);
        own_c[k] = wide[wide_at(t, place)];
        int magnitude = (abs(own_c[k]) * factor_of(qps.x, place, true)) >> shift;
        most = max(most, magnitude);
        own_choice[k] = place_with(magnitude);
        cost += own_choice[k].keep ? own_choice[k].cost : own_choice[k].zero + COST_ZERO;
        zero += own_choice[k].zero;
    }
    eighth_cost[t] = cost;
    eighth_zero[t] = zero;
    if (most >= MAGNITUDE_NEAR_ONE)
        near_one = 1u;
}

/* Sums of the block without levels, all and from the thread on, and with levels before it */
ivec3 sums_around(uint t)
{
    ivec3 sums = ivec3(0);
    [[unroll]] for (uint i = 0u; i < 8u; i++) {
        uint at = (t & 24u) + i;
        int zero = eighth_zero[at];
        sums += ivec3(zero, at >= t ? zero : 0, at < t ? eighth_cost[at] : 0);
    }
    return sums;
}

/* The best last level of the thread's eighth */
void eighth_end(uint t)
{
    ivec3 sums = sums_around(t);
    int least = sums.x, after = sums.y, before = sums.z, last = -1;
    [[unroll]] for (int k = 0; k < 8; k++) {
        place_choice p = own_choice[k];
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

/* The best last level of the block; -1: none. Ends are no dearer than no level at all. */
int block_end(uint t)
{
    int last = -1, least = 0;
    [[unroll]] for (uint i = 0u; i < 8u; i++) {
        uint at = (t & 24u) + i;
        if (end_at[at] >= 0 && (last < 0 || end_cost[at] < least)) {
            least = end_cost[at];
            last = end_at[at];
        }
    }
    return last;
}

/* Levels of the eighth, and their scaled coefficients */
void eighth_levels(uint t)
{
    int last = block_end(t), qp = int(qps.x);
    uint sum = 0u;
    [[unroll]] for (int k = 0; k < 8; k++) {
        int place = eighth_place(t, k), i = 8 * int(t & 7u) + k;
        place_choice p = own_choice[k];
        int v = i < last && p.keep || i == last ? signed_level(own_c[k], p.near) : 0;
        own_levels8[k] = v;
        sum += level_bits(v);
        wide[wide_at(t, place)] =
            v == 0 ? 0 : scale_level(v, 16 * norm_adjust8(qp % 6, place & 7, place >> 3), qp, 6);
    }
    if (last >= 0)
        atomicAdd(bits[SUM_LUMA8], sum + ((t & 7u) == 0u ? 32u : 0u));
    if (last >= 0 && (t & 7u) == 0u)
        atomicOr(coded[SUM_LUMA8], 15u << (t >> 1));
}

void rows8_back(uint t)
{
    int v[8];
    line8_load(v, row8_at(t), 1);
    butterfly8_of(v);
    line8_store(v, row8_at(t), 1);
}

void columns8_back(uint t)
{
    int v[8];
    line8_load(v, column8_at(t), ROW8);
    butterfly8_of(v);
    line8_store(v, column8_at(t), ROW8);
}

/* The thread's row of samples; changed: there are levels */
void row8_rebuild(uint t, bool changed)
{
    uint at = row8_words(t), error = 0u;
    int v[8] = int[8](0, 0, 0, 0, 0, 0, 0, 0);
    if (changed)
        line8_load(v, row8_at(t), 1);
    own_samples8[0] =
        rebuilt_word(pred_words[at], source_words[at], ivec4(v[0], v[1], v[2], v[3]), error);
    own_samples8[1] = rebuilt_word(pred_words[at + 1u], source_words[at + 1u],
                                   ivec4(v[4], v[5], v[6], v[7]), error);
    atomicAdd(errors[SUM_LUMA8], error);
}

#endif
