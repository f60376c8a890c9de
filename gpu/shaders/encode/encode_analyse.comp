/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Figures of source pictures before they are decided (encode/analysis.c): what macroblocks cost
 * about in half of the size, and offsets of QP by variance. Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_pairs.glsl"

layout(set = 0, binding = ENC_BIND_ANALYSIS, scalar) writeonly buffer analysis_buffer
{
    enc_analysis analysis[];
};

#define BLOCK       8
#define WINDOW      6
#define SIDE        (2 * WINDOW + 1)
#define MIDDLE      (14 * 64)
#define OFFSET_MOST 6

/* The source from one row and four samples before the block on; the picture before from WINDOW rows
 * and two words before it on: words of four samples */
#define HERE_WORDS   3
#define BEFORE_WORDS 6
#define BEFORE_ROWS  (BLOCK + 2 * WINDOW)
shared uint here[(BLOCK + 1) * HERE_WORDS], before[BEFORE_ROWS * BEFORE_WORDS];
/* inter: the least sum; then sums of differences from the mean, from above and from the left */
shared uint inter, from_mean, from_above, from_left, sum, squares;

/* A vector's x and some of its y are a thread's: SIDE x SHARES threads. The next BLOCK threads have
 * rows of intra prediction. */
#define SHARES  4
#define LARGEST ((SIDE + SHARES - 1) / SHARES)

uint half_word(uint set, ivec2 at)
{
    at += BLOCK * mb_at;
    return plane_words[uint(int(plane_origin(set, ENC_PLANE_HALF)) +
                            at.y * int(plane_stride(ENC_PLANE_HALF)) + at.x) >>
                       2];
}

void tiles_load(uint t, bool has_before)
{
    if (t < (BLOCK + 1) * HERE_WORDS)
        here[t] = half_word(pictures[picture].source,
                            ivec2(4 * int(t % HERE_WORDS) - 4, int(t / HERE_WORDS) - 1));
    for (uint i = t; i < BEFORE_ROWS * BEFORE_WORDS && has_before; i += SEARCH_THREADS)
        before[i] = half_word(pictures[picture].before,
                              ivec2(4 * int(i % BEFORE_WORDS) - 8, int(i / BEFORE_WORDS) - WINDOW));
}

/* Two words of a row of a tile, from sample x on */
uvec2 before_words(uint row, uint x)
{
    uint at = row * BEFORE_WORDS + (x >> 2), shift = 8u * (x & 3u);
    uvec3 words = uvec3(before[at], before[at + 1u], shift > 0u ? before[at + 2u] : 0u);
    return words.xy >> shift | words.yz << 1u << 31u - shift;
}

/* Of a row of the block: eight differences, at most 2040 in two sums of each of two rows */
PAIR row_sad(uint y, uvec2 words)
{
    uint at = (y + 1u) * HERE_WORDS + 1u;
    four_pairs a = pairs_of(here[at]), b = pairs_of(here[at + 1u]);
    return pairs_sad(a, pair_of(words.x), pair_of(words.x >> 8)) +
           pairs_sad(b, pair_of(words.y), pair_of(words.y >> 8));
}

/* The least of the sums at vectors of one x, and of y from `first` on */
uint inter_least(uint x, uint first)
{
    uvec2 rows[BLOCK + LARGEST - 1];
    uint least_sum = NO_COST;
    [[unroll]] for (uint i = 0u; i < BLOCK + LARGEST - 1u; i++)
        rows[i] = before_words(min(first + i, BEFORE_ROWS - 1u), x + 8u - WINDOW);
    [[unroll]] for (uint v = 0u; v < LARGEST; v++) {
        uint total = 0u;
        [[unroll]] for (uint y = 0u; y < BLOCK; y += 2u)
            total += pair_sum(row_sad(y, rows[v + y]) + row_sad(y + 1u, rows[v + y + 1u]));
        if (first + v < SIDE)
            least_sum = min(least_sum, total);
    }
    return least_sum;
}

uint four_sum(uint word)
{
    uint pairs = (word & 0x00ff00ffu) + (word >> 8 & 0x00ff00ffu);
    return (pairs & 0xffffu) + (pairs >> 16);
}

/* A row of the block by three predictions from samples around the block */
void intra_row(uint y)
{
    uvec2 above = uvec2(here[1], here[2]);
    uint beside = BLOCK + four_sum(above.x) + four_sum(above.y);
    uint left = here[(y + 1u) * HERE_WORDS] >> 24;
    for (uint i = 1u; i <= BLOCK; i++)
        beside += here[i * HERE_WORDS] >> 24;
    atomicAdd(from_mean, pair_sum(row_sad(y, uvec2((beside >> 4) * 0x01010101u))));
    atomicAdd(from_above, pair_sum(row_sad(y, above)));
    atomicAdd(from_left, pair_sum(row_sad(y, uvec2(left * 0x01010101u))));
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
    tiles_load(t, has_before);
    barrier();
    if (t < SIDE * SHARES && has_before)
        atomicMin(inter, inter_least(t % SIDE, t / SIDE * LARGEST));
    if (t >= SIDE * SHARES && t < SIDE * SHARES + BLOCK)
        intra_row(t - SIDE * SHARES);
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
