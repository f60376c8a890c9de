/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches without deblocking: unfiltered samples become the frame. One thread copies one texel of luma and, where it lies
 * inside the chroma planes, one of each of them. Grid: x texels of a row, y rows, z pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"

layout(local_size_x = 32, local_size_y = 4) in;

layout(set = SET_BATCH, binding = BIND_WORK_Y, r32ui) readonly uniform uimage2DArray work_y;
layout(set = SET_BATCH, binding = BIND_WORK_CB, r32ui) readonly uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR, r32ui) readonly uniform uimage2DArray work_cr;
layout(set = SET_BATCH, binding = BIND_FRAME_Y, r32ui) writeonly uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB, r32ui) writeonly uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR, r32ui) writeonly uniform uimage2DArray frame_cr;

void main()
{
    uvec2 at = gl_GlobalInvocationID.xy;
    if (gl_GlobalInvocationID.z >= push.picture_count || at.x >= push.mb_width * 4u || at.y >= push.mb_height * 16u)
        return;
    uint index = push.first_picture + gl_GlobalInvocationID.z;
    ivec3 from = ivec3(at, pictures[index].work), to = ivec3(at, pictures[index].slot);
    imageStore(frame_y, to, imageLoad(work_y, from));
    if (at.x < push.mb_width * 2u && at.y < push.mb_height * 8u) {
        imageStore(frame_cb, to, imageLoad(work_cb, from));
        imageStore(frame_cr, to, imageLoad(work_cr, from));
    }
}
