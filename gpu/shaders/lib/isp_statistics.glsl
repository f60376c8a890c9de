/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Statistics of 2x2 cells. Each thread adds up its own cells, then the workgroup adds up its
 * threads; its cells all lie in one zone. The histogram goes through shared memory to one of
 * several copies. All values are integers, so the order of additions does not matter.
 */
layout(set = ISP_SET_BATCH, binding = ISP_BIND_STATISTICS, scalar) buffer statistics_buffer
{
    uint statistics[];
};

layout(constant_id = 4) const uint STATISTICS = 0u;

shared uint shared_bins[ISP_HISTOGRAM_BINS];
shared uint shared_sums[ISP_ZONE_WORDS];

uvec4 sums_low = uvec4(0u);  /* luma, log, red, green */
uvec2 sums_high = uvec2(0u); /* blue, clipped */

/* LOG_BIAS + 4096 log2(v) for v <= 65535, 0 being 1: log2(1 + f) is taken as f + 11/32 g (1 - g),
 * where g is f to nine bits, so that floats are exact. A float has both parts: exponent and f. */
#define LOG_BIAS ((127u << 12) + 0x4b000000u)
uint biased_log(uint v)
{
    precise float whole = max(uintBitsToFloat(MAGIC_BITS | v) - MAGIC, 1.0);
    uint bits = floatBitsToUint(whole);
    float m = uintBitsToFloat((bits & 0x7fc000u) | 0x3f800000u); /* 1 + g */
    precise float bow = fma(m * (3.0 - m), 1408.0, MAGIC - 2816.0);
    return (bits >> 11) + floatBitsToUint(bow);
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
    sums_low += uvec4(luma, biased_log(luma) - LOG_BIAS, clipped ? 0u : red, clipped ? 0u : green);
    sums_high += uvec2(clipped ? 0u : blue, clipped ? 1u : 0u);
    atomicAdd(shared_bins[luma >> 8], 1u);
}

/* After all cell_add, by the whole workgroup. origin: any sample of the workgroup's. */
void statistics_end(uint frame, ivec2 origin)
{
    if (STATISTICS == 0u)
        return;
    uvec4 low = subgroupAdd(sums_low);
    uvec2 high = subgroupAdd(sums_high);
    if (subgroupElect()) {
        for (uint i = 0u; i < 4u; i++)
            atomicAdd(shared_sums[i], low[i]);
        for (uint i = 0u; i < 2u; i++)
            atomicAdd(shared_sums[4u + i], high[i]);
    }
    barrier();
    uint base = args[frame].statistics,
         copy = (gl_WorkGroupID.x + gl_WorkGroupID.y + gl_WorkGroupID.z) % ISP_HISTOGRAMS *
                ISP_HISTOGRAM_BINS;
    for (uint i = gl_LocalInvocationIndex; i < ISP_HISTOGRAM_BINS; i += uint(THREADS))
        if (shared_bins[i] != 0u)
            atomicAdd(statistics[base + copy + i], shared_bins[i]);
    if (gl_LocalInvocationIndex >= 7u)
        return;
    uvec2 zones = uvec2(CAMERA.zone_columns, CAMERA.zone_rows),
          count = zones & (1u << ISP_ZONE_SHIFT) - 1u;
    uvec2 zone =
        uvec2(origin) / uvec2(ISP_TILE_X, ISP_TILE_Y) * count * (zones >> ISP_ZONE_SHIFT) >> 20;
    uint at =
        base + ISP_HISTOGRAMS * ISP_HISTOGRAM_BINS + (zone.y * count.x + zone.x) * ISP_ZONE_WORDS;
    /* dark cells are those of the first bin */
    atomicAdd(statistics[at + gl_LocalInvocationIndex], gl_LocalInvocationIndex == 6u
                                                            ? shared_bins[0]
                                                            : shared_sums[gl_LocalInvocationIndex]);
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
