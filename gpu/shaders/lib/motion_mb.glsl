/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation: one list of one macroblock. The threads of a subgroup hold macroblocks of
 * different shapes. So all shapes go through the same steps, quadrant by quadrant.
 */
#ifndef PELTON_MOTION_MB_GLSL
#define PELTON_MOTION_MB_GLSL

/* A macroblock as it was loaded, and what its slice says of it. */
struct macroblock {
    bool wanted; /* of an inter slice that has the thread's list */
    uint addr, x;
    uint first_mb; /* of the slice */
    bool corners;
    uint still; /* its entry of the colocated map */
    uvec2 syntax;
    uvec2 refs;          /* ref_idx of both lists */
    uvec4 difference[4]; /* by quadrant, blocks in raster order */
};

/* What the macroblocks last derived in each column leave to those below: vectors of the bottom row
 * and, as bytes, references of its two quadrants in list 0 and list 1. Each list's threads have
 * their own. No more columns than are needed: shared memory decides what else is at work beside. */
layout(constant_id = 0) const uint COLUMNS = MOT_MAX_WIDTH;
shared uvec4 line_mv[2 * COLUMNS];
shared uint line_refs[2 * COLUMNS];

uint list; /* of this thread */
/* Neighbours of the macroblock (6.4.9), of which one that is not available has UNAVAILABLE for its
 * references and vectors of 0. left_* and corner_* are what the macroblocks before leave in this
 * row; left_refs as rec_motion has them, the others as in the line. */
uvec4 left_mv, top_mv;
uvec2 left_refs;
uint top_refs, right_mv, right_refs, corner_mv, corner_refs;
const uint NO_REFS = uint(UNAVAILABLE & 255) * 0x01010101u;

/* Addresses that a slice has before the current one are all from its first one on. */
void find_neighbours(macroblock m, uint width)
{
    uint since = m.addr - m.first_mb, at = list * COLUMNS + m.x;
    bool left = m.x > 0u && since > 0u, top = since >= width,
         right = m.x + 1u < width && since + 1u >= width, corner = m.x > 0u && since > width;
    uint next = right ? at + 1u : at;
    left_mv = left ? left_mv : uvec4(0u);
    left_refs = left ? left_refs : uvec2(NO_REFS);
    top_mv = top ? line_mv[at] : uvec4(0u);
    top_refs = top ? line_refs[at] : NO_REFS;
    right_mv = right ? line_mv[next].x : 0u;
    right_refs = right ? line_refs[next] : NO_REFS;
    corner_mv = corner ? corner_mv : 0u;
    corner_refs = corner ? corner_refs : NO_REFS;
}

/* A, B, and C or D of the whole macroblock; of list l, but vectors are always those of the
 * thread's. */
void neighbours_16x16(uint l, out neighbour a, out neighbour b, out neighbour c)
{
    a = neighbour(byte_at(left_refs[l], 1u), left_mv.x);
    b = neighbour(byte_at(top_refs, 2u * l), top_mv.x);
    c = neighbour_or(neighbour(byte_at(right_refs, 2u * l), right_mv),
                     neighbour(byte_at(corner_refs, 2u * l + 1u), corner_mv));
}

int min_positive(int a, int b)
{
    return a >= 0 && b >= 0 ? min(a, b) : max(a, b);
}

/* References of both lists and the vector of the thread's (8.4.1.2.2) */
uint direct_spatial(out ivec2 ref)
{
    neighbour a, b, c;
    neighbours_16x16(1u - list, a, b, c);
    int other = min_positive(a.ref, min_positive(b.ref, c.ref));
    neighbours_16x16(list, a, b, c);
    int own = min_positive(a.ref, min_positive(b.ref, c.ref));
    if (own < 0 && other < 0) { /* directZeroPredictionFlag */
        ref = ivec2(0);
        return 0u;
    }
    ref = max(list == 0u ? ivec2(own, other) : ivec2(other, own), ivec2(-1));
    return own < 0 ? 0u : predict(a, b, c, own);
}

/* The vectors of a quadrant: the predicted one, or zero where index 0 meets a block that stands
 * still. */
uvec4 direct_quadrant(macroblock m, uint q, int ref, uint mv)
{
    uint block = (q & 1u) * 2u + (q >> 1) * 8u, corner = (q & 1u) * 3u + (q >> 1) * 12u;
    uvec4 at = m.corners ? uvec4(corner) : uvec4(block, block + 1u, block + 4u, block + 5u);
    uvec4 moves = 1u - (uvec4(m.still) >> at & 1u);
    return ref == 0 ? moves * mv : uvec4(mv);
}

/* 8.4.1.1 */
bool skip_is_zero()
{
    int a = byte_at(left_refs[list], 1u), b = byte_at(top_refs, 2u * list);
    return a == UNAVAILABLE || b == UNAVAILABLE || (a == 0 && left_mv.x == 0u) ||
           (b == 0 && top_mv.x == 0u);
}

