/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocking strengths of all edges in parallel (8.7.2.1), from records alone, and their thresholds
 * (8.7.2.2). It serves frames of any format: fields, MBAFF frames with mixed edges, SP and SI
 * slices. 32 threads do one macroblock. The layout is in cases.h, GENERIC_*. Grid: x groups of four
 * macroblocks, y pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/place.glsl"
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

shared uint words[GROUP_MBS * GENERIC_PARAMS];

struct mb_side {
    uint at, field; /* in mbs; pair_field */
    bool is_field, is_filtered_as_intra;
};

mb_side side_of(rec_picture picture, uint addr)
{
    mb_side s;
    s.at = picture.mb_base + addr;
    s.field = pair_field(picture, uint(mbs[s.at].flags), addr);
    s.is_field = INTERLACED != 0u && (s.field != 0u || uint(picture.structure) != REC_FRAME);
    s.is_filtered_as_intra =
        is_intra(uint(mbs[s.at].kind)) ||
        uint(slices[picture.slice_base + mbs[s.at].slice].slice_type) >= 3u; /* SP, SI */
    return s;
}

/* A block's reference picture in one list; lists that are unused refer to none. */
int ref_of(uint slice_base, mb_side s, uint list, uint quadrant)
{
    int ref_idx = int(motion[s.at].ref_idx[list][quadrant]);
    return ref_idx < 0
               ? -1
               : int(reference_of(slice_base + mbs[s.at].slice, list, uint(ref_idx), s.field));
}

ivec2 vector_of(uint at, uint list, uint block)
{
    return ivec2(motion[at].mv[list][block][0], motion[at].mv[list][block][1]);
}

/* limit: 4 quarter samples of the frame, vertically of a field half as many. */
bool apart(ivec2 a, ivec2 b, ivec2 limit)
{
    return any(greaterThanEqual(abs(a - b), limit));
}

/* Do reference pictures or vectors of two inter blocks, both of frame or both of field macroblocks,
 * differ enough? */
bool motion_differs(uint slice_base, mb_side p, uint p_block, mb_side q, uint q_block)
{
    uint pq = swap_blk(p_block) >> 2, qq = swap_blk(q_block) >> 2;
    int p0 = ref_of(slice_base, p, 0u, pq), p1 = ref_of(slice_base, p, 1u, pq);
    int q0 = ref_of(slice_base, q, 0u, qq), q1 = ref_of(slice_base, q, 1u, qq);
    if (!((p0 == q0 && p1 == q1) || (p0 == q1 && p1 == q0)))
        return true;
    ivec2 a0 = vector_of(p.at, 0u, p_block), a1 = vector_of(p.at, 1u, p_block);
    ivec2 b0 = vector_of(q.at, 0u, q_block), b1 = vector_of(q.at, 1u, q_block),
          limit = ivec2(4, q.is_field ? 2 : 4);
    bool straight = apart(a0, b0, limit) || apart(a1, b1, limit),
         crossed = apart(a0, b1, limit) || apart(a1, b0, limit);
    if (p0 == p1)
        return straight && crossed;
    return p0 == q0 ? straight : crossed;
}

