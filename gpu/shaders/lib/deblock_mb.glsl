/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One macroblock of a column, of any format. The workgroup has a thread for each line: 16 of luma
 * and those of the chroma components. A thread holds a row of samples for vertical edges and a
 * column for horizontal ones. The tile turns rows into columns.
 */
#ifndef PELTON_DEBLOCK_MB_GLSL
#define PELTON_DEBLOCK_MB_GLSL

#include "gpu/shaders/lib/sample.glsl"
#include "gpu/shaders/lib/deblock_line.glsl"

layout(local_size_x_id = 0) in; /* 32, or 48 for 4:2:2 and 4:4:4 */
/* layout of the strengths (cases.h): that of any format */
layout(constant_id = 1) const uint ANY = 0;
#define DEBLOCK_THREADS int(gl_WorkGroupSize.x)

/* The macroblock, four columns of the one to its left and the last four rows of those above:
 * columns and rows from -4 on. One int a sample, odd pitches. */
#define LUMA_PITCH 21
#define LUMA_SIZE  (20 * LUMA_PITCH)
const int CHROMA_PITCH = CHROMA_FORMAT == 3u ? LUMA_PITCH : 13;
const int CHROMA_SIZE = CHROMA_FORMAT == 0u ? 0 : (CHROMA_FORMAT == 1u ? 12 : 20) * CHROMA_PITCH;
shared int tile[LUMA_SIZE + 2 * CHROMA_SIZE];

/* Strengths and thresholds (BIND_STRENGTHS) of the macroblock and, from EDGE_WORDS on, of the one
 * to its left. */
const int EDGE_WORDS = ANY != 0u ? GENERIC_WORDS : STRENGTH_WORDS;
shared uint edges[2 * EDGE_WORDS];

/* A line of samples, in one direction. */
struct deblock_line {
    int c;        /* component; negative: the thread has none */
    int line;     /* row or column */
    int lines;    /* of the component */
    int size;     /* of the line, in samples */
    int pitch;    /* of the tile */
    int origin;   /* tile index of the macroblock's first sample */
    uint segment; /* of strengths, along an edge */
};

/* Has the thread a line? In 4:2:0 all have. The answers to this and the next question are
 * constants, or the same, there. */
bool line_exists(deblock_line k)
{
    return CHROMA_FORMAT == 1u || k.c >= 0;
}

/* Is the line 8 samples long, not 16? */
bool is_short(deblock_line k)
{
    return CHROMA_FORMAT == 1u ? k.c != 0 : k.size == 8;
}

/* direction 0: rows, which vertical edges cross; 1: columns. */
deblock_line line_of(int t, uint direction)
{
    deblock_line k;
    int rows = mb_height_of(1), columns = mb_texels_of(1) * 4,
        lines = direction == 0u ? rows : columns;
    bool luma = t < 16;
    k.c = luma ? 0 : 1 + int(uint(t - 16) / uint(lines));
    k.line = luma ? t : int(uint(t) % uint(lines));
    k.lines = luma ? 16 : lines;
    k.size = luma ? 16 : direction == 0u ? columns : rows;
    k.pitch = luma ? LUMA_PITCH : CHROMA_PITCH;
    k.origin = (luma ? 0 : LUMA_SIZE + (k.c - 1) * CHROMA_SIZE) + 4 * k.pitch + 4;
    k.segment = uint(k.lines == 16 ? k.line >> 2 : k.line >> 1);
    if (k.c >= COMPONENTS)
        k.c = -1;
    return k;
}

/* Of edge `edge`, in units of four luma samples. */
uint strength_at(uint base, uint direction, uint edge, uint segment)
{
    uint n = direction * 16u + edge * 4u + segment;
    if (ANY != 0u && direction == 0u && edge == 0u)
        return edges[base + GENERIC_LEFT_WORD] >> (8u * segment) & 15u;
    return edges[base + (n >> 3)] >> (4u * (n & 7u)) & 15u;
}

/* place: STRENGTH_LEFT, STRENGTH_TOP, STRENGTH_INSIDE */
uint params_at(uint base, uint place, int c)
{
    return edges[base + (ANY != 0u ? GENERIC_PARAMS + place * 6u : STRENGTH_PARAMS + place * 3u) +
                 uint(c)];
}

/* Strength of an edge inside the macroblock; edges[] of any format has that of 4x4 blocks where
 * luma has 8x8 ones. */
uint inside_at(uint base, uint direction, uint edge, uint segment, bool luma)
{
    if (ANY != 0u && luma && (edge & 1u) != 0u &&
        (edges[base + GENERIC_FLAGS_WORD] & GENERIC_SIZE8) != 0u)
        return 0u;
    return strength_at(base, direction, edge, segment);
}

/* v[i + 1] lies after the edge. */
#define FILTER_EDGE(v, i, strength, params, chroma, depth)                                         \
    {                                                                                              \
        ivec4 p = v[i].wzyx, q = v[i + 1];                                                         \
        filter_line(p, q, strength, params, chroma, depth);                                        \
        v[i] = p.wzyx;                                                                             \
        v[i + 1] = q;                                                                              \
    }

