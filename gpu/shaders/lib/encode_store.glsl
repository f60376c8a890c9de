/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a macroblock's coding leaves: levels, and samples before deblocking.
 */
#ifndef PELTON_ENCODE_STORE_GLSL
#define PELTON_ENCODE_STORE_GLSL

#include "gpu/shaders/lib/encode_samples.glsl"

layout(set = 0, binding = ENC_BIND_LEVELS, scalar) writeonly buffer level_buffer
{
    int16_t levels[];
};
#define MB_LEVELS (16u * ENC_BLOCKS)

/* Where level and work have sample i of a macroblock */
uint block_sample(uint i, bool big)
{
    uint c = i < 256u ? 0u : 1u, width = c == 0u ? 16u : 8u, size = big && c == 0u ? 8u : 4u;
    uint x = i % width, y = c == 0u ? i / 16u : (i & 63u) / 8u;
    uint inside = y % size * size + x % size;
    if (c == 1u)
        return 512u + (i - 256u & 64u) + 16u * (y / 4u * 2u + x / 4u) + inside;
    uint bx = x / 4u, by = y / 4u;
    if (big)
        return 256u + 64u * (y / 8u * 2u + x / 8u) + inside;
    return 16u * (bx & 1u | (by & 1u) << 1 | (bx & 2u) << 1 | (by & 2u) << 2) + inside;
}

/* Of the samples from `first` on; big: luma as 8x8 transforms made it */
void keep_samples(uint first, uint end, bool big)
{
    for (uint i = first + gl_LocalInvocationIndex; i < end; i += SEARCH_THREADS) {
        ivec3 to = sample_place(i);
        unfiltered[unfiltered_at(uint(to.z), to.xy)] = uint8_t(work[block_sample(i, big)]);
    }
}

void keep_levels(uint first, uint end, bool big)
{
    for (uint i = first + gl_LocalInvocationIndex; i < end; i += SEARCH_THREADS)
        levels[record_at(mb) * MB_LEVELS + i] = int16_t(level[i < 256u && !big ? i : i + 256u]);
}

#endif
