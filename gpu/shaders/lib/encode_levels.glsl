/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables and small parts of the way from residual samples to levels
 * (encode/reference/levels.c). `picture` says whose settings count.
 */
#ifndef PELTON_ENCODE_LEVELS_GLSL
#define PELTON_ENCODE_LEVELS_GLSL

#include "gpu/shaders/lib/encode_forward.glsl"
#include "gpu/shaders/lib/transform.glsl"

layout(set = 0, binding = ENC_BIND_QUANTISER, scalar) readonly buffer quantiser_buffer
{
    enc_quantiser quantiser[6]; /* by QP modulo 6 */
};

/* Of DC levels, in 64ths of a step */
#define ROUNDING_INTRA 21
#define ROUNDING_INTER 14

const int zigzag4[16] = int[16](0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15);
const int zigzag8[64] =
    int[64](0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34,
            27, 20, 13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37,
            44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63);

uvec3 qps; /* QPY, QPC of Cb and Cr */

/* Corner of a luma block in the macroblock (6.4.3) */
ivec2 block_corner(uint blk)
{
    return 4 * ivec2((blk & 1u) + (blk >> 1 & 2u), (blk >> 1 & 1u) + (blk >> 2 & 2u));
}

int factor_of(uint qp, int i, bool big)
{
    return big ? quantiser[qp % 6u].factor8[i] : quantiser[qp % 6u].factor4[i];
}

int quantise_dc(int c, uint qp, int rounding)
{
    int magnitude = (abs(c) * quantiser[qp % 6u].factor4[0]) >> (qp / 6u + 10u);
    int level = min((magnitude + rounding) >> 6, pictures[picture].level_max);
    return c < 0 ? -level : level;
}

ivec4 hadamard2(ivec4 v)
{
    ivec2 s = ivec2(v.x + v.y, v.z + v.w), d = ivec2(v.x - v.y, v.z - v.w);
    return ivec4(s.x + s.y, d.x + d.y, s.x - s.y, d.x - d.y);
}

/* What a level takes, in 16ths of a bit */
uint level_bits(int level)
{
    return level == 0 ? 0u : 48u + 24u * uint(findMSB(uint(abs(level))));
}

/* Bits in units of squared error: lambda_ssd * bits16 / 256 in 64 bits */
uint weighed(uint error, uint bits16)
{
    uint high, low;
    umulExtended(pictures[picture].lambda_ssd, bits16, high, low);
    return error + (high << 24 | low >> 8);
}

#endif