/* bS; border: of a macroblock edge. */
uint strength_of(uint slice_base, mb_side p, uint p_block, mb_side q, uint q_block, bool vertical,
                 bool border)
{
    if (p.is_filtered_as_intra || q.is_filtered_as_intra)
        return border && (vertical || !(p.is_field || q.is_field)) ? 4u : 3u;
    if (((uint(mbs[p.at].nonzero) >> p_block | uint(mbs[q.at].nonzero) >> q_block) & 1u) != 0u)
        return 2u;
    return p.is_field != q.is_field || motion_differs(slice_base, p, p_block, q, q_block) ? 1u : 0u;
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

/* The macroblock, and those that its left and top edges are shared with (8.7.1, 6.4.12.2). */
struct edges {
    rec_picture picture;
    uint addr, flags, deblock;
    uint left[2], top[2]; /* addresses */
    bool has_left, has_top;
};

edges edges_of(rec_picture picture, uint addr)
{
    edges e;
    uint width = push.mb_width, row = addr / width;
    uint deblock = uint(mbs[picture.mb_base + addr].deblock),
         mb_flags = uint(mbs[picture.mb_base + addr].flags);
    bool pairs = INTERLACED != 0u && uint(picture.mbaff) != 0u,
         field = pairs && (mb_flags & REC_MB_FIELD) != 0u;
    e.picture = picture;
    e.addr = addr;
    e.deblock = deblock;
    e.flags = (mb_flags & REC_MB_TRANSFORM_8X8) != 0u ? GENERIC_SIZE8 : 0u;
    e.has_left = (deblock & REC_DEBLOCK_LEFT) != 0u && addr % width > 0u;
    e.has_top = (deblock & REC_DEBLOCK_TOP) != 0u && row > (field ? 1u : 0u);
    e.left[0] = e.left[1] = e.has_left ? addr - 1u : addr;
    e.top[0] = e.top[1] = e.has_top ? addr - width : addr;
    if (!pairs)
        return e;
    if (e.has_left &&
        ((uint(mbs[picture.mb_base + addr - 1u].flags) & REC_MB_FIELD) != 0u) != field) {
        e.flags |= field ? GENERIC_LEFT_HALVES : GENERIC_LEFT_ROWS;
        e.left[0] = (row & ~1u) * width + addr % width - 1u;
        e.left[1] = e.left[0] + width;
    }
    if (!e.has_top || (!field && (row & 1u) != 0u))
        return e;
    uint above = ((row & ~1u) - 2u) * width + addr % width; /* the pair above */
    bool above_field = (uint(mbs[picture.mb_base + above].flags) & REC_MB_FIELD) != 0u;
    if (field) {
        e.top[0] = above + ((row & 1u) != 0u || !above_field ? width : 0u);
    } else if (above_field) {
        e.flags |= GENERIC_TOP_FIELDS;
        e.top[0] = above;
        e.top[1] = above + width;
    }
    return e;
}

/* Nibble i of the left edge: row of this macroblock that stands for it, macroblock and block row to
 * the left. */
ivec3 left_rows(edges e, int i)
{
    if ((e.flags & GENERIC_LEFT_ROWS) != 0u) {
        int k = (i >> 1) * 4 + (i & 1), in_pair = k + (int(e.addr / push.mb_width) & 1) * 16;
        return ivec3(k, in_pair & 1, in_pair >> 3);
    }
    if ((e.flags & GENERIC_LEFT_HALVES) != 0u)
        return ivec3(2 * i, i >> 2, (i & 3));
    return ivec3(2 * i, 0, i >> 1);
}

/* Strength number n: 0..15 vertical edges, 16..31 horizontal ones, four each; then 8 of the left
 * edge; then 4 of a second top edge. */
uint numbered_strength(edges e, uint n)
{
    uint base = e.picture.slice_base, segment = n & 3u, edge = (n >> 2) & 3u;
    mb_side q = side_of(e.picture, e.addr);
    if (n >= 40u)
        return (e.flags & GENERIC_TOP_FIELDS) == 0u
                   ? 0u
                   : strength_of(base, side_of(e.picture, e.top[1]), 12u + segment, q, segment,
                                 false, true);
    if (n >= 32u) {
        ivec3 rows = left_rows(e, int(n - 32u));
        return !e.has_left
                   ? 0u
                   : strength_of(base, side_of(e.picture, e.left[rows.y]), uint(rows.z) * 4u + 3u,
                                 q, uint(rows.x >> 2) * 4u, true, true);
    }
    bool vertical = n < 16u;
    uint step = vertical ? 1u : 4u, q_block = edge * step + segment * (5u - step);
    if (edge > 0u)
        return (e.deblock & REC_DEBLOCK_INTERNAL) == 0u
                   ? 0u
                   : strength_of(base, q, q_block - step, q, q_block, vertical, false);
    return vertical || !e.has_top ? 0u
                                  : strength_of(base, side_of(e.picture, e.top[0]), 12u + segment,
                                                q, segment, false, true);
}

/* Word and nibble of strength n. */
uvec2 strength_place(uint n)
{
    return n < 32u   ? uvec2(n >> 3, n & 7u)
           : n < 40u ? uvec2(GENERIC_LEFT_WORD, n - 32u)
                     : uvec2(GENERIC_TOP2_WORD, n - 40u);
}

void main()
{
    uint index = push.first_picture + gl_WorkGroupID.y, t = gl_LocalInvocationIndex & 31u,
         local_mb = gl_LocalInvocationIndex >> 5, addr = gl_WorkGroupID.x * GROUP_MBS + local_mb;
    bool inside = gl_WorkGroupID.y < push.picture_count && addr < pictures[index].mb_count &&
                  uint(pictures[index].has_deblock) != 0u;
    edges e;
    if (t < GENERIC_PARAMS)
        words[local_mb * GENERIC_PARAMS + t] = 0u;
    barrier();
    if (inside) {
        e = edges_of(pictures[index], addr);
        for (uint n = t; n < 44u; n += 32u) {
            uvec2 place = strength_place(n);
            uint strength = numbered_strength(e, n);
            if (strength != 0u)
                atomicOr(words[local_mb * GENERIC_PARAMS + place.x], strength << (4u * place.y));
        }
    }
    barrier();
    if (!inside)
        return;
    uint at = (e.picture.mb_base + addr) * GENERIC_WORDS;
    if (t < GENERIC_PARAMS)
        strengths[at + t] =
            t == GENERIC_FLAGS_WORD ? e.flags : words[local_mb * GENERIC_PARAMS + t];
    if (t < 15u) {
        uint place = t / 3u;
        uint p = place == GENERIC_PLACE_LEFT    ? e.left[0]
                 : place == GENERIC_PLACE_LEFT2 ? e.left[1]
                 : place == GENERIC_PLACE_TOP   ? e.top[0]
                 : place == GENERIC_PLACE_TOP2  ? e.top[1]
                                                : addr;
        strengths[at + GENERIC_PARAMS + t] = thresholds(e.picture.slice_base, e.picture.mb_base + p,
                                                        e.picture.mb_base + addr, t % 3u);
    }
}
