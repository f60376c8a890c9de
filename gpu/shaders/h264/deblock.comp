/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocking (8.7) of all pictures but MBAFF frames, without a wavefront. Every workgroup goes down
 * a column of macroblocks on its own, over some rows. It reads the unfiltered images alone. Grid: x
 * columns, y parts of them, z pictures.
 *
 * The standard's order makes each macroblock wait for earlier ones, but the effect of an edge ends
 * soon. Across an edge inside a macroblock (bS < 4), q1 is the outermost sample that changes. It
 * depends on p1, p0 and q0..q2, and the previous edge does not change these. So samples 10..15 of a
 * line depend on samples 6..15 of the same line only, in either direction. Let L be the macroblock
 * to the left of macroblock X. Then:
 * - The last columns of L after its vertical edges need nothing to the left of them (filter_left).
 * - Of these columns, the last rows after L's horizontal edges need nothing above. They are known
 *   in the first row of a workgroup.
 * - They are also known after X's left edge. In the second row all columns of L are known, X's
 *   vertical edges, and X's last rows.
 * - From the third row on, everything is right.
 *
 * So a workgroup starts two rows above its first row. For each macroblock it writes columns and
 * rows from -4 on, without the last four. Later edges change nothing of the written part. At the
 * picture's right and bottom edge it also writes the rest.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/debug.glsl"
#include "gpu/shaders/lib/place.glsl"
#include "gpu/shaders/lib/deblock_mb.glsl"

layout(set = SET_BATCH, binding = BIND_STRENGTHS, scalar) readonly buffer strength_buffer
{
    uint strengths[];
};
layout(set = SET_BATCH, binding = BIND_WORK_Y, SAMPLE_FORMAT) readonly uniform uimage2DArray work_y;
layout(set = SET_BATCH, binding = BIND_WORK_CB,
       SAMPLE_FORMAT) readonly uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR,
       SAMPLE_FORMAT) readonly uniform uimage2DArray work_cr;
layout(set = SET_BATCH, binding = BIND_FRAME_Y,
       SAMPLE_FORMAT) writeonly uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB,
       SAMPLE_FORMAT) writeonly uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR,
       SAMPLE_FORMAT) writeonly uniform uimage2DArray frame_cr;

uvec4 load_work(int c, int x, int y, int layer)
{
    ivec3 at = ivec3(x, y, layer);
    return c == 0   ? imageLoad(work_y, at)
           : c == 1 ? imageLoad(work_cb, at)
                    : imageLoad(work_cr, at);
}

/* What a thread fetches of a macroblock: its row of it, of the one to the left, and words of both's
 * strengths. */
struct fetched {
    uvec4 w[4], left[3];
    uint edge[2];
};

fetched fetch(deblock_line k, rec_picture picture, int x, int y)
{
    int texels = is_short(k) ? 2 : 4, layer = int(picture.work), row = y * k.lines + k.line;
    fetched f;
    for (int i = 0; i < 4; i++)
        f.w[i] =
            line_exists(k) && i < texels ? load_work(k.c, x * texels + i, row, layer) : uvec4(0u);
    for (int i = 0; i < 3; i++)
        f.left[i] = line_exists(k) && x > 0 && (i > 0 || texels == 4)
                        ? load_work(k.c, x * texels + i - 3, row, layer)
                        : uvec4(0u);
    for (int i = 0; i < 2; i++) {
        const uint words = uint(EDGE_WORDS);
        uint word = gl_LocalInvocationIndex + uint(i * DEBLOCK_THREADS);
        int column = x - int(word / words);
        f.edge[i] = 0u;
        if (((i + 1) * DEBLOCK_THREADS <= 2 * EDGE_WORDS || word < 2u * words) && column >= 0 &&
            uint(picture.has_deblock) != 0u)
            f.edge[i] =
                strengths[(picture.mb_base + uint(y) * push.mb_width + uint(column)) * words +
                          word % words];
    }
    return f;
}

