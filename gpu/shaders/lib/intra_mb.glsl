/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One intra macroblock by 32 threads. Residual and neighbours lie in shared tiles, prediction and
 * residual are added inside them, and texels go out. Luma and chroma are independent. The plan of
 * luma needs no neighbour samples, so it is computed ahead. The 4x4 blocks of Intra4x4 run in a
 * wavefront of ten steps, two blocks at a time.
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
    return c == 0   ? imageLoad(work_y, at).x
           : c == 1 ? imageLoad(work_cb, at).x
                    : imageLoad(work_cr, at).x;
}

/* ---- neighbours ---- */

/* Sample of column -1 from the images: row y of component c. */
int load_left(int c, int y, ivec2 mb_at, int layer)
{
    int n = c == 0 ? 4 : 2;
    return mb_at.x == 0
               ? 0
               : int(work_texel(c, ivec3(mb_at.x * n - 1, mb_at.y * n * 4 + y, layer)) >> 24);
}

/* Row -1 comes in pairs of samples: the corner, 8 above and 4 above to the right; of chroma 4 above
 * of each component, their corners. x: -1, 0 or 1: the macroblock. y: component. z: pair of samples
 * in its last row. */
#define LUMA_PAIRS   13
#define CHROMA_PAIRS 10

ivec3 luma_pair(int i)
{
    return i == 0 ? ivec3(-1, 0, 7) : i < 9 ? ivec3(0, 0, i - 1) : ivec3(1, 0, i - 9);
}

ivec3 chroma_pair(int i)
{
    return i < 8 ? ivec3(0, 1 + (i >> 2), i & 3) : ivec3(-1, i - 7, 3);
}

uint load_above(ivec3 k, ivec2 mb_at, int layer)
{
    int n = k.y == 0 ? 4 : 2, x = mb_at.x + k.x;
    if (mb_at.y == 0 || x < 0 || x >= int(push.mb_width))
        return 0u;
    return work_texel(k.y, ivec3(x * n + (k.z >> 1), mb_at.y * n * 4 - 1, layer)) >>
               (16 * (k.z & 1)) &
           0xffffu;
}

void put_above(ivec3 k, int base, uint pair)
{
    int size = k.y == 0 ? 16 : 8, x = k.x * size + 2 * k.z;
    for (int i = k.x < 0 ? 1 : 0; i < 2; i++) {
        int v = int(pair >> (8 * i) & 0xffu);
        if (k.y == 0)
            LUMA_AT(base, x + i, -1) = v;
        else
            CHROMA_AT(k.y - 1, x + i, -1) = v;
    }
}

/* ---- what is known before ---- */

#define PLAN_STEPS 12
/* What a thread does in each step of Intra4x4 (10 of them), or, for each block of Intra8x8, of its
 * border and twice of itself. */
shared uint plans[LUMA_TILES * PLAN_STEPS * INTRA_THREADS];
#define PLAN_AT(tile, step) plans[((tile)*PLAN_STEPS + (step)) * INTRA_THREADS + LANE]

int mode_of(uvec2 modes, uint nibble)
{
    return int((nibble < 8u ? modes.x : modes.y) >> (4u * (nibble & 7u)) & 15u);
}

/* Column and row of the thread's block of a step, in blocks; the row may lie outside. */
ivec2 step_block(int step)
{
    int second = LANE >> 4;
    return ivec2((step & 1) + 2 * second, (step >> 1) - second);
}

void plan_4x4_steps(rec_mb mb, int tile)
{
    uint avail = uint(mb.intra_avail);
    bool mb_left = (avail & REC_AVAIL_A) == REC_AVAIL_A, mb_top = (avail & REC_AVAIL_B) != 0u,
         mb_right = (avail & REC_AVAIL_C) != 0u;
    uvec2 modes = uvec2(mb.intra_mode[0], mb.intra_mode[1]);
    [[dont_unroll]] for (int step = 0; step < 10; step++) {
        ivec2 b = step_block(step);
        if (b.y < 0 || b.y > 3)
            continue;
        uint raster = uint(b.y * 4 + b.x);
        /* blocks inside whose upper right neighbour comes later or lies in the next macroblock */
        bool right = b.y == 0 ? (b.x == 3 ? mb_right : mb_top) : (0xa8a0u >> raster & 1u) == 0u;
        PLAN_AT(tile, step) =
            plan_4x4(mode_of(modes, swap_blk(raster)), tile * LUMA_TILE, b.x * 4, b.y * 4, LANE & 3,
                     (LANE >> 2) & 3, mb_left || b.x > 0, mb_top || b.y > 0, right);
    }
}

