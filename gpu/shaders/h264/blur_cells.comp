/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Means of the cells of a delivery's blurred rectangles; deliver.comp joins them. One workgroup
 * takes one cell of one plane: x is the cell, y the rectangle, z the plane.
 * recon_push.first_picture is the delivery.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#include "gpu/shaders/lib/blur.glsl"
#include "gpu/shaders/lib/format.glsl"
#include "gpu/shaders/lib/sample.glsl"

#define THREADS 64u

layout(local_size_x = 64) in;

layout(set = SET_BATCH, binding = BIND_DELIVER, scalar) readonly buffer deliver_buffer
{
    recon_deliver_args deliveries[];
};
layout(set = SET_BATCH, binding = BIND_BLUR, scalar) buffer blur_buffer
{
    recon_blur blurs[];
};
layout(set = SET_BATCH, binding = BIND_FRAME_Y,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cr;

layout(constant_id = 0) const uint FORMAT = DELIVER_I420;

#define SHIFT_X (FORMAT == DELIVER_I444 ? 0u : 1u) /* of chroma */
#define SHIFT_Y (FORMAT == DELIVER_I444 || FORMAT == DELIVER_I422 ? 0u : 1u)

shared uint sums[THREADS];

uint sample_at(uint plane, uint x, uint y, uint slot)
{
    ivec3 at = ivec3(x >> 2, y, slot);
    uvec4 texel = plane == 0u   ? imageLoad(frame_y, at)
                  : plane == 1u ? imageLoad(frame_cb, at)
                                : imageLoad(frame_cr, at);
    return uint(samples_of(texel)[x & 3u]);
}

void main()
{
    uint index = push.first_picture, plane = gl_WorkGroupID.z, p = min(plane, 1u),
         thread = gl_LocalInvocationIndex;
    recon_blur_rect rect = blurs[index].rects[gl_WorkGroupID.y];
    if (gl_WorkGroupID.x >= rect.columns * rect.rows)
        return;
    recon_deliver_args d = deliveries[index];
    uvec2 n = uvec2(rect.columns, rect.rows),
          cell = uvec2(gl_WorkGroupID.x % n.x, gl_WorkGroupID.x / n.x);
    uvec2 begin =
        uvec2(blur_edge(cell.x, n.x, rect.width[p]), blur_edge(cell.y, n.y, rect.height[p]));
    uvec2 size = uvec2(blur_edge(cell.x + 1u, n.x, rect.width[p]),
                       blur_edge(cell.y + 1u, n.y, rect.height[p])) -
                 begin;
    uvec2 stride = (size + uint(BLUR_MOST - 1)) / uint(BLUR_MOST),
          taken = (size + stride - 1u) / stride;
    begin +=
        uvec2(rect.x[p], rect.y[p]) +
        (p == 0u ? uvec2(d.crop_x, d.crop_y) : uvec2(d.crop_x >> SHIFT_X, d.crop_y >> SHIFT_Y));
    uint sum = 0u, count = taken.x * taken.y; /* at most 2^16 samples of 14 bits */
    for (uint i = thread; i < count; i += THREADS) {
        uvec2 at = begin + uvec2(i % taken.x, i / taken.x) * stride;
        sum += sample_at(plane, at.x, at.y * d.row_step + d.row_first, d.slot);
    }
    sums[thread] = sum;
    for (uint half_ = THREADS / 2u; half_ > 0u; half_ >>= 1) {
        barrier();
        if (thread < half_)
            sums[thread] += sums[thread + half_];
    }
    if (thread == 0u)
        blurs[index]
            .cells[BLUR_PLANE(gl_WorkGroupID.y, plane) + cell.y * uint(BLUR_SIDE) + cell.x] =
            blur_mean(sums[0], count);
}
