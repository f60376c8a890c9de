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
#define STRIPS (SIDE * ROWS) /* rows of the macroblock at a row of positions */

/* Sums of quadrants: the upper two and the lower two, the right one in the upper half of a word */
shared uint halves[POSITIONS][2], candidate_halves[CANDIDATES][2];
shared uint bits[POSITIONS];
shared ivec2 candidates[CANDIDATES];
shared bool usable[CANDIDATES];
shared uint tried[CANDIDATES], tried_count; /* those that differ, in any order */
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

/* The row of the source that the thread compares: it has the same one everywhere. */
four_pairs source[4];

void source_load()
{
    int at = source_at(int(gl_LocalInvocationIndex) % ROWS) >> 2;
    [[unroll]] for (int k = 0; k < 4; k++)
        source[k] = pairs_of(plane_words[at + k]);
}

int reference_at(int y, ivec2 mv)
{
    return int(plane_origin(uint(pictures[picture].reference[reference]), 0u)) +
           (16 * mb_at.y + y + mv.y) * int(plane_stride(0u)) + 16 * mb_at.x + mv.x;
}

/* A row of the macroblock at a candidate */
void candidate_row(uint i, int y)
{
    PAIR sums[2]; /* of the left and the right half: four samples each */
    int at = reference_at(y, candidates[i]);
    uint next = plane_words[at >> 2];
    [[unroll]] for (int k = 0; k < 4; k++) {
        uint low = next;
        next = plane_words[(at >> 2) + k + 1];
        uint v = joined(low, next, shift_of(at));
        PAIR sum = pairs_sad(source[k], pair_of(v), pair_of(v >> 8));
        sums[k >> 1] = (k & 1) == 0 ? sum : sums[k >> 1] + sum;
    }
    atomicAdd(candidate_halves[i][y >> 3], pair_sums(sums[0], sums[1]));
}

/* Candidates that are allowed, without those that an earlier one equals */
void candidates_find()
{
    uint t = gl_LocalInvocationIndex;
    if (t < CANDIDATES) {
        usable[t] = candidate(t, candidates[t]) && allowed(4 * candidates[t]);
        candidate_halves[t][0] = candidate_halves[t][1] = 0u;
    }
    if (t == 0u) {
        keys[0] = NO_COST;
        tried_count = 0u;
    }
    barrier();
    bool other = t < CANDIDATES && usable[min(t, CANDIDATES - 1u)];
    for (uint i = 0u; i < t && i < CANDIDATES && other; i++)
        other = !usable[i] || candidates[i] != candidates[t];
    if (other)
        tried[atomicAdd(tried_count, 1u)] = t;
    barrier();
}

/* Sums of both quadrants */
uint both_of(uint word)
{
    return (word & 0xffffu) + (word >> 16);
}

/* The best candidate: its cost and number */
uvec2 candidate_choose()
{
    uint t = gl_LocalInvocationIndex, cost = NO_COST;
    candidates_find();
    for (uint i = t; i < tried_count * ROWS; i += SEARCH_THREADS)
        candidate_row(tried[i / ROWS], int(i % ROWS));
    barrier();
    uint i = tried[min(t, tried_count - 1u)]; /* no motion is always there */
    if (t < tried_count)
        cost = both_of(candidate_halves[i][0]) + both_of(candidate_halves[i][1]) +
               vector_cost(4 * candidates[i], predicted);
    return least(0u, cost, i);
}

/* A row of the macroblock at a row of positions. Those that are not allowed are summed up, too:
 * they lie inside the margins, or are not used. */
void strip_sums(uint strip, ivec2 centre)
{
    int y = int(strip % ROWS), row = int(strip / ROWS);
    int at = reference_at(y, centre + ivec2(-RANGE, row - RANGE)), first = row * SIDE + 1;
    uint window[6], last = plane_words[at >> 2];
    PAIR even[4], odd[4];
    [[unroll]] for (int k = 0; k < 6; k++) {
        uint word = plane_words[(at >> 2) + k + 1];
        window[k] = joined(last, word, shift_of(at));
        last = word;
    }
    [[unroll]] for (int k = 0; k < 4; k++)
        even[k] = pair_of(window[k]);
    [[dont_unroll]] for (int i = first; i < first + SIDE; i++) {
        [[unroll]] for (int k = 0; k < 4; k++)
            odd[k] = pair_of(window[k] >> 8);
        /* four samples each */
        atomicAdd(halves[i][y >> 3], pair_sums(pairs_sad(source[0], even[0], odd[0]) +
                                                   pairs_sad(source[1], even[1], odd[1]),
                                               pairs_sad(source[2], even[2], odd[2]) +
                                                   pairs_sad(source[3], even[3], odd[3])));
        [[unroll]] for (int k = 0; k < 5; k++)
            window[k] = window[k] >> 8 | window[k + 1] << 24;
        window[5] >>= 8;
        /* at the next position the samples that were odd are even */
        even = odd;
    }
}

uint part_cost(uint part, uint i)
{
    uint cost = bits[i];
    for (uint q = 0u; q < 4u && bits[i] != NO_COST; q++)
        cost += (part_quadrants[part] >> q & 1u) != 0u
                    ? halves[i][q >> 1] >> 16u * (q & 1u) & 0xffffu
                    : 0u;
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

void part_store(uint part, uint cost, ivec2 mv)
{
    search[search_at(mb)].part[part].mv[0] = int16_t(4 * mv.x);
    search[search_at(mb)].part[part].mv[1] = int16_t(4 * mv.y);
    search[search_at(mb)].part[part].cost = cost;
}

/* No motion, or the best candidate, which is near */
void part_choose_near(uint part, ivec2 centre)
{
    uint still = part_cost(part, 0u), cost = part_cost(part, MIDDLE);
    part_store(part, min(still, cost), cost < still ? centre : ivec2(0));
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
    part_store(part, best, mv);
}

/* Positions before their sums: no motion and the best candidate have been summed up. */
void positions_begin(uint chosen, bool near)
{
    uint t = gl_LocalInvocationIndex;
    ivec2 centre = candidates[chosen];
    if (t >= POSITIONS)
        return;
    ivec2 mv = t == 0u ? ivec2(0) : centre + ivec2((t - 1u) % SIDE, (t - 1u) / SIDE) - RANGE;
    bits[t] = allowed(4 * mv) ? vector_cost(4 * mv, predicted) : NO_COST;
    for (uint i = 0u; i < 2u; i++)
        halves[t][i] = t == 0u               ? candidate_halves[0][i]
                       : near && t == MIDDLE ? candidate_halves[chosen][i]
                                             : 0u;
}

void main()
{
    if (!search_begin())
        return;
    uint t = gl_LocalInvocationIndex;
    source_load();
    predict();
    uvec2 best = candidate_choose();
    bool near = is_near(best.x);
    ivec2 centre = candidates[best.y];
    positions_begin(best.y, near);
    barrier();
    if (!near) {
        for (uint strip = t; strip < STRIPS; strip += SEARCH_THREADS)
            strip_sums(strip, centre);
        barrier();
        if (t < ENC_PARTS * SIDE)
            row_choose(t / SIDE, t % SIDE);
        barrier();
    }
    if (t < ENC_PARTS && near)
        part_choose_near(t, centre);
    else if (t < ENC_PARTS)
        part_choose(t, centre);
    if (t == 0u) {
        search[search_at(mb)].predicted[0] = int16_t(predicted.x);
        search[search_at(mb)].predicted[1] = int16_t(predicted.y);
    }
}
