/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual samples of coded blocks (8.5): scaling and inverse transforms. Samples of I_PCM and
 * lossless blocks are copied. One thread does one block of a case list. A block is 4x4, or 8x8 with
 * four coefficient blocks. KIND is the pipeline (cases.h). A thread of the 16x16 kind reads all
 * sixteen DC levels and computes its own. The cache holds them, so DC needs no pass of its own.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/debug.glsl"
#include "gpu/shaders/lib/lists.glsl"
#include "gpu/shaders/lib/transform.glsl"

layout(local_size_x = LIST_GROUP) in;
layout(constant_id = 0) const uint KIND = WORK_RES_4X4;
layout(constant_id = 1) const uint FIRST = CASE_RES_4X4;
layout(constant_id = 2) const uint LAST = CASE_RES_4X4;

#ifdef PELTON_WIDE
layout(set = SET_BATCH, binding = BIND_COEFFS, std430) readonly buffer coeff_buffer
{
    ivec4 coeffs[];
};
#else
layout(set = SET_BATCH, binding = BIND_COEFFS, std430) readonly buffer coeff_buffer
{
    uvec4 coeffs[];
};
#endif
layout(set = SET_BATCH, binding = BIND_SCALING, scalar) readonly buffer scaling_buffer
{
    rec_scaling scaling[];
};
layout(set = SET_BATCH, binding = BIND_RESIDUAL, std430) writeonly buffer residual_buffer
{
    uvec4 residual[];
};

uint pack2(int a, int b)
{
    return (uint(clamp(a, -32768, 32767)) & 0xffffu) | uint(clamp(b, -32768, 32767)) << 16;
}

uvec4 pack8(ivec4 a, ivec4 b)
{
    return uvec4(pack2(a.x, a.y), pack2(a.z, a.w), pack2(b.x, b.y), pack2(b.z, b.w));
}

/* Levels 4 k .. 4 k + 3 of a coefficient block, or of what follows it. */
ivec4 levels(uint coeff_block, uint k)
{
#ifdef PELTON_WIDE
    return coeffs[coeff_block * 4u + k];
#else
    uvec4 q = coeffs[coeff_block * 2u + (k >> 1)];
    uvec2 w = (k & 1u) == 0u ? q.xy : q.zw;
    return ivec4(low16(w.x), high16(w.x), low16(w.y), high16(w.y));
#endif
}

int dc_level(uint coeff_block)
{
#ifdef PELTON_WIDE
    return coeffs[coeff_block * 4u].x;
#else
    return low16(coeffs[coeff_block * 2u].x);
#endif
}

int qp_of(rec_mb mb, uint c)
{
    return int(mb.qp[c]) + 6 * (depth_of(int(c)) - 8);
}

/* 8.5.10: DC of the block at column x and row y; first is the coefficient block of blkIdx 0. Row k
 * of the matrix has a sign change per k. */
int luma_dc(uint first, uint x, uint y, int level_scale, int qp)
{
    const uint negative[4] = uint[](0x0u, 0xcu, 0x6u, 0xau);
    int sum = 0;
    for (uint b = 0u; b < 16u; b++) {
        uint sign_bit = (negative[x] >> (b & 3u) ^ negative[y] >> (b >> 2)) & 1u;
        int level = dc_level(first + swap_blk(b));
        sum += sign_bit != 0u ? -level : level;
    }
    return scale_level(sum, level_scale, qp, 6);
}

/* 8.5.11.1, 8.5.11.2; weight is the scaling list's first entry. 4:2:2 has four rows of two and
 * QP'c,dc. */
int chroma_dc(uint first, uint b, int weight, int qp)
{
    const uint negative[4] = uint[](0x0u, 0xcu, 0x6u, 0xau);
    int sum = 0;
    if (CHROMA_FORMAT == 2u) {
        for (uint k = 0u; k < 8u; k++) {
            int level = dc_level(first + k);
            sum += ((b & k & 1u) ^ (negative[b >> 1] >> (k >> 1) & 1u)) != 0u ? -level : level;
        }
        return scale_level(sum, weight * norm_adjust4((qp + 3) % 6, 0), qp + 3, 6);
    }
    for (uint k = 0u; k < 4u; k++) {
        int level = dc_level(first + k);
        sum += (bitCount(b & k) & 1) != 0 ? -level : level;
    }
    return ((sum * weight * norm_adjust4(qp % 6, 0)) << (qp / 6)) >> 5;
}

