/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One intra macroblock by a workgroup of 32 threads: neighbours into shared tiles, prediction plus residual inside them, texels
 * out. The 4x4 blocks of Intra4x4 go in their own wavefront of ten steps, two blocks at a time.
 */
#ifndef PELTON_INTRA_MB_GLSL
#define PELTON_INTRA_MB_GLSL

#include "gpu/shaders/lib/intra_block.glsl"
#include "gpu/shaders/lib/intra_residual.glsl"
#include "gpu/shaders/lib/intra_whole.glsl"

layout(set = SET_BATCH, binding = BIND_WORK_Y, r32ui) coherent uniform uimage2DArray work_y;
layout(set = SET_BATCH, binding = BIND_WORK_CB, r32ui) coherent uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR, r32ui) coherent uniform uimage2DArray work_cr;

int sample_y(ivec2 p, int layer)
{
    return int(imageLoad(work_y, ivec3(p.x >> 2, p.y, layer)).x >> (8 * (p.x & 3)) & 0xffu);
}

int sample_c(int c, ivec2 p, int layer)
{
    ivec3 at = ivec3(p.x >> 2, p.y, layer);
    return int((c == 0 ? imageLoad(work_cb, at).x : imageLoad(work_cr, at).x) >> (8 * (p.x & 3)) & 0xffu);
}

/* Samples outside of the picture are never used, only not fetched. */
void load_border(ivec2 mb_at, int layer)
{
    int t = int(gl_LocalInvocationIndex), width = int(push.mb_width) * 16;
    ivec2 y0 = mb_at * 16, c0 = mb_at * 8;
    if (t < LUMA_PITCH)
        luma_tile[t] = sample_y(ivec2(clamp(y0.x - 1 + t, 0, width - 1), max(y0.y - 1, 0)), layer);
    if (t < 16)
        LUMA_AT(-1, t) = sample_y(ivec2(max(y0.x - 1, 0), y0.y + t), layer);
    if (t < 18) {
        int c = t / CHROMA_PITCH, x = t % CHROMA_PITCH - 1;
        CHROMA_AT(c, x, -1) = sample_c(c, max(c0 + ivec2(x, -1), 0), layer);
    }
    if (t < 16)
        CHROMA_AT(t >> 3, -1, t & 7) = sample_c(t >> 3, ivec2(max(c0.x - 1, 0), c0.y + (t & 7)), layer);
}

int mode_of(rec_mb mb, uint nibble)
{
    return int(mb.intra_mode[nibble >> 3] >> (4u * (nibble & 7u)) & 15u);
}

void reconstruct_4x4(rec_mb mb, uint coeff_base, bool left, bool top, bool top_right)
{
    int t = int(gl_LocalInvocationIndex), x = t & 3, y = (t >> 2) & 3;
    for (int step = 0; step < 10; step++) {
        int row = (step >> 1) - (t >> 4), column = (step & 1) + 2 * (t >> 4);
        if (row >= 0 && row < 4) {
            uint raster = uint(row * 4 + column);
            int mode = mode_of(mb, swap_blk(raster)), bx = column * 4, by = row * 4;
            /* blocks inside whose upper right neighbour comes later or lies in the next macroblock */
            bool right = row == 0 ? (column == 3 ? top_right : top) : (0xa8a0u >> raster & 1u) == 0u;
            int p = intra_4x4(mode, bx, by, x, y, left || column > 0, top || row > 0, right);
            LUMA_AT(bx + x, by + y) = clip1(p + residual_of(coeff_base, mb, 0u, bx + x, by + y, mode, 4));
        }
        barrier();
    }
}

