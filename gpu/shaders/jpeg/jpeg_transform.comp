/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples of a block to levels: jpeg_block_levels of jpeg/jpeg_transform.c. Eight threads have a
 * block: each a row, then a column. Grid: JPEG_TRANSFORM_BLOCKS blocks of the scan in x, pictures
 * in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/jpeg_common.glsl"
#include "gpu/shaders/lib/jpeg_samples.glsl"

#define LINE 9 /* words of a row in shared memory: columns fall into other banks */

layout(local_size_x = 8 * JPEG_TRANSFORM_BLOCKS) in;

layout(set = 0, binding = JPEG_BIND_LEVELS, scalar) writeonly buffer level_buffer
{
    uint levels[];
};
layout(set = 0, binding = JPEG_BIND_MASKS, scalar) writeonly buffer mask_buffer
{
    uint masks[];
};

shared int block[JPEG_TRANSFORM_BLOCKS][8 * LINE];
shared uint mask[JPEG_TRANSFORM_BLOCKS][2];

/* jpeg_cosines, by sums and differences of opposite values */
int[8] transformed(int v[8], int shift)
{
    const int C1 = 8035, C2 = 7568, C3 = 6811, C4 = 5793, C5 = 4551, C6 = 3135, C7 = 1598;
    int s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
    int d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
    int half_unit = 1 << shift - 1;
    int outer = s0 + s3, inner = s1 + s2, e0 = s0 - s3, e1 = s1 - s2;
    return int[8](C4 * (outer + inner) + half_unit >> shift,
                  C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3 + half_unit >> shift,
                  C2 * e0 + C6 * e1 + half_unit >> shift,
                  C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3 + half_unit >> shift,
                  C4 * (outer - inner) + half_unit >> shift,
                  C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3 + half_unit >> shift,
                  C6 * e0 - C2 * e1 + half_unit >> shift,
                  C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3 + half_unit >> shift);
}

/* Component and first sample of a block of the scan: jpeg_place_of */
uvec3 place_of(uint index)
{
    uint mcu = index / JOB.mcu_blocks, part = index % JOB.mcu_blocks;
    uint luma = JOB.sampling[0] * JOB.sampling[1];
    uvec2 at = uvec2(mcu % JOB.mcus[0], mcu / JOB.mcus[0]);
    if (part >= luma)
        return uvec3(8u * at, 1u + part - luma);
    return uvec3(8u * (at * uvec2(JOB.sampling[0], JOB.sampling[1]) +
                       uvec2(part % JOB.sampling[0], part / JOB.sampling[0])),
                 0u);
}

int quantised(int v, uint step)
{
    int level = int((uint(abs(v)) + 4u * step) / (8u * step));
    return v < 0 ? -level : level;
}

void main()
{
    uint own = gl_LocalInvocationIndex / 8u, line = gl_LocalInvocationIndex % 8u;
    uint index = gl_WorkGroupID.x * JPEG_TRANSFORM_BLOCKS + own;
    uint count = JOB.mcus[0] * JOB.mcus[1] * JOB.mcu_blocks;
    uvec3 place = place_of(min(index, count - 1u)); /* all threads reach the barriers */
    int v[8] = transformed(colours_of(place.z, place.x, place.y + line), 8);
    [[unroll]] for (uint u = 0u; u < 8u; u++)
        block[own][line * LINE + u] = v[u];
    if (line < 2u)
        mask[own][line] = 0u;
    barrier();
    [[unroll]] for (uint y = 0u; y < 8u; y++)
        v[y] = block[own][y * LINE + line];
    barrier();
    v = transformed(v, 17);
    uint table = min(place.z, 1u), low = 0u, high = 0u;
    [[unroll]] for (uint y = 0u; y < 8u; y++) {
        uint k = tables.place[8u * y + line];
        int level = quantised(v[y], uint(JOB.step[table][8u * y + line]));
        block[own][k] = level;
        low |= level != 0 && k < 32u ? 1u << k : 0u;
        high |= level != 0 && k >= 32u ? 1u << k - 32u : 0u;
    }
    atomicOr(mask[own][0], low);
    atomicOr(mask[own][1], high);
    barrier();
    if (index >= count)
        return;
    uint to = JOB.first_block + index;
    [[unroll]] for (uint w = line; w < JPEG_BLOCK_WORDS; w += 8u)
        levels[to * JPEG_BLOCK_WORDS + w] =
            uint(block[own][2u * w]) & 0xffffu | uint(block[own][2u * w + 1u]) << 16;
    if (line < 2u)
        masks[2u * to + line] = mask[own][line];
}
