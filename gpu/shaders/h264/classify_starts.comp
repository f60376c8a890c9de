/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs between the two runs of classify. It computes the start of each case's list and the
 * arguments of the indirect dispatches. One thread does one case and one pipeline.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"

layout(local_size_x = CASE_SLOTS) in;

layout(set = SET_BATCH, binding = BIND_COUNTERS, scalar) buffer counter_buffer
{
    uint counters[];
};

/* Workgroups of the cases first..end - 1. */
uint groups_of(uint first, uint end)
{
    uint sum = 0u;
    for (uint i = first; i < end; i++)
        sum += (counters[COUNTER_LENGTH + i] + LIST_GROUP - 1u) / LIST_GROUP;
    return sum;
}

/* First case and number of cases of a pipeline. */
uvec2 cases_of(uint work)
{
    if (work < WORK_LUMA_BOTH)
        return uvec2(CASE_LUMA_ONE + 2u * work, 2u);
    if (work < WORK_CHROMA)
        return uvec2(CASE_LUMA_BOTH, 2 * LUMA_CLASSES * LUMA_CLASSES);
    if (work < WORK_RES_4X4)
        return uvec2(CASE_CHROMA + 2u * (work - WORK_CHROMA), 2u);
    if (work < WORK_RES_CHROMA)
        return uvec2(CASE_RES_4X4 + 3u * (work - WORK_RES_4X4), 3u);
    return work == WORK_RES_CHROMA ? uvec2(CASE_RES_CHROMA, 2u) : uvec2(CASE_RES_COPY, 6u);
}

void main()
{
    uint i = gl_LocalInvocationIndex;
    if (i >= CASE_SLOTS)
        return;
    uint start = groups_of(0u, min(i, CASE_COUNT)) * LIST_GROUP;
    counters[COUNTER_START + i] = start;
    counters[COUNTER_CURSOR + i] = start;
    if (i >= WORK_COUNT)
        return;
    uvec2 cases = cases_of(i);
    uint groups = groups_of(cases.x, cases.x + cases.y);
    bool chroma = i >= WORK_CHROMA && i < WORK_RES_4X4;
    counters[COUNTER_ARGS + 3u * i] = min(groups, LIST_ROW);
    counters[COUNTER_ARGS + 3u * i + 1u] = (groups + LIST_ROW - 1u) / LIST_ROW;
    uint luma = CHROMA_FORMAT == 3u && i < WORK_CHROMA ? 3u : 1u;
    counters[COUNTER_ARGS + 3u * i + 2u] = chroma ? 2u : luma; /* z: the component */
}
