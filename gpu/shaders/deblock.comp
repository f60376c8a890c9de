/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocking (8.7) without a wavefront: every workgroup goes down a column of macroblocks on its own, over some rows, from the
 * unfiltered images alone.
 *
 * The standard's order makes each macroblock wait for the ones before it, but what passes on through an edge ends soon. Across
 * an edge inside a macroblock (bS < 4), the second sample behind it (q1) depends on p1, p0 and q0..q2, which the edge before did
 * not touch; so a line's samples 10..15 depend on the line's own samples 6..15 only, in either direction. Therefore, of a
 * macroblock X, with L to its left:
 * - the last columns of L after its vertical edges need nothing to the left of them: filter_left;
 * - of these columns the last rows after L's horizontal edges need nothing above: known in the first row of a workgroup;
 * - so are they after X's left edge, and then all of L's columns in the second row, X's vertical edges, and X's last rows;
 * - in the third row and from there on, everything is right.
 * So a workgroup starts two rows above its first one, and writes, per macroblock, columns and rows -4..11 (chroma: -4..3):
 * nothing later changes those. Where the picture ends the rest is written too. Grid: x columns, y parts of them, z pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/deblock_mb.glsl"

layout(local_size_x = DEBLOCK_THREADS) in;

layout(set = SET_BATCH, binding = BIND_STRENGTHS, scalar) readonly buffer strength_buffer { uint strengths[]; };
layout(set = SET_BATCH, binding = BIND_WORK_Y, r32ui) readonly uniform uimage2DArray work_y;
layout(set = SET_BATCH, binding = BIND_WORK_CB, r32ui) readonly uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR, r32ui) readonly uniform uimage2DArray work_cr;
layout(set = SET_BATCH, binding = BIND_FRAME_Y, r32ui) writeonly uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB, r32ui) writeonly uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR, r32ui) writeonly uniform uimage2DArray frame_cr;

uint load_work(int c, int x, int y, int layer)
{
    ivec3 at = ivec3(x, y, layer);
    return c == 0 ? imageLoad(work_y, at).x : c == 1 ? imageLoad(work_cb, at).x : imageLoad(work_cr, at).x;
}

/* What a thread fetches of a macroblock: its row of it, of the one to the left, and one word of both's strengths. */
struct fetched {
    uvec4 w;
    uvec3 left;
    uint edge;
};

fetched fetch(deblock_line k, rec_picture picture, int x, int y)
{
    int texels = k.size >> 2, layer = int(picture.work), row = y * k.size + k.line, t = int(gl_LocalInvocationIndex);
    fetched f = fetched(uvec4(0u), uvec3(0u), 0u);
    for (int i = 0; i < 4; i++)
        if (i < texels)
            f.w[i] = load_work(k.c, x * texels + i, row, layer);
    for (int i = 0; i < 3 && x > 0; i++)
        if (i > 0 || k.c == 0)
            f.left[i] = load_work(k.c, x * texels + i - 3, row, layer);
    int column = x - (t >> 4);
    if (column >= 0 && uint(picture.has_deblock) != 0u)
        f.edge = strengths[(picture.mb_base + uint(y) * push.mb_width + uint(column)) * STRENGTH_WORDS + uint(t & 15)];
    return f;
}

/* Texel (tx, ty row) relative to the macroblock, tile to frame. */
void put(int c, int tx, int row, ivec2 mb_at, int slot)
{
    int texels = c == 0 ? 4 : 2, pitch = c == 0 ? LUMA_PITCH : CHROMA_PITCH;
    ivec3 to = ivec3(mb_at * ivec2(texels, texels * 4) + ivec2(tx, row), slot);
    if (to.x < 0 || to.y < 0)
        return;
    ivec4 v = tile_get((c == 0 ? 0 : LUMA_SIZE + (c - 1) * CHROMA_SIZE) + (row + 4) * pitch + 4 * tx + 4);
    uvec4 w = uvec4(uint(v.x) | uint(v.y) << 8 | uint(v.z) << 16 | uint(v.w) << 24);
    if (c == 0)
        imageStore(frame_y, to, w);
    else if (c == 1)
        imageStore(frame_cb, to, w);
    else
        imageStore(frame_cr, to, w);
}

void put_mb(deblock_line k, ivec2 mb_at, int slot)
{
    int t = int(gl_LocalInvocationIndex), c = 1 + (t >> 4);
    put(0, (t & 3) - 1, (t >> 2) - 4, mb_at, slot);
    put(0, (t & 3) - 1, (t >> 2) + 4, mb_at, slot);
    put(c, (t & 1) - 1, ((t >> 1) & 7) - 4, mb_at, slot);
    bool last_column = mb_at.x + 1 == int(push.mb_width), last_row = mb_at.y + 1 == int(push.mb_height);
    if (last_column)
        put(k.c, (k.size >> 2) - 1, k.line - 4, mb_at, slot);
    if (!last_row)
        return;
    for (int i = k.line; i < k.size + 4; i += k.size) /* four rows of a texel more than the macroblock is wide */
        if ((i >> 2) < (k.size >> 2) || last_column)
            put(k.c, (i >> 2) - 1, k.size - 4 + (i & 3), mb_at, slot);
}

/* The last four rows become those above the next macroblock. */
void carry_rows(deblock_line k)
{
    int from = k.origin + k.line + (k.size - 4) * k.pitch, to = k.origin + k.line - 4 * k.pitch;
    for (int j = 0; j < 4; j++) {
        tile[to + j * k.pitch] = tile[from + j * k.pitch];
        if (k.line < 4)
            tile[to - 4 + j * k.pitch] = tile[from - 4 + j * k.pitch];
    }
}

void main()
{
    int t = int(gl_LocalInvocationIndex), x = int(gl_WorkGroupID.x), height = int(push.mb_height);
    int part = (height + int(gl_NumWorkGroups.y) - 1) / int(gl_NumWorkGroups.y), first = int(gl_WorkGroupID.y) * part;
    if (gl_WorkGroupID.z >= push.picture_count || x >= int(push.mb_width) || first >= height)
        return;
    rec_picture picture = pictures[push.first_picture + gl_WorkGroupID.z];
    deblock_line k = line_of(t);
    int y = max(first - 2, 0), end = min(first + part, height);
    for (int i = t; i < LUMA_SIZE + 2 * CHROMA_SIZE; i += DEBLOCK_THREADS)
        tile[i] = 0;
    fetched next = fetch(k, picture, x, y);
    for (; y < end; y++) {
        fetched now = next;
        edges[t] = now.edge;
        if (y + 1 < end)
            next = fetch(k, picture, x, y + 1);
        barrier();
        deblock_mb(k, now.left, now.w);
        if (y >= first)
            put_mb(k, ivec2(x, y), int(picture.slot));
        barrier();
        carry_rows(k);
    }
}
