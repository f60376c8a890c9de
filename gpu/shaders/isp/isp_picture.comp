/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures of cameras that develop themselves. Y, Cb, Cr of 8 bits, in any layout, become the three
 * 16-bit samples that the finish pass reads. These are R, G, B by the camera's matrix, or the
 * unchanged codes. Statistics of Y are made in the same pass. A chroma sample stands for all pixels
 * it was taken from. A thread makes 2 x 2 pixels.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "gpu/shaders/lib/isp_common.glsl"

layout(local_size_x = 32, local_size_y = 8) in;

#define THREADS 256
#define MONO    true
#define RED_X   0
#define RED_Y   0
#include "gpu/shaders/lib/isp_statistics.glsl"

layout(set = ISP_SET_BATCH, binding = ISP_BIND_RAW, scalar) readonly restrict buffer raw_buffer
{
    uint raw[];
};
layout(set = ISP_SET_BATCH, binding = ISP_BIND_RGB, scalar) writeonly restrict buffer rgb_buffer
{
    uvec4 rgb_pairs[];
};

layout(constant_id = 0) const uint LAYOUT = 2u;

/* enum isp_packing */
#define YUYV       2u
#define UYVY       3u
#define NV12       4u
#define NV21       5u
#define PLANES_420 6u
#define PLANES_422 7u

uint byte_at(uint frame, uint row, uint x)
{
    return raw[args[frame].raw + row * args[frame].raw_stride + (x >> 2)] >> ((x & 3u) * 8u) &
           0xffu;
}

uvec3 codes(uint frame, uint x, uint y)
{
    uint h = args[frame].height;
    if (LAYOUT == YUYV || LAYOUT == UYVY) {
        uint w = raw[args[frame].raw + y * args[frame].raw_stride + (x >> 1)];
        w = LAYOUT == YUYV ? w : (w >> 8 & 0x00ff00ffu) | (w & 0x00ff00ffu) << 8;
        return uvec3(w >> ((x & 1u) * 16u), w >> 8, w >> 24) & 0xffu;
    }
    uint luma = byte_at(frame, y, x);
    if (LAYOUT == NV12 || LAYOUT == NV21) {
        uint first = byte_at(frame, h + (y >> 1), x & ~1u),
             second = byte_at(frame, h + (y >> 1), x | 1u);
        return LAYOUT == NV12 ? uvec3(luma, first, second) : uvec3(luma, second, first);
    }
    if (LAYOUT == PLANES_420)
        return uvec3(luma, byte_at(frame, h + (y >> 1), x >> 1),
                     byte_at(frame, h + (h >> 1) + (y >> 1), x >> 1));
    uint column = LAYOUT == PLANES_422 ? x >> 1 : x;
    return uvec3(luma, byte_at(frame, h + y, column), byte_at(frame, 2u * h + y, column));
}

float row_of(uint frame, uint i, vec3 v)
{
    float sum = args[frame].picture[4u * i] * v.x + args[frame].picture[4u * i + 1u] * v.y +
                args[frame].picture[4u * i + 2u] * v.z;
    return clamp(sum + args[frame].picture[4u * i + 3u], 0.0, 65535.0);
}

uvec2 pixel(uint frame, uvec3 c)
{
    vec3 v = vec3(c);
    return uvec2(to_pair(row_of(frame, 0u, v), row_of(frame, 1u, v)),
                 to_uint(row_of(frame, 2u, v)));
}

float level(uint frame, uint luma)
{
    return clamp((float(luma) - float(args[frame].black[0])) * args[frame].gain[0], 0.0, 65535.0);
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.z;
    ivec2 origin = ivec2(gl_WorkGroupID.xy) * ivec2(64, 16);
    uvec2 at = gl_GlobalInvocationID.xy * 2u;
    statistics_begin();
    barrier();
    if (at.x < args[frame].width && at.y < args[frame].height) {
        uvec3 a = codes(frame, at.x, at.y), b = codes(frame, at.x + 1u, at.y);
        uvec3 c = codes(frame, at.x, at.y + 1u), d = codes(frame, at.x + 1u, at.y + 1u);
        uint pitch = args[frame].width >> 1,
             to = (args[frame].rgb >> 1) + at.y * pitch + (at.x >> 1);
        rgb_pairs[to] = uvec4(pixel(frame, a), pixel(frame, b));
        rgb_pairs[to + pitch] = uvec4(pixel(frame, c), pixel(frame, d));
        cell_measure(level(frame, a.x), level(frame, b.x), level(frame, c.x), level(frame, d.x));
    }
    statistics_end(frame, origin);
}
