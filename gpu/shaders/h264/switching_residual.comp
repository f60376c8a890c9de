/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Clears the residual of macroblocks whose levels are joined with the transform of their prediction
 * (8.6). Later passes then add zero. It runs after the residual passes. Grid: x macroblocks, y
 * pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/switching.glsl"

layout(local_size_x = 32) in;

layout(set = SET_BATCH, binding = BIND_RESIDUAL, std430) writeonly buffer residual_buffer
{
    uvec4 residual[];
};

void main()
{
    uint index = push.first_picture + gl_WorkGroupID.y;
    if (gl_WorkGroupID.y >= push.picture_count || gl_WorkGroupID.x >= pictures[index].mb_count)
        return;
    rec_mb mb = mbs[pictures[index].mb_base + gl_WorkGroupID.x];
    uint coeff_blocks = uint(bitCount(uint(mb.coded[0])) + bitCount(uint(mb.coded[1])) +
                             bitCount(uint(mb.coded[2])));
    uint coeff_block =
        pictures[index].coeff_base + mb.coeff + gl_LocalInvocationIndex; /* 24 at most */
    if (gl_LocalInvocationIndex >= coeff_blocks || coeff_block >= push.coeff_block_total ||
        !is_switching(mb, pictures[index].slice_base + mb.slice))
        return;
    residual[coeff_block * 2u] = uvec4(0u);
    residual[coeff_block * 2u + 1u] = uvec4(0u);
}
