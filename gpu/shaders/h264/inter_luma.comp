/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma interprediction (8.4.2). One thread predicts and weighs one 4x4 block, four texels, and adds
 * the residual. BOTH 0: one pipeline for each position class; CLASS is a constant. BOTH 1: the
 * whole workgroup has the same pair of classes. So the switch over the pair never diverges, and 36
 * pipelines are saved. In 4:4:4 z of the grid is the component, because all components are
 * predicted like luma.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/debug.glsl"
#include "gpu/shaders/lib/lists.glsl"
#include "gpu/shaders/lib/place.glsl"
#include "gpu/shaders/lib/luma.glsl"
#include "gpu/shaders/lib/coeff_blocks.glsl"
#include "gpu/shaders/lib/weight.glsl"

layout(local_size_x = LIST_GROUP) in;
layout(constant_id = 0) const uint BOTH = 0;
layout(constant_id = 1) const uint CLASS = 0;

layout(set = SET_BATCH, binding = BIND_MOTION, scalar) readonly buffer motion_buffer
{
    rec_motion motion[];
};
layout(set = SET_BATCH, binding = BIND_WORK_Y,
       SAMPLE_FORMAT) writeonly uniform uimage2DArray work_y;
layout(set = SET_BATCH, binding = BIND_WORK_CB,
       SAMPLE_FORMAT) writeonly uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR,
       SAMPLE_FORMAT) writeonly uniform uimage2DArray work_cr;

void predict_list(uint position_class, uint at, uint slice, uint list, uint ref_idx, uint block,
                  uint field, ivec2 corner, out ivec4 p[4])
{
    int x = int(motion[at].mv[list][block][0]), y = int(motion[at].mv[list][block][1]);
    uint ref = reference_of(slice, list, ref_idx, field);
    luma_source.structure = REC_REF_STRUCTURE(ref);
    luma_predict(position_class,
                 luma_block(corner.x + (x >> 2), corner.y + (y >> 2), int(REC_REF_SLOT(ref)),
                            uvec2(x & 3, y & 3)),
                 p);
}

void main()
{
    work_item item;
    uint first = BOTH != 0u ? CASE_LUMA_BOTH : CASE_LUMA_ONE + 2u * CLASS;
    uint last = BOTH != 0u ? CASE_LUMA_BOTH + 2u * LUMA_CLASSES * LUMA_CLASSES - 1u : first + 1u;
    if (!work_take(first, last, item))
        return;
    rec_picture picture = pictures[item.picture];
    uint at = picture.mb_base + item.addr, blk = swap_blk(item.block),
         slice = picture.slice_base + mbs[at].slice;
    uint c = CHROMA_FORMAT == 3u ? gl_WorkGroupID.z : 0u,
         field = pair_field(picture, uint(mbs[at].flags), item.addr);
    ivec3 rows = mb_rows(field, item.addr, 16);
    ivec2 corner = ivec2(item.addr % push.mb_width * 16u, rows.z) +
                   ivec2(item.block & 3u, item.block >> 2) * 4;
    luma_source.plane = CHROMA_FORMAT == 0u ? uint(picture.colour_plane) : c;
    luma_source.top = top_of(int(c));
    int ref0 = int(motion[at].ref_idx[0][blk >> 2]), ref1 = int(motion[at].ref_idx[1][blk >> 2]);
    DEBUG_FIRST(DEBUG_REF_IDX, item.picture, ref0);
    uint pair = (item.kase - CASE_LUMA_BOTH) >> 1;
    bool weighted = ((item.kase - first) & 1u) != 0u;

    ivec4 p[4];
    if (BOTH == 0u) {
        uint list = ref0 >= 0 ? 0u : 1u;
        predict_list(CLASS, at, slice, list, uint(list == 0u ? ref0 : ref1), item.block, field,
                     corner, p);
        if (weighted) {
            weight_pair w = weights_of(picture, slice, ref0, ref1, c, field);
            for (int r = 0; r < 4; r++)
                p[r] = weigh_one(w, p[r], luma_source.top);
        }
    } else {
        ivec4 p0[4];
        for (uint list = 0u; list < 2u; list++) {
            if (list == 1u)
                p0 = p;
            uint position_class = list == 0u ? pair / LUMA_CLASSES : pair % LUMA_CLASSES;
            predict_list(position_class, at, slice, list, uint(list == 0u ? ref0 : ref1),
                         item.block, field, corner, p);
        }
        weight_pair w = weight_pair(1, 1, 0, 0);
        if (weighted)
            w = weights_of(picture, slice, ref0, ref1, c, field);
        for (int r = 0; r < 4; r++)
            p[r] = weigh_both(w, p0[r], p[r], luma_source.top);
    }
    if ((uint(mbs[at].coded[c]) >> blk & 1u) != 0u) {
        uint coeff_block = coeff_block_of(picture.coeff_base, mbs[at], c, blk);
        for (uint r = 0u; r < 4u; r++)
            p[r] += residual_row(coeff_block, r);
    }
    for (int r = 0; r < 4; r++) {
        ivec3 to =
            ivec3(corner.x >> 2, rows.x + (int(item.block >> 2) * 4 + r) * rows.y, picture.work);
        uvec4 texel = texel_of(clamp(p[r], 0, luma_source.top));
        if (c == 0u)
            imageStore(work_y, to, texel);
        else if (c == 1u)
            imageStore(work_cb, to, texel);
        else
            imageStore(work_cr, to, texel);
    }
}
