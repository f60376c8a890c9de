/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The filter across one edge of one line of samples, in registers.
 */
#ifndef PELTON_DEBLOCK_LINE_GLSL
#define PELTON_DEBLOCK_LINE_GLSL

/* bS 4 (8.7.2.4) of one side, nearest sample first: a is this side, b the other. */
void filter_strong(inout ivec4 a, ivec4 b, bool smooth_side)
{
    if (smooth_side)
        a.xyz = ivec3(a.z + 2 * (a.y + a.x + b.x) + b.y + 4, (a.z + a.y + a.x + b.x + 2) << 1,
                      2 * a.w + 3 * a.z + a.y + a.x + b.x + 4) >>
                3;
    else
        a.x = (2 * a.y + a.x + b.y + 2) >> 2;
}

/* Filter one line of samples across an edge (8.7.2.3, 8.7.2.4): p and q have the samples nearest to
 * the edge first. chroma: not filtered as luma is. */
void filter_line(inout ivec4 p, inout ivec4 q, uint strength, uint params, bool chroma, int depth)
{
    int up = depth - 8, alpha = int(params & 0xffu) << up, beta = int((params >> 8) & 0xffu) << up;
    if (strength == 0u || abs(p.x - q.x) >= alpha || abs(p.y - p.x) >= beta ||
        abs(q.y - q.x) >= beta)
        return;
    bool p_flat = !chroma && abs(p.z - p.x) < beta, q_flat = !chroma && abs(q.z - q.x) < beta;
    if (strength < 4u) {
        int tc0 = int((params >> (11u + 5u * strength)) & 31u) << up, top = (1 << depth) - 1;
        int tc = tc0 + (chroma ? 1 : int(p_flat) + int(q_flat));
        int delta = clamp((((q.x - p.x) << 2) + (p.y - q.y) + 4) >> 3, -tc, tc),
            middle = (p.x + q.x + 1) >> 1;
        if (p_flat)
            p.y += clamp((p.z + middle - (p.y << 1)) >> 1, -tc0, tc0);
        if (q_flat)
            q.y += clamp((q.z + middle - (q.y << 1)) >> 1, -tc0, tc0);
        p.x = clamp(p.x + delta, 0, top);
        q.x = clamp(q.x - delta, 0, top);
        return;
    }
    bool close = abs(p.x - q.x) < (alpha >> 2) + 2;
    ivec4 before = p;
    filter_strong(p, q, p_flat && close);
    filter_strong(q, before, q_flat && close);
}

#endif
