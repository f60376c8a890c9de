/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblock one macroblock (8.7) by a workgroup of 32 threads, 16 lines of luma and 8 of each chroma component at once: vertical
 * edges, then horizontal ones. The macroblock's samples come from the unfiltered images, those to the left and above from the
 * frame, where earlier macroblocks left them filtered; all go to the frame. Where no edge has a strength it is a copy.
 */
#ifndef PELTON_DEBLOCK_MB_GLSL
#define PELTON_DEBLOCK_MB_GLSL

#include "gpu/shaders/lib/deblock_line.glsl"

#define DEBLOCK_THREADS 32

layout(set = SET_BATCH, binding = BIND_STRENGTHS, scalar) readonly buffer strength_buffer { uint strengths[]; };
layout(set = SET_BATCH, binding = BIND_WORK_Y, r32ui) readonly uniform uimage2DArray work_y;
layout(set = SET_BATCH, binding = BIND_WORK_CB, r32ui) readonly uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR, r32ui) readonly uniform uimage2DArray work_cr;
layout(set = SET_BATCH, binding = BIND_FRAME_Y, r32ui) coherent uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB, r32ui) coherent uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR, r32ui) coherent uniform uimage2DArray frame_cr;

void texel_to_tile(int c, int tx, int y, uint w)
{
    int at = tile_at(c, tx * 4, y);
    tile[at] = int(w & 0xffu);
    tile[at + 1] = int((w >> 8) & 0xffu);
    tile[at + 2] = int((w >> 16) & 0xffu);
    tile[at + 3] = int(w >> 24);
}

uint texel_of_tile(int c, int tx, int y)
{
    int at = tile_at(c, tx * 4, y);
    return uint(tile[at]) | uint(tile[at + 1]) << 8 | uint(tile[at + 2]) << 16 | uint(tile[at + 3]) << 24;
}

uint load_work(int c, ivec3 at)
{
    return c == 0 ? imageLoad(work_y, at).x : c == 1 ? imageLoad(work_cb, at).x : imageLoad(work_cr, at).x;
}

uint load_frame(int c, ivec3 at)
{
    return c == 0 ? imageLoad(frame_y, at).x : c == 1 ? imageLoad(frame_cb, at).x : imageLoad(frame_cr, at).x;
}

void store_frame(int c, ivec3 at, uint w)
{
    if (c == 0)
        imageStore(frame_y, at, uvec4(w));
    else if (c == 1)
        imageStore(frame_cb, at, uvec4(w));
    else
        imageStore(frame_cr, at, uvec4(w));
}

/* Texel i of a macroblock: 64 of luma, then 16 of each chroma component: component, column, row. */
ivec3 mb_texel(int i)
{
    return i < 64 ? ivec3(0, i & 3, i >> 2) : ivec3(1 + ((i - 64) >> 4), i & 1, ((i - 64) >> 1) & 7);
}

/* Texel i of what lies to the left: 16 rows of luma, 8 of each chroma component. */
ivec3 left_texel(int i)
{
    return i < 16 ? ivec3(0, -1, i) : ivec3(1 + ((i - 16) >> 3), -1, i & 7);
}

/* Texel i of what lies above: 4 rows of luma, then 2 rows of each chroma component; 24 in all. */
ivec3 top_texel(int i)
{
    return i < 16 ? ivec3(0, i & 3, (i >> 2) - 4) : ivec3(1 + ((i - 16) >> 2), i & 1, ((i >> 1) & 1) - 2);
}

ivec3 picture_texel(ivec3 k, ivec2 mb_at, int layer)
{
    int n = k.x == 0 ? 4 : 2;
    return ivec3(mb_at * ivec2(n, n * 4) + k.yz, layer);
}

/* All edges of one direction: threads 0..15 a line of luma, 16..23 of Cb, 24..31 of Cr, where only every other edge exists. */
void filter_direction(int direction, uint at)
{
    int t = int(gl_LocalInvocationIndex), c = t < 16 ? 0 : 1 + ((t - 16) >> 3), line = c == 0 ? t : t & 7;
    uint segment = uint(c == 0 ? line >> 2 : line >> 1);
    for (uint edge = 0u; edge < 4u; edge += c == 0 ? 1u : 2u) {
        uint n = uint(direction) * 16u + edge * 4u + segment;
        uint strength = strengths[at + (n >> 3)] >> (4u * (n & 7u)) & 15u;
        uint place = edge > 0u ? STRENGTH_INSIDE : direction == 0 ? STRENGTH_LEFT : STRENGTH_TOP;
        int across = int(edge) * (c == 0 ? 4 : 2), step = direction == 0 ? 1 : c == 0 ? LUMA_PITCH : CHROMA_PITCH;
        int q0 = direction == 0 ? tile_at(c, across, line) : tile_at(c, line, across);
        filter_line(q0, step, strength, strengths[at + STRENGTH_PARAMS + place * 3u + uint(c)], c != 0);
    }
}

void copy_mb(ivec2 mb_at, int layer, int slot)
{
    for (int i = int(gl_LocalInvocationIndex); i < 96; i += DEBLOCK_THREADS) {
        ivec3 k = mb_texel(i);
        store_frame(k.x, picture_texel(k, mb_at, slot), load_work(k.x, picture_texel(k, mb_at, layer)));
    }
}

/* Both by all threads of the workgroup together; at is the first word of the macroblock's strengths. The first half needs no
 * neighbour. */
void deblock_begin(ivec2 mb_at, int layer)
{
    barrier();
    for (int i = int(gl_LocalInvocationIndex); i < 96; i += DEBLOCK_THREADS) {
        ivec3 k = mb_texel(i);
        texel_to_tile(k.x, k.y, k.z, load_work(k.x, picture_texel(k, mb_at, layer)));
    }
}

void deblock_end(uint at, ivec2 mb_at, int slot)
{
    int t = int(gl_LocalInvocationIndex);
    bool left = (strengths[at] & 0xffffu) != 0u, top = (strengths[at + 2u] & 0xffffu) != 0u;
    ivec3 l = left_texel(t), a = top_texel(t);
    if (left)
        texel_to_tile(l.x, l.y, l.z, load_frame(l.x, picture_texel(l, mb_at, slot)));
    if (top && t < 24)
        texel_to_tile(a.x, a.y, a.z, load_frame(a.x, picture_texel(a, mb_at, slot)));
    barrier();
    filter_direction(0, at);
    barrier();
    filter_direction(1, at);
    barrier();
    for (int i = t; i < 96; i += DEBLOCK_THREADS) {
        ivec3 k = mb_texel(i);
        store_frame(k.x, picture_texel(k, mb_at, slot), texel_of_tile(k.x, k.y, k.z));
    }
    if (left)
        store_frame(l.x, picture_texel(l, mb_at, slot), texel_of_tile(l.x, l.y, l.z));
    if (top && t < 24 && a.z > (a.x == 0 ? -4 : -2)) /* the farthest row is only read */
        store_frame(a.x, picture_texel(a, mb_at, slot), texel_of_tile(a.x, a.y, a.z));
}

/* Does any edge of the macroblock have a strength? */
bool deblock_needed(uint at)
{
    return (strengths[at] | strengths[at + 1u] | strengths[at + 2u] | strengths[at + 3u]) != 0u;
}

#endif
