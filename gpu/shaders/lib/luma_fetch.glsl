/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma samples of reference frames, a row of a block at a time; coordinates are clamped to the picture (8.4.2.2.1).
 */
#ifndef PELTON_LUMA_FETCH_GLSL
#define PELTON_LUMA_FETCH_GLSL

layout(set = SET_BATCH, binding = BIND_FRAME_Y, r32ui) readonly uniform uimage2DArray frame_y;

struct luma_block {
    int x, y; /* of the sample G of the first column and row; anywhere */
    int slot;
    uvec2 fraction;
};

/* Texel tx of row y; outside of the picture the border repeats. */
uint luma_texel(int tx, int y, int slot)
{
    int last = int(push.mb_width) * 4 - 1;
    uint w = imageLoad(frame_y, ivec3(clamp(tx, 0, last), clamp(y, 0, int(push.mb_height) * 16 - 1), slot)).x;
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
    uint t0 = luma_texel(x >> 2, y, slot), t1 = luma_texel((x >> 2) + 1, y, slot), t2 = luma_texel((x >> 2) + 2, y, slot);
    a = unpack4(funnel(t0, t1, shift));
    b = unpack4(funnel(t1, t2, shift));
    c = int((t2 >> shift) & 0xffu);
}

#endif
