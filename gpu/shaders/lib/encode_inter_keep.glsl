/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the coding of an inter macroblock leaves: levels of blocks that are coded, samples before
 * deblocking, and its record. encode_inter_wide.glsl comes before.
 */
#ifndef PELTON_ENCODE_INTER_KEEP_GLSL
#define PELTON_ENCODE_INTER_KEEP_GLSL

#include "gpu/shaders/lib/encode_samples.glsl"

layout(set = 0, binding = ENC_BIND_UNFILTERED, scalar) writeonly buffer unfiltered_word_buffer
{
    uint unfiltered_words[];
};
layout(set = 0, binding = ENC_BIND_LEVELS, scalar) writeonly buffer level_buffer
{
    int16_t levels[];
};
layout(set = 0, binding = ENC_BIND_LEVELS, scalar) writeonly buffer level_word_buffer
{
    uint level_words[];
};

/* Where word w of the macroblock is, by the raster of source_words */
uint unfiltered_word(uint w)
{
    if (w < LUMA_WORDS)
        return uint(unfiltered_at(0u, 16 * mb_at + ivec2(4u * (w & 3u), w >> 2))) >> 2;
    uint c = 1u + (w - LUMA_WORDS >> 4);
    return uint(unfiltered_at(c, 8 * mb_at + ivec2(4u * (w & 1u), w >> 1 & 7u))) >> 2;
}

void keep_prediction(uint t, bool chroma)
{
    for (uint w = t; w < (chroma ? MB_WORDS : LUMA_WORDS); w += SEARCH_THREADS)
        unfiltered_words[unfiltered_word(w)] = pred_words[w];
}

/* The thread's 4x4 block */
void keep_block4(uint u, uint at)
{
    uvec2 words = words_of(u);
    uint way = u < 16u ? SUM_LUMA4 : SUM_CB + (u - 16u >> 2), blk = u < 16u ? u : u & 3u;
    [[unroll]] for (uint y = 0u; y < 4u; y++)
        unfiltered_words[unfiltered_word(words.x + y * words.y)] = own_samples4[y];
    if ((coded[way] >> blk & 1u) != 0u) [[unroll]]
        for (uint i = 0u; i < 8u; i++)
            level_words[8u * (ENC_BLOCKS * at + u) + i] = own_levels4[i];
}

/* The thread's row, and the levels of its eighth of the scan */
void keep_row8(uint t, uint at)
{
    uint w = row8_words(t), first = 16u * ENC_BLOCKS * at + 64u * (t >> 3);
    unfiltered_words[unfiltered_word(w)] = own_samples8[0];
    unfiltered_words[unfiltered_word(w + 1u)] = own_samples8[1];
    if ((coded[SUM_LUMA8] >> 4u * (t >> 3) & 1u) != 0u) [[unroll]]
        for (int k = 0; k < 8; k++)
            levels[first + (eighth_place(t, k) & 63u)] = int16_t(own_levels8[k]);
}

/* big: luma as 8x8 transforms made it; none: the prediction alone */
void inter_keep(bool none, bool big)
{
    uint t = gl_LocalInvocationIndex, at = record_at(mb);
    bool chroma = (uint(pictures[picture].flags) & ENC_CHROMA) != 0u;
    own_store(1u - FIELD, t);
    if (none)
        keep_prediction(t, chroma);
    else if (big)
        keep_row8(t, at);
    if (!none && t >= (big ? 16u : 0u) && t < (chroma ? 24u : 16u))
        keep_block4(t, at);
    if (t < 3u)
        mbs[at].coded[t] = uint16_t(none ? 0u
                                         : coded[t > 0u ? t + 1u
                                                 : big  ? SUM_LUMA8
                                                        : SUM_LUMA4]);
    if (t == 0u)
        mbs[at].flags = uint8_t(big && !none && coded[SUM_LUMA8] != 0u ? REC_MB_TRANSFORM_8X8 : 0);
}

#endif
