/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packed levels (codec/abi/records.h): coefficient blocks of 8-bit pictures without their zeros.
 * Thread: any, one at a time for each picture.
 */
#ifndef PELTON_CODEC_PACK_LEVELS_H
#define PELTON_CODEC_PACK_LEVELS_H

#include "codec/abi/records.h"

/* Packs the n coefficient blocks of the macroblock at `addr` to packed[first] on. There must be
 * room for REC_PACKED_WORDS(n) + H264_PACKED_SLACK words. blocks: [n][16]. Returns the word behind.
 */
#define H264_PACKED_SLACK 4
uint32_t h264_pack_levels(uint32_t *packed, uint32_t first, uint32_t addr, const int16_t *blocks,
                          unsigned n);

#endif
