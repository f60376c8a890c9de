/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Developed frames to pictures: region, size and lens by the camera's map, then colour matrix, tone
 * curve and output format. A thread makes 2 x 2 pixels, so neighbours in a subgroup read
 * neighbouring samples. Samples outside the sensor's picture are black.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#include "gpu/shaders/lib/isp_common.glsl"
#include "gpu/shaders/lib/debug.glsl"

layout(local_size_x = 32, local_size_y = 8) in;

layout(constant_id = 0) const uint SAMPLING = ISP_SAMPLE_NONE;
#define OUTPUT_FIRST 1
#include "gpu/shaders/lib/isp_output.glsl"

layout(set = ISP_SET_BATCH, binding = ISP_BIND_RGB, scalar) readonly restrict buffer rgb_buffer
{
    uvec2 rgb[];
};
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_buffer
{
    uint table[];
};
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_pairs
{
    uvec2 pairs[];
};

uvec3 split(uvec2 v)
{
    return uvec3(v.x & 0xffffu, v.x >> 16, v.y);
}

uvec3 load(ivec2 at, uint frame)
{
    if (any(greaterThanEqual(uvec2(at), uvec2(args[frame].width, args[frame].height))))
        return uvec3(0u);
    return split(rgb[args[frame].rgb + uint(at.y) * args[frame].width + uint(at.x)]);
}

vec3 wide(uvec2 v)
{
    return vec3(to_float(v.x & 0xffffu), to_float(v.x >> 16), to_float(v.y));
}

/* Fractions stay, but in an output of 16 bits: halves round up there. */
vec3 bilinear(ivec2 at, uint frame)
{
    ivec2 p = at >> ISP_MAP_BITS;
    uvec2 f = uvec2(at & 31), g = 32u - f;
    uvec2 a = uvec2(0u), b = uvec2(0u), c = uvec2(0u), d = uvec2(0u);
    uint width = args[frame].width, height = args[frame].height,
         i = args[frame].rgb + uint(p.y) * width + uint(p.x);
    bool left = uint(p.x) < width, right = uint(p.x + 1) < width, top = uint(p.y) < height,
         bottom = uint(p.y + 1) < height;
    if (left && top)
        a = rgb[i];
    if (right && top)
        b = rgb[i + 1u];
    if (left && bottom)
        c = rgb[i + width];
    if (right && bottom)
        d = rgb[i + width + 1u];
    if (FORMAT == RGB48) {
        uvec3 v = g.x * g.y * split(a) + f.x * g.y * split(b) + g.x * f.y * split(c) +
                  f.x * f.y * split(d);
        v = (v + 512u) >> 10;
        return vec3(to_float(v.x), to_float(v.y), to_float(v.z));
    }
    vec2 part = vec2(to_float(f.x), to_float(f.y)) * (1.0 / 32.0);
    float both = part.x * part.y;
    return wide(a) * (1.0 - part.x - part.y + both) + wide(b) * (part.x - both) +
           wide(c) * (part.y - both) + wide(d) * both;
}

/* R. G. Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75,
 * in 1/2048. */
ivec4 cubic(int phase)
{
    const float a = -0.75;
    float f = float(phase) / 32.0, g = 1.0 - f;
    ivec4 w =
        ivec4(roundEven(2048.0 * vec4(a * f * g * g, ((a + 2.0) * f - (a + 3.0)) * f * f + 1.0,
                                      ((a + 2.0) * g - (a + 3.0)) * g * g + 1.0, a * f * f * g)));
    w.w = 2048 - w.x - w.y - w.z;
    return w;
}

vec3 bicubic(ivec2 at, uint frame)
{
    ivec2 p = (at >> ISP_MAP_BITS) - 1;
    ivec4 wx = cubic(at.x & 31), wy = cubic(at.y & 31);
    ivec3 sum = ivec3(1024);
    for (int y = 0; y < 4; y++) {
        ivec3 row = ivec3(1024);
        for (int x = 0; x < 4; x++)
            row += wx[x] * ivec3(load(p + ivec2(x, y), frame));
        sum += wy[y] * (row >> 11);
    }
    return vec3(clamp(sum >> 11, 0, 65535));
}

vec3 sampled(uint entry, ivec2 base, uint frame)
{
    if (entry == ISP_MAP_NONE)
        return vec3(0.0);
    ivec2 at = base + ivec2(entry & 0xffffu, entry >> 16);
    return SAMPLING == ISP_SAMPLE_BILINEAR ? bilinear(at, frame) : bicubic(at, frame);
}

/* One output pixel. entry: of the map. */
vec3 developed(ivec2 at, uint entry, ivec2 base, uint frame)
{
    vec3 v;
    if (SAMPLING == ISP_SAMPLE_NONE)
        v = vec3(load(at + ivec2(args[frame].region_x, args[frame].region_y), frame));
    else
        v = sampled(entry, base, frame);
    return toned(v, vec3(1.0));
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.z;
    ivec2 at = ivec2(gl_GlobalInvocationID.xy) * 2;
    if (at.x >= int(args[frame].out_width) || at.y >= int(args[frame].out_height))
        return;
    ivec2 base = ivec2(0);
    uvec2 upper = uvec2(0u), lower = uvec2(0u);
    if (SAMPLING != ISP_SAMPLE_NONE) {
        uint block =
            args[frame].map_base + 2u * (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
        uint entry = (args[frame].map + uint(at.y) * args[frame].map_stride + uint(at.x)) >> 1;
        base = ivec2(table[block], table[block + 1u]);
        upper = pairs[entry];
        lower = pairs[entry + (args[frame].map_stride >> 1)];
    }
    vec3 a = developed(at, upper.x, base, frame),
         b = developed(at + ivec2(1, 0), upper.y, base, frame);
    vec3 c = developed(at + ivec2(0, 1), lower.x, base, frame),
         d = developed(at + ivec2(1, 1), lower.y, base, frame);
    DEBUG_FIRST(DEBUG_RED, frame, a.r);
    store_cell(at, frame, a, b, c, d);
}
