/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The shared tile of a macroblock and what lies to its left and above, and the filter across one edge of it.
 */
#ifndef PELTON_DEBLOCK_LINE_GLSL
#define PELTON_DEBLOCK_LINE_GLSL

/* Luma: columns and rows -4..15. Chroma: columns -4..7, rows -4..7, of which -2 and -1 are used. One int a sample, odd pitches.
 */
#define LUMA_PITCH   21
#define LUMA_SIZE    (20 * LUMA_PITCH)
#define CHROMA_PITCH 13
#define CHROMA_SIZE  (12 * CHROMA_PITCH)
shared int tile[LUMA_SIZE + 2 * CHROMA_SIZE];

int tile_at(int c, int x, int y)
{
    return c == 0 ? (y + 4) * LUMA_PITCH + x + 4 : LUMA_SIZE + (c - 1) * CHROMA_SIZE + (y + 4) * CHROMA_PITCH + x + 4;
}

/* Filter one line of samples across an edge (8.7.2.3, 8.7.2.4): q0 at tile[at], p0 one step before it. */
void filter_line(int at, int step, uint strength, uint params, bool chroma)
{
    int alpha = int(params & 0xffu), beta = int((params >> 8) & 0xffu);
    int p0 = tile[at - step], p1 = tile[at - 2 * step], q0 = tile[at], q1 = tile[at + step];
    if (strength == 0u || abs(p0 - q0) >= alpha || abs(p1 - p0) >= beta || abs(q1 - q0) >= beta)
        return;
    int p2 = tile[at - 3 * step], q2 = tile[at + 2 * step];
    bool p_flat = !chroma && abs(p2 - p0) < beta, q_flat = !chroma && abs(q2 - q0) < beta;
    if (strength < 4u) {
        int tc0 = int((params >> (11u + 5u * strength)) & 31u);
        int tc = tc0 + (chroma ? 1 : int(p_flat) + int(q_flat));
        int delta = clamp((((q0 - p0) << 2) + (p1 - q1) + 4) >> 3, -tc, tc);
        tile[at - step] = clip1(p0 + delta);
        tile[at] = clip1(q0 - delta);
        int middle = (p0 + q0 + 1) >> 1;
        if (p_flat)
            tile[at - 2 * step] = p1 + clamp((p2 + middle - (p1 << 1)) >> 1, -tc0, tc0);
        if (q_flat)
            tile[at + step] = q1 + clamp((q2 + middle - (q1 << 1)) >> 1, -tc0, tc0);
        return;
    }
    bool close = abs(p0 - q0) < (alpha >> 2) + 2;
    if (p_flat && close) {
        int p3 = tile[at - 4 * step];
        tile[at - step] = (p2 + 2 * p1 + 2 * p0 + 2 * q0 + q1 + 4) >> 3;
        tile[at - 2 * step] = (p2 + p1 + p0 + q0 + 2) >> 2;
        tile[at - 3 * step] = (2 * p3 + 3 * p2 + p1 + p0 + q0 + 4) >> 3;
    } else {
        tile[at - step] = (2 * p1 + p0 + q1 + 2) >> 2;
    }
    if (q_flat && close) {
        int q3 = tile[at + 3 * step];
        tile[at] = (p1 + 2 * p0 + 2 * q0 + 2 * q1 + q2 + 4) >> 3;
        tile[at + step] = (p0 + q0 + q1 + q2 + 2) >> 2;
        tile[at + 2 * step] = (2 * q3 + 3 * q2 + q1 + q0 + p0 + 4) >> 3;
    } else {
        tile[at] = (2 * q1 + q0 + p1 + 2) >> 2;
    }
}

#endif
