/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The search in half of the size: the coarse results here and beside, then 7 x 7 positions, unless
 * the best of the former is near. A thread has a row of the macroblock, at a candidate or at a row
 * of positions.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_pairs.glsl"

#define RANGE      3
#define SIDE       (2 * RANGE + 1)
#define POSITIONS  (SIDE * SIDE)
#define CANDIDATES 6
#define ROWS       8

shared uint candidate_sums[CANDIDATES], sums[POSITIONS];
shared ivec2 candidates[CANDIDATES];
shared bool usable[CANDIDATES];

/* No motion, then the results of the coarse search; false: there is none */
bool candidate(uint i, out ivec2 mv)
{
    uint address = i == 0u ? mb : beside(i - 1u);
    mv = ivec2(0);
    if (address == NO_COST)
        return false;
    enc_search at = search[search_at(address)];
    if (i > 0u)
        mv = 2 * ivec2(at.coarse[0], at.coarse[1]);
    return true;
}

uint cost_of(uint sum, ivec2 mv)
{
    return 4u * sum + vector_cost(8 * mv, ivec2(0));
}

/* Where a row of the macroblock is in a set, by a vector */
int row_at(uint set, int y, ivec2 mv)
{
    return int(plane_origin(set, ENC_PLANE_HALF)) +
           (8 * mb_at.y + y + mv.y) * int(plane_stride(ENC_PLANE_HALF)) + 8 * mb_at.x + mv.x;
}

int reference_at(int y, ivec2 mv)
{
    return row_at(uint(pictures[picture].reference[reference]), y, mv);
}

/* The row at a row of positions. Those that are not allowed are summed up, too: they lie inside
 * the margins, or are not used. */
void strip_sums(four_pairs source[2], int y, int row, ivec2 centre)
{
    int at = reference_at(y, centre + ivec2(-RANGE, row - RANGE));
    uint window[4], last = plane_words[at >> 2];
    PAIR even[2], odd[2];
    [[unroll]] for (int k = 0; k < 4; k++) {
        uint word = plane_words[(at >> 2) + k + 1];
        window[k] = joined(last, word, shift_of(at));
        last = word;
    }
    [[unroll]] for (int k = 0; k < 2; k++)
        even[k] = pair_of(window[k]);
    [[unroll]] for (int x = 0; x < SIDE; x++) {
        [[unroll]] for (int k = 0; k < 2; k++)
            odd[k] = pair_of(window[k] >> 8);
        /* four samples each */
        atomicAdd(sums[row * SIDE + x], pair_sum(pairs_sad(source[0], even[0], odd[0]) +
                                                 pairs_sad(source[1], even[1], odd[1])));
        [[unroll]] for (int k = 0; k < 3; k++)
            window[k] = window[k] >> 8 | window[k + 1] << 24;
        window[3] >>= 8;
        /* at the next position the samples that were odd are even */
        even = odd;
    }
}

/* Cost and number of the best candidate */
uvec2 candidate_choose(four_pairs source[2], int y, uint i)
{
    uint t = gl_LocalInvocationIndex, cost = NO_COST;
    if (t < CANDIDATES) {
        usable[t] = candidate(t, candidates[t]) && allowed(8 * candidates[t]);
        candidate_sums[t] = 0u;
    }
    if (t < 2u)
        keys[t] = NO_COST;
    if (t < POSITIONS)
        sums[t] = 0u;
    barrier();
    if (i < CANDIDATES && usable[i]) {
        int at = reference_at(y, candidates[i]);
        uint words[3];
        [[unroll]] for (int k = 0; k < 3; k++)
            words[k] = plane_words[(at >> 2) + k];
        atomicAdd(candidate_sums[i], sad4(source[0], joined(words[0], words[1], shift_of(at))) +
                                         sad4(source[1], joined(words[1], words[2], shift_of(at))));
    }
    barrier();
    if (t < CANDIDATES && usable[t])
        cost = cost_of(candidate_sums[t], candidates[t]);
    return least(0u, cost, t);
}

/* The best position around a candidate; first: its cost */
ivec2 window_choose(four_pairs source[2], int y, uint strip, uint first, ivec2 centre)
{
    uint t = gl_LocalInvocationIndex, cost = NO_COST;
    if (strip < SIDE)
        strip_sums(source, y, int(strip), centre);
    barrier();
    ivec2 mv = centre + ivec2(t % SIDE, t / SIDE) - RANGE;
    if (t < POSITIONS && allowed(8 * mv))
        cost = cost_of(sums[t], mv);
    uvec2 second = least(1u, cost, t);
    return second.x < first ? centre + ivec2(second.y % SIDE, second.y / SIDE) - RANGE : centre;
}

void main()
{
    if (!search_begin())
        return;
    uint t = gl_LocalInvocationIndex, strip = t / ROWS;
    int y = int(t % ROWS), from = row_at(pictures[picture].source, y, ivec2(0));
    four_pairs source[2] =
        four_pairs[2](pairs_of(plane_words[from >> 2]), pairs_of(plane_words[(from >> 2) + 1]));
    uvec2 first = candidate_choose(source, y, strip);
    ivec2 best = candidates[first.y];
    if (!is_near(first.x))
        best = window_choose(source, y, strip, first.x, best);
    if (t == 0u) {
        search[search_at(mb)].half_size[0] = int16_t(best.x);
        search[search_at(mb)].half_size[1] = int16_t(best.y);
    }
}
