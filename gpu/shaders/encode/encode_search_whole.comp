/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The search in whole samples: the results of the half size and the vectors of the picture before,
 * here and beside; then 7 x 7 positions for each partition, or one if the best of the former is
 * near.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_pairs.glsl"

layout(set = 0, binding = ENC_BIND_LAST, scalar) readonly buffer last_buffer
{
    enc_last last[];
};

#define RANGE      3
#define SIDE       (2 * RANGE + 1)
#define CANDIDATES 11
#define POSITIONS  (SIDE * SIDE + 1) /* no motion, then the window */
#define MIDDLE     (POSITIONS / 2)   /* of the window: the centre */

#define ROWS   16
#define STRIPS ((SIDE + 1) * ROWS) /* rows of the macroblock at a row of positions */

shared uint quadrants[POSITIONS][4], bits[POSITIONS];
shared uint candidate_sums[CANDIDATES];
shared ivec2 candidates[CANDIDATES];
shared bool usable[CANDIDATES];
shared uint row_costs[ENC_PARTS][SIDE], row_orders[ENC_PARTS][SIDE]; /* of rows of positions */
ivec2 predicted;

/* The median of the level before, on the left, above and here */
void predict()
{
    uint left = beside(1u), above = beside(3u);
    enc_search a = search[search_at(left == NO_COST ? mb : left)];
    enc_search b = search[search_at(above == NO_COST ? mb : above)];
    enc_search c = search[search_at(mb)];
    ivec2 p = ivec2(a.half_size[0], a.half_size[1]), q = ivec2(b.half_size[0], b.half_size[1]);
    ivec2 r = ivec2(c.half_size[0], c.half_size[1]);
    predicted = 8 * max(min(p, q), min(max(p, q), r));
}

bool candidate(uint i, out ivec2 mv)
{
    uint address = i == 0u ? mb : beside((i - 1u) / 2u);
    mv = ivec2(0);
    if (address == NO_COST)
        return false;
    if (i == 0u)
        return true;
    if ((i & 1u) == 1u) {
        enc_search at = search[search_at(address)];
        mv = 2 * ivec2(at.half_size[0], at.half_size[1]);
    } else {
        uint at = pictures[picture].last * args.mb_width * args.mb_height + address;
        mv = (ivec2(last[at].mv[0], last[at].mv[1]) * int(reference + 1u) + 2) >> 2;
    }
    return true;
}

/* Where samples of a row of the macroblock are, in the source and in the reference by a vector */
int source_at(int y)
{
    return int(plane_origin(pictures[picture].source, 0u)) +
           (16 * mb_at.y + y) * int(plane_stride(0u)) + 16 * mb_at.x;
}

uint source_word(int y, int k)
{
    return plane_words[(source_at(y) >> 2) + k];
}

int reference_at(int y, ivec2 mv)
{
    return int(plane_origin(uint(pictures[picture].reference[reference]), 0u)) +
           (16 * mb_at.y + y + mv.y) * int(plane_stride(0u)) + 16 * mb_at.x + mv.x;
}

/* A row of the macroblock at a candidate */
void candidate_row(uint i, int y)
{
    PAIR sum = PAIR_NONE; /* of eight samples each */
    if (!usable[i])
        return;
    [[unroll]] for (int k = 0; k < 4; k++) {
        uint v = four_samples(reference_at(y, candidates[i]) + 4 * k);
        sum += pairs_sad(pairs_of(source_word(y, k)), pair_of(v), pair_of(v >> 8));
    }
    atomicAdd(candidate_sums[i], pair_sum(sum));
}

/* The best candidate; one: it is near, so it has no window */
ivec2 centre_choose(out bool one)
{
    uint t = gl_LocalInvocationIndex, cost = NO_COST;
    if (t < CANDIDATES) {
        usable[t] = candidate(t, candidates[t]) && allowed(4 * candidates[t]);
        candidate_sums[t] = 0u;
    }
    barrier();
    for (uint i = t; i < CANDIDATES * ROWS; i += SEARCH_THREADS)
        candidate_row(i / ROWS, int(i % ROWS));
    barrier();
    if (t < CANDIDATES && usable[t])
        cost = candidate_sums[t] + vector_cost(4 * candidates[t], predicted);
    uvec2 best = least(cost, t);
    one = is_near(best.x);
    return candidates[best.y];
}

/* A row of the macroblock at a row of positions; the last strip is that of no motion. one: two
 * strips, no motion and the centre. Those that are not allowed are summed up, too: they lie inside
 * the margins, or are not used. */
