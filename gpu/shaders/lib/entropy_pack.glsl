/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packs the levels of a slice whose coefficient blocks are complete (codec/abi/records.h). A
 * workgroup has the slice, and each of its threads a macroblock at a time. Words are taken for all
 * of them at once, so their order is any. Where the picture has no room for them nothing is
 * written: the host sees by the count that its packed levels are not complete.
 */
#ifndef PELTON_ENTROPY_PACK_GLSL
#define PELTON_ENTROPY_PACK_GLSL

shared uint pack_taken; /* words of the macroblocks of the workgroup */
shared uint pack_first; /* where they begin, counted from the picture's first word */

/* The coefficient blocks of a macroblock. */
struct pack_blocks {
    uint at, count; /* first in the batch */
    bool wide;      /* a level has more than 8 bits */
    uint words;     /* packed */
};

/* The word that is being filled. */
uint pack_word, pack_bits, pack_at;

/* The bits of n levels that are not 0. */
uint pack_mask(uvec4 low, uvec4 high)
{
    uint mask = 0u;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        mask |= uint((low[i] & 0xffffu) != 0u) << (2u * i);
        mask |= uint((low[i] >> 16) != 0u) << (2u * i + 1u);
        mask |= uint((high[i] & 0xffffu) != 0u) << (2u * i + 8u);
        mask |= uint((high[i] >> 16) != 0u) << (2u * i + 9u);
    }
    return mask;
}

/* Has a level of the pairs more than 8 bits? */
bool pack_is_wide(uvec4 pairs)
{
    ivec4 low = bitfieldExtract(ivec4(pairs), 0, 16), high = ivec4(pairs) >> 16;
    return any(notEqual(low, bitfieldExtract(low, 0, 8))) ||
           any(notEqual(high, bitfieldExtract(high, 0, 8)));
}

pack_blocks pack_measure(uint index)
{
    uvec4 first_half = packed_mbs[2u * index];
    pack_blocks b;
    b.count = uint(bitCount(first_half.z) + bitCount(first_half.w & 0xffffu));
    b.at = slice.coeff_block_base + first_half.y;
    b.wide = false;
    uint levels = 0u;
    [[dont_unroll]] for (uint i = 0u; i < b.count; i++) {
        uvec4 low = packed_levels[2u * (b.at + i)], high = packed_levels[2u * (b.at + i) + 1u];
        b.wide = b.wide || pack_is_wide(low) || pack_is_wide(high);
        levels += uint(bitCount(pack_mask(low, high)));
    }
    b.words = (2u * b.count + (b.wide ? 2u : 1u) * levels + 3u) / 4u;
    return b;
}

/* The next n bits: 8, or 16 where 16 are left of the word. */
void pack_put(uint v, uint n)
{
    pack_word = bitfieldInsert(pack_word, v, int(pack_bits), int(n));
    pack_bits += n;
    if (pack_bits < 32u)
        return;
    packed_words[pack_at++] = pack_word;
    pack_word = pack_bits = 0u;
}

void pack_levels(uvec4 pairs, uint bits)
{
    [[dont_unroll]] for (uint i = 0u; i < 4u; i++) {
        if ((pairs[i] & 0xffffu) != 0u)
            pack_put(pairs[i], bits);
        if ((pairs[i] >> 16) != 0u)
            pack_put(pairs[i] >> 16, bits);
    }
}

/* first: counted from the picture's first word */
void pack_write(pack_blocks b, uint addr, uint first)
{
    packed_words[slice.packed_base + addr] = 2u * first + uint(b.wide);
    pack_at = slice.packed_base + first;
    pack_word = pack_bits = 0u;
    [[dont_unroll]] for (uint i = 0u; i < b.count; i++)
        pack_put(pack_mask(packed_levels[2u * (b.at + i)], packed_levels[2u * (b.at + i) + 1u]),
                 16u);
    [[dont_unroll]] for (uint i = 0u; i < 2u * b.count; i++)
        pack_levels(packed_levels[2u * b.at + i], b.wide ? 16u : 8u);
    if (pack_bits > 0u)
        packed_words[pack_at] = pack_word;
}

void pack_slice()
{
    [[dont_unroll]] for (uint begin = slice.first_mb; begin < slice.end_mb;
                         begin += ENT_RANGES_THREADS) {
        uint addr = begin + gl_LocalInvocationIndex, place = 0u;
        pack_blocks b = pack_blocks(0u, 0u, false, 0u);
        if (addr < slice.end_mb)
            b = pack_measure(slice.mb_base + addr);
        if (gl_LocalInvocationIndex == 0u)
            pack_taken = 0u;
        barrier();
        if (b.words > 0u)
            place = atomicAdd(pack_taken, b.words);
        barrier();
        if (gl_LocalInvocationIndex == 0u)
            pack_first =
                slice.picture_mbs +
                atomicAdd(counts[slice.picture * ENT_COUNTS + ENT_COUNT_WORDS], pack_taken);
        barrier();
        if (b.words > 0u && pack_first + place + b.words <= slice.packed_count)
            pack_write(b, addr, pack_first + place);
    }
}

#endif
