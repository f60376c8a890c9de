/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SATD between the source and the prediction of a partition by a vector. encode_search.glsl comes
 * before.
 */
#ifndef PELTON_ENCODE_SATD_GLSL
#define PELTON_ENCODE_SATD_GLSL

#extension GL_EXT_control_flow_attributes : require

#include "gpu/shaders/lib/encode_pairs.glsl"

/* Corner and size of partitions, in units of 8 samples */
const ivec4 part_places[ENC_PARTS] = ivec4[ENC_PARTS](
    ivec4(0, 0, 2, 2), ivec4(0, 0, 2, 1), ivec4(0, 1, 2, 1), ivec4(0, 0, 1, 2), ivec4(1, 0, 1, 2),
    ivec4(0, 0, 1, 1), ivec4(1, 0, 1, 1), ivec4(0, 1, 1, 1), ivec4(1, 1, 1, 1));

/* Where the sample at a position in half samples is */
int half_sample_at(uint set, ivec2 at)
{
    uint plane = uint(at.x & 1) + 2u * uint(at.y & 1),
         size = ENC_SIZE(luma_width(), luma_height(), 0u);
    return int(plane_origin(set, 0u) + plane * size) + (at.y >> 1) * int(plane_stride(0u)) +
           (at.x >> 1);
}

/* The two positions in half samples whose samples' mean is the one at a position in quarter samples
 * (Table 8-12) */
ivec4 two_halves_at(ivec2 at)
{
    ivec2 low = at >> 1, high = (at + 1) >> 1;
    if ((at.x & at.y & 1) == 0)
        return ivec4(low, high);
    bool odd_x = (low.x & 1) != 0, odd_y = (low.y & 1) != 0;
    return ivec4(odd_x ? low.x : high.x, odd_y ? high.y : low.y, odd_x ? high.x : low.x,
                 odd_y ? low.y : high.y);
}

/* Where these are */
ivec2 two_samples_at(uint set, ivec2 at)
{
    ivec4 halves = two_halves_at(at);
    return ivec2(half_sample_at(set, halves.xy), half_sample_at(set, halves.zw));
}

/* Rounded means of four samples each */
uint mean4(uint a, uint b)
{
    return (a | b) - ((a ^ b) >> 1 & 0x7f7f7f7fu);
}

/* Differences of two samples each, as low + 65536 * high: sums of these are exact while both parts
 * fit 16 bits. */
#define EVEN(v) ((v)&0x00ff00ffu)
#define ODD(v)  ((v) >> 8 & 0x00ff00ffu)

#ifdef PELTON_HALF
/* Half of the SATD of 4x4 samples, a word a row, and their prediction */
uint satd4_of(uvec4 source, uvec4 p)
{
    f16vec2 sums[4], differences[4];
    [[unroll]] for (int y = 0; y < 4; y++) {
        f16vec2 even = pair_of(source[y]) - pair_of(p[y]);
        f16vec2 odd = pair_of(source[y] >> 8) - pair_of(p[y] >> 8);
        sums[y] = even + odd;
        differences[y] = even - odd;
    }
    return total_of(satd_rows(sums) + satd_rows(differences));
}
#else
/* The greater magnitude of both parts: half of what their sum and their difference have together */
uint greater_part(uint v)
{
    int low = bitfieldExtract(int(v), 0, 16), high = (int(v) + 0x8000) >> 16;
    return uint(max(abs(low), abs(high)));
}

/* The last stages of four rows' sums: half of the SATD */
uint satd_rows(uvec4 v)
{
    uint a = v.x + v.y, b = v.x - v.y, c = v.z + v.w, d = v.z - v.w;
    return greater_part(a + c) + greater_part(a - c) + greater_part(b + d) + greater_part(b - d);
}

/* Half of the SATD of 4x4 samples, a word a row, and their prediction */
uint satd4_of(uvec4 source, uvec4 p)
{
    uvec4 even = EVEN(source) - EVEN(p), odd = ODD(source) - ODD(p);
    return satd_rows(even + odd) + satd_rows(even - odd);
}

#endif

uvec4 load4x4(int at)
{
    int stride = int(plane_stride(0u));
    return uvec4(four_samples(at), four_samples(at + stride), four_samples(at + 2 * stride),
                 four_samples(at + 3 * stride));
}

/* Samples that are means of those at two places */
uvec4 predict4x4(ivec2 from)
{
    uvec4 a = load4x4(from.x);
    if (from.x == from.y)
        return a;
    uvec4 b = load4x4(from.y);
    return uvec4(mean4(a.x, b.x), mean4(a.y, b.y), mean4(a.z, b.z), mean4(a.w, b.w));
}

#endif
