/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packed levels (codec/abi/records.h) as the slow reference reads them: level by level.
 */
#include "codec/packed.h"

static uint32_t byte_at(const struct rec_view *view, uint64_t at)
{
    return at / 4 < view->packed_words ? view->packed[at / 4] >> at % 4 * 8 & 0xff : 0;
}

int h264_packed_level(const struct rec_view *view, uint32_t addr, unsigned n, unsigned block,
                      unsigned i)
{
    uint32_t word = addr < view->packed_words ? view->packed[addr] : 0, wide = word & 1, mask = 0;
    uint64_t at = 4 * (uint64_t)(word >> 1), before = 0;
    for (unsigned k = 0; k <= block; k++) {
        before += (unsigned)__builtin_popcount(mask);
        mask = byte_at(view, at + 2 * k) | byte_at(view, at + 2 * k + 1) << 8;
    }
    if (!(mask >> i & 1))
        return 0;
    before += (unsigned)__builtin_popcount(mask & ((1u << i) - 1));
    at += 2 * n + (before << wide);
    return wide ? (int16_t)(byte_at(view, at) | byte_at(view, at + 1) << 8)
                : (int8_t)byte_at(view, at);
}
