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

#define POSITIONS 9
#define TASKS     (ENC_PARTS * POSITIONS)

shared uint satds[TASKS], sums[TASKS];
shared ivec2 centres[ENC_PARTS];

/* The centre comes first, then the others in raster order. */
ivec2 position(uint i)
{
    int at = i == 0u ? 4 : i <= 4u ? int(i) - 1 : int(i);
    return ivec2(at % 3 - 1, at / 3 - 1);
}

void task_run(uint task, int step_size)
{
    uint part = task % ENC_PARTS;
    ivec2 mv = centres[part] + step_size * position(task / ENC_PARTS);
    enc_search at = search[search_at(mb)];
    sums[task] = NO_COST;
    if (!allowed(mv))
        return;
    satds[task] = part_satd(part, mv);
    sums[task] = satds[task] + vector_cost(mv, ivec2(at.predicted[0], at.predicted[1]));
}

void part_choose(uint part, int step_size)
{
    uint best = NO_COST, order = 0u;
    for (uint i = 0u; i < POSITIONS; i++)
        if (sums[i * ENC_PARTS + part] < best) {
            best = sums[i * ENC_PARTS + part];
            order = i;
        }
    centres[part] += step_size * position(order);
    search[search_at(mb)].part[part].mv[0] = int16_t(centres[part].x);
    search[search_at(mb)].part[part].mv[1] = int16_t(centres[part].y);
    search[search_at(mb)].part[part].cost = satds[order * ENC_PARTS + part];
}

void main()
{
    if (!search_begin())
        return;
    uint t = gl_LocalInvocationIndex;
    if (t < ENC_PARTS) {
        enc_found found = search[search_at(mb)].part[t];
        centres[t] = ivec2(found.mv[0], found.mv[1]);
    }
    for (int step_size = 2; step_size >= 1; step_size--) {
        barrier();
        for (uint task = t; task < TASKS; task += SEARCH_THREADS)
            task_run(task, step_size);
        barrier();
        if (t < ENC_PARTS)
            part_choose(t, step_size);
    }
}
