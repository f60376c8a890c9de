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
/* Along the scan: a place in the block; from bit 6 on its norm (8.5.9), from bit 16 on its factor
 */
shared uint scan8[64];
/* by thread: what its eighth of the scan costs more than without levels; the last level that it
 * would choose */
shared int eighth_more[32], end_more[32], end_at[32];
shared uint near_one; /* is there a magnitude that may get a level? */

/* An eighth of the scan: what levels cost more than none */
int own_more[8];

/* All 32 threads, with a barrier after it */
void scan8_fill(uint t)
{
    [[unroll]] for (uint i = t; i < 64u; i += 32u) {
        int place = zigzag8[i];
        scan8[i] = uint(place | norm_adjust8(int(qps.x % 6u), place & 7, place >> 3) << 6 |
                        factor_of(qps.x, place, true) << 16);
    }
}

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

/* Place k of the thread's eighth: what scan8 says of it */
uint eighth_place(uint t, int k)
{
    return scan8[8u * (t & 7u) + uint(k)];
}

/* Where it is in `wide` */
uint wide_at(uint t, uint place)
{
    return BLOCK8 * (t >> 3) + ROW8 * (place >> 3 & 7u) + (place & 7u);
}

void eighth_begin(uint t)
{
    int more = 0, most = 0, shift = int(qps.x / 6u) + 10;
    [[unroll]] for (int k = 0; k < 8; k++) {
        uint place = eighth_place(t, k);
        int c = wide[wide_at(t, place)], magnitude = (abs(c) * int(place >> 16)) >> shift;
        place_choice p = place_with(magnitude);
        most = max(most, magnitude);
        own_levels8[k] = signed_level(c, p.near);
        own_more[k] = p.more;
        more += kept_more(p);
    }
    eighth_more[t] = more;
    if (most >= MAGNITUDE_NEAR_ONE)
        near_one = 1u;
}

/* The best last level of the thread's eighth */
void eighth_end(uint t)
{
    int least = 0, before = 0, last = -1;
    [[unroll]] for (uint i = 0u; i < 7u; i++)
        before += i < (t & 7u) ? eighth_more[(t & 24u) + i] : 0;
    [[unroll]] for (int k = 0; k < 8; k++) {
        if (before + own_more[k] + COST_BLOCK < least) {
            least = before + own_more[k] + COST_BLOCK;
            last = k;
        }
        before += min(own_more[k], COST_ZERO);
    }
    end_more[t] = least;
    end_at[t] = last < 0 ? -1 : 8 * int(t & 7u) + last;
}

/* The best last level of the block; -1: none */
int block_end(uint t)
{
    int last = -1, least = 0;
    [[unroll]] for (uint i = 0u; i < 8u; i++) {
        uint at = (t & 24u) + i;
        if (end_more[at] < least) {
            least = end_more[at];
            last = end_at[at];
        }
    }
    return last;
}

/* Levels of the eighth, and their scaled coefficients */
void eighth_levels(uint t)
{
    int last = block_end(t), shift = int(qps.x / 6u) - 2, down = max(-shift, 0);
    int half_step = 1 << down >> 1;
    uint sum = 0u;
    [[unroll]] for (int k = 0; k < 8; k++) {
        uint place = eighth_place(t, k);
        int i = 8 * int(t & 7u) + k;
        bool kept = i < last && own_more[k] <= COST_ZERO || i == last;
        int v = kept ? own_levels8[k] : 0;
        own_levels8[k] = v;
        sum += level_bits(v);
        wide[wide_at(t, place)] =
            ((v * int(place >> 6 & 63u) << max(shift, 0)) + half_step) >> down;
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
