/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual samples to levels, and back to the residual that they stand for
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

int factor_of(uint qp, int i, bool big)
{
    return big ? quantiser[qp % 6u].factor8[i] : quantiser[qp % 6u].factor4[i];
}

/* Coefficients of the block that begins there to levels: those from `from` on, the others to 0;
 * whether any is not 0 */
bool quantise(int first, uint qp, bool big, int from)
{
    int count = big ? 64 : 16, shift = int(qp / 6u) + (big ? 10 : 9), last = -1, last_level = 0;
    int before = 0, after = 0, most = pictures[picture].level_max;
    [[dont_unroll]] for (int i = from; i < count; i++) {
        int at = big ? zigzag8[i] : zigzag4[i];
        after += cost_of_zero((abs(level[first + at]) * factor_of(qp, at, big)) >> shift);
    }
    int least = after;
    if (from > 0)
        level[first] = 0;
    [[dont_unroll]] for (int i = from; i < count; i++) {
        int at = big ? zigzag8[i] : zigzag4[i], c = level[first + at];
        int magnitude = (abs(c) * factor_of(qp, at, big)) >> shift;
        int near = level_of(magnitude), zero = cost_of_zero(magnitude);
        int cost = cost_of_level(magnitude, near), sign_of = c < 0 ? -1 : 1;
        after -= zero;
        if (near != 0 && before + cost + COST_BLOCK + after < least) {
            least = before + cost + COST_BLOCK + after;
            last = i;
            last_level = sign_of * min(near, most);
        }
        bool keep = near != 0 && cost <= zero + COST_ZERO;
        level[first + at] = keep ? sign_of * min(near, most) : 0;
        before += keep ? cost : zero + COST_ZERO;
    }
    [[dont_unroll]] for (int i = last + 1; i < count; i++)
        level[first + (big ? zigzag8[i] : zigzag4[i])] = 0;
    if (last >= 0)
        level[first + (big ? zigzag8[last] : zigzag4[last])] = last_level;
    return last >= 0;
}

int quantise_dc(int c, uint qp, int rounding)
{
    int magnitude = (abs(c) * quantiser[qp % 6u].factor4[0]) >> (qp / 6u + 10u);
    int level = min((magnitude + rounding) >> 6, pictures[picture].level_max);
    return c < 0 ? -level : level;
}

/* What a level takes, in 16ths of a bit */
uint level_bits(int level)
{
    return level == 0 ? 0u : 48u + 24u * uint(findMSB(uint(abs(level))));
}

/* Scaled coefficients, then the residual, then the reconstruction: laid out as level */
shared int work[640];

void inverse_line(int at, bool big, int step)
{
    if (big) {
        int v[8];
        for (int i = 0; i < 8; i++)
            v[i] = work[at + i * step];
        butterfly8_of(v);
        for (int i = 0; i < 8; i++)
            work[at + i * step] = v[i];
    } else {
        ivec4 f = butterfly4(work[at], work[at + step], work[at + 2 * step], work[at + 3 * step]);
        for (int i = 0; i < 4; i++)
            work[at + i * step] = f[i];
    }
}

/* Levels of a block to its residual in work, without the last shift by 6. dc_ready: the first
 * coefficient is that value, scaled. The bits of the levels, in 16ths */
uint back(int first, uint qp, bool big, bool dc_ready, int dc_value)
{
    uint sum = 0u;
    int size = big ? 8 : 4;
    [[dont_unroll]] for (int i = 0; i < size * size; i++) {
        int n = big ? norm_adjust8(int(qp % 6u), i & 7, i >> 3) : norm_adjust4(int(qp % 6u), i);
        int v = level[first + i];
        sum += level_bits(v);
        work[first + i] =
            i == 0 && dc_ready ? dc_value : scale_level(v, 16 * n, int(qp), big ? 6 : 4);
    }
    [[dont_unroll]] for (int i = 0; i < 2 * size; i++)
        inverse_line(first + (i < size ? size * i : i - size), big, i < size ? 1 : size);
    return sum;
}

/* Bits in units of squared error: lambda_ssd * bits16 / 256 in 64 bits */
uint weighed(uint error, uint bits16)
{
    uint high, low;
    umulExtended(pictures[picture].lambda_ssd, bits16, high, low);
    return error + (high << 24 | low >> 8);
}

#endif