/* What lies around quadrant q; v: those before. part: of which it begins a partition. */
around around_quadrant(uint q, uint part, uint refs, uvec4 v[4])
{
    bool wide = part == PART_16X16 || part == PART_16X8;
    uint low = 2u * list;
    int left_upper = byte_at(left_refs[list], 1u), left_lower = byte_at(left_refs[list], 3u);
    int top0 = byte_at(top_refs, low), top1 = byte_at(top_refs, low + 1u);
    neighbour mb_right = neighbour(byte_at(right_refs, low), right_mv);
    around n;
    if (q == 0u) {
        n = around(left_upper, top0, uint[2](left_mv.x, left_mv.y), uint[2](top_mv.x, top_mv.y),
                   neighbour(top1, top_mv.z), neighbour(byte_at(corner_refs, low + 1u), corner_mv));
        if (wide)
            n.right = mb_right;
    } else if (q == 1u) {
        n = around(byte_at(refs, 0u), top1, uint[2](v[0].y, v[0].w), uint[2](top_mv.z, top_mv.w),
                   mb_right, neighbour(top0, top_mv.y));
    } else if (q == 2u) {
        n = around(left_lower, byte_at(refs, 0u), uint[2](left_mv.z, left_mv.w),
                   uint[2](v[0].z, v[0].w), neighbour(byte_at(refs, 1u), v[1].z),
                   neighbour(left_upper, left_mv.y));
        if (wide)
            n.right = neighbour(UNAVAILABLE, 0u);
    } else {
        n = around(byte_at(refs, 2u), byte_at(refs, 1u), uint[2](v[2].y, v[2].w),
                   uint[2](v[1].z, v[1].w), neighbour(UNAVAILABLE, 0u),
                   neighbour(byte_at(refs, 0u), v[0].w));
    }
    return n;
}

/* Partitions of 16x8 and 8x16: the neighbour that goes before the median (8.4.1.3) */
neighbour preferred(uint part, uint q, around n)
{
    neighbour a = neighbour(n.left_ref, n.left[0]), b = neighbour(n.top_ref, n.top[0]);
    if (part == PART_16X8)
        return q == 0u ? b : a;
    if (part == PART_8X16)
        return q == 0u ? a : neighbour_or(n.right, n.corner);
    return neighbour(UNAVAILABLE, 0u);
}

/* The vectors of a quadrant that begins a partition whose reference is ref. */
uvec4 partition_quadrant(uint part, uint q, around n, int ref, uint sub, uvec4 difference)
{
    neighbour rather = preferred(part, q, n);
    if (ref < 0)
        return uvec4(0u);
    if (rather.ref == ref)
        return uvec4(add_mv(rather.mv, difference.x));
    return predict_subs(n, ref, sub, difference);
}

/* derived: there are new references. The other list's thread may not have loaded the old ones yet;
 * those of quadrants that are not direct stay what they are, and it derives the others itself. */
void store_motion(uint addr, uvec4 v[4], uvec2 refs, bool derived)
{
    uint at = addr * MOTION_WORDS + list * 8u;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        motion[at + (q >> 1) * 4u + (q & 1u)] = v[q].xy;
        motion[at + (q >> 1) * 4u + (q & 1u) + 2u] = v[q].zw;
    }
    if (derived && list == 0u)
        motion[addr * MOTION_WORDS + MOTION_REFS] = refs;
}

/* What it leaves to its neighbours */
void leave(macroblock m, uvec4 v[4], uvec2 refs)
{
    uint at = list * COLUMNS + m.x;
    left_mv = uvec4(v[1].yw, v[3].yw);
    left_refs = refs;
    corner_mv = top_mv.w;
    corner_refs = top_refs;
    line_mv[at] = uvec4(v[2].zw, v[3].zw);
    line_refs[at] = refs.x >> 16 | (refs.y & 0xffff0000u);
}

/* base: of the picture */
void derive_macroblock(macroblock m, uint base, uint width)
{
    uint part = m.syntax.x & 255u, subs = subs_of(m.syntax);
    uvec4 v[4] = uvec4[4](uvec4(0u), uvec4(0u), uvec4(0u), uvec4(0u));
    find_neighbours(m, width);
    if (part >= PART_INTRA) {
        leave(m, v, uvec2(0xffffffffu));
        return;
    }
    if (part == PART_DIRECT) {
        part = PART_8X8;
        subs = SUB_DIRECT * 0x01010101u;
    }
    bool direct[4];
    [[unroll]] for (uint q = 0u; q < 4u; q++)
        direct[q] = bitfieldExtract(subs, int(8u * q), 8) == SUB_DIRECT;
    uvec2 refs = m.refs;
    ivec2 direct_ref = ivec2(0);
    uint direct_mv = 0u;
    bool any_direct = direct[0] || direct[1] || direct[2] || direct[3];
    if (any_direct) {
        direct_mv = direct_spatial(direct_ref);
        [[unroll]] for (uint q = 0u; q < 4u; q++)
            if (direct[q])
                refs = uvec2(bitfieldInsert(refs.x, uint(direct_ref.x), int(8u * q), 8),
                             bitfieldInsert(refs.y, uint(direct_ref.y), int(8u * q), 8));
    }
    bool skip = part == PART_SKIP;
    part = skip ? PART_16X16 : part;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        if (direct[q])
            v[q] = direct_quadrant(m, q, direct_ref[list], direct_mv);
        else if (begins_partition(part, q))
            v[q] = partition_quadrant(
                part, q, around_quadrant(q, part, refs[list], v), skip ? 0 : byte_at(refs[list], q),
                bitfieldExtract(subs, int(8u * q), 8), m.difference[q] * uint(!skip));
        else
            v[q] = q == 3u ? (part == PART_8X16 ? v[1] : v[2]) : v[0];
    }
    if (skip && skip_is_zero()) [[unroll]]
        for (uint q = 0u; q < 4u; q++)
            v[q] = uvec4(0u);
    leave(m, v, refs);
    store_motion(base + m.addr, v, refs, any_direct);
}

#endif
