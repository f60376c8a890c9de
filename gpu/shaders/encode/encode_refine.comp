/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vectors in quarter samples (encode/reference/refine_motion.c): the half samples around the whole
 * one, then the quarter samples around the best of these, by SATD and bits. Grid: macroblocks in x,
 * references in y, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_satd.glsl"
#extension GL_EXT_control_flow_attributes : require

#define POSITIONS 9
#define TASKS     (ENC_PARTS * POSITIONS)

shared uint satds[TASKS], sums[TASKS]; /* by partition and position; sums: with bits */
shared ivec2 centres[ENC_PARTS], steps[POSITIONS];
shared uint known[ENC_PARTS]; /* SATD of the centres */

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

/* The thread's block at all positions, but not at the centre if that is known */
void block_run(uint part, int step_size, bool centre_known)
{
    uint t = gl_LocalInvocationIndex, set = uint(pictures[picture].reference[reference]);
    ivec2 at = 16 * mb_at + 4 * ivec2(t & 3u, t >> 2 & 3u);
    uvec4 source = load4x4(int(plane_origin(pictures[picture].source, 0u)) +
                           at.y * int(plane_stride(0u)) + at.x);
    [[dont_unroll]] for (uint i = centre_known ? 1u : 0u; i < POSITIONS; i++) {
        ivec2 mv = centres[part] + step_size * steps[i];
        if (allowed(mv))
            atomicAdd(satds[part * POSITIONS + i],
                      satd4_of(source, predict4x4(two_samples_at(set, 4 * at + mv))));
    }
}

void task_sum(uint task, int step_size, ivec2 predicted)
{
    uint part = task / POSITIONS;
    ivec2 mv = centres[part] + step_size * steps[task % POSITIONS];
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

void main()
{
    if (!search_begin())
        return;
    uint t = gl_LocalInvocationIndex, found = search_at(mb);
    ivec2 predicted = ivec2(search[found].predicted[0], search[found].predicted[1]);
    if (t < ENC_PARTS) {
        centres[t] = ivec2(search[found].part[t].mv[0], search[found].part[t].mv[1]);
        steps[t] = position(t);
        known[t] = 0u;
    }
    for (int step_size = 2; step_size >= 1; step_size--) {
        barrier();
        for (uint task = t; task < TASKS; task += SEARCH_THREADS)
            satds[task] = task % POSITIONS == 0u ? known[task / POSITIONS] : 0u;
        barrier();
        block_run(part_of(t), step_size, step_size == 1);
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
