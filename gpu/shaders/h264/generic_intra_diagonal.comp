/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction in frames of any format. One dispatch handles the diagonal x + 2 y = step of all
 * pictures. A macroblock or pair refers to earlier diagonals only. Grid: x macroblocks of the
 * diagonal, y pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/generic_intra_mb.glsl"
#include "gpu/shaders/lib/diagonal.glsl"

layout(local_size_x = INTRA_THREADS) in;

void main()
{
    ivec2 at = diagonal_mb(push.step, gl_WorkGroupID.x);
    if (gl_WorkGroupID.y >= push.picture_count)
        return;
    rec_picture picture = pictures[push.first_picture + gl_WorkGroupID.y];
    if (at.x < 0 || at.y >= unit_rows(picture) || !unit_intra(picture, at))
        return;
    reconstruct_unit(picture, at);
}
