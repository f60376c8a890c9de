/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Works off the case lists: gives each thread its entry and its case.
 */
#ifndef PELTON_LISTS_GLSL
#define PELTON_LISTS_GLSL

layout(set = SET_BATCH, binding = BIND_LISTS, scalar) readonly buffer list_buffer
{
    uint lists[];
};
layout(set = SET_BATCH, binding = BIND_COUNTERS, scalar) readonly buffer counter_buffer
{
    uint counters[];
};

struct work_item {
    uint kase; /* the same for the whole workgroup */
    uint picture, addr, block;
};

/* The entry of this thread in cases first..last; false where there is none. */
bool work_take(uint first, uint last, out work_item item)
{
    uint group = gl_WorkGroupID.y * LIST_ROW + gl_WorkGroupID.x;
    uint begin = counters[COUNTER_START + first] + group * LIST_GROUP;
    uint lo = first, hi = last; /* the last case that starts at or before begin */
    while (lo < hi) {
        uint mid = (lo + hi + 1u) >> 1;
        if (counters[COUNTER_START + mid] <= begin)
            lo = mid;
        else
            hi = mid - 1u;
    }
    uint at = begin - counters[COUNTER_START + lo] + gl_LocalInvocationIndex;
    item = work_item(lo, 0u, 0u, 0u);
    if (at >= counters[COUNTER_LENGTH + lo])
        return false;
    uint entry = lists[begin + gl_LocalInvocationIndex];
    item.picture = entry >> 24;
    item.addr = (entry >> 4) & 0xfffffu;
    item.block = entry & 15u;
    return true;
}

#endif