void plan_8x8_steps(rec_mb mb, int tile)
{
    uint avail = uint(mb.intra_avail);
    bool mb_left = (avail & REC_AVAIL_A) == REC_AVAIL_A, mb_top = (avail & REC_AVAIL_B) != 0u;
    uvec2 modes = uvec2(mb.intra_mode[0], mb.intra_mode[1]);
    [[dont_unroll]] for (int i = 0; i < 4; i++) {
        int bx = (i & 1) * 8, by = (i >> 1) * 8, mode = mode_of(modes, uint(4 * i));
        bool corner = i == 0   ? (avail & REC_AVAIL_D) != 0u
                      : i == 1 ? mb_top
                      : i == 2 ? mb_left
                               : true;
        bool right = i == 0 ? mb_top : i == 1 ? (avail & REC_AVAIL_C) != 0u : i == 2;
        PLAN_AT(tile, 3 * i) = plan_border8(tile * LUMA_TILE, bx, by, min(LANE, 24) - 8,
                                            mb_left || bx > 0, mb_top || by > 0, corner, right);
        PLAN_AT(tile, 3 * i + 1) = plan_8x8(mode, LANE & 7, LANE >> 3);
        PLAN_AT(tile, 3 * i + 2) = plan_8x8(mode, LANE & 7, (LANE >> 3) + 4);
    }
}

void sum_lossless_luma(rec_mb mb, int tile)
{
    int sums[8], n = uint(mb.kind) == REC_MB_INTRA_4X4   ? 4
                     : uint(mb.kind) == REC_MB_INTRA_8X8 ? 8
                                                         : 16;
    uvec2 modes = uvec2(mb.intra_mode[0], mb.intra_mode[1]);
    role_barrier();
    for (int k = 0; k < 8; k++) {
        int x = LANE & 15, y = (LANE >> 4) + 2 * k;
        uint blk = swap_blk(uint((y >> 2) * 4 + (x >> 2)));
        sums[k] = residual_sum(uint(tile) * 256u, 16, x, y,
                               mode_of(modes, n == 4   ? blk
                                              : n == 8 ? blk & 12u
                                                       : 0u),
                               n);
    }
    role_barrier();
    for (int k = 0; k < 8; k++)
        residual_tile[tile * 256 + LANE + 32 * k] = sums[k];
}

/* Needs no neighbour, but the residual in its tile. */
void plan_luma(rec_mb mb, int tile)
{
    if ((uint(mb.flags) & REC_MB_BYPASS) != 0u && uint(mb.kind) != REC_MB_INTRA_PCM)
        sum_lossless_luma(mb, tile);
    if (uint(mb.kind) == REC_MB_INTRA_4X4)
        plan_4x4_steps(mb, tile);
    else if (uint(mb.kind) == REC_MB_INTRA_8X8)
        plan_8x8_steps(mb, tile);
}

/* ---- reconstruction ---- */

/* What luma needs of the record: kind, intra_avail, Intra16x16PredMode. */
struct intra_luma {
    uint kind, avail, mode;
};

intra_luma luma_of(rec_mb mb)
{
    return intra_luma(uint(mb.kind), uint(mb.intra_avail), mb.intra_mode[0] & 15u);
}

void reconstruct_4x4(int tile)
{
    int second = LANE >> 4, x = 8 * second + (LANE & 3), y = ((LANE >> 2) & 3) - 4 * second,
        base = tile * LUMA_TILE;
    uint next = PLAN_AT(tile, 0);
    [[dont_unroll]] for (int step = 0; step < 10; step++) {
        uint how = next;
        ivec2 at = ivec2(x + 4 * (step & 1), y + 4 * (step >> 1));
        next = PLAN_AT(tile, step + 1);
        if (at.y >= 0 && at.y < 16)
            LUMA_AT(base, at.x, at.y) =
                clip1(intra_4x4(how) + residual_tile[tile * 256 + at.y * 16 + at.x]);
        role_barrier();
    }
}

