/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packed levels (codec/abi/records.h): coefficient blocks of 8-bit pictures without their zeros.
 * Thread: any, one at a time for each picture.
 */
#ifndef PELTON_CODEC_PACKED_H
#define PELTON_CODEC_PACKED_H

#include "codec/abi/records.h"

/* Packs the n coefficient blocks of the macroblock at `addr` to packed[first] on. There must be
 * room for REC_PACKED_WORDS(n) + H264_PACKED_SLACK words. blocks: [n][16]. Returns the word behind.
 */
#define H264_PACKED_SLACK 4
uint32_t h264_pack_levels(uint32_t *packed, uint32_t first, uint32_t addr, const int16_t *blocks,
                          unsigned n);
/* Level i of coefficient block `block` of the macroblock at `addr`, which has n of them; 0 where
 * the words are not all within view->packed_words. */
int h264_packed_level(const struct rec_view *view, uint32_t addr, unsigned n, unsigned block,
                      unsigned i);

#endif
