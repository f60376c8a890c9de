/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma of a frame into its set of planes, with the margin around it. Grid: samples of the plane and
 * its margins in x and y, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_common.glsl"

layout(local_size_x = 16, local_size_y = 4) in;

layout(set = 0, binding = ENC_BIND_FRAMES, scalar) readonly buffer frame_buffer
{
    uint8_t frames[];
};
layout(set = 0, binding = ENC_BIND_PLANES, scalar) buffer plane_buffer
{
    uint8_t planes[];
};

void main()
{
    ivec2 size = ivec2(luma_width(), luma_height());
    ivec2 at = ivec2(gl_GlobalInvocationID.xy) - ENC_MARGIN;
    if (any(greaterThanEqual(at, size + ENC_MARGIN)) || set_is_made(gl_WorkGroupID.z))
        return;
    ivec2 from = clamp(at, ivec2(0), size - 1);
    uint picture = gl_WorkGroupID.z, set = set_made(picture);
    planes[int(plane_origin(set, 0u)) + at.y * int(plane_stride(0u)) + at.x] =
        frames[picture * ENC_FRAME_SIZE(luma_width(), luma_height()) +
               uint(from.y * size.x + from.x)];
}
