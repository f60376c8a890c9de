/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vectors in quarter samples (encode/reference/refine_motion.c): the half samples around the whole
 * one, then the quarter samples around the best of these, by SATD and bits. While all partitions
 * have one vector, each 16 threads have some of the positions for all of them. A vector whose
 * prediction is near stays. Grid: macroblocks in x, references in y, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_satd.glsl"
#extension GL_EXT_control_flow_attributes : require

/* A vector that costs less is near. */
#define NEAR_BITS 80u

/* Partitions gain more than this share of the whole, or they have its vector. */
#define GAIN_SHARE 32u

#define POSITIONS 9
#define TASKS     (ENC_PARTS * POSITIONS)

shared uint satds[TASKS], sums[TASKS]; /* by partition and position; sums: with bits */
shared ivec2 centres[ENC_PARTS], steps[POSITIONS];
shared uint known[ENC_PARTS];        /* SATD of the centres, if they have one; costs before */
shared uint quadrants[POSITIONS][4]; /* SATD of quadrants, where all partitions have one vector */

/* The centre comes first, then the others in raster order. */
ivec2 position(uint i)
{
    int at = i == 0u ? 4 : i <= 4u ? int(i) - 1 : int(i);
    return ivec2(at % 3 - 1, at / 3 - 1);
}

/* 16 threads have the blocks of all partitions of a shape. */
uint part_of(uint t)
{
    uint x = t >> 1 & 1u, y = t >> 3 & 1u;
    return t < 16u ? 0u : t < 32u ? 1u + y : t < 48u ? 3u + x : 5u + 2u * y + x;
}

/* Samples from `at` on and from the next one on, in four rows and one more: rows of two planes */
void rows_load(int at, out uint first[5], out uint second[5])
{
    int stride = int(plane_stride(0u));
    [[unroll]] for (int y = 0; y < 5; y++) {
        int from = at + y * stride;
        uint low = plane_words[from >> 2], high = plane_words[(from >> 2) + 1],
             shift = 8u * uint(from & 3);
        first[y] = low >> shift | high << 1u << 31u - shift;
        second[y] = shift == 24u ? high : low >> shift + 8u | high << 24u - shift;
    }
}

/* Blocks at the nine half samples around a place in half samples, by column and row */
struct blocks_around {
    uvec4 at[3][3];
};

uvec4 rows_from(uint rows[5], int first)
{
    return first == 0 ? uvec4(rows[0], rows[1], rows[2], rows[3])
                      : uvec4(rows[1], rows[2], rows[3], rows[4]);
}

/* Half samples at a distance of two lie in one plane, side by side. */
blocks_around blocks_load(uint set, ivec2 centre)
{
    blocks_around b;
    uint first[5], second[5];
    rows_load(half_sample_at(set, centre - 1), first, second);
    b.at[0][0] = rows_from(first, 0), b.at[0][2] = rows_from(first, 1);
    b.at[2][0] = rows_from(second, 0), b.at[2][2] = rows_from(second, 1);
    rows_load(half_sample_at(set, centre - ivec2(1, 0)), first, second);
    b.at[0][1] = rows_from(first, 0), b.at[2][1] = rows_from(second, 0);
    rows_load(half_sample_at(set, centre - ivec2(0, 1)), first, second);
    b.at[1][0] = rows_from(first, 0), b.at[1][2] = rows_from(first, 1);
    rows_load(half_sample_at(set, centre), first, second);
    b.at[1][1] = rows_from(first, 0);
    return b;
}

uvec4 mean_of(uvec4 a, uvec4 b)
{
    return uvec4(mean4(a.x, b.x), mean4(a.y, b.y), mean4(a.z, b.z), mean4(a.w, b.w));
}

/* A quarter sample beside the one in the middle (Table 8-12), in the direction of (x, y) */
uvec4 quarter_of(blocks_around b, int x, int y, bool even)
{
    if (x == 1 || y == 1)
        return mean_of(b.at[1][1], b.at[x][y]);
    return mean_of(even ? b.at[x][1] : b.at[1][1], even ? b.at[1][y] : b.at[x][y]);
}

/* The thread's block at all positions, but not at the centre if that is known: at a step of one.
 * Those that are not allowed are summed up, too: they lie inside the margins. */
void block_run(uint part, int step_size)
{
    uint t = gl_LocalInvocationIndex, set = uint(pictures[picture].reference[reference]);
    ivec2 at = 16 * mb_at + 4 * ivec2(t & 3u, t >> 2 & 3u), centre = centres[part] >> 1;
    uvec4 source = load4x4(int(plane_origin(pictures[picture].source, 0u)) +
                           at.y * int(plane_stride(0u)) + at.x);
    blocks_around b = blocks_load(set, 2 * at + centre);
    bool even = (centre.x & 1) == (centre.y & 1);
    [[unroll]] for (int i = 0; i < POSITIONS; i++) {
        int raster = i == 0 ? 4 : i <= 4 ? i - 1 : i, x = raster % 3, y = raster / 3;
        if (i == 0 && step_size == 1)
            continue;
        uvec4 p = step_size == 2 ? b.at[x][y] : quarter_of(b, x, y, even);
        atomicAdd(satds[part * POSITIONS + i], satd4_of(source, p));
    }
}

