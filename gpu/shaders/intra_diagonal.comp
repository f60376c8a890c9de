/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction, one dispatch per diagonal x + 2 y = step of all pictures: whatever a macroblock refers to lies on earlier
 * ones. Grid: x macroblocks of the diagonal, y pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/intra_mb.glsl"
#include "gpu/shaders/lib/diagonal.glsl"

layout(local_size_x = INTRA_THREADS) in;

void main()
{
    uint index = push.first_picture + gl_WorkGroupID.y;
    ivec2 at = diagonal_mb(push.step, gl_WorkGroupID.x);
    if (gl_WorkGroupID.y >= push.picture_count || at.x < 0 || at.y >= int(push.mb_height))
        return;
    rec_picture picture = pictures[index];
    uint addr = uint(at.y) * push.mb_width + uint(at.x);
    if (!is_intra(uint(mbs[picture.mb_base + addr].kind)))
        return;
    int t = int(gl_LocalInvocationIndex), layer = int(picture.work);
    rec_mb mb = mbs[picture.mb_base + addr];
    intra_plan plan;
    residual_stage(residual_fetch(picture.coeff_base, mb));
    put_left(t, load_left(t, at, layer));
    if (t < ABOVE_PAIRS)
        put_above(above_pair(t), load_above(above_pair(t), at, layer));
    barrier();
    plan_mb(mb, plan);
    reconstruct_mb(mb, plan);
    barrier();
    store_mb(at, layer);
}
