/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Statistics of 2x2 cells: each thread adds up its own, then the workgroup, whose cells all lie in one zone; the histogram goes
 * through shared memory to one of several copies. Integers: the order of additions does not matter.
 */
layout(set = ISP_SET_BATCH, binding = ISP_BIND_STATISTICS, scalar) buffer statistics_buffer { uint statistics[]; };

layout(constant_id = 4) const uint STATISTICS = 0u;

shared uint shared_bins[ISP_HISTOGRAM_BINS];
shared uint shared_sums[ISP_ZONE_WORDS];

uvec4 sums_low = uvec4(0u); /* luma, log, red, green */
uvec3 sums_high = uvec3(0u); /* blue, clipped, dark */

/* 4096 log2(v) for 1 <= v <= 65535: log2(1 + f) is taken as f + 0.344 f (1 - f). A float has both parts: exponent and f. */
uint log_of(uint v)
{
    uint bits = floatBitsToUint(float(v)), f = bits >> 8 & 0x7fffu;
    uint bow = (f * (32768u - f)) >> 15;
    return (bits >> 11) - (127u << 12) + ((bow * 11272u) >> 18);
}

/* Before any cell_add, by the whole workgroup. */
void statistics_begin()
{
    if (STATISTICS == 0u)
        return;
    for (uint i = gl_LocalInvocationIndex; i < ISP_HISTOGRAM_BINS; i += uint(THREADS))
        shared_bins[i] = 0u;
    if (gl_LocalInvocationIndex < ISP_ZONE_WORDS)
        shared_sums[gl_LocalInvocationIndex] = 0u;
}

void cell_add(uint red, uint green, uint blue, bool clipped)
{
    uint luma = (54u * red + 183u * green + 19u * blue) >> 8;
    sums_low += uvec4(luma, log_of(max(luma, 1u)), clipped ? 0u : red, clipped ? 0u : green);
    sums_high += uvec3(clipped ? 0u : blue, clipped ? 1u : 0u, luma < 256u ? 1u : 0u);
    atomicAdd(shared_bins[luma >> 8], 1u);
}

/* After all cell_add, by the whole workgroup. origin: any sample of the workgroup's. */
void statistics_end(uint frame, ivec2 origin)
{
    if (STATISTICS == 0u)
        return;
    uvec4 low = subgroupAdd(sums_low);
    uvec3 high = subgroupAdd(sums_high);
    if (subgroupElect()) {
        for (uint i = 0u; i < 4u; i++)
            atomicAdd(shared_sums[i], low[i]);
        for (uint i = 0u; i < 3u; i++)
            atomicAdd(shared_sums[4u + i], high[i]);
    }
    barrier();
    uint base = args[frame].statistics, copy = (gl_WorkGroupID.x + gl_WorkGroupID.y + gl_WorkGroupID.z) % ISP_HISTOGRAMS * ISP_HISTOGRAM_BINS;
    for (uint i = gl_LocalInvocationIndex; i < ISP_HISTOGRAM_BINS; i += uint(THREADS))
        if (shared_bins[i] != 0u)
            atomicAdd(statistics[base + copy + i], shared_bins[i]);
    if (gl_LocalInvocationIndex >= 7u)
        return;
    uvec2 tiles = (uvec2(CAMERA.width, CAMERA.height) + uvec2(ISP_TILE_X - 1u, ISP_TILE_Y - 1u)) / uvec2(ISP_TILE_X, ISP_TILE_Y);
    uvec2 zone = uvec2(origin) / uvec2(ISP_TILE_X, ISP_TILE_Y) * uvec2(CAMERA.zone_columns, CAMERA.zone_rows) / tiles;
    uint at = base + ISP_HISTOGRAMS * ISP_HISTOGRAM_BINS + (zone.y * CAMERA.zone_columns + zone.x) * ISP_ZONE_WORDS;
    atomicAdd(statistics[at + gl_LocalInvocationIndex], shared_sums[gl_LocalInvocationIndex]);
}

/* One cell from its four samples, row by row. */
void cell_count(uvec4 v)
{
    if (STATISTICS == 0u)
        return;
    bool clipped = max(max(v.x, v.y), max(v.z, v.w)) >= 65535u;
    if (MONO) {
        uint mean = (v.x + v.y + v.z + v.w + 2u) >> 2;
        cell_add(mean, mean, mean, clipped);
        return;
    }
    uint red = v[RED_Y * 2 + RED_X], blue = v[3 - (RED_Y * 2 + RED_X)];
    uint green = (v.x + v.y + v.z + v.w - red - blue + 1u) >> 1;
    cell_add(red, green, blue, clipped);
}

void cell_measure(float a, float b, float c, float d)
{
    cell_count(uvec4(to_uint(a), to_uint(b), to_uint(c), to_uint(d)));
}
