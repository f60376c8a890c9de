/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One intra macroblock by a workgroup of 32 threads: its residual and its neighbours lie in shared tiles, prediction plus
 * residual is done inside them, texels go out. The 4x4 blocks of Intra4x4 go in their own wavefront of ten steps, two blocks at
 * a time.
 */
#ifndef PELTON_INTRA_MB_GLSL
#define PELTON_INTRA_MB_GLSL

#include "gpu/shaders/lib/intra_block.glsl"
#include "gpu/shaders/lib/intra_residual.glsl"
#include "gpu/shaders/lib/intra_whole.glsl"

layout(set = SET_BATCH, binding = BIND_WORK_Y, r32ui) uniform uimage2DArray work_y;
layout(set = SET_BATCH, binding = BIND_WORK_CB, r32ui) uniform uimage2DArray work_cb;
layout(set = SET_BATCH, binding = BIND_WORK_CR, r32ui) uniform uimage2DArray work_cr;

uint work_texel(int c, ivec3 at)
{
    return c == 0 ? imageLoad(work_y, at).x : c == 1 ? imageLoad(work_cb, at).x : imageLoad(work_cr, at).x;
}

/* Column -1: threads 0..15 luma, 16..31 chroma. */
void put_left(int t, int v)
{
    if (t < 16)
        LUMA_AT(-1, t) = v;
    else
        CHROMA_AT((t >> 3) - 2, -1, t & 7) = v;
}

/* The same from the images. */
int load_left(int t, ivec2 mb_at, int layer)
{
    int c = t < 16 ? 0 : (t >> 3) - 1, n = c == 0 ? 4 : 2;
    return mb_at.x == 0 ? 0 : int(work_texel(c, ivec3(mb_at.x * n - 1, mb_at.y * n * 4 + (t & (n * 4 - 1)), layer)) >> 24);
}

/* Row -1 comes in pairs of samples, thread by thread: the corner, 8 above and 4 above to the right; 4 above of each chroma
 * component; their corners. */
#define ABOVE_PAIRS 23

/* x: -1, 0 or 1: the macroblock. y: component. z: pair of samples in its last row. */
ivec3 above_pair(int i)
{
    if (i < 13)
        return i == 0 ? ivec3(-1, 0, 7) : i < 9 ? ivec3(0, 0, i - 1) : ivec3(1, 0, i - 9);
    return i < 21 ? ivec3(0, 1 + ((i - 13) >> 2), (i - 13) & 3) : ivec3(-1, i - 20, 3);
}

uint load_above(ivec3 k, ivec2 mb_at, int layer)
{
    int n = k.y == 0 ? 4 : 2, x = mb_at.x + k.x;
    if (mb_at.y == 0 || x < 0 || x >= int(push.mb_width))
        return 0u;
    return work_texel(k.y, ivec3(x * n + (k.z >> 1), mb_at.y * n * 4 - 1, layer)) >> (16 * (k.z & 1)) & 0xffffu;
}

void put_above(ivec3 k, uint pair)
{
    int size = k.y == 0 ? 16 : 8, x = k.x * size + 2 * k.z;
    for (int i = k.x < 0 ? 1 : 0; i < 2; i++) {
        int v = int(pair >> (8 * i) & 0xffu);
        if (k.y == 0)
            LUMA_AT(x + i, -1) = v;
        else
            CHROMA_AT(k.y - 1, x + i, -1) = v;
    }
}

int mode_of(rec_mb mb, uint nibble)
{
    uint word = nibble < 8u ? mb.intra_mode[0] : mb.intra_mode[1];
    return int(word >> (4u * (nibble & 7u)) & 15u);
}

/* What a thread does in each step of Intra4x4 (10 of them) or Intra8x8 (two of each block, and the borders of the blocks),
 * and the residual it adds; made while neighbours are waited for. Indexed by constants only, once loops are unrolled. */
struct intra_plan {
    uint how[12];
    int add[10];
};