/* All edges of one direction of a line: v[0] lies before the macroblock. In lines of 8 samples
 * every other edge exists, and the distance from one to the next is four samples too. */
void filter_edges(inout ivec4 v[5], uint base, uint direction, deblock_line k, uint segment)
{
    uint first = params_at(base, direction == 0u ? STRENGTH_LEFT : STRENGTH_TOP, k.c),
         inside = params_at(base, STRENGTH_INSIDE, k.c);
    bool luma = as_luma(k.c), small = is_short(k);
    int depth = depth_of(k.c);
    FILTER_EDGE(v, 0, strength_at(base, direction, 0u, segment), first, !luma, depth)
    FILTER_EDGE(v, 1, inside_at(base, direction, small ? 2u : 1u, segment, luma), inside, !luma,
                depth)
    FILTER_EDGE(v, 2, small ? 0u : inside_at(base, direction, 2u, segment, luma), inside, !luma,
                depth)
    FILTER_EDGE(v, 3, small ? 0u : inside_at(base, direction, 3u, segment, luma), inside, !luma,
                depth)
}

/* Horizontal edges of the column of samples at the tile's index at (of row 0). */
void filter_column(int at, deblock_line k, uint base, uint segment)
{
    ivec4 v[5];
    for (int i = 0; i < 5; i++)
        if (i < 3 || !is_short(k))
            for (int j = 0; j < 4; j++)
                v[i][j] = tile[at + (4 * i + j - 4) * k.pitch];
    filter_edges(v, base, 1u, k, segment);
    for (int i = 0; i < 5; i++)
        if (i < 3 || !is_short(k))
            for (int j = 0; j < 4; j++)
                tile[at + (4 * i + j - 4) * k.pitch] = v[i][j];
}

bool any_strength(uint base)
{
    uint any = edges[base] | edges[base + 1u] | edges[base + 2u] | edges[base + 3u];
    return (ANY != 0u ? any | edges[base + GENERIC_LEFT_WORD] : any) != 0u;
}

/* The last four samples of a row of the macroblock to the left, after its vertical edges. They
 * depend on no other edges than the last two; in rows of 8 samples on the last one. w are its last
 * three texels. */
ivec4 filter_left(uvec4 w[3], deblock_line k)
{
    ivec4 v[3] = ivec4[](samples_of(w[0]), samples_of(w[1]), samples_of(w[2]));
    uint base = uint(EDGE_WORDS), inside = params_at(base, STRENGTH_INSIDE, k.c);
    bool luma = as_luma(k.c), small = is_short(k);
    int depth = depth_of(k.c);
    FILTER_EDGE(v, 0, small ? 0u : inside_at(base, 0u, 2u, k.segment, luma), inside, !luma, depth)
    FILTER_EDGE(v, 1, inside_at(base, 0u, small ? 2u : 3u, k.segment, luma), inside, !luma, depth)
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

/* Vertical edges: a row of the macroblock, and the end of that of the one to its left. */
void filter_rows(deblock_line k, uvec4 w[4], bool filtered)
{
    int row = k.origin + k.line * k.pitch;
    ivec4 v[5] =
        ivec4[](ivec4(0), samples_of(w[0]), samples_of(w[1]), samples_of(w[2]), samples_of(w[3]));
    if (filtered) {
        v[0] = tile_get(row - 4);
        filter_edges(v, 0u, 0u, k, k.segment);
        tile_put(row - 4, v[0]);
    }
    tile_put(row, v[1]);
    tile_put(row + 4, v[2]);
    if (!is_short(k)) {
        tile_put(row + 8, v[3]);
        tile_put(row + 12, v[4]);
    }
}

/* Filter the macroblock whose row of samples is w, and left, that of the macroblock to its left;
 * edges[] has its strengths, the tile the rows above. What is right afterwards: see deblock.comp.
 */
void deblock_mb(deblock_line row, deblock_line column, uvec4 left[3], uvec4 w[4])
{
    bool left_filtered = any_strength(uint(EDGE_WORDS)), filtered = any_strength(0u);
    if (line_exists(row))
        tile_put(row.origin + row.line * row.pitch - 4,
                 left_filtered ? filter_left(left, row) : samples_of(left[2]));
    barrier();
    if (left_filtered && line_exists(column) && column.line < 4) { /* its last four columns */
        uint segment = column.lines == 16 ? 3u : uint(2 + (column.line >> 1));
        filter_column(column.origin - 4 + column.line, column, uint(EDGE_WORDS), segment);
    }
    barrier();
    if (line_exists(row))
        filter_rows(row, w, filtered);
    barrier();
    if (filtered && line_exists(column))
        filter_column(column.origin + column.line, column, 0u, column.segment);
    barrier();
}

#endif
