/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inter prediction of a macroblock in words of four samples, beside the source. A thread makes two
 * words of luma and one of chroma. encode_satd.glsl and encode_motion.glsl come before.
 */
#ifndef PELTON_ENCODE_PREDICT_GLSL
#define PELTON_ENCODE_PREDICT_GLSL

#define LUMA_WORDS 64
#define MB_WORDS   96

/* Raster of words: 4 x 16, then Cb and Cr with 2 x 8 each */
shared uint source_words[MB_WORDS], pred_words[MB_WORDS];

/* The set of planes that a quadrant is predicted from */
uint reference_of(uint quadrant)
{
    return uint(pictures[picture].reference[own_ref_of(quadrant)]);
}

uint predict_luma_word(ivec2 at, uint quadrant)
{
    ivec2 from =
        two_samples_at(reference_of(quadrant), 4 * (16 * mb_at + at) + own_mv_of(quadrant));
    uint first = four_samples(from.x);
    return from.x == from.y ? first : mean4(first, four_samples(from.y));
}

/* Samples x..x + 3 and x + 1..x + 4 of a row of chroma, which repeats its last samples */
uvec2 chroma_row(int row, int x, int last)
{
    uvec2 words = uvec2(0u);
    if (x >= 0 && x + 4 <= last) {
        words.x = four_samples(row + x);
        words.y = words.x >> 8 | uint(planes[row + x + 4]) << 24;
    } else {
        for (int i = 4; i >= 0; i--) {
            uint v = uint(planes[row + clamp(x + i, 0, last)]);
            words.y = i > 0 ? words.y << 8 | v : words.y;
            words.x = i < 4 ? words.x << 8 | v : words.x;
        }
    }
    return words;
}

/* Every second sample of a row, 8 times its value: two in a word */
uvec2 chroma_between(uvec2 row, uint f)
{
    uvec2 a = uvec2(EVEN(row.x), ODD(row.x)), b = uvec2(EVEN(row.y), ODD(row.y));
    return (8u - f) * a + f * b;
}

/* 8.4.2.2.2 */
uint predict_chroma_word(uint c, ivec2 at, uint quadrant)
{
    ivec2 last = 8 * ivec2(args.mb_width, args.mb_height) - 1, mv = own_mv_of(quadrant);
    ivec2 from = 8 * mb_at + at + (mv >> 3);
    uvec2 f = uvec2(mv & 7);
    int base = int(chroma_origin(reference_of(quadrant), c)), width = last.x + 1;
    ivec2 rows = base + width * clamp(ivec2(from.y, from.y + 1), ivec2(0), last.yy);
    uvec2 sum = (8u - f.y) * chroma_between(chroma_row(rows.x, from.x, last.x), f.x) +
                f.y * chroma_between(chroma_row(rows.y, from.x, last.x), f.x);
    sum = (sum + 0x00200020u) >> 6 & 0x00ff00ffu;
    return sum.x | sum.y << 8;
}

/* Corner of the thread's word of chroma */
ivec2 chroma_corner(uint t)
{
    return ivec2(4u * (t & 1u), t >> 1 & 7u);
}

/* The source; all 32 threads */
void source_load(uint t, bool chroma)
{
    uint set = pictures[picture].source;
    int stride = int(plane_stride(0u));
    int from = int(plane_origin(set, 0u)) + (16 * mb_at.y + int(t >> 2)) * stride + 16 * mb_at.x;
    source_words[t] = plane_words[(from >> 2) + int(t & 3u)];
    source_words[t + 32u] = plane_words[(from + 8 * stride >> 2) + int(t & 3u)];
    ivec2 place = 8 * mb_at + chroma_corner(t);
    from = int(chroma_origin(set, t >> 4)) + place.y * 8 * int(args.mb_width) + place.x;
    if (chroma)
        source_words[LUMA_WORDS + t] = plane_words[from >> 2];
}

/* All 32 threads */
void predict_words(uint t, bool chroma)
{
    for (uint w = t; w < LUMA_WORDS; w += SEARCH_THREADS)
        pred_words[w] =
            predict_luma_word(ivec2(4u * (w & 3u), w >> 2), 2u * (w >> 5) + (w >> 1 & 1u));
    if (chroma)
        pred_words[LUMA_WORDS + t] =
            predict_chroma_word(t >> 4, chroma_corner(t), 2u * (t >> 3 & 1u) + (t & 1u));
}

#endif
