/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma samples of reference frames, a row of a block at a time. Coordinates are clamped to the
 * picture (8.4.2.2.1).
 */
#ifndef PELTON_LUMA_FETCH_GLSL
#define PELTON_LUMA_FETCH_GLSL

#include "gpu/shaders/lib/sample.glsl"

layout(set = SET_BATCH, binding = BIND_FRAME_Y,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cr;

struct luma_block {
    int x, y; /* of the sample G of the first column and row; anywhere */
    int slot;
    uvec2 fraction;
};

/* What is read of frames: plane, largest sample, and structure of the reference (REC_TOP,
 * REC_BOTTOM, REC_FRAME). */
struct {
    uint plane;
    int top;
    uint structure;
} luma_source;

/* Texel tx of row y; what lies outside of the picture is the business of luma_texel. */
uvec4 load_luma(int tx, int y, int slot)
{
    ivec3 at = ivec3(clamp(tx, 0, int(push.mb_width) * 4 - 1),
                     reference_row(y, int(push.mb_height) * 16, luma_source.structure), slot);
    if (CHROMA_FORMAT == 1u || CHROMA_FORMAT == 2u || luma_source.plane == 0u)
        return imageLoad(frame_y, at);
    return luma_source.plane == 1u ? imageLoad(frame_cb, at) : imageLoad(frame_cr, at);
}

#ifdef PELTON_WIDE

/* Outside of the picture the border repeats. */
ivec4 luma_texel(int tx, int y, int slot)
{
    ivec4 v = samples_of(load_luma(tx, y, slot));
    v = tx < 0 ? v.xxxx : v;
    return tx > int(push.mb_width) * 4 - 1 ? v.wwww : v;
}

/* Four samples from x on. */
ivec4 luma_row4(int x, int y, int slot)
{
    return shifted(luma_texel(x >> 2, y, slot), luma_texel((x >> 2) + 1, y, slot), x & 3);
}

/* Nine samples from x on: 0..3, 4..7, 8. */
void luma_row9(int x, int y, int slot, out ivec4 a, out ivec4 b, out int c)
{
    ivec4 t0 = luma_texel(x >> 2, y, slot), t1 = luma_texel((x >> 2) + 1, y, slot),
          t2 = luma_texel((x >> 2) + 2, y, slot);
    a = shifted(t0, t1, x & 3);
    b = shifted(t1, t2, x & 3);
    c = shifted(t2, t2, x & 3).x;
}

#else

/* Texel tx of row y; outside of the picture the border repeats. */
uint luma_texel(int tx, int y, int slot)
{
    int last = int(push.mb_width) * 4 - 1;
    uint w = load_luma(tx, y, slot).x;
    w = tx < 0 ? (w & 0xffu) * 0x01010101u : w;
    return tx > last ? (w >> 24) * 0x01010101u : w;
}

uint funnel(uint lo, uint hi, uint shift)
{
    return (lo >> shift) | ((hi << 1) << (31u - shift));
}

ivec4 unpack4(uint w)
{
    return ivec4(w & 0xffu, (w >> 8) & 0xffu, (w >> 16) & 0xffu, w >> 24);
}

/* Four samples from x on. */
ivec4 luma_row4(int x, int y, int slot)
{
    uint shift = uint(x & 3) * 8u;
    return unpack4(funnel(luma_texel(x >> 2, y, slot), luma_texel((x >> 2) + 1, y, slot), shift));
}

/* Nine samples from x on: 0..3, 4..7, 8. */
void luma_row9(int x, int y, int slot, out ivec4 a, out ivec4 b, out int c)
{
    uint shift = uint(x & 3) * 8u;
    uint t0 = luma_texel(x >> 2, y, slot), t1 = luma_texel((x >> 2) + 1, y, slot),
         t2 = luma_texel((x >> 2) + 2, y, slot);
    a = unpack4(funnel(t0, t1, shift));
    b = unpack4(funnel(t1, t2, shift));
    c = int((t2 >> shift) & 0xffu);
}

#endif

#endif
