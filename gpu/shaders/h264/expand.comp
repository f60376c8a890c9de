/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Coefficient blocks of packed levels (codec/abi/records.h). A macroblock has EXPAND_THREADS
 * threads, each of which writes every so many of its blocks. All of them walk through the masks, as
 * these say where the levels of a block begin. Grid: x EXPAND_MBS macroblocks of a picture, y
 * pictures.
 *
 * Packed levels may hold anything: reads beyond them give 0.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/common.glsl"

layout(local_size_x = EXPAND_MBS * EXPAND_THREADS) in;

layout(set = SET_BATCH, binding = BIND_COEFFS, std430) writeonly buffer coeff_buffer
{
    uvec4 coeffs[];
};
layout(set = SET_BATCH, binding = BIND_PACKED, std430) readonly buffer packed_buffer
{
    uint packed[];
};

uint word_at(uint i)
{
    return i < uint(packed.length()) ? packed[i] : 0u;
}

/* Half a word, counted from word `first` on. */
uint half_at(uint first, uint i)
{
    return bitfieldExtract(word_at(first + (i >> 1)), int(i & 1u) << 4, 16);
}

/* Half or byte i from there on. */
int level_at(uint first, uint i, bool wide)
{
    if (wide)
        return int(half_at(first, i) << 16) >> 16;
    return bitfieldExtract(int(word_at(first + (i >> 2))), int(i & 3u) << 3, 8);
}

/* Levels `at` on, whose places are the bits of the mask. */
void expand_block(uint coeff_block, uint mask, uint first, uint at, bool wide)
{
    uint words[8];
    [[unroll]] for (uint k = 0u; k < 8u; k++) {
        int low = 0, high = 0;
        if ((mask >> (2u * k) & 1u) != 0u)
            low = level_at(first, at++, wide);
        if ((mask >> (2u * k + 1u) & 1u) != 0u)
            high = level_at(first, at++, wide);
        words[k] = (uint(low) & 0xffffu) | uint(high) << 16;
    }
    coeffs[coeff_block * 2u] = uvec4(words[0], words[1], words[2], words[3]);
    coeffs[coeff_block * 2u + 1u] = uvec4(words[4], words[5], words[6], words[7]);
}

void main()
{
    uint addr = gl_WorkGroupID.x * EXPAND_MBS + gl_LocalInvocationIndex / EXPAND_THREADS,
         thread = gl_LocalInvocationIndex % EXPAND_THREADS;
    if (gl_WorkGroupID.y >= push.picture_count)
        return;
    rec_picture picture = pictures[push.first_picture + gl_WorkGroupID.y];
    if (picture.packed == 0u || addr >= picture.mb_count)
        return;
    rec_mb mb = mbs[picture.mb_base + addr];
    uint n = uint(bitCount(uint(mb.coded[0])) + bitCount(uint(mb.coded[1])) +
                  bitCount(uint(mb.coded[2])));
    uint base = picture.packed - 1u, entry = word_at(base + addr), first = base + (entry >> 1),
         block = picture.coeff_base + mb.coeff, before = 0u;
    bool wide = (entry & 1u) != 0u;
    /* levels lie behind n masks of two bytes */
    [[dont_unroll]] for (uint i = 0u; n > 0u && i < n; i++) {
        uint mask = half_at(first, i), begin = (wide ? n : 2u * n) + before;
        if (i % EXPAND_THREADS == thread && block + i < push.coeff_block_total)
            expand_block(block + i, mask, first, begin, wide);
        before += uint(bitCount(mask));
    }
}
