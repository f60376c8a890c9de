/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One macroblock of a column, by a workgroup of 32 threads: 16 lines of luma and 8 of each chroma component. Thread t is a row
 * of samples for vertical edges and a column of them for horizontal ones; the tile turns one into the other.
 */
#ifndef PELTON_DEBLOCK_MB_GLSL
#define PELTON_DEBLOCK_MB_GLSL

#include "gpu/shaders/lib/deblock_line.glsl"

#define DEBLOCK_THREADS 32

/* The macroblock, four columns of the one to its left and the last four rows of those above: columns and rows -4..15, or -4..7
 * for chroma. One int a sample, odd pitches. */
#define LUMA_PITCH   21
#define LUMA_SIZE    (20 * LUMA_PITCH)
#define CHROMA_PITCH 13
#define CHROMA_SIZE  (12 * CHROMA_PITCH)
shared int tile[LUMA_SIZE + 2 * CHROMA_SIZE];

/* Strengths and thresholds (BIND_STRENGTHS) of the macroblock and, from STRENGTH_WORDS on, of the one to its left. */
shared uint edges[2 * STRENGTH_WORDS];

/* A thread's share of the work. */
struct deblock_line {
    int c;        /* component */
    int line;     /* row or column */
    int size;     /* of the macroblock */
    int pitch;    /* of the tile */
    int origin;   /* tile index of the macroblock's first sample */
    uint segment; /* of strengths, along an edge */
};

deblock_line line_of(int t)
{
    deblock_line k;
    bool luma = t < 16;
    k.c = luma ? 0 : 1 + ((t - 16) >> 3);
    k.line = luma ? t : t & 7;
    k.size = luma ? 16 : 8;
    k.pitch = luma ? LUMA_PITCH : CHROMA_PITCH;
    k.origin = (luma ? 0 : LUMA_SIZE + (k.c - 1) * CHROMA_SIZE) + 4 * k.pitch + 4;
    k.segment = uint(luma ? k.line >> 2 : k.line >> 1);
    return k;
}

uint strength_at(uint base, uint direction, uint edge, uint segment)
{
    uint n = direction * 16u + edge * 4u + segment;
    return edges[base + (n >> 3)] >> (4u * (n & 7u)) & 15u;
}

uint params_at(uint base, uint place, int c)
{
    return edges[base + STRENGTH_PARAMS + place * 3u + uint(c)];
}

/* v[i + 1] lies after the edge. */
#define FILTER_EDGE(v, i, strength, params, chroma)                                                                            \
    {                                                                                                                          \
        ivec4 p = v[i].wzyx, q = v[i + 1];                                                                                     \
        filter_line(p, q, strength, params, chroma);                                                                           \
        v[i] = p.wzyx;                                                                                                         \
        v[i + 1] = q;                                                                                                          \
    }

/* All edges of one direction of a line: v[0] lies before the macroblock. In chroma every other edge exists, and the distance
 * from one to the next is four samples too. */
void filter_edges(inout ivec4 v[5], uint base, uint direction, int c, uint segment)
{
    uint first = params_at(base, direction == 0u ? STRENGTH_LEFT : STRENGTH_TOP, c),
         inside = params_at(base, STRENGTH_INSIDE, c), scale = c == 0 ? 1u : 2u;
    bool chroma = c != 0;
    FILTER_EDGE(v, 0, strength_at(base, direction, 0u, segment), first, chroma)
    FILTER_EDGE(v, 1, strength_at(base, direction, scale, segment), inside, chroma)
    FILTER_EDGE(v, 2, chroma ? 0u : strength_at(base, direction, 2u, segment), inside, chroma)
    FILTER_EDGE(v, 3, chroma ? 0u : strength_at(base, direction, 3u, segment), inside, chroma)
}

/* Horizontal edges of the column of samples at the tile's index at (of row 0). */
void filter_column(int at, deblock_line k, uint base, uint segment)
{
    ivec4 v[5];
    for (int i = 0; i < 5; i++)
        if (i < 3 || k.c == 0)
            for (int j = 0; j < 4; j++)
                v[i][j] = tile[at + (4 * i + j - 4) * k.pitch];
    filter_edges(v, base, 1u, k.c, segment);
    for (int i = 0; i < 5; i++)
        if (i < 3 || k.c == 0)
            for (int j = 0; j < 4; j++)
                tile[at + (4 * i + j - 4) * k.pitch] = v[i][j];
}

bool any_strength(uint base)
{
    return (edges[base] | edges[base + 1u] | edges[base + 2u] | edges[base + 3u]) != 0u;
}

ivec4 unpack4(uint w)
{
    return ivec4(w & 0xffu, (w >> 8) & 0xffu, (w >> 16) & 0xffu, w >> 24);
}

/* The last four samples of a row of the macroblock to the left, after its vertical edges. They depend on no other edges than
 * the last two; in chroma on the last one. w are its last three texels. */
ivec4 filter_left(uvec3 w, deblock_line k)
{
    ivec4 v[3] = ivec4[](unpack4(w.x), unpack4(w.y), unpack4(w.z));
    uint base = STRENGTH_WORDS, inside = params_at(base, STRENGTH_INSIDE, k.c);
    bool chroma = k.c != 0;
    FILTER_EDGE(v, 0, chroma ? 0u : strength_at(base, 0u, 2u, k.segment), inside, chroma)
    FILTER_EDGE(v, 1, strength_at(base, 0u, chroma ? 2u : 3u, k.segment), inside, chroma)
    return v[2];
}

void tile_put(int at, ivec4 v)
{
    tile[at] = v.x;
    tile[at + 1] = v.y;
    tile[at + 2] = v.z;
    tile[at + 3] = v.w;
}

ivec4 tile_get(int at)
{
    return ivec4(tile[at], tile[at + 1], tile[at + 2], tile[at + 3]);
}

/* Filter the macroblock whose row of samples is w, and left, that of the macroblock to its left; edges[] has its strengths, the
 * tile the rows above. What is right afterwards: see deblock.comp. */
void deblock_mb(deblock_line k, uvec3 left, uvec4 w)
{
    int t = int(gl_LocalInvocationIndex), row = k.origin + k.line * k.pitch;
    bool left_filtered = any_strength(STRENGTH_WORDS), filtered = any_strength(0u);
    tile_put(row - 4, left_filtered ? filter_left(left, k) : unpack4(left.z));
    barrier();
    if (left_filtered && k.line < 4) { /* its last four columns */
        uint segment = k.c == 0 ? 3u : uint(2 + (k.line >> 1));
        filter_column(k.origin - 4 + k.line, k, STRENGTH_WORDS, segment);
    }
    barrier();
    ivec4 v[5] = ivec4[](ivec4(0), unpack4(w.x), unpack4(w.y), unpack4(w.z), unpack4(w.w));
    if (filtered) {
        v[0] = tile_get(row - 4);
        filter_edges(v, 0u, 0u, k.c, k.segment);
        tile_put(row - 4, v[0]);
    }
    tile_put(row, v[1]);
    tile_put(row + 4, v[2]);
    if (k.c == 0) {
        tile_put(row + 8, v[3]);
        tile_put(row + 12, v[4]);
    }
    barrier();
    if (filtered)
        filter_column(k.origin + k.line, k, 0u, k.segment);
    barrier();
}

#endif
