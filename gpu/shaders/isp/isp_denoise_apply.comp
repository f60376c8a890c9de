/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luminance denoise, second pass: multiplies each pixel by its factor, in place. Red, green and
 * blue keep their ratios.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#include "gpu/shaders/lib/isp_denoise.h"

layout(local_size_x = 256) in;

layout(set = 0, binding = ISP_DENOISE_RGB, scalar) restrict buffer rgb_buffer
{
    uvec2 rgb[];
};
layout(set = 0, binding = ISP_DENOISE_FACTORS, scalar) readonly restrict buffer factor_buffer
{
    float factors[];
};
layout(push_constant, scalar) uniform push_block
{
    isp_denoise push;
};

uint scaled(uint v, float factor)
{
    return uint(clamp(float(v) * factor + 0.5, 0.0, 65535.0));
}

void main()
{
    if (gl_GlobalInvocationID.x >= push.width * push.height)
        return;
    uint i = push.first + gl_GlobalInvocationID.x;
    uvec2 v = rgb[i];
    float factor = factors[i];
    rgb[i] = uvec2(scaled(v.x & 0xffffu, factor) | scaled(v.x >> 16, factor) << 16,
                   scaled(v.y & 0xffffu, factor));
}
