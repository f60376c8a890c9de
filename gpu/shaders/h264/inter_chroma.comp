/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Chroma interprediction, 4:2:0 and 4:2:2 (8.4.2.2.2). One thread handles the chroma of one
 * component of an 8x8 luma quadrant: 4x4 samples, or twice as many rows. It predicts, weighs and
 * adds the residual. SPLIT: the four parts have vectors of their own. BOTH: both lists. z of the
 * grid is the component.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/lists.glsl"
#include "gpu/shaders/lib/place.glsl"
#include "gpu/shaders/lib/sample.glsl"
#include "gpu/shaders/lib/coeff_blocks.glsl"
#include "gpu/shaders/lib/weight.glsl"

layout(local_size_x = LIST_GROUP) in;
layout(constant_id = 0) const uint SPLIT = 0;
layout(constant_id = 1) const uint BOTH = 0;

layout(set = SET_BATCH, binding = BIND_MOTION, scalar) readonly buffer motion_buffer
{
    rec_motion motion[];
};
layout(set = SET_BATCH, binding = BIND_FRAME_CB,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cr;
layout(set = SET_BATCH, binding = BIND_WORK_CB,
       SAMPLE_FORMAT) writeonly uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR,
       SAMPLE_FORMAT) writeonly uniform uimage2DArray work_cr;

/* Structure of the reference: REC_TOP, REC_BOTTOM, REC_FRAME. */
uint chroma_structure = REC_FRAME;

uvec4 load_chroma(int tx, int y, int slot)
{
    ivec3 at =
        ivec3(clamp(tx, 0, int(push.mb_width) * 2 - 1),
              reference_row(y, int(push.mb_height) * mb_height_of(1), chroma_structure), slot);
    return gl_WorkGroupID.z == 0u ? imageLoad(frame_cb, at) : imageLoad(frame_cr, at);
}

#ifdef PELTON_WIDE

/* Texel tx of row y; outside of the picture the border repeats. */
ivec4 chroma_texel(int tx, int y, int slot)
{
    ivec4 v = samples_of(load_chroma(tx, y, slot));
    v = tx < 0 ? v.xxxx : v;
    return tx > int(push.mb_width) * 2 - 1 ? v.wwww : v;
}

/* Samples x..x+3 of row y, and sample x + 4, mixed by the fraction of x in eighths. */
ivec4 chroma_row(int x, int y, int slot, int fraction)
{
    ivec4 t0 = chroma_texel(x >> 2, y, slot), t1 = chroma_texel((x >> 2) + 1, y, slot),
          a = shifted(t0, t1, x & 3);
    return (8 - fraction) * a + fraction * ivec4(a.yzw, shifted(t1, t1, x & 3).x);
}

#else

/* Texel tx of row y; outside of the picture the border repeats. */
uint chroma_texel(int tx, int y, int slot)
{
    int last = int(push.mb_width) * 2 - 1;
    uint w = load_chroma(tx, y, slot).x;
    w = tx < 0 ? (w & 0xffu) * 0x01010101u : w;
    return tx > last ? (w >> 24) * 0x01010101u : w;
}

/* Samples x..x+3 of row y, and sample x + 4, mixed by the fraction of x in eighths. */
ivec4 chroma_row(int x, int y, int slot, int fraction)
{
    uint shift = uint(x & 3) * 8u, t0 = chroma_texel(x >> 2, y, slot),
         t1 = chroma_texel((x >> 2) + 1, y, slot);
    uint w = (t0 >> shift) | ((t1 << 1) << (31u - shift));
    ivec4 a = ivec4(w & 0xffu, (w >> 8) & 0xffu, (w >> 16) & 0xffu, w >> 24);
    return (8 - fraction) * a + fraction * ivec4(a.yzw, (t1 >> shift) & 0xffu);
}

#endif

/* rows rows of four samples at corner moved by vector v, which is in eighths of a sample,
 * vertically in 4:2:2 in quarters. */
void chroma_block(ivec2 corner, ivec2 v, int slot, int rows, out ivec4 p[4])
{
    const int bits = CHROMA_FORMAT == 2u ? 2 : 3;
    int x = corner.x + (v.x >> 3), y = corner.y + (v.y >> bits),
        fy = (v.y & ((1 << bits) - 1)) << (3 - bits);
    ivec4 above = chroma_row(x, y, slot, v.x & 7);
    for (int r = 0; r < rows; r++) {
        ivec4 below = chroma_row(x, y + r + 1, slot, v.x & 7);
        p[r] = ((8 - fy) * above + fy * below + 32) >> 6;
        above = below;
    }
}