/* Column and row of the thread's block of a step, in blocks; the row may lie outside. */
ivec2 step_block(int step)
{
    int second = int(gl_LocalInvocationIndex) >> 4;
    return ivec2((step & 1) + 2 * second, (step >> 1) - second);
}

void plan_steps_4x4(rec_mb mb, inout intra_plan plan)
{
    int t = int(gl_LocalInvocationIndex), x = t & 3, y = (t >> 2) & 3;
    bool mb_top = (uint(mb.intra_avail) & REC_AVAIL_B) != 0u, mb_right = (uint(mb.intra_avail) & REC_AVAIL_C) != 0u;
    [[unroll]] for (int step = 0; step < 10; step++) {
        ivec2 b = step_block(step);
        if (b.y < 0 || b.y > 3)
            continue;
        uint raster = uint(b.y * 4 + b.x);
        int mode = mode_of(mb, swap_blk(raster)), bx = b.x * 4, by = b.y * 4;
        /* blocks inside whose upper right neighbour comes later or lies in the next macroblock */
        bool right = b.y == 0 ? (b.x == 3 ? mb_right : mb_top) : (0xa8a0u >> raster & 1u) == 0u;
        plan.how[step] = plan_4x4(mode, bx, by, x, y, right);
        plan.add[step] = residual_of(mb, 0u, bx + x, by + y, mode, 4);
    }
}

void plan_steps_8x8(rec_mb mb, inout intra_plan plan)
{
    int t = int(gl_LocalInvocationIndex);
    uint avail = uint(mb.intra_avail);
    bool mb_left = (avail & REC_AVAIL_A) == REC_AVAIL_A, mb_top = (avail & REC_AVAIL_B) != 0u;
    [[unroll]] for (int i = 0; i < 4; i++) {
        int bx = (i & 1) * 8, by = (i >> 1) * 8, mode = mode_of(mb, uint(4 * i));
        bool corner = i == 0 ? (avail & REC_AVAIL_D) != 0u : i == 1 ? mb_top : i == 2 ? mb_left : true;
        bool right = i == 0 ? mb_top : i == 1 ? (avail & REC_AVAIL_C) != 0u : i == 2;
        plan.how[8 + i] = plan_border8(bx, by, min(t, 24) - 8, mb_left || bx > 0, mb_top || by > 0, corner, right);
        [[unroll]] for (int k = 0; k < 2; k++) {
            int x = t & 7, y = (t >> 3) + 4 * k;
            plan.how[2 * i + k] = plan_8x8(mode, x, y);
            plan.add[2 * i + k] = residual_of(mb, 0u, bx + x, by + y, mode, 8);
        }
    }
}

/* Needs the residual's tile, no neighbour. */
void plan_mb(rec_mb mb, out intra_plan plan)
{
    [[unroll]] for (int i = 0; i < 12; i++)
        plan.how[i] = 0u;
    [[unroll]] for (int i = 0; i < 10; i++)
        plan.add[i] = 0;
    if (uint(mb.kind) == REC_MB_INTRA_4X4)
        plan_steps_4x4(mb, plan);
    else if (uint(mb.kind) == REC_MB_INTRA_8X8)
        plan_steps_8x8(mb, plan);
}

void reconstruct_4x4(intra_plan plan, bool left, bool top)
{
    int t = int(gl_LocalInvocationIndex), x = t & 3, y = (t >> 2) & 3;
    [[unroll]] for (int step = 0; step < 10; step++) {
        ivec2 b = step_block(step);
        if (b.y >= 0 && b.y < 4) {
            int p = intra_4x4(plan.how[step], b.x * 4, b.y * 4, left || b.x > 0, top || b.y > 0);
            LUMA_AT(b.x * 4 + x, b.y * 4 + y) = clip1(p + plan.add[step]);
        }
        barrier();
    }
}