void reconstruct_8x8(intra_luma mb, int tile)
{
    int base = tile * LUMA_TILE, x = LANE & 7, y = LANE >> 3;
    bool mb_left = (mb.avail & REC_AVAIL_A) == REC_AVAIL_A, mb_top = (mb.avail & REC_AVAIL_B) != 0u;
    [[dont_unroll]] for (int i = 0; i < 4; i++) {
        int bx = (i & 1) * 8, by = (i >> 1) * 8, at = tile * 256 + (by + y) * 16 + bx + x;
        uint border = PLAN_AT(tile, 3 * i), how = PLAN_AT(tile, 3 * i + 1),
             lower = PLAN_AT(tile, 3 * i + 2);
        ivec2 add = ivec2(residual_tile[at], residual_tile[at + 64]), p;
        border8[LANE] = plan_filter(border, luma_tile[PLAN_BEFORE(border)],
                                    luma_tile[PLAN_E(border)], luma_tile[PLAN_NEXT(border)]);
        role_barrier();
        if (how == 0u) /* of all threads or of none */
            p = ivec2(intra_8x8_dc(mb_left || bx > 0, mb_top || by > 0));
        else
            p = intra_8x8(how, lower);
        LUMA_AT(base, bx + x, by + y) = clip1(p.x + add.x);
        LUMA_AT(base, bx + x, by + y + 4) = clip1(p.y + add.y);
        role_barrier();
    }
}

void reconstruct_16x16(intra_luma mb, int tile)
{
    int base = tile * LUMA_TILE, mode = mb.kind == REC_MB_INTRA_PCM ? 4 : int(mb.mode), p[8];
    bool left = (mb.avail & REC_AVAIL_A) == REC_AVAIL_A, top = (mb.avail & REC_AVAIL_B) != 0u;
    intra_16x16(mode, base, LANE & 15, LANE >> 4, left, top, p);
    [[unroll]] for (int k = 0; k < 8; k++)
        LUMA_AT(base, LANE & 15, (LANE >> 4) + 2 * k) =
            clip1(p[k] + residual_tile[tile * 256 + LANE + 32 * k]);
    role_barrier();
}

/* The tile holds what the macroblock needs, and afterwards the macroblock. */
void reconstruct_luma(intra_luma mb, int tile)
{
    if (mb.kind == REC_MB_INTRA_4X4)
        reconstruct_4x4(tile);
    else if (mb.kind == REC_MB_INTRA_8X8)
        reconstruct_8x8(mb, tile);
    else
        reconstruct_16x16(mb, tile);
}

/* The same for chroma; each thread four samples of one component. */
void reconstruct_chroma(rec_mb mb)
{
    int t = LANE, c = t >> 4, x = (t & 1) * 4, y = (t >> 1) & 7, mode = int(mb.intra_chroma_mode),
        add[4];
    uint avail = uint(mb.intra_avail), at = CHROMA_RESIDUAL + uint(c) * 64u;
    bool left = (avail & REC_AVAIL_A) == REC_AVAIL_A, top = (avail & REC_AVAIL_B) != 0u;
    ivec4 p = intra_chroma(uint(mb.kind) == REC_MB_INTRA_PCM ? 4 : mode, c, x, y, left, top);
    for (int k = 0; k < 4; k++)
        add[k] = residual_tile[at + uint(y * 8 + x + k)];
    if ((uint(mb.flags) & REC_MB_BYPASS) != 0u && uint(mb.kind) != REC_MB_INTRA_PCM) [[dont_unroll]]
        for (int k = 0; k < 4; k++)
            add[k] = residual_sum(at, 8, x + k, y, mode == 2 ? 0 : mode == 1 ? 1 : 2, 8);
    for (int k = 0; k < 4; k++)
        CHROMA_AT(c, x + k, y) = clip1(p[k] + add[k]);
    role_barrier();
}

/* ---- into the images ---- */

void store_luma(int tile, ivec2 mb_at, int layer)
{
    int base = tile * LUMA_TILE;
    for (int i = LANE; i < 64; i += INTRA_THREADS) {
        int x = (i & 3) * 4, y = i >> 2;
        ivec4 v = ivec4(LUMA_AT(base, x, y), LUMA_AT(base, x + 1, y), LUMA_AT(base, x + 2, y),
                        LUMA_AT(base, x + 3, y));
        imageStore(work_y, ivec3(mb_at.x * 4 + (i & 3), mb_at.y * 16 + y, layer), uvec4(pack4(v)));
    }
}

void store_chroma(ivec2 mb_at, int layer)
{
    int t = LANE, c = t >> 4, x = (t & 1) * 4, y = (t >> 1) & 7;
    ivec4 v = ivec4(CHROMA_AT(c, x, y), CHROMA_AT(c, x + 1, y), CHROMA_AT(c, x + 2, y),
                    CHROMA_AT(c, x + 3, y));
    ivec3 to = ivec3(mb_at.x * 2 + (t & 1), mb_at.y * 8 + y, layer);
    if (c == 0)
        imageStore(work_cb, to, uvec4(pack4(v)));
    else
        imageStore(work_cr, to, uvec4(pack4(v)));
}

#endif