/* Four rows of a quadrant at corner, in 4:2:2 half of it: part says which. */
void predict_list(uint at, uint slice, uint list, uint quadrant, uint part, uint field, uint own,
                  ivec2 corner, out ivec4 p[4])
{
    uint ref = reference_of(slice, list, uint(motion[at].ref_idx[list][quadrant]), field);
    uint block = (quadrant & 1u) * 2u + (quadrant >> 1) * 8u;
    int slot = int(REC_REF_SLOT(ref));
    ivec2 shift = ivec2(0);
    chroma_structure = REC_REF_STRUCTURE(ref);
    if (INTERLACED != 0u && CHROMA_FORMAT == 1u && chroma_structure != REC_FRAME &&
        chroma_structure != own)
        shift.y = own == REC_BOTTOM ? 2 : -2; /* Table 8-9 */
    if (SPLIT == 0u) {
        chroma_block(corner,
                     ivec2(motion[at].mv[list][block][0], motion[at].mv[list][block][1]) + shift,
                     slot, 4, p);
        return;
    }
    const int height = CHROMA_FORMAT == 2u ? 4 : 2; /* of a block's chroma */
    for (int y = 0; y < 4; y += height) {
        ivec4 left[4], right[4];
        uint b = block + 4u * (CHROMA_FORMAT == 2u ? part : uint(y >> 1));
        ivec2 from = corner + ivec2(0, y);
        chroma_block(from, ivec2(motion[at].mv[list][b][0], motion[at].mv[list][b][1]) + shift,
                     slot, height, left);
        chroma_block(from + ivec2(2, 0),
                     ivec2(motion[at].mv[list][b + 1u][0], motion[at].mv[list][b + 1u][1]) + shift,
                     slot, height, right);
        for (int r = 0; r < height; r++)
            p[y + r] = ivec4(left[r].xy, right[r].xy);
    }
}

void main()
{
    work_item item;
    uint first = CASE_CHROMA + 4u * SPLIT + 2u * BOTH, c = 1u + gl_WorkGroupID.z;
    if (!work_take(first, first + 1u, item))
        return;
    rec_picture picture = pictures[item.picture];
    uint at = picture.mb_base + item.addr, slice = picture.slice_base + mbs[at].slice,
         quadrant = item.block;
    uint field = pair_field(picture, uint(mbs[at].flags), item.addr),
         own = field != 0u ? field : uint(picture.structure);
    ivec3 rows = mb_rows(field, item.addr, mb_height_of(1));
    int ref0 = int(motion[at].ref_idx[0][quadrant]), ref1 = int(motion[at].ref_idx[1][quadrant]),
        top = top_of(1);
    weight_pair w = weight_pair(1, 1, 0, 0);
    if (item.kase != first)
        w = weights_of(picture, slice, ref0, ref1, c, field);

    for (uint part = 0u; part < (CHROMA_FORMAT == 2u ? 2u : 1u); part++) {
        uint block =
            CHROMA_FORMAT == 2u ? (quadrant >> 1) * 4u + part * 2u + (quadrant & 1u) : quadrant;
        ivec2 inside = ivec2(block & 1u, block >> 1) * 4,
              corner = ivec2(item.addr % push.mb_width * 8u, rows.z) + inside;
        ivec4 p[4];
        predict_list(at, slice, BOTH != 0u || ref0 >= 0 ? 0u : 1u, quadrant, part, field, own,
                     corner, p);
        if (BOTH != 0u) {
            ivec4 q[4];
            predict_list(at, slice, 1u, quadrant, part, field, own, corner, q);
            for (int r = 0; r < 4; r++)
                p[r] = weigh_both(w, p[r], q[r], top);
        } else {
            for (int r = 0; r < 4; r++)
                p[r] = weigh_one(w, p[r], top);
        }
        if ((uint(mbs[at].coded[c]) >> block & 1u) != 0u) {
            uint coeff_block = coeff_block_of(picture.coeff_base, mbs[at], c, block);
            for (uint r = 0u; r < 4u; r++)
                p[r] += residual_row(coeff_block, r);
        }
        for (int r = 0; r < 4; r++) {
            ivec3 to = ivec3(corner.x >> 2, rows.x + (inside.y + r) * rows.y, picture.work);
            uvec4 texel = texel_of(clamp(p[r], 0, top));
            if (gl_WorkGroupID.z == 0u)
                imageStore(work_cb, to, texel);
            else
                imageStore(work_cr, to, texel);
        }
    }
}
