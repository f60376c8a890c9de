/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A plane of half the size of another, with the margin around it: rounded means of four samples.
 * Grid: samples of the plane and its margins in x and y, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_common.glsl"

layout(local_size_x = 16, local_size_y = 4) in;
layout(constant_id = 0) const uint FROM = 0;
layout(constant_id = 1) const uint TO = ENC_PLANE_HALF;

layout(set = 0, binding = ENC_BIND_PLANES, scalar) buffer plane_buffer
{
    uint8_t planes[];
};

void main()
{
    ivec2 size = ivec2(luma_width(), luma_height()) >> ENC_LEVEL(TO);
    ivec2 at = ivec2(gl_GlobalInvocationID.xy) - ENC_MARGIN;
    if (any(greaterThanEqual(at, size + ENC_MARGIN)) || set_is_made(gl_WorkGroupID.z))
        return;
    ivec2 from = 2 * clamp(at, ivec2(0), size - 1);
    uint set = set_made(gl_WorkGroupID.z), stride = plane_stride(FROM);
    uint s = plane_origin(set, FROM) + uint(from.y) * stride + uint(from.x);
    uint sum = uint(planes[s]) + uint(planes[s + 1u]) + uint(planes[s + stride]) +
               uint(planes[s + stride + 1u]);
    planes[int(plane_origin(set, TO)) + at.y * int(plane_stride(TO)) + at.x] =
        uint8_t((sum + 2u) >> 2);
}
