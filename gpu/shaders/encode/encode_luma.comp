/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma of macroblocks by their vectors (encode/reference/code_inter.c): prediction, residual, and
 * levels with 4x4 and with 8x8 transforms, each with its cost by squared error and bits. Threads 0
 * to 15 have the 4x4 blocks, 16 to 19 the 8x8 blocks. Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_satd.glsl"
#include "gpu/shaders/lib/encode_forward.glsl"
#include "gpu/shaders/lib/transform.glsl"

layout(set = 0, binding = ENC_BIND_MOTION, scalar) readonly buffer motion_buffer
{
    rec_motion motion[];
};
layout(set = 0, binding = ENC_BIND_QUANTISER, scalar) readonly buffer quantiser_buffer
{
    enc_quantiser quantiser[6]; /* by QP modulo 6 */
};
layout(set = 0, binding = ENC_BIND_LUMA, scalar) buffer luma_buffer
{
    enc_luma luma[];
};

shared int pred[256], residual[256];
shared uint ssd[2], bits[2], coded[2]; /* by size of transforms */

/* Four samples of a row */
void predict(uint t)
{
    ivec2 at = ivec2(4u * (t & 3u), t >> 2);
    uint block = (t >> 4) * 4u + (t & 3u), quadrant = (t >> 5) * 2u + (t >> 1 & 1u);
    uint mb_index = picture * args.mb_width * args.mb_height + mb;
    ivec2 mv = ivec2(motion[mb_index].mv[0][block][0], motion[mb_index].mv[0][block][1]);
    uint ref = uint(motion[mb_index].ref_idx[0][quadrant]);
    ivec2 place = 16 * mb_at + at;
    ivec2 from = two_samples_at(uint(pictures[picture].reference[ref]), 4 * place + mv);
    int source =
        int(plane_origin(pictures[picture].source, 0u)) + place.y * int(plane_stride(0u)) + place.x;
    for (int i = 0; i < 4; i++) {
        int p = (int(planes[from.x + i]) + int(planes[from.y + i]) + 1) >> 1;
        pred[16 * at.y + at.x + i] = p;
        residual[16 * at.y + at.x + i] = int(planes[source + i]) - p;
    }
}

const int zigzag4[16] = int[16](0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15);
const int zigzag8[64] =
    int[64](0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34,
            27, 20, 13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37,
            44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63);

int factor_of(uint qp, int i, bool big)
{
    return big ? quantiser[qp % 6u].factor8[i] : quantiser[qp % 6u].factor4[i];
}

/* Coefficients to levels; whether any is not 0 */
bool quantise(inout int c[64], uint qp, bool big)
{
    int count = big ? 64 : 16, shift = int(qp / 6u) + (big ? 10 : 9), last = -1, last_level = 0;
    int before = 0, after = 0;
    for (int i = 0; i < count; i++) {
        int at = big ? zigzag8[i] : zigzag4[i];
        after += cost_of_zero((abs(c[at]) * factor_of(qp, at, big)) >> shift);
    }
    int least = after;
    for (int i = 0; i < count; i++) {
        int at = big ? zigzag8[i] : zigzag4[i];
        int magnitude = (abs(c[at]) * factor_of(qp, at, big)) >> shift;
        int level = level_of(magnitude), zero = cost_of_zero(magnitude);
        int cost = cost_of_level(magnitude, level), sign_of = c[at] < 0 ? -1 : 1;
        after -= zero;
        if (level != 0 && before + cost + COST_BLOCK + after < least) {
            least = before + cost + COST_BLOCK + after;
            last = i;
            last_level = sign_of * min(level, quantiser[0].level_max);
        }
        bool keep = level != 0 && cost <= zero + COST_ZERO;
        c[at] = keep ? sign_of * min(level, quantiser[0].level_max) : 0;
        before += keep ? cost : zero + COST_ZERO;
    }
    for (int i = last + 1; i < count; i++)
        c[big ? zigzag8[i] : zigzag4[i]] = 0;
    if (last >= 0)
        c[big ? zigzag8[last] : zigzag4[last]] = last_level;
    return last >= 0;
}

/* levels_bits of the reference, of one block */
uint level_bits(int level)
{
    return level == 0 ? 0u : 48u + 24u * uint(findMSB(uint(abs(level))));
}

/* Transform, levels, inverse, error of one block */
void block_code(uint blk, bool big)
{
    int c[64], size = big ? 8 : 4;
    uint which = big ? 1u : 0u, qp = pictures[picture].qp, sum = 0u, error = 0u;
    uint out_at = picture * args.mb_width * args.mb_height + mb;
    ivec2 corner = 4 * ivec2((blk & 1u) + (blk >> 1 & 2u), (blk >> 1 & 1u) + (blk >> 2 & 2u));
    for (int i = 0; i < size * size; i++)
        c[i] = residual[16 * (corner.y + i / size) + corner.x + i % size];
    if (big)
        forward8(c);
    else
        forward4(c);
    bool any = quantise(c, qp, big);
    for (int i = 0; i < size * size; i++) {
        luma[out_at].level[which][blk + uint(i) / 16u][uint(i) % 16u] = int16_t(c[i]);
        sum += level_bits(c[i]);
        c[i] = big ? scale_level(c[i], 16 * norm_adjust8(int(qp % 6u), i & 7, i >> 3), int(qp), 6)
                   : scale_level(c[i], 16 * norm_adjust4(int(qp % 6u), i), int(qp), 4);
    }
    if (big) {
        inverse8(c);
        for (int i = 0; i < 64; i++)
            c[i] = (c[i] + 32) >> 6;
    } else {
        int d[16];
        for (int i = 0; i < 16; i++)
            d[i] = c[i];
        inverse4(d);
        for (int i = 0; i < 16; i++)
            c[i] = d[i];
    }
    for (int i = 0; i < size * size; i++) {
        int at = 16 * (corner.y + i / size) + corner.x + i % size;
        int off = residual[at] + pred[at] - clamp(pred[at] + c[i], 0, 255);
        error += uint(off * off);
    }
    atomicAdd(ssd[which], error);
    if (any) {
        atomicAdd(bits[which], sum + (big ? 32u : 16u));
        atomicOr(coded[which], (big ? 15u : 1u) << blk);
    }
}

/* Squared error and weighed bits: lambda_ssd * bits / 256 in 64 bits */
uint weighed(uint which)
{
    uint high, low;
    umulExtended(pictures[picture].lambda_ssd, bits[which], high, low);
    return ssd[which] + (high << 24 | low >> 8);
}

void main()
{
    uint t = gl_LocalInvocationIndex;
    search_begin();
    uint at = picture * args.mb_width * args.mb_height + mb;
    if (int(motion[at].ref_idx[0][0]) < 0) /* intra */
        return;
    if (t < 2u)
        ssd[t] = bits[t] = coded[t] = 0u;
    predict(t);
    barrier();
    if (t < 16u)
        block_code(t, false);
    else if (t < 20u)
        block_code(4u * (t - 16u), true);
    barrier();
    if (t < 2u) {
        luma[at].coded[t] = uint16_t(coded[t]);
        luma[at].cost[t] = weighed(t);
    }
}