void block_4x4(rec_picture picture, rec_mb mb, uint c, uint b, uint coeff_block)
{
    bool inter = uint(mb.kind) == REC_MB_INTER;
    uint table = picture.scaling_base + slices[picture.slice_base + mb.slice].scaling,
         list = c + (inter ? 3u : 0u);
    int qp = qp_of(mb, c), m = qp % 6;
    int d[16];
    for (uint i = 0u; i < 4u; i++) {
        ivec4 v = levels(coeff_block, i);
        d[4u * i] = v.x, d[4u * i + 1u] = v.y, d[4u * i + 2u] = v.z, d[4u * i + 3u] = v.w;
    }
    for (int i = 0; i < 16; i++)
        d[i] = scale_level(d[i], int(scaling[table].m4[list][i]) * norm_adjust4(m, i), qp, 4);
    int weight = int(scaling[table].m4[list][0]);
    if (KIND == WORK_RES_16X16) {
        uint raster = swap_blk(b);
        d[0] = uint(mb.coded[c]) != 0xffffu ? 0
                                            : luma_dc(coeff_block - b, raster & 3u, raster >> 2,
                                                      weight * norm_adjust4(m, 0), qp);
    } else if (KIND == WORK_RES_CHROMA) {
        const uint all = CHROMA_FORMAT == 2u ? 255u : 15u;
        d[0] = (uint(mb.coded[c]) & all) != all ? 0 : chroma_dc(coeff_block - b, b, weight, qp);
    }
    inverse4(d);
    residual[coeff_block * 2u] =
        pack8(ivec4(d[0], d[1], d[2], d[3]), ivec4(d[4], d[5], d[6], d[7]));
    residual[coeff_block * 2u + 1u] =
        pack8(ivec4(d[8], d[9], d[10], d[11]), ivec4(d[12], d[13], d[14], d[15]));
}

void block_8x8(rec_picture picture, rec_mb mb, uint c, uint coeff_block)
{
    uint table = picture.scaling_base + slices[picture.slice_base + mb.slice].scaling,
         list = 2u * c + (uint(mb.kind) == REC_MB_INTER ? 1u : 0u);
    int qp = qp_of(mb, c), m = qp % 6;
    int d[64];
    for (uint y = 0u; y < 8u; y++) {
        ivec4 left = levels(coeff_block, 2u * y), right = levels(coeff_block, 2u * y + 1u);
        for (uint x = 0u; x < 8u; x++) {
            int level = x < 4u ? left[x] : right[x - 4u];
            int s = int(scaling[table].m8[list][8u * y + x]) * norm_adjust8(m, int(x), int(y));
            d[8u * y + x] = scale_level(level, s, qp, 6);
        }
    }
    inverse8(d);
    for (uint h = 0u; h < 8u; h++) { /* half a coefficient block: two rows of four samples */
        uint at = (h >> 2) * 32u + (h & 1u) * 16u + ((h >> 1) & 1u) * 4u;
        ivec4 a = (ivec4(d[at], d[at + 1u], d[at + 2u], d[at + 3u]) + 32) >> 6;
        ivec4 b = (ivec4(d[at + 8u], d[at + 9u], d[at + 10u], d[at + 11u]) + 32) >> 6;
        residual[coeff_block * 2u + h] = pack8(a, b);
    }
}

/* Samples are levels; an 8x8 block is cut into its 4x4 blocks. */
void copy_blocks(uint coeff_block, bool size8)
{
    for (uint h = 0u; h < (size8 ? 8u : 2u);
         h++) { /* half a coefficient block: two rows of four samples */
        uint row = size8 ? (h >> 2) * 8u + (h & 1u) * 4u + ((h >> 1) & 1u) : 2u * h;
        residual[coeff_block * 2u + h] =
            pack8(levels(coeff_block, row), levels(coeff_block, row + (size8 ? 2u : 1u)));
    }
}

void main()
{
    work_item item;
    if (!work_take(FIRST, LAST, item))
        return;
    rec_picture picture = pictures[item.picture];
    rec_mb mb = mbs[picture.mb_base + item.addr];
    DEBUG_FIRST(DEBUG_RESIDUAL_MB, item.picture, item.addr);
    /* cases are in the order of components */
    uint c = (item.kase - FIRST) % 3u + (KIND == WORK_RES_CHROMA ? 1u : 0u);
    uint coeff_block = coeff_block_of(picture.coeff_base, mb, c, item.block);
    if (coeff_block >= push.coeff_block_total)
        return;
    if (KIND == WORK_RES_COPY)
        copy_blocks(coeff_block, item.kase >= CASE_RES_COPY_8X8);
    else if (KIND == WORK_RES_8X8)
        block_8x8(picture, mb, c, coeff_block);
    else
        block_4x4(picture, mb, c, item.block, coeff_block);
}