/* Does a shape of several partitions gain by the search? Vectors of all but the first partition
 * cost nothing, as they may be predicted. part: its first one */
bool shape_gains(uint part, uint count, uint bits)
{
    uint cost = pictures[picture].lambda * bits / 16u;
    for (uint i = 0u; i < count; i++)
        cost += known[part + i];
    return cost + known[0] / GAIN_SHARE < known[0];
}

/* Partitions have one vector where they gain little. All threads */
void parts_join()
{
    barrier();
    bool join = !shape_gains(1u, 2u, 2u) && !shape_gains(3u, 2u, 2u) && !shape_gains(5u, 4u, 8u);
    ivec2 whole = centres[0];
    barrier();
    if (join && gl_LocalInvocationIndex < ENC_PARTS)
        centres[gl_LocalInvocationIndex] = whole;
    barrier();
}

bool all_are_one()
{
    bool one = true;
    [[unroll]] for (int part = 1; part < ENC_PARTS; part++)
        one = one && centres[part] == centres[0];
    return one;
}

/* The thread's block at some of the positions, from `first` on */
void positions_run(int step_size, uint first, uint end)
{
    uint t = gl_LocalInvocationIndex, set = uint(pictures[picture].reference[reference]);
    ivec2 block = ivec2(t & 3u, t >> 2 & 3u), at = 16 * mb_at + 4 * block;
    uvec4 source = load4x4(int(plane_origin(pictures[picture].source, 0u)) +
                           at.y * int(plane_stride(0u)) + at.x);
    [[dont_unroll]] for (uint i = first + (t >> 4); i < end; i += SEARCH_THREADS / 16)
        atomicAdd(quadrants[i][2 * (block.y >> 1) + (block.x >> 1)],
                  satd4_of(source, predict4x4(two_samples_at(set, 4 * at + centres[0] +
                                                                      step_size * steps[i]))));
}

/* A partition's part of the quadrants */
uint quadrants_of(uint part, uint i)
{
    uint sum = 0u;
    [[unroll]] for (uint q = 0u; q < 4u; q++)
        sum += (part_quadrants[part] >> q & 1u) != 0u ? quadrants[i][q] : 0u;
    return sum;
}

void task_sum(uint task, int step_size, ivec2 predicted)
{
    uint part = task / POSITIONS;
    ivec2 mv = centres[part] + step_size * steps[task % POSITIONS];
    satds[task] += quadrants_of(part, task % POSITIONS);
    sums[task] = allowed(mv) ? satds[task] + vector_cost(mv, predicted) : NO_COST;
}

void part_choose(uint part, int step_size)
{
    uint best = NO_COST, order = 0u;
    for (uint i = 0u; i < POSITIONS; i++)
        if (sums[part * POSITIONS + i] < best) {
            best = sums[part * POSITIONS + i];
            order = i;
        }
    centres[part] += step_size * steps[order];
    known[part] = satds[part * POSITIONS + order];
}

/* SATD by the one vector of all partitions; is it near? */
bool centre_try(ivec2 predicted)
{
    uint t = gl_LocalInvocationIndex;
    if (t < 4u)
        quadrants[0][t] = 0u;
    barrier();
    positions_run(0, 0u, 1u);
    barrier();
    if (t < ENC_PARTS)
        known[t] = quadrants_of(t, 0u);
    barrier();
    return known[0] + vector_cost(centres[0], predicted) <
           pictures[picture].lambda * NEAR_BITS / 16u;
}

void main()
{
    if (!search_begin())
        return;
    uint t = gl_LocalInvocationIndex, found = search_at(mb);
    ivec2 predicted = ivec2(search[found].predicted[0], search[found].predicted[1]);
    if (t < ENC_PARTS) {
        centres[t] = ivec2(search[found].part[t].mv[0], search[found].part[t].mv[1]);
        steps[t] = position(t);
        bool first = t == 0u || t == 1u || t == 3u || t == 5u;
        known[t] = search[found].part[t].cost - (first ? 0u : vector_cost(centres[t], predicted));
    }
    parts_join();
    if (t < ENC_PARTS)
        known[t] = 0u;
    bool near = all_are_one() && centre_try(predicted);
    for (int step_size = near ? 0 : 2; step_size >= 1; step_size--) {
        barrier();
        for (uint task = t; task < TASKS; task += SEARCH_THREADS)
            satds[task] = task % POSITIONS == 0u ? known[task / POSITIONS] : 0u;
        if (t < 4u * POSITIONS)
            quadrants[t >> 2][t & 3u] = 0u;
        bool one = all_are_one();
        barrier();
        if (one)
            positions_run(step_size, 1u, POSITIONS);
        else
            block_run(part_of(t), step_size);
        barrier();
        for (uint task = t; task < TASKS; task += SEARCH_THREADS)
            task_sum(task, step_size, predicted);
        barrier();
        if (t < ENC_PARTS)
            part_choose(t, step_size);
    }
    if (t < ENC_PARTS) {
        search[found].part[t].mv[0] = int16_t(centres[t].x);
        search[found].part[t].mv[1] = int16_t(centres[t].y);
        search[found].part[t].cost = known[t];
    }
}
