/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocking, one dispatch per diagonal x + 2 y = step of all pictures, which is the order of 8.7 as far as it matters. Grid: x
 * macroblocks of the diagonal, y pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/deblock_mb.glsl"
#include "gpu/shaders/lib/diagonal.glsl"

layout(local_size_x = DEBLOCK_THREADS) in;

void main()
{
    uint index = push.first_picture + gl_WorkGroupID.y;
    ivec2 mb_at = diagonal_mb(push.step, gl_WorkGroupID.x);
    if (gl_WorkGroupID.y >= push.picture_count || mb_at.x < 0 || mb_at.y >= int(push.mb_height))
        return;
    rec_picture picture = pictures[index];
    uint at = (picture.mb_base + uint(mb_at.y) * push.mb_width + uint(mb_at.x)) * STRENGTH_WORDS;
    if (uint(picture.has_deblock) != 0u && deblock_needed(at)) {
        deblock_begin(mb_at, int(picture.work));
        deblock_end(at, mb_at, int(picture.slot));
    } else {
        copy_mb(mb_at, int(picture.work), int(picture.slot));
    }
}