void reconstruct_8x8(intra_plan plan, bool mb_left, bool mb_top)
{
    int t = int(gl_LocalInvocationIndex);
    [[unroll]] for (int i = 0; i < 4; i++) {
        int bx = (i & 1) * 8, by = (i >> 1) * 8;
        uint how = plan.how[8 + i];
        if (t < 25)
            border8[t] = plan_filter(how, luma_tile[(how >> 2) & 511u], luma_tile[(how >> 11) & 511u], luma_tile[how >> 20]);
        barrier();
        [[unroll]] for (int k = 0; k < 2; k++) {
            int p = intra_8x8(plan.how[2 * i + k], mb_left || bx > 0, mb_top || by > 0);
            LUMA_AT(bx + (t & 7), by + (t >> 3) + 4 * k) = clip1(p + plan.add[2 * i + k]);
        }
        barrier();
    }
}

void reconstruct_16x16(rec_mb mb, bool left, bool top)
{
    int t = int(gl_LocalInvocationIndex), mode = uint(mb.kind) == REC_MB_INTRA_PCM ? 4 : mode_of(mb, 0u);
    ivec2 sums = intra_16x16_sums(mode);
    for (int k = 0; k < 8; k++) {
        int x = t & 15, y = (t >> 4) + 2 * k;
        int p = mode == 4 ? 0 : intra_16x16(mode, x, y, left, top, sums);
        LUMA_AT(x, y) = clip1(p + residual_of(mb, 0u, x, y, mode, 16));
    }
    barrier();
}

/* Each thread: four samples of one component. */
void reconstruct_chroma(rec_mb mb, bool left, bool top)
{
    int t = int(gl_LocalInvocationIndex), c = t >> 4, x = (t & 1) * 4, y = (t >> 1) & 7, mode = int(mb.intra_chroma_mode);
    int direction = mode == 2 ? 0 : mode == 1 ? 1 : 2;
    ivec2 sums = intra_chroma_sums(mode, c, x, y & 4);
    for (int k = 0; k < 4; k++) {
        int p = uint(mb.kind) == REC_MB_INTRA_PCM ? 0 : intra_chroma(mode, c, x + k, y, left, top, sums);
        CHROMA_AT(c, x + k, y) = clip1(p + residual_of(mb, uint(1 + c), x + k, y, direction, 8));
    }
}

/* All threads of the workgroup together: tiles hold what the macroblock needs, and afterwards the macroblock. */
void reconstruct_mb(rec_mb mb, intra_plan plan)
{
    uint avail = uint(mb.intra_avail), kind = uint(mb.kind);
    bool left = (avail & REC_AVAIL_A) == REC_AVAIL_A, top = (avail & REC_AVAIL_B) != 0u;
    reconstruct_chroma(mb, left, top);
    if (kind == REC_MB_INTRA_4X4)
        reconstruct_4x4(plan, left, top);
    else if (kind == REC_MB_INTRA_8X8)
        reconstruct_8x8(plan, left, top);
    else
        reconstruct_16x16(mb, left, top);
}

void store_mb(ivec2 mb_at, int layer)
{
    int t = int(gl_LocalInvocationIndex), c = t >> 4;
    for (int i = t; i < 64; i += INTRA_THREADS) {
        int x = (i & 3) * 4, y = i >> 2;
        ivec4 v = ivec4(LUMA_AT(x, y), LUMA_AT(x + 1, y), LUMA_AT(x + 2, y), LUMA_AT(x + 3, y));
        imageStore(work_y, ivec3(mb_at.x * 4 + (i & 3), mb_at.y * 16 + y, layer), uvec4(pack4(v)));
    }
    int x = (t & 1) * 4, y = (t >> 1) & 7;
    ivec4 v = ivec4(CHROMA_AT(c, x, y), CHROMA_AT(c, x + 1, y), CHROMA_AT(c, x + 2, y), CHROMA_AT(c, x + 3, y));
    ivec3 to = ivec3(mb_at.x * 2 + (t & 1), mb_at.y * 8 + y, layer);
    if (c == 0)
        imageStore(work_cb, to, uvec4(pack4(v)));
    else
        imageStore(work_cr, to, uvec4(pack4(v)));
}

#endif
