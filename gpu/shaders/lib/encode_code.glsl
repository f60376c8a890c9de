/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks of a macroblock whose prediction and residual lie in shared memory: levels, the
 * reconstruction, its error and bits. One thread has one block.
 */
#ifndef PELTON_ENCODE_CODE_GLSL
#define PELTON_ENCODE_CODE_GLSL

#include "gpu/shaders/lib/encode_levels.glsl"

#define CHROMA_FIRST 256 /* samples of Cb, then of Cr, in pred and residual */

/* Ways to code: luma with 4x4 and with 8x8 transforms, Cb, Cr */
#define WAY_LUMA4 0u
#define WAY_LUMA8 1u
#define WAY_CB    2u
#define WAYS      4

shared int pred[384], residual[384]; /* raster: 16 x 16, then twice 8 x 8 */
shared int dc[16];
shared uint ssd[WAYS], bits[WAYS], coded[WAYS];

uvec3 qps; /* QPY, QPC of Cb and Cr */

/* level and work have blocks of luma by 4x4 transforms, of luma by 8x8 transforms, of Cb and Cr. */
#define LUMA8_FIRST  256
#define CHROMA_BLOCK 512

/* Corner of a luma block in the macroblock (6.4.3) */
ivec2 block_corner(uint blk)
{
    return 4 * ivec2((blk & 1u) + (blk >> 1 & 2u), (blk >> 1 & 1u) + (blk >> 2 & 2u));
}

/* The residual of a block, whose samples begin at `from`, into level */
void residual_load(int first, int from, int stride, int size)
{
    [[dont_unroll]] for (int i = 0; i < size * size; i++)
        level[first + i] = residual[from + stride * (i / size) + i % size];
}

/* Add what the levels stand for; the error is added up. */
void rebuild(int first, int from, int stride, int size, uint way)
{
    uint error = 0u;
    [[dont_unroll]] for (int i = 0; i < size * size; i++) {
        int at = from + stride * (i / size) + i % size;
        int v = clamp(pred[at] + ((work[first + i] + 32) >> 6), 0, 255);
        int off = residual[at] + pred[at] - v;
        work[first + i] = v;
        error += uint(off * off);
    }
    atomicAdd(ssd[way], error);
}

/* One luma block by a 4x4 or an 8x8 transform */
void code_luma(uint blk, bool big)
{
    int size = big ? 8 : 4, first = 16 * int(blk) + (big ? LUMA8_FIRST : 0);
    uint way = big ? WAY_LUMA8 : WAY_LUMA4;
    ivec2 corner = block_corner(blk);
    int from = 16 * corner.y + corner.x;
    residual_load(first, from, 16, size);
    forward(first, big);
    bool any = quantise(first, qps.x, big, 0);
    uint sum = back(first, qps.x, big, false, 0);
    if (any) {
        atomicAdd(bits[way], sum + (big ? 32u : 16u));
        atomicOr(coded[way], (big ? 15u : 1u) << blk);
    }
    rebuild(first, from, 16, size, way);
}

/* ---- blocks whose DC levels are coded apart, in three steps with a barrier after each ---- */

/* Transform, and AC levels of a block; its DC coefficient stays in dc[to]. */
void split_forward(int first, int from, int stride, uint qp, int to, uint way, uint blk)
{
    residual_load(first, from, stride, 4);
    forward(first, false);
    dc[to] = level[first];
    if (quantise(first, qp, false, 1))
        atomicOr(coded[way], 1u << blk);
}

/* The last step: the inverse with the scaled DC */
void split_back(int first, int from, int stride, uint qp, int scaled, uint way, uint blk)
{
    uint sum = back(first, qp, false, true, scaled);
    if ((coded[way] >> blk & 1u) != 0u)
        atomicAdd(bits[way], sum + 16u);
    rebuild(first, from, stride, 4, way);
}

void hadamard4(inout int v[16])
{
    for (int i = 0; i < 8; i++) {
        int at = i < 4 ? 4 * i : i - 4, step = i < 4 ? 1 : 4;
        int a = v[at] + v[at + step], b = v[at] - v[at + step];
        int c = v[at + 2 * step] + v[at + 3 * step], d = v[at + 2 * step] - v[at + 3 * step];
        v[at] = a + c, v[at + step] = a - c, v[at + 2 * step] = b - d, v[at + 3 * step] = b + d;
    }
}

/* DC of Intra16x16, raster of blocks (8.5.10); one thread */
void luma_dc()
{
    int v[16], any = 0;
    for (int i = 0; i < 16; i++)
        v[i] = dc[i];
    hadamard4(v);
    for (int i = 0; i < 16; i++) {
        int blk = (i & 1) | (i >> 2 & 1) << 1 | (i & 2) << 1 | (i & 8);
        v[i] = quantise_dc((v[i] + 1) >> 1, qps.x, ROUNDING_INTRA);
        level[16 * blk] = v[i];
        any |= v[i];
    }
    if (any != 0)
        coded[WAY_LUMA4] = 0xffffu;
    hadamard4(v);
    for (int i = 0; i < 16; i++)
        dc[i] = scale_level(v[i], 16 * norm_adjust4(int(qps.x % 6u), 0), int(qps.x), 6);
}

/* Chroma: block u is that of component u / 4 */
int chroma_block_at(uint u)
{
    return CHROMA_FIRST + 64 * int(u >> 2) + 32 * int(u >> 1 & 1u) + 4 * int(u & 1u);
}

void chroma_forward(uint u)
{
    split_forward(CHROMA_BLOCK + 16 * int(u), chroma_block_at(u), 8, qps[1u + (u >> 2)], int(u),
                  WAY_CB + (u >> 2), u & 3u);
}

ivec4 hadamard2(ivec4 v)
{
    ivec2 s = ivec2(v.x + v.y, v.z + v.w), d = ivec2(v.x - v.y, v.z - v.w);
    return ivec4(s.x + s.y, d.x + d.y, s.x - s.y, d.x - d.y);
}

/* DC of a component (8.5.11) */
void chroma_dc(uint component, int rounding)
{
    uint qp = qps[1u + component];
    int at = 4 * int(component), any = 0;
    ivec4 v = hadamard2(ivec4(dc[at], dc[at + 1], dc[at + 2], dc[at + 3]));
    for (int i = 0; i < 4; i++) {
        v[i] = quantise_dc(v[i], qp, rounding);
        level[CHROMA_BLOCK + 16 * (at + i)] = v[i];
        any |= v[i];
    }
    if (any != 0)
        coded[WAY_CB + component] = 15u;
    v = hadamard2(v) * 16 * norm_adjust4(int(qp % 6u), 0);
    for (int i = 0; i < 4; i++)
        dc[at + i] = (v[i] << (qp / 6u)) >> 5;
}

void chroma_back(uint u)
{
    split_back(CHROMA_BLOCK + 16 * int(u), chroma_block_at(u), 8, qps[1u + (u >> 2)], dc[u],
               WAY_CB + (u >> 2), u & 3u);
}

#endif
