/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes the joined cells over the blurred rectangles of a developed picture, in place. A thread
 * takes one word: x in a row, y the row, plane below plane. The push constant names the frame.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#include "gpu/shaders/lib/isp_blur.h"

#define BLUR_COMPONENTS ISP_BLUR_COMPONENTS
#include "gpu/shaders/lib/blur.glsl"

layout(local_size_x = 64, local_size_y = 4) in;

layout(set = 0, binding = ISP_BLUR_OUTPUT, scalar) buffer output_buffer
{
    uint words[];
};
layout(set = 0, binding = ISP_BLUR_FRAMES, scalar) readonly buffer blur_buffer
{
    isp_blur frames[];
};
layout(push_constant, scalar) uniform push_block
{
    uint index;
};

uint joined(uint i, uint component, uvec2 at, uvec2 size)
{
    ivec3 h = blur_between(at.x, frames[index].rects[i].columns, size.x),
          v = blur_between(at.y, frames[index].rects[i].rows, size.y);
    uint upper = BLUR_PLANE(i, component) + uint(v.x * BLUR_SIDE),
         lower = BLUR_PLANE(i, component) + uint(v.y * BLUR_SIDE);
    uint a = frames[index].cells[upper + uint(h.x)], b = frames[index].cells[upper + uint(h.y)];
    uint c = frames[index].cells[lower + uint(h.x)], d = frames[index].cells[lower + uint(h.y)];
    uint fx = uint(h.z), fy = uint(v.z), gx = 64u - fx, gy = 64u - fy;
    return (gx * gy * a + fx * gy * b + gx * fy * c + fx * fy * d + 2048u) >> 12;
}

/* The first rectangle that the sample lies in counts. */
uint blurred(uint value, uint kind, uint component, uvec2 xy)
{
    uint result = value;
    for (uint i = frames[index].count; i-- > 0u;) {
        /* wraps where x or y is less */
        uvec2 at = xy - uvec2(frames[index].rects[i].x[kind], frames[index].rects[i].y[kind]);
        uvec2 size = uvec2(frames[index].rects[i].width[kind], frames[index].rects[i].height[kind]);
        if (at.x < size.x && at.y < size.y)
            result = joined(i, component, at, size) << frames[index].shift;
    }
    return result;
}

void main()
{
    uint row = gl_GlobalInvocationID.y, p = 0u;
    while (p < frames[index].planes && row >= frames[index].plane[p].rows)
        row -= frames[index].plane[p++].rows;
    if (p >= frames[index].planes || gl_GlobalInvocationID.x >= frames[index].plane[p].stride)
        return;
    isp_blur_plane plane = frames[index].plane[p];
    uint at = plane.offset + row * plane.stride + gl_GlobalInvocationID.x,
         bits = frames[index].bits, each = 32u / bits, was = words[at], now = 0u;
    for (uint i = 0u; i < each; i++) { /* what lies behind the last column is as that is */
        uint s = gl_GlobalInvocationID.x * each + i,
             x = min(s / plane.components, plane.width - 1u);
        uint value = bitfieldExtract(was, int(i * bits), int(bits));
        now |= blurred(value, plane.kind, plane.first + s % plane.components, uvec2(x, row))
               << (i * bits);
    }
    if (now != was)
        words[at] = now;
}
