/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pairs of samples for sums of absolute differences: as half floats where the device has them
 * (PELTON_HALF), or as integers. Halves are exact: whole numbers up to 2048 are. Callers say why
 * their sums are no greater.
 */
#ifndef PELTON_ENCODE_PAIRS_GLSL
#define PELTON_ENCODE_PAIRS_GLSL

#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require

#ifdef PELTON_HALF
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define SAMPLE    float16_t
#define PAIR      f16vec2
#define PAIR_NONE f16vec2(0.0hf)

/* Samples 0 and 2 of a word, 1024 more each: the bits of a half from 1024 to 2047 count by one. */
f16vec2 pair_of(uint word)
{
    return unpackFloat2x16(word & 0x00ff00ffu | 0x64006400u);
}

f16vec2 pair_with(int first, int second)
{
    return unpackFloat2x16(uint(first | second << 16) | 0x64006400u);
}

float16_t sample_with(int v)
{
    return uint16BitsToFloat16(uint16_t(0x6400 | v));
}

/* Their sum and their difference */
f16vec2 pair_turn(f16vec2 v)
{
    return v.yy * f16vec2(1.0hf, -1.0hf) + v.xx;
}

/* Sums of pairs; as a whole number: the bits of a float from 2^23 on count by one, and need no
 * conversion. */
#define TOTAL float

float pair_total(f16vec2 v)
{
    return float(v.x) + float(v.y);
}

uint total_of(float v)
{
    return floatBitsToUint(v + 8388608.0) & 0x7fffffu;
}

/* Both as whole numbers, the second one in the upper half; they are 1023 at most. */
uint pair_word(f16vec2 v)
{
    return packFloat2x16(v + f16vec2(1024.0hf)) & 0x03ff03ffu;
}
#else
#define SAMPLE    int
#define PAIR      ivec2
#define PAIR_NONE ivec2(0)

ivec2 pair_of(uint word)
{
    return ivec2(word & 255u, word >> 16 & 255u);
}

ivec2 pair_with(int first, int second)
{
    return ivec2(first, second);
}

int sample_with(int v)
{
    return v;
}

ivec2 pair_turn(ivec2 v)
{
    return ivec2(v.x + v.y, v.x - v.y);
}

#define TOTAL uint

uint pair_total(ivec2 v)
{
    return uint(v.x + v.y);
}

uint total_of(uint v)
{
    return v;
}

uint pair_word(ivec2 v)
{
    return uint(v.x | v.y << 16);
}
#endif

uint pair_sum(PAIR v)
{
    return total_of(pair_total(v));
}

/* The sums of two pairs, the second one in the upper half; parts are 1023 at most. */
uint pair_sums(PAIR a, PAIR b)
{
    uint low = pair_word(a), high = pair_word(b);
    return (low & 0xffffu | high << 16) + (low >> 16 | high & 0xffff0000u);
}

/* Half of what the last stages of four rows of a SATD make: the last sum and difference of two
 * values are twice the greater magnitude together. Magnitudes are 2040 at most. */
TOTAL satd_rows(PAIR v[4])
{
    [[unroll]] for (int y = 0; y < 4; y++)
        v[y] = pair_turn(v[y]);
    return pair_total(max(abs(v[0] + v[1]), abs(v[2] + v[3]))) +
           pair_total(max(abs(v[0] - v[1]), abs(v[2] - v[3])));
}

/* Four samples: the even ones, and the odd ones */
struct four_pairs {
    PAIR even, odd;
};

four_pairs pairs_of(uint word)
{
    return four_pairs(pair_of(word), pair_of(word >> 8));
}

/* Absolute differences, two sums of two each */
PAIR pairs_sad(four_pairs a, PAIR even, PAIR odd)
{
    return abs(a.even - even) + abs(a.odd - odd);
}

uint sad4(four_pairs a, uint word)
{
    return pair_sum(pairs_sad(a, pair_of(word), pair_of(word >> 8)));
}

#endif
