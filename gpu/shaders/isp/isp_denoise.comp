/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luminance denoise of developed frames, first pass: a factor for each pixel (J.-S. Lee, "Digital
 * image enhancement and noise filtering by use of local statistics", 1980). Where luma varies no
 * more than noise, it becomes its mean over 5 x 5 pixels. Where it varies much more (edges), it
 * stays. Between the two it changes gradually. The noise is that of photons; its variance grows
 * with the mean.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#include "gpu/shaders/lib/isp_denoise.h"

#define SIDE 16
#define TILE (SIDE + 2 * ISP_DENOISE_REACH)

layout(local_size_x = SIDE, local_size_y = SIDE) in;

layout(set = 0, binding = ISP_DENOISE_RGB, scalar) readonly restrict buffer rgb_buffer
{
    uvec2 rgb[];
};
layout(set = 0, binding = ISP_DENOISE_FACTORS, scalar) writeonly restrict buffer factor_buffer
{
    float factors[];
};
layout(push_constant, scalar) uniform push_block
{
    isp_denoise push;
};

shared float luma[TILE][TILE];

float luma_at(ivec2 at)
{
    ivec2 p = clamp(at, ivec2(0), ivec2(push.width, push.height) - 1);
    uvec2 v = rgb[push.first + uint(p.y) * push.width + uint(p.x)];
    return (54.0 * float(v.x & 0xffffu) + 183.0 * float(v.x >> 16) + 19.0 * float(v.y & 0xffffu)) *
           (1.0 / 256.0);
}

void main()
{
    ivec2 origin = ivec2(gl_WorkGroupID.xy) * SIDE - ISP_DENOISE_REACH,
          in_tile = ivec2(gl_LocalInvocationID.xy) + ISP_DENOISE_REACH;
    for (int i = int(gl_LocalInvocationIndex); i < TILE * TILE; i += SIDE * SIDE)
        luma[i / TILE][i % TILE] = luma_at(origin + ivec2(i % TILE, i / TILE));
    barrier();
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (at.x >= int(push.width) || at.y >= int(push.height))
        return;
    const float n = float((2 * ISP_DENOISE_REACH + 1) * (2 * ISP_DENOISE_REACH + 1));
    /* of differences from here: their squares stay small */
    float here = luma[in_tile.y][in_tile.x], sum = 0.0, squares = 0.0;
    for (int y = -ISP_DENOISE_REACH; y <= ISP_DENOISE_REACH; y++) {
        for (int x = -ISP_DENOISE_REACH; x <= ISP_DENOISE_REACH; x++) {
            float d = luma[in_tile.y + y][in_tile.x + x] - here;
            sum += d;
            squares += d * d;
        }
    }
    float mean = sum / n, variance = max(squares / n - mean * mean, 0.0),
          noise = push.noise * (here + mean + ISP_DENOISE_DARK);
    float kept = variance > noise ? (variance - noise) / variance : 0.0;
    float wanted = here + mean * (1.0 - kept);
    factors[push.first + uint(at.y) * push.width + uint(at.x)] = (wanted + 1.0) / (here + 1.0);
}