void strip_sums(uint strip, ivec2 centre, bool one)
{
    int y = int(strip % ROWS), row = int(strip / ROWS), q = 2 * (y >> 3);
    bool still = row == (one ? 0 : SIDE);
    ivec2 mv = still ? ivec2(0) : one ? centre : centre + ivec2(-RANGE, row - RANGE);
    int at = reference_at(y, mv), first = still ? 0 : one ? MIDDLE : row * SIDE + 1;
    uint window[4], next = four_samples(at + 16), after = four_samples(at + 20);
    four_pairs source[4];
    PAIR even[4], odd[4];
    [[unroll]] for (int k = 0; k < 4; k++) {
        source[k] = pairs_of(source_word(y, k));
        window[k] = four_samples(at + 4 * k);
        even[k] = pair_of(window[k]);
    }
    [[dont_unroll]] for (int i = first; i < first + (still || one ? 1 : SIDE); i++) {
        [[unroll]] for (int k = 0; k < 4; k++)
            odd[k] = pair_of(window[k] >> 8);
        /* four samples each */
        atomicAdd(quadrants[i][q], pair_sum(pairs_sad(source[0], even[0], odd[0]) +
                                            pairs_sad(source[1], even[1], odd[1])));
        atomicAdd(quadrants[i][q + 1], pair_sum(pairs_sad(source[2], even[2], odd[2]) +
                                                pairs_sad(source[3], even[3], odd[3])));
        [[unroll]] for (int k = 0; k < 3; k++)
            window[k] = window[k] >> 8 | window[k + 1] << 24;
        window[3] = window[3] >> 8 | next << 24;
        next = next >> 8 | after << 24;
        after >>= 8;
        /* at the next position the samples that were odd are even */
        even = odd;
    }
}

uint part_cost(uint part, uint i)
{
    uint cost = bits[i];
    for (uint q = 0u; q < 4u && bits[i] != NO_COST; q++)
        cost += (part_quadrants[part] >> q & 1u) != 0u ? quadrants[i][q] : 0u;
    return cost;
}

/* The best position of a row */
void row_choose(uint part, uint row)
{
    uint best = NO_COST, order = 0u;
    for (uint i = row * SIDE + 1u; i <= row * SIDE + SIDE; i++) {
        uint cost = part_cost(part, i);
        if (cost < best) {
            best = cost;
            order = i;
        }
    }
    row_costs[part][row] = best;
    row_orders[part][row] = order;
}

void part_choose(uint part, ivec2 centre)
{
    uint best = part_cost(part, 0u), order = 0u;
    for (uint row = 0u; row < SIDE; row++)
        if (row_costs[part][row] < best) {
            best = row_costs[part][row];
            order = row_orders[part][row];
        }
    ivec2 mv =
        order == 0u ? ivec2(0) : centre + ivec2((order - 1u) % SIDE, (order - 1u) / SIDE) - RANGE;
    search[search_at(mb)].part[part].mv[0] = int16_t(4 * mv.x);
    search[search_at(mb)].part[part].mv[1] = int16_t(4 * mv.y);
    search[search_at(mb)].part[part].cost = best;
}

void main()
{
    if (!search_begin())
        return;
    uint t = gl_LocalInvocationIndex;
    predict();
    bool one;
    ivec2 centre = centre_choose(one);
    if (t < POSITIONS) {
        ivec2 mv = t == 0u ? ivec2(0) : centre + ivec2((t - 1u) % SIDE, (t - 1u) / SIDE) - RANGE;
        bool looks = !one || t == 0u || t == MIDDLE;
        bits[t] = looks && allowed(4 * mv) ? vector_cost(4 * mv, predicted) : NO_COST;
        for (uint q = 0u; q < 4u; q++)
            quadrants[t][q] = 0u;
    }
    barrier();
    for (uint strip = t; strip < (one ? 2 * ROWS : STRIPS); strip += SEARCH_THREADS)
        strip_sums(strip, centre, one);
    barrier();
    if (t < ENC_PARTS * SIDE)
        row_choose(t / SIDE, t % SIDE);
    barrier();
    if (t < ENC_PARTS)
        part_choose(t, centre);
    if (t == 0u) {
        search[search_at(mb)].predicted[0] = int16_t(predicted.x);
        search[search_at(mb)].predicted[1] = int16_t(predicted.y);
    }
}
