/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Means of the cells of a developed picture's blurred rectangles. One workgroup takes one cell of
 * one component: x is the cell, y the rectangle, z the component. The push constant names the
 * frame.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#include "gpu/shaders/lib/isp_blur.h"

#define BLUR_COMPONENTS ISP_BLUR_COMPONENTS
#include "gpu/shaders/lib/blur.glsl"

#define THREADS 64u

layout(local_size_x = 64) in;

layout(set = 0, binding = ISP_BLUR_OUTPUT, scalar) readonly buffer output_buffer
{
    uint words[];
};
layout(set = 0, binding = ISP_BLUR_FRAMES, scalar) buffer blur_buffer
{
    isp_blur frames[];
};
layout(push_constant, scalar) uniform push_block
{
    uint index;
};

shared uint sums[THREADS];

void main()
{
    uint component = gl_WorkGroupID.z, thread = gl_LocalInvocationIndex, p = 0u;
    while (p + 1u < frames[index].planes && component >= frames[index].plane[p + 1u].first)
        p++;
    isp_blur_plane plane = frames[index].plane[p];
    recon_blur_rect rect = frames[index].rects[gl_WorkGroupID.y];
    if (gl_WorkGroupID.x >= rect.columns * rect.rows)
        return;
    uvec2 n = uvec2(rect.columns, rect.rows),
          cell = uvec2(gl_WorkGroupID.x % n.x, gl_WorkGroupID.x / n.x);
    uvec2 all = uvec2(rect.width[plane.kind], rect.height[plane.kind]),
          begin = uvec2(blur_edge(cell.x, n.x, all.x), blur_edge(cell.y, n.y, all.y));
    uvec2 size =
        uvec2(blur_edge(cell.x + 1u, n.x, all.x), blur_edge(cell.y + 1u, n.y, all.y)) - begin;
    uvec2 stride = (size + uint(BLUR_MOST - 1)) / uint(BLUR_MOST),
          taken = (size + stride - 1u) / stride;
    begin += uvec2(rect.x[plane.kind], rect.y[plane.kind]);
    uint sum = 0u, count = taken.x * taken.y, bits = frames[index].bits,
         shift = frames[index].shift, each = 32u / bits;
    for (uint i = thread; i < count; i += THREADS) { /* at most 2^10 of 16 bits a thread */
        uvec2 at = begin + uvec2(i % taken.x, i / taken.x) * stride;
        uint s = at.x * plane.components + component - plane.first;
        sum += bitfieldExtract(words[plane.offset + at.y * plane.stride + s / each],
                               int(s % each * bits), int(bits)) >>
               shift;
    }
    sums[thread] = sum;
    for (uint half_ = THREADS / 2u; half_ > 0u; half_ >>= 1) {
        barrier();
        if (thread < half_)
            sums[thread] += sums[thread + half_];
    }
    if (thread == 0u) /* 2^16 samples of 16 bits and a half of their number fit */
        frames[index]
            .cells[BLUR_PLANE(gl_WorkGroupID.y, component) + cell.y * uint(BLUR_SIDE) + cell.x] =
            blur_mean(sums[0], count);
}
