/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation: vectors as words of two halves, and their prediction from neighbours
 * (8.4.1.3).
 */
#ifndef PELTON_MOTION_PREDICT_GLSL
#define PELTON_MOTION_PREDICT_GLSL

/* Reference and vector of a neighbouring partition. ref -1: it does not use the list, UNAVAILABLE:
 * it is not there; mv is 0 then. */
struct neighbour {
    int ref;
    uint mv;
};
const int UNAVAILABLE = -2;

/* C, or D where C is not available (8.4.1.3.2) */
neighbour neighbour_or(neighbour c, neighbour d)
{
    return c.ref != UNAVAILABLE ? c : d;
}

ivec2 halves(uint mv)
{
    return ivec2(bitfieldExtract(int(mv), 0, 16), int(mv) >> 16);
}

uint word_of(ivec2 mv)
{
    return (uint(mv.x) & 0xffffu) | uint(mv.y) << 16;
}

/* They wrap in 16 bits. */
uint add_mv(uint a, uint b)
{
    return word_of(halves(a) + halves(b));
}

/* 8.4.1.3.1 */
uint predict(neighbour a, neighbour b, neighbour c, int ref)
{
    uint matches = uint(a.ref == ref) + uint(b.ref == ref) + uint(c.ref == ref);
    ivec2 x = halves(a.mv), y = halves(b.mv), z = halves(c.mv);
    uint median = word_of(max(min(x, y), min(max(x, y), z)));
    uint only = a.ref == ref ? a.mv : b.ref == ref ? b.mv : c.mv;
    bool just_a = b.ref == UNAVAILABLE && c.ref == UNAVAILABLE && a.ref != UNAVAILABLE;
    return matches == 1u ? only : just_a ? a.mv : median;
}

/* What lies around a quadrant: two rows to the left, two columns above, above right, above left. Of
 * it: references of left and top, whose two blocks share them. */
struct around {
    int left_ref, top_ref; /* UNAVAILABLE: not there */
    uint left[2], top[2];
    neighbour right, corner;
};

/* The vectors of a quadrant's sub-macroblock partitions, blocks in raster order, from their
 * differences. What is to the right of it or comes later is not available. */
uvec4 predict_subs(around n, int ref, uint sub, uvec4 difference)
{
    neighbour a = neighbour(n.left_ref, n.left[0]), b = neighbour(n.top_ref, n.top[0]),
              b1 = neighbour(n.top_ref, n.top[1]);
    neighbour below = neighbour(n.left_ref, n.left[1]);
    bool narrow = sub == SUB_4X8 || sub == SUB_4X4;
    uint first = predict(a, b, neighbour_or(narrow ? b1 : n.right, n.corner), ref);
    uvec4 v = uvec4(add_mv(first, difference.x));
    if (sub == SUB_8X8)
        return v;
    neighbour own = neighbour(ref, v.x);
    if (sub == SUB_8X4) { /* C lies in the quadrant to the right: D */
        v.zw = uvec2(add_mv(predict(below, own, a, ref), difference.z));
        return v;
    }
    v.yw = uvec2(add_mv(predict(own, b1, neighbour_or(n.right, b), ref), difference.y));
    if (sub == SUB_4X4) {
        v.z = add_mv(predict(below, own, neighbour(ref, v.y), ref), difference.z);
        v.w = add_mv(predict(neighbour(ref, v.z), neighbour(ref, v.y), own, ref), difference.w);
    }
    return v;
}

#endif