void reconstruct_8x8(rec_mb mb, uint coeff_base, uint avail)
{
    int t = int(gl_LocalInvocationIndex);
    bool mb_left = (avail & REC_AVAIL_A) == REC_AVAIL_A, mb_top = (avail & REC_AVAIL_B) != 0u;
    for (int i = 0; i < 4; i++) {
        int bx = (i & 1) * 8, by = (i >> 1) * 8, mode = mode_of(mb, uint(4 * i));
        bool left = mb_left || bx > 0, top = mb_top || by > 0;
        bool corner = i == 0 ? (avail & REC_AVAIL_D) != 0u : i == 1 ? mb_top : i == 2 ? mb_left : true;
        bool right = i == 0 ? mb_top : i == 1 ? (avail & REC_AVAIL_C) != 0u : i == 2;
        if (t < 25)
            border8[t] = filter_border8(bx, by, t - 8, left, top, corner, right);
        barrier();
        for (int k = 0; k < 2; k++) {
            int x = t & 7, y = (t >> 3) + 4 * k;
            int p = intra_8x8(mode, x, y, left, top);
            LUMA_AT(bx + x, by + y) = clip1(p + residual_of(coeff_base, mb, 0u, bx + x, by + y, mode, 8));
        }
        barrier();
    }
}

void reconstruct_16x16(rec_mb mb, uint coeff_base, bool left, bool top)
{
    int t = int(gl_LocalInvocationIndex), mode = uint(mb.kind) == REC_MB_INTRA_PCM ? 4 : mode_of(mb, 0u);
    for (int k = 0; k < 8; k++) {
        int x = t & 15, y = (t >> 4) + 2 * k;
        int p = mode == 4 ? 0 : intra_16x16(mode, x, y, left, top);
        LUMA_AT(x, y) = clip1(p + residual_of(coeff_base, mb, 0u, x, y, mode, 16));
    }
    barrier();
}

/* Each thread: one texel of one component. */
void reconstruct_chroma(rec_mb mb, uint coeff_base, bool left, bool top, ivec2 corner, int layer)
{
    int t = int(gl_LocalInvocationIndex), c = t >> 4, x = (t & 1) * 4, y = (t >> 1) & 7, mode = int(mb.intra_chroma_mode);
    int direction = mode == 2 ? 0 : mode == 1 ? 1 : 2;
    ivec4 v;
    for (int k = 0; k < 4; k++) {
        int p = uint(mb.kind) == REC_MB_INTRA_PCM ? 0 : intra_chroma(mode, c, x + k, y, left, top);
        v[k] = p + residual_of(coeff_base, mb, uint(1 + c), x + k, y, direction, 8);
    }
    ivec3 to = ivec3((corner.x >> 1) + x >> 2, (corner.y >> 1) + y, layer);
    if (c == 0)
        imageStore(work_cb, to, uvec4(pack4(v)));
    else
        imageStore(work_cr, to, uvec4(pack4(v)));
}

/* All threads of the workgroup together. */
void reconstruct_mb(rec_picture picture, uint addr, ivec2 mb_at)
{
    rec_mb mb = mbs[picture.mb_base + addr];
    int t = int(gl_LocalInvocationIndex), layer = int(picture.work);
    uint avail = uint(mb.intra_avail), kind = uint(mb.kind);
    bool left = (avail & REC_AVAIL_A) == REC_AVAIL_A, top = (avail & REC_AVAIL_B) != 0u;
    barrier();
    load_border(mb_at, layer);
    barrier();
    if (kind == REC_MB_INTRA_4X4)
        reconstruct_4x4(mb, picture.coeff_base, left, top, (avail & REC_AVAIL_C) != 0u);
    else if (kind == REC_MB_INTRA_8X8)
        reconstruct_8x8(mb, picture.coeff_base, avail);
    else
        reconstruct_16x16(mb, picture.coeff_base, left, top);
    reconstruct_chroma(mb, picture.coeff_base, left, top, mb_at * 16, layer);
    for (int i = t; i < 64; i += INTRA_THREADS) {
        int x = (i & 3) * 4, y = i >> 2;
        ivec4 v = ivec4(LUMA_AT(x, y), LUMA_AT(x + 1, y), LUMA_AT(x + 2, y), LUMA_AT(x + 3, y));
        imageStore(work_y, ivec3(mb_at.x * 4 + (i & 3), mb_at.y * 16 + y, layer), uvec4(pack4(v)));
    }
}

#endif
