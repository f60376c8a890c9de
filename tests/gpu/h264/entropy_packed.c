/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packed levels of entropy decoding on the GPU: room for them of any size, and coefficient blocks
 * made of them again.
 */
#include "tests/gpu/h264/entropy.h"

#include "codec/pack_levels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB_BLOCKS 24
#define MB_WORDS  REC_PACKED_WORDS(MB_BLOCKS)

uint32_t entropy_most_words(uint32_t mbs)
{
    return mbs * (1 + MB_WORDS);
}

uint32_t entropy_packed_room(struct check_env *env, const struct h264_picture *pic)
{
    const uint32_t most = entropy_most_words(pic->mb_count), few = 8 * pic->mb_count;
    if (check_chance(env, 60))
        return most;
    return check_chance(env, 30) ? 0 : check_random(env, few + 1);
}

uint32_t entropy_words(const struct h264_picture *pic)
{
    uint32_t words[MB_BLOCKS + 1 + MB_WORDS + H264_PACKED_SLACK], sum = pic->mb_count;
    for (uint32_t addr = 0; addr < pic->mb_count; addr++) {
        const struct rec_mb *mb = &pic->arrays.mbs[addr];
        const int16_t *blocks = (const int16_t *)pic->arrays.coeffs + 16 * (size_t)mb->coeff;
        unsigned n = check_mb_blocks(mb);
        sum += n ? h264_pack_levels(words, 1, 0, blocks, n) - 1 : 0;
    }
    return sum;
}

/* The levels of a macroblock. False: they lie outside. */
static bool unpack_mb(const uint32_t *packed, uint32_t words, uint32_t addr, unsigned n,
                      int16_t *blocks)
{
    const uint64_t first = packed[addr] >> 1, wide = packed[addr] & 1;
    const uint8_t *bytes = (const uint8_t *)(packed + first), *end = (const uint8_t *)packed;
    end += 4ull * words;
    if (first + (n + 1) / 2 > words)
        return false;
    const uint8_t *level = bytes + 2 * n;
    memset(blocks, 0, (size_t)n * 32);
    for (unsigned i = 0; i < 16 * n; i++) {
        uint16_t mask;
        memcpy(&mask, bytes + i / 16 * 2, 2);
        if (!(mask >> (i % 16) & 1))
            continue;
        if (level + 1 + wide > end)
            return false;
        if (wide)
            memcpy(&blocks[i], level, 2);
        else
            blocks[i] = (int8_t)*level;
        level += 1 + wide;
    }
    return true;
}

int entropy_unpack(const struct h264_picture *pic, const struct rec_mb *mbs, int16_t *coeffs,
                   uint32_t coeff_blocks, uint32_t words)
{
    uint32_t *packed = malloc(4ull * words);
    bool good = packed != NULL;
    if (good)
        memcpy(packed, coeffs, 4ull * words);
    memset(coeffs, 0xa5, (size_t)coeff_blocks * 32);
    for (uint32_t addr = 0; addr < pic->mb_count && good; addr++) {
        unsigned n = check_mb_blocks(&mbs[addr]);
        if (!n)
            continue;
        good = mbs[addr].coeff <= coeff_blocks && n <= coeff_blocks - mbs[addr].coeff &&
               unpack_mb(packed, words, addr, n, coeffs + 16 * (size_t)mbs[addr].coeff);
        if (!good)
            printf("checkgpu: MISMATCH picture %" PRIu32 ", macroblock %" PRIu32
                   ": packed levels lie outside\n",
                   pic->id, addr);
    }
    free(packed);
    return good ? 0 : -1;
}
