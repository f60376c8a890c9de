/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual samples of coded blocks (8.5): scaling and inverse transforms; samples of I_PCM and of lossless blocks are copied.
 * One thread does one block of a case list: 4x4, or 8x8 for which it writes four units. KIND is the pipeline (cases.h). A
 * thread of the 16x16 kind reads all sixteen DC levels and computes the one it needs: no pass of its own, and the cache holds
 * them.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/lists.glsl"
#include "gpu/shaders/lib/transform.glsl"

layout(local_size_x = LIST_GROUP) in;
layout(constant_id = 0) const uint KIND = WORK_RES_4X4;
layout(constant_id = 1) const uint FIRST = CASE_RES_4X4;
layout(constant_id = 2) const uint LAST = CASE_RES_4X4;

layout(set = SET_BATCH, binding = BIND_COEFFS, std430) readonly buffer coeff_buffer { uvec4 coeffs[]; };
layout(set = SET_BATCH, binding = BIND_SCALING, scalar) readonly buffer scaling_buffer { rec_scaling scaling[]; };
layout(set = SET_BATCH, binding = BIND_RESIDUAL, std430) writeonly buffer residual_buffer { uvec4 residual[]; };

uint pack2(int a, int b)
{
    return (uint(clamp(a, -32768, 32767)) & 0xffffu) | uint(clamp(b, -32768, 32767)) << 16;
}

uvec4 pack8(ivec4 a, ivec4 b)
{
    return uvec4(pack2(a.x, a.y), pack2(a.z, a.w), pack2(b.x, b.y), pack2(b.z, b.w));
}

int dc_level(uint unit)
{
    return low16(coeffs[unit * 2u].x);
}

/* 8.5.10: DC of the block at column x and row y; first is the unit of blkIdx 0. Row k of the matrix has a sign change per k. */
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

/* 8.5.11.1, 8.5.11.2 for 4:2:0. */
int chroma_dc(uint first, uint b, int level_scale, int qp)
{
    int sum = 0;
    for (uint k = 0u; k < 4u; k++) {
        int level = dc_level(first + k);
        sum += (bitCount(b & k) & 1) != 0 ? -level : level;
    }
    return ((sum * level_scale) << (qp / 6)) >> 5;
}

void block_4x4(rec_picture picture, rec_mb mb, uint c, uint b, uint unit)
{
    bool inter = uint(mb.kind) == REC_MB_INTER;
    uint table = picture.scaling_base + slices[picture.slice_base + mb.slice].scaling, list = c + (inter ? 3u : 0u);
    int qp = int(mb.qp[c]), m = qp % 6;
    int d[16];
    for (uint i = 0u; i < 4u; i++) {
        uvec4 q = coeffs[unit * 2u + (i >> 1)];
        uvec2 w = (i & 1u) == 0u ? q.xy : q.zw;
        d[4u * i] = low16(w.x), d[4u * i + 1u] = high16(w.x), d[4u * i + 2u] = low16(w.y), d[4u * i + 3u] = high16(w.y);
    }
    for (int i = 0; i < 16; i++)
        d[i] = scale_level(d[i], int(scaling[table].m4[list][i]) * norm_adjust4(m, i), qp, 4);
    int dc_scale = int(scaling[table].m4[list][0]) * norm_adjust4(m, 0);
    if (KIND == WORK_RES_16X16) {
        uint raster = swap_blk(b);
        d[0] = uint(mb.coded[0]) != 0xffffu ? 0 : luma_dc(unit - b, raster & 3u, raster >> 2, dc_scale, qp);
    } else if (KIND == WORK_RES_CHROMA) {
        d[0] = (uint(mb.coded[c]) & 15u) != 15u ? 0 : chroma_dc(unit - b, b, dc_scale, qp);
    }
    inverse4(d);
    residual[unit * 2u] = pack8(ivec4(d[0], d[1], d[2], d[3]), ivec4(d[4], d[5], d[6], d[7]));
    residual[unit * 2u + 1u] = pack8(ivec4(d[8], d[9], d[10], d[11]), ivec4(d[12], d[13], d[14], d[15]));
}

void block_8x8(rec_picture picture, rec_mb mb, uint unit)
{
    uint table = picture.scaling_base + slices[picture.slice_base + mb.slice].scaling,
         list = uint(mb.kind) == REC_MB_INTER ? 1u : 0u;
    int qp = int(mb.qp[0]), m = qp % 6;
    int d[64];
    for (uint y = 0u; y < 8u; y++) {
        uvec4 q = coeffs[unit * 2u + y];
        for (uint x = 0u; x < 8u; x++) {
            int level = (x & 1u) == 0u ? low16(q[x >> 1]) : high16(q[x >> 1]);
            int s = int(scaling[table].m8[list][8u * y + x]) * norm_adjust8(m, int(x), int(y));
            d[8u * y + x] = scale_level(level, s, qp, 6);
        }
    }
    inverse8(d);
    for (uint h = 0u; h < 8u; h++) { /* half a unit: two rows of four samples */
        uint at = (h >> 2) * 32u + (h & 1u) * 16u + ((h >> 1) & 1u) * 4u;
        ivec4 a = (ivec4(d[at], d[at + 1u], d[at + 2u], d[at + 3u]) + 32) >> 6;
        ivec4 b = (ivec4(d[at + 8u], d[at + 9u], d[at + 10u], d[at + 11u]) + 32) >> 6;
        residual[unit * 2u + h] = pack8(a, b);
    }
}

/* Samples are levels; an 8x8 block is cut into its 4x4 blocks. */
void copy_units(uint unit, bool size8)
{
    if (!size8) {
        residual[unit * 2u] = coeffs[unit * 2u];
        residual[unit * 2u + 1u] = coeffs[unit * 2u + 1u];
        return;
    }
    for (uint h = 0u; h < 8u; h++) {
        uint row = unit * 2u + (h >> 2) * 4u + (h & 1u) * 2u;
        bool right = (h & 2u) != 0u;
        uvec4 a = coeffs[row], b = coeffs[row + 1u];
        residual[unit * 2u + h] = right ? uvec4(a.zw, b.zw) : uvec4(a.xy, b.xy);
    }
}

void main()
{
    work_item item;
    if (!work_take(FIRST, LAST, item))
        return;
    rec_picture picture = pictures[item.picture];
    rec_mb mb = mbs[picture.mb_base + item.addr];
    uint c = item.kase == CASE_RES_COPY_8X8 ? 0u
             : KIND == WORK_RES_CHROMA      ? item.kase - CASE_RES_CHROMA + 1u
             : KIND == WORK_RES_COPY        ? item.kase - CASE_RES_COPY
                                            : 0u;
    uint unit = unit_of(picture.coeff_base, mb, c, item.block);
    if (unit >= push.unit_total)
        return;
    if (KIND == WORK_RES_COPY)
        copy_units(unit, item.kase == CASE_RES_COPY_8X8);
    else if (KIND == WORK_RES_8X8)
        block_8x8(picture, mb, unit);
    else
        block_4x4(picture, mb, c, item.block, unit);
}
