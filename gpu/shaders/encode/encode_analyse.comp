/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Figures of source pictures before they are decided (encode/analysis.c): what macroblocks cost
 * about in half of the size, and offsets of QP by variance. Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"

layout(set = 0, binding = ENC_BIND_ANALYSIS, scalar) writeonly buffer analysis_buffer
{
    enc_analysis analysis[];
};

#define BLOCK       8
#define WINDOW      6
#define SIDE        (2 * WINDOW + 1)
#define MIDDLE      (14 * 64)
#define OFFSET_MOST 6

/* inter: the least sum; then sums of differences from the mean, from above and from the left */
shared uint inter, from_mean, from_above, from_left, sum, squares;

int half_at(uint set, ivec2 at)
{
    at += BLOCK * mb_at;
    return int(plane_origin(set, ENC_PLANE_HALF)) + at.y * int(plane_stride(ENC_PLANE_HALF)) + at.x;
}

uint sad4(uint a, uint b)
{
    ivec4 d = abs(ivec4(a & 255u, a >> 8 & 255u, a >> 16 & 255u, a >> 24) -
                  ivec4(b & 255u, b >> 8 & 255u, b >> 16 & 255u, b >> 24));
    return uint(d.x + d.y + d.z + d.w);
}

/* At the i-th vector into the source picture before */
uint inter_at(uint i)
{
    uint here = pictures[picture].source, before = pictures[picture].before, total = 0u;
    ivec2 mv = ivec2(i % SIDE, i / SIDE) - WINDOW;
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < BLOCK; x += 4)
            total += sad4(four_samples(half_at(here, ivec2(x, y))),
                          four_samples(half_at(before, ivec2(x, y) + mv)));
    return total;
}

/* A row of the block by three predictions */
void intra_row(int y)
{
    uint set = pictures[picture].source, beside = BLOCK;
    int left = int(planes[half_at(set, ivec2(-1, y))]);
    uvec3 sums = uvec3(0u);
    for (int i = 0; i < BLOCK; i++)
        beside +=
            uint(planes[half_at(set, ivec2(i, -1))]) + uint(planes[half_at(set, ivec2(-1, i))]);
    for (int x = 0; x < BLOCK; x++) {
        int v = int(planes[half_at(set, ivec2(x, y))]);
        int above = int(planes[half_at(set, ivec2(x, -1))]);
        sums += uvec3(abs(v - ivec3(int(beside >> 4), above, left)));
    }
    atomicAdd(from_mean, sums.x);
    atomicAdd(from_above, sums.y);
    atomicAdd(from_left, sums.z);
}

void add_variance(uint t)
{
    uint v = four_samples(int(plane_origin(pictures[picture].source, 0u)) +
                          (16 * mb_at.y + int(t >> 2)) * int(plane_stride(0u)) + 16 * mb_at.x +
                          4 * int(t & 3u));
    uvec4 s = uvec4(v & 255u, v >> 8 & 255u, v >> 16 & 255u, v >> 24);
    atomicAdd(sum, s.x + s.y + s.z + s.w);
    s *= s;
    atomicAdd(squares, s.x + s.y + s.z + s.w);
}

/* log2(x) in 64ths, x >= 1: the place of the first bit, and the six bits behind it */
int log2_about(uint x)
{
    int whole = findMSB(x);
    return 64 * whole + int((whole > 6 ? x >> uint(whole - 6) : x << uint(6 - whole)) & 63u);
}

void main()
{
    uint t = gl_LocalInvocationIndex;
    search_begin();
    bool has_before = pictures[picture].before != ENC_NO_SET;
    if (t == 0u) {
        inter = NO_COST;
        from_mean = from_above = from_left = sum = squares = 0u;
    }
    barrier();
    for (uint i = t; i < SIDE * SIDE && has_before; i += SEARCH_THREADS)
        atomicMin(inter, inter_at(i));
    if (t < BLOCK)
        intra_row(int(t));
    add_variance(t);
    barrier();
    if (t > 0u)
        return;
    uint intra = min(min(from_mean, from_above), from_left),
         at = picture * args.mb_width * args.mb_height + mb;
    int offset = (log2_about(squares - (sum * sum >> 8) + 1u) - MIDDLE + 32) >> 6;
    analysis[at].intra = uint16_t(intra);
    analysis[at].inter = uint16_t(min(intra, inter));
    analysis[at].qp_offset = int8_t(clamp(offset, -OFFSET_MOST, OFFSET_MOST));
}
