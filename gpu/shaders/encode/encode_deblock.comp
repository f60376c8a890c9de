/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocking (8.7) of the reconstruction without a wavefront; deblock.comp tells why that is right.
 * A workgroup of 32 threads goes down a column of macroblocks. It reads samples before deblocking.
 * It writes luma where encode_load takes it, and chroma into the set that the picture becomes, a
 * word for four samples. Luma alone is filtered with chroma that nobody reads. Grid: columns in x,
 * parts of them in y, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_common.glsl"
#include "gpu/shaders/lib/cases.h"

/* What the filter of any format asks for: 8 bits, 4:2:0 */
#define CHROMA_FORMAT   1u
#define COMPONENTS      3
#define depth_of(c)     8
#define mb_height_of(c) ((c) == 0 ? 16 : 8)
#define mb_texels_of(c) ((c) == 0 ? 4 : 2)
#define as_luma(c)      ((c) == 0)
#include "gpu/shaders/lib/deblock_mb.glsl"

layout(set = 0, binding = ENC_BIND_STRENGTHS, scalar) readonly buffer strength_buffer
{
    uint strengths[];
};
layout(set = 0, binding = ENC_BIND_UNFILTERED, scalar) readonly buffer unfiltered_buffer
{
    uint unfiltered[];
};
layout(set = 0, binding = ENC_BIND_FRAMES, scalar) writeonly buffer frame_buffer
{
    uint frames[];
};
layout(set = 0, binding = ENC_BIND_PLANES, scalar) writeonly buffer plane_buffer
{
    uint plane_words[];
};

/* The word of four samples from x on, in words, of a row of a component */
uint word_at(int c, int x, int y)
{
    uint w = luma_width(), h = luma_height(), size = w * h;
    uint base =
        gl_WorkGroupID.z * ENC_FRAME_SIZE(w, h) + (c == 0 ? 0u : size + (uint(c) - 1u) * size / 4u);
    return base / 4u + uint(y) * (c == 0 ? w : w / 2u) / 4u + uint(x);
}

/* What a thread fetches of a macroblock: its row of it, of the one to the left, and words of both's
 * strengths */
struct fetched {
    uvec4 w[4], left[3];
    uint edge;
};

fetched fetch(deblock_line k, int x, int y)
{
    int texels = is_short(k) ? 2 : 4, row = y * k.lines + k.line;
    uint t = gl_LocalInvocationIndex;
    int column = x - int(t / STRENGTH_WORDS);
    fetched f;
    for (int i = 0; i < 4; i++)
        f.w[i] = uvec4(i < texels ? unfiltered[word_at(k.c, x * texels + i, row)] : 0u);
    for (int i = 0; i < 3; i++)
        f.left[i] = uvec4(x > 0 && (i > 0 || texels == 4)
                              ? unfiltered[word_at(k.c, x * texels + i - 3, row)]
                              : 0u);
    uint mb = (gl_WorkGroupID.z * args.mb_height + uint(y)) * args.mb_width + uint(max(column, 0));
    f.edge = column >= 0 ? strengths[mb * STRENGTH_WORDS + t % STRENGTH_WORDS] : 0u;
    return f;
}

/* Word (tx, row) relative to the macroblock */
void put(int c, int tx, int row, ivec2 mb_at)
{
    ivec2 at = mb_at * ivec2(mb_texels_of(c), mb_height_of(c)) + ivec2(tx, row);
    int pitch = c == 0 ? LUMA_PITCH : CHROMA_PITCH;
    if (at.x < 0 || at.y < 0)
        return;
    uint word = texel_of(tile_get((c == 0 ? 0 : LUMA_SIZE + (c - 1) * CHROMA_SIZE) +
                                  (row + 4) * pitch + 4 * tx + 4))
                    .x;
    if (c == 0)
        frames[word_at(0, at.x, at.y)] = word;
    else
        plane_words[(chroma_origin(pictures[gl_WorkGroupID.z].pending, uint(c) - 1u) +
                         uint(at.y) * luma_width() / 2u >>
                     2) +
                    uint(at.x)] = word;
}

void put_mb(deblock_line k, ivec2 mb_at)
{
    int t = int(gl_LocalInvocationIndex);
    for (int i = t; i < 64; i += 32)
        put(0, (i & 3) - 1, (i >> 2) - 4, mb_at);
    put(1 + t / 16, t % 2 - 1, t % 16 / 2 - 4, mb_at);
    bool last_column = mb_at.x + 1 == int(args.mb_width),
         last_row = mb_at.y + 1 == int(args.mb_height);
    if (last_column)
        put(k.c, (k.size >> 2) - 1, k.line - 4, mb_at);
    if (!last_row)
        return;
    /* four rows of a word more than the macroblock is wide */
    for (int i = k.line; i < k.lines + 4; i += k.lines)
        if ((i >> 2) < (k.lines >> 2) || last_column)
            put(k.c, (i >> 2) - 1, k.size - 4 + (i & 3), mb_at);
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
    int t = int(gl_LocalInvocationIndex), x = int(gl_WorkGroupID.x), height = int(args.mb_height);
    int part = (height + int(gl_NumWorkGroups.y) - 1) / int(gl_NumWorkGroups.y),
        first = int(gl_WorkGroupID.y) * part, y = max(first - 2, 0);
    if (first >= height)
        return;
    deblock_line line = line_of(t, 0u);
    for (int i = t; i < LUMA_SIZE + 2 * CHROMA_SIZE; i += 32)
        tile[i] = 0;
    fetched next = fetch(line, x, y);
    for (; y < min(first + part, height); y++) {
        fetched now = next;
        edges[t] = now.edge;
        if (y + 1 < min(first + part, height))
            next = fetch(line, x, y + 1);
        barrier();
        deblock_mb(line, line, now.left, now.w);
        if (y >= first)
            put_mb(line, ivec2(x, y));
        barrier();
        carry_rows(line);
    }
}
