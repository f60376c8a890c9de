/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packed levels (codec/abi/records.h). Step 2 decodes a macroblock into blocks that stay in the
 * cache, and packs them here. Packing has no branch that depends on levels: a block has two or
 * three of them, and the end of a loop over them would be badly foreseen.
 */
#include "codec/pack_levels.h"

#include <stdbool.h>
#include <string.h>
#ifdef __SSSE3__
#include <tmmintrin.h>
#endif

/* Where narrow levels go, and what was seen of them. */
struct packer {
    uint8_t *to;
    bool wide; /* a level has more than 8 bits */
};

#ifdef __SSSE3__

/* The set bits of a nibble, as indices of bytes. */
static const uint32_t places[16] = {
    0x80808080, 0x80808000, 0x80808001, 0x80800100, 0x80808002, 0x80800200, 0x80800201, 0x80020100,
    0x80808003, 0x80800300, 0x80800301, 0x80030100, 0x80800302, 0x80030200, 0x80030201, 0x03020100};

/* Returns the block's mask. Bytes behind the last level may be written, up to 16 from its first. */
static inline uint16_t pack_block(struct packer *p, const int16_t *block)
{
    const __m128i zero = _mm_setzero_si128();
    __m128i low = _mm_loadu_si128((const __m128i *)block),
            high = _mm_loadu_si128((const __m128i *)(block + 8)),
            bytes = _mm_packs_epi16(low, high), sign = _mm_cmpgt_epi8(zero, bytes),
            same = _mm_and_si128(_mm_cmpeq_epi16(low, _mm_unpacklo_epi8(bytes, sign)),
                                 _mm_cmpeq_epi16(high, _mm_unpackhi_epi8(bytes, sign)));
    uint32_t mask = ~(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, zero)) & 0xffff;
    const __m128i order =
        _mm_add_epi8(_mm_setr_epi32((int)places[mask & 15], (int)places[mask >> 4 & 15],
                                    (int)places[mask >> 8 & 15], (int)places[mask >> 12]),
                     _mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
    const __m128i left = _mm_shuffle_epi8(bytes, order);
    uint64_t two = (uint64_t)_mm_cvtsi128_si64(left),
             more = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(left, left));
    uint32_t words[4] = {(uint32_t)two, (uint32_t)(two >> 32), (uint32_t)more,
                         (uint32_t)(more >> 32)};
    for (unsigned k = 0; k < 4; k++) {
        memcpy(p->to, &words[k], 4);
        p->to += __builtin_popcount(mask >> 4 * k & 15);
    }
    p->wide |= _mm_movemask_epi8(same) != 0xffff;
    return (uint16_t)mask;
}

#else

static inline uint16_t pack_block(struct packer *p, const int16_t *block)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < 16; i++) {
        int16_t level = block[i];
        *p->to = (uint8_t)level;
        p->to += level != 0;
        mask |= (uint32_t)(level != 0) << i;
        p->wide |= level != (int8_t)level;
    }
    return (uint16_t)mask;
}

#endif

/* Levels of 16 bits, of the few macroblocks that have such. */
static uint8_t *pack_wide(uint8_t *to, const int16_t *blocks, unsigned n)
{
    for (unsigned i = 0; i < 16 * n; i++)
        if (blocks[i]) {
            memcpy(to, &blocks[i], 2);
            to += 2;
        }
    return to;
}

uint32_t h264_pack_levels(uint32_t *packed, uint32_t first, uint32_t addr, const int16_t *blocks,
                          unsigned n)
{
    uint8_t *masks = (uint8_t *)(packed + first);
    struct packer p = {.to = masks + 2 * n};
    for (unsigned i = 0; i < n; i++) {
        uint16_t mask = pack_block(&p, blocks + 16 * i);
        memcpy(masks + 2 * i, &mask, 2);
    }
    if (p.wide)
        p.to = pack_wide(masks + 2 * n, blocks, n);
    packed[addr] = 2 * first + p.wide;
    return first + (uint32_t)(p.to - masks + 3) / 4;
}
