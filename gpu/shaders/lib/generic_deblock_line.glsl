/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The shared tile: a macroblock with the samples to its left and above. Also the filter across one
 * line of an edge, at any depth.
 */
#ifndef PELTON_ANY_DEBLOCK_LINE_GLSL
#define PELTON_ANY_DEBLOCK_LINE_GLSL

/* Columns -4..15, rows -6..15; one int a sample. */
#define TILE_PITCH 21
#define TILE_ABOVE 6
#define TILE_SIZE  ((TILE_ABOVE + 16) * TILE_PITCH)
shared int tile[(CHROMA_FORMAT == 0u ? 1 : 3) * TILE_SIZE];

int tile_at(int c, int x, int y)
{
    return c * TILE_SIZE + (y + TILE_ABOVE) * TILE_PITCH + x + 4;
}

/* 8.7.2.4, bS 4: one side of the edge, whose samples lie at `at`, `at + step`, ..; o0 and o1 are
 * those of the other side. */
void filter_strong_side(int at, int step, bool strong, int o0, int o1, int v0, int v1, int v2)
{
    if (!strong) {
        tile[at] = (2 * v1 + v0 + o1 + 2) >> 2;
        return;
    }
    int v3 = tile[at + 3 * step];
    tile[at] = (v2 + 2 * v1 + 2 * v0 + 2 * o0 + o1 + 4) >> 3;
    tile[at + step] = (v2 + v1 + v0 + o0 + 2) >> 2;
    tile[at + 2 * step] = (2 * v3 + 3 * v2 + v1 + v0 + o0 + 4) >> 3;
}

/* Filter one line of samples across an edge (8.7.2.3, 8.7.2.4): p0 at tile[p], q0 at tile[q],
 * others step apart from them. */
void filter_line(int p, int q, int step, uint strength, uint params, bool chroma, int depth)
{
    int up = depth - 8, alpha = int(params & 0xffu) << up, beta = int((params >> 8) & 0xffu) << up;
    int p0 = tile[p], p1 = tile[p - step], q0 = tile[q], q1 = tile[q + step];
    if (strength == 0u || abs(p0 - q0) >= alpha || abs(p1 - p0) >= beta || abs(q1 - q0) >= beta)
        return;
    int p2 = chroma ? 0 : tile[p - 2 * step], q2 = chroma ? 0 : tile[q + 2 * step];
    bool p_flat = !chroma && abs(p2 - p0) < beta, q_flat = !chroma && abs(q2 - q0) < beta;
    if (strength == 4u) {
        bool close = abs(p0 - q0) < (alpha >> 2) + 2;
        filter_strong_side(p, -step, p_flat && close, q0, q1, p0, p1, p2);
        filter_strong_side(q, step, q_flat && close, p0, p1, q0, q1, q2);
        return;
    }
    int tc0 = int((params >> (11u + 5u * strength)) & 31u) << up, top = (1 << depth) - 1;
    int tc = tc0 + (chroma ? 1 : int(p_flat) + int(q_flat));
    int delta = clamp((((q0 - p0) << 2) + (p1 - q1) + 4) >> 3, -tc, tc),
        middle = (p0 + q0 + 1) >> 1;
    tile[p] = clamp(p0 + delta, 0, top);
    tile[q] = clamp(q0 - delta, 0, top);
    if (p_flat)
        tile[p - step] = p1 + clamp((p2 + middle - (p1 << 1)) >> 1, -tc0, tc0);
    if (q_flat)
        tile[q + step] = q1 + clamp((q2 + middle - (q1 << 1)) >> 1, -tc0, tc0);
}

#endif