/* Texel (tx, ty row) relative to the macroblock, tile to frame. */
void put(int c, int tx, int row, ivec2 mb_at, rec_picture picture)
{
    int texels = mb_texels_of(c), pitch = c == 0 ? LUMA_PITCH : CHROMA_PITCH,
        plane = frame_plane(picture, c);
    ivec2 from = mb_at * ivec2(texels, mb_height_of(c)) + ivec2(tx, row);
    if (from.x < 0 || from.y < 0)
        return;
    ivec3 to = ivec3(from.x, frame_row(picture, from.y), picture.slot);
    uvec4 texel = texel_of(tile_get((c == 0 ? 0 : LUMA_SIZE + (c - 1) * CHROMA_SIZE) +
                                    (row + 4) * pitch + 4 * tx + 4));
    if (plane == 0)
        imageStore(frame_y, to, texel);
    else if (plane == 1)
        imageStore(frame_cb, to, texel);
    else
        imageStore(frame_cr, to, texel);
}

void put_mb(deblock_line k, deblock_line column, ivec2 mb_at, rec_picture picture)
{
    const uint n = gl_WorkGroupSize.x;
    uint t = gl_LocalInvocationIndex, texels = uint(mb_texels_of(1)),
         chroma = texels * uint(mb_height_of(1));
    for (uint first = 0u; first < 64u; first += n) {
        uint i = first + t;
        if (64u % n == 0u || i < 64u)
            put(0, int(i & 3u) - 1, int(i >> 2) - 4, mb_at, picture);
    }
    for (uint first = 0u; CHROMA_FORMAT != 0u && first < 2u * chroma; first += n) {
        uint i = first + t;
        if (2u * chroma % n == 0u || i < 2u * chroma)
            put(1 + int(i / chroma), int(i % texels) - 1, int(i % chroma / texels) - 4, mb_at,
                picture);
    }
    bool last_column = mb_at.x + 1 == int(push.mb_width),
         last_row = mb_at.y + 1 == unit_rows(picture);
    if (last_column && line_exists(k))
        put(k.c, (k.size >> 2) - 1, k.line - 4, mb_at, picture);
    if (!last_row || !line_exists(column))
        return;
    /* four rows of a texel more than the macroblock is wide */
    for (int i = column.line; i < column.lines + 4; i += column.lines)
        if ((i >> 2) < (column.lines >> 2) || last_column)
            put(column.c, (i >> 2) - 1, column.size - 4 + (i & 3), mb_at, picture);
}

/* The last four rows become those above the next macroblock. */
void carry_rows(deblock_line k)
{
    int from = k.origin + k.line + (k.size - 4) * k.pitch, to = k.origin + k.line - 4 * k.pitch;
    if (!line_exists(k))
        return;
    for (int j = 0; j < 4; j++) {
        tile[to + j * k.pitch] = tile[from + j * k.pitch];
        if (k.line < 4)
            tile[to - 4 + j * k.pitch] = tile[from - 4 + j * k.pitch];
    }
}

void main()
{
    int t = int(gl_LocalInvocationIndex), x = int(gl_WorkGroupID.x);
    int part = (int(push.mb_height) + int(gl_NumWorkGroups.y) - 1) / int(gl_NumWorkGroups.y),
        first = int(gl_WorkGroupID.y) * part;
    if (gl_WorkGroupID.z >= push.picture_count || x >= int(push.mb_width))
        return;
    rec_picture picture = pictures[push.first_picture + gl_WorkGroupID.z];
    int height = unit_rows(picture);
    DEBUG_FIRST(DEBUG_ROWS, push.first_picture + gl_WorkGroupID.z, height);
    if (first >= height)
        return;
    deblock_line row = line_of(t, 0u), column = row;
    if (CHROMA_FORMAT == 2u)
        column = line_of(t, 1u);
    int y = max(first - 2, 0), end = min(first + part, height);
    for (int i = t; i < LUMA_SIZE + 2 * CHROMA_SIZE; i += DEBLOCK_THREADS)
        tile[i] = 0;
    fetched next = fetch(row, picture, x, y);
    for (; y < end; y++) {
        fetched now = next;
        for (int i = 0; i < 2; i++)
            if ((i + 1) * DEBLOCK_THREADS <= 2 * EDGE_WORDS ||
                t + i * DEBLOCK_THREADS < 2 * EDGE_WORDS)
                edges[t + i * DEBLOCK_THREADS] = now.edge[i];
        if (y + 1 < end)
            next = fetch(row, picture, x, y + 1);
        barrier();
        deblock_mb(row, column, now.left, now.w);
        if (y >= first)
            put_mb(row, column, ivec2(x, y), picture);
        barrier();
        carry_rows(column);
    }
}
