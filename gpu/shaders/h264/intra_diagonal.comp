/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction. One dispatch handles the diagonal x + 2 y = step of all pictures. A macroblock
 * refers to earlier diagonals only. Grid: x macroblocks of the diagonal, y pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/debug.glsl"
#define LUMA_TILES     1
#define LANE           int(gl_LocalInvocationIndex)
#define role_barrier() barrier()
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
    if (uint(at.y) < picture.row_first || uint(at.y) >= picture.row_end)
        return;
    if (!is_intra(uint(mbs[picture.mb_base + addr].kind)))
        return;
    int t = LANE, layer = int(picture.work);
    rec_mb mb = mbs[picture.mb_base + addr];
    DEBUG_FIRST_X(DEBUG_MB_KIND, index, uint(mb.kind));
    stage_luma_residual(0u, luma_residual(picture.coeff_base, mb));
    stage_chroma_residual(chroma_residual(picture.coeff_base, mb));
    barrier();
    plan_luma(mb, 0);
    luma_tile[LUMA_GREY] = 128;
    if (t < 16)
        LUMA_AT(0, -1, t) = load_left(0, t, at, layer);
    else
        CHROMA_AT((t >> 3) - 2, -1, t & 7) = load_left((t >> 3) - 1, t & 7, at, layer);
    if (t < LUMA_PAIRS)
        put_above(luma_pair(t), 0, load_above(luma_pair(t), at, layer));
    else if (t < LUMA_PAIRS + CHROMA_PAIRS)
        put_above(chroma_pair(t - LUMA_PAIRS), 0,
                  load_above(chroma_pair(t - LUMA_PAIRS), at, layer));
    barrier();
    reconstruct_chroma(mb);
    reconstruct_luma(luma_of(mb), 0);
    store_luma(0, at, layer);
    store_chroma(at, layer);
}
