/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Chroma interprediction, 4:2:0 (8.4.2.2.2): one thread predicts, weighs and adds the residual of the 4x4 samples of one
 * component that belong to an 8x8 luma quadrant. SPLIT: its four 2x2 parts have vectors of their own. BOTH: both lists. z of
 * the grid is the component.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/lists.glsl"
#include "gpu/shaders/lib/units.glsl"
#include "gpu/shaders/lib/weight.glsl"

layout(local_size_x = LIST_GROUP) in;
layout(constant_id = 0) const uint SPLIT = 0;
layout(constant_id = 1) const uint BOTH = 0;

layout(set = SET_BATCH, binding = BIND_MOTION, scalar) readonly buffer motion_buffer { rec_motion motion[]; };
layout(set = SET_BATCH, binding = BIND_FRAME_CB, r32ui) readonly uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR, r32ui) readonly uniform uimage2DArray frame_cr;
layout(set = SET_BATCH, binding = BIND_WORK_CB, r32ui) writeonly uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR, r32ui) writeonly uniform uimage2DArray work_cr;

/* Texel tx of row y; outside of the picture the border repeats. */
uint chroma_texel(int tx, int y, int slot)
{
    int last = int(push.mb_width) * 2 - 1;
    ivec3 at = ivec3(clamp(tx, 0, last), clamp(y, 0, int(push.mb_height) * 8 - 1), slot);
    uint w = gl_WorkGroupID.z == 0u ? imageLoad(frame_cb, at).x : imageLoad(frame_cr, at).x;
    w = tx < 0 ? (w & 0xffu) * 0x01010101u : w;
    return tx > last ? (w >> 24) * 0x01010101u : w;
}

/* Samples x..x+3 of row y, and sample x + 4, mixed by the fraction of x in eighths. */
ivec4 chroma_row(int x, int y, int slot, int fraction)
{
    uint shift = uint(x & 3) * 8u, t0 = chroma_texel(x >> 2, y, slot), t1 = chroma_texel((x >> 2) + 1, y, slot);
    uint w = (t0 >> shift) | ((t1 << 1) << (31u - shift));
    ivec4 a = ivec4(w & 0xffu, (w >> 8) & 0xffu, (w >> 16) & 0xffu, w >> 24);
    return (8 - fraction) * a + fraction * ivec4(a.yzw, (t1 >> shift) & 0xffu);
}

/* rows rows of four samples at (x, y) moved by vector v. */
void chroma_block(ivec2 corner, ivec2 v, int slot, int rows, out ivec4 p[4])
{
    int x = corner.x + (v.x >> 3), y = corner.y + (v.y >> 3), fy = v.y & 7;
    ivec4 above = chroma_row(x, y, slot, v.x & 7);
    for (int r = 0; r < rows; r++) {
        ivec4 below = chroma_row(x, y + r + 1, slot, v.x & 7);
        p[r] = ((8 - fy) * above + fy * below + 32) >> 6;
        above = below;
    }
}

void predict_list(uint at, uint slice, uint list, uint quadrant, ivec2 corner, out ivec4 p[4])
{
    uint ref = uint(slices[slice].ref[list][uint(motion[at].ref_idx[list][quadrant]) & (REC_MAX_REFS - 1u)]);
    uint block = (quadrant & 1u) * 2u + (quadrant >> 1) * 8u;
    int slot = int(REC_REF_SLOT(ref));
    if (SPLIT == 0u) {
        chroma_block(corner, ivec2(motion[at].mv[list][block][0], motion[at].mv[list][block][1]), slot, 4, p);
        return;
    }
    for (int half_y = 0; half_y < 2; half_y++) {
        ivec4 left[4], right[4];
        uint b = block + 4u * uint(half_y);
        ivec2 part = corner + ivec2(0, 2 * half_y);
        chroma_block(part, ivec2(motion[at].mv[list][b][0], motion[at].mv[list][b][1]), slot, 2, left);
        chroma_block(part + ivec2(2, 0), ivec2(motion[at].mv[list][b + 1u][0], motion[at].mv[list][b + 1u][1]), slot, 2, right);
        for (int r = 0; r < 2; r++)
            p[2 * half_y + r] = ivec4(left[r].xy, right[r].xy);
    }
}

void main()
{
    work_item item;
    uint first = CASE_CHROMA + 4u * SPLIT + 2u * BOTH, c = 1u + gl_WorkGroupID.z;
    if (!work_take(first, first + 1u, item))
        return;
    rec_picture picture = pictures[item.picture];
    uint at = picture.mb_base + item.addr, slice = picture.slice_base + mbs[at].slice, quadrant = item.block;
    ivec2 corner = ivec2(item.addr % push.mb_width, item.addr / push.mb_width) * 8 + ivec2(quadrant & 1u, quadrant >> 1) * 4;
    int ref0 = int(motion[at].ref_idx[0][quadrant]), ref1 = int(motion[at].ref_idx[1][quadrant]);
    weight_pair w = weight_pair(1, 1, 0, 0);
    if (item.kase != first)
        w = weights_of(picture, slice, ref0, ref1, c);

    ivec4 p[4];
    predict_list(at, slice, BOTH != 0u || ref0 >= 0 ? 0u : 1u, quadrant, corner, p);
    if (BOTH != 0u) {
        ivec4 q[4];
        predict_list(at, slice, 1u, quadrant, corner, q);
        for (int r = 0; r < 4; r++)
            p[r] = weigh_both(w, p[r], q[r]);
    } else {
        for (int r = 0; r < 4; r++)
            p[r] = weigh_one(w, p[r]);
    }
    if ((uint(mbs[at].coded[c]) >> quadrant & 1u) != 0u) {
        uint unit = unit_of(picture.coeff_base, mbs[at], c, quadrant);
        for (uint r = 0u; r < 4u; r++)
            p[r] += residual_row(unit, r);
    }
    for (int r = 0; r < 4; r++) {
        ivec3 to = ivec3(corner.x >> 2, corner.y + r, picture.work);
        if (gl_WorkGroupID.z == 0u)
            imageStore(work_cb, to, uvec4(pack4(p[r])));
        else
            imageStore(work_cr, to, uvec4(pack4(p[r])));
    }
}
