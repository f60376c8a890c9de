/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocking strengths of all edges in parallel (8.7.2.1), from records alone, and their thresholds
 * (8.7.2.2). 32 threads do one macroblock. Each computes one strength, of four luma samples of an
 * edge. The first nine also compute one set of thresholds each. Grid: x groups of four macroblocks,
 * y pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/deblock_tables.glsl"

#define GROUP_MBS 4
layout(local_size_x = 128) in;

layout(set = SET_BATCH, binding = BIND_MOTION, scalar) readonly buffer motion_buffer
{
    rec_motion motion[];
};
layout(set = SET_BATCH, binding = BIND_STRENGTHS, scalar) writeonly buffer strength_buffer
{
    uint strengths[];
};

shared uint words[GROUP_MBS * 4];

/* A block's reference picture in one list; lists that are unused refer to none. */
int ref_of(uint slice_base, uint at, uint list, uint quadrant)
{
    int ref_idx = int(motion[at].ref_idx[list][quadrant]);
    return ref_idx < 0 ? -1
                       : int(slices[slice_base + mbs[at].slice]
                                 .ref[list][uint(ref_idx) & (REC_MAX_REFS - 1u)]);
}

ivec2 vector_of(uint at, uint list, uint block)
{
    return ivec2(motion[at].mv[list][block][0], motion[at].mv[list][block][1]);
}

bool apart(ivec2 a, ivec2 b)
{
    return any(greaterThanEqual(abs(a - b), ivec2(4)));
}

/* Do reference pictures or vectors of two inter blocks differ enough? */
bool motion_differs(uint slice_base, uint p, uint p_block, uint q, uint q_block)
{
    uint pq = swap_blk(p_block) >> 2, qq = swap_blk(q_block) >> 2;
    int p0 = ref_of(slice_base, p, 0u, pq), p1 = ref_of(slice_base, p, 1u, pq);
    int q0 = ref_of(slice_base, q, 0u, qq), q1 = ref_of(slice_base, q, 1u, qq);
    if (!((p0 == q0 && p1 == q1) || (p0 == q1 && p1 == q0)))
        return true;
    ivec2 a0 = vector_of(p, 0u, p_block), a1 = vector_of(p, 1u, p_block);
    ivec2 b0 = vector_of(q, 0u, q_block), b1 = vector_of(q, 1u, q_block);
    bool straight = apart(a0, b0) || apart(a1, b1), crossed = apart(a0, b1) || apart(a1, b0);
    if (p0 == p1)
        return straight && crossed;
    return p0 == q0 ? straight : crossed;
}

/* Thresholds of component c at an edge between macroblocks p and q (8.7.2.2); offsets are those of
 * q's slice. */
uint thresholds(uint slice_base, uint p, uint q, uint c)
{
    uint slice = slice_base + mbs[q].slice;
    int qp = (int(mbs[p].qp[c]) + int(mbs[q].qp[c]) + 1) >> 1;
    int a = clamp(qp + int(slices[slice].filter_offset_a), 0, 51),
        b = clamp(qp + int(slices[slice].filter_offset_b), 0, 51);
    return deblock_alpha[a] | deblock_beta[b] << 8 | deblock_tc0[a] << 16;
}

void main()
{
    uint picture = push.first_picture + gl_WorkGroupID.y, t = gl_LocalInvocationIndex & 31u,
         local_mb = gl_LocalInvocationIndex >> 5;
    uint addr =
        pictures[picture].row_first * push.mb_width + gl_WorkGroupID.x * GROUP_MBS + local_mb;
    bool inside = gl_WorkGroupID.y < push.picture_count && addr < pictures[picture].mb_count &&
                  addr < pictures[picture].row_end * push.mb_width &&
                  uint(pictures[picture].has_deblock) != 0u;
    if (t < 4u)
        words[local_mb * 4u + t] = 0u;
    barrier();
    uint q = 0u, slice_base = 0u, left = 0u, top = 0u;
    if (inside) {
        slice_base = pictures[picture].slice_base;
        q = pictures[picture].mb_base + addr;
        uint deblock = uint(mbs[q].deblock), flags = uint(mbs[q].flags);
        left = (deblock & REC_DEBLOCK_LEFT) != 0u && addr % push.mb_width > 0u ? q - 1u : q;
        top = (deblock & REC_DEBLOCK_TOP) != 0u && addr >= push.mb_width ? q - push.mb_width : q;
        uint direction = t >> 4, edge = (t >> 2) & 3u, segment = t & 3u;
        uint p = edge > 0u ? q : direction == 0u ? left : top;
        uint step = direction == 0u ? 1u : 4u, q_block = edge * step + segment * (5u - step);
        uint p_block = edge > 0u ? q_block - step : q_block + 3u * step;
        bool visited = edge > 0u ? (deblock & REC_DEBLOCK_INTERNAL) != 0u &&
                                       ((edge & 1u) == 0u || (flags & REC_MB_TRANSFORM_8X8) == 0u)
                                 : p != q;
        uint strength = 0u;
        if (visited) {
            if (is_intra(uint(mbs[p].kind)) || is_intra(uint(mbs[q].kind)))
                strength = edge > 0u ? 3u : 4u;
            else if (((uint(mbs[p].nonzero) >> p_block | uint(mbs[q].nonzero) >> q_block) & 1u) !=
                     0u)
                strength = 2u;
            else if (motion_differs(slice_base, p, p_block, q, q_block))
                strength = 1u;
        }
        if (strength != 0u)
            atomicOr(words[local_mb * 4u + (t >> 3)], strength << (4u * (t & 7u)));
    }
    barrier();
    if (!inside)
        return;
    if (t < 4u)
        strengths[q * STRENGTH_WORDS + t] = words[local_mb * 4u + t];
    if (t < 9u) {
        uint place = t / 3u, p = place == STRENGTH_LEFT ? left : place == STRENGTH_TOP ? top : q;
        strengths[q * STRENGTH_WORDS + STRENGTH_PARAMS + t] = thresholds(slice_base, p, q, t % 3u);
    }
}
