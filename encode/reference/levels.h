/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From residual samples to levels, and back to the residual that a decoder adds. Pure.
 */
#ifndef PELTON_LEVELS_H
#define PELTON_LEVELS_H

#include "encode/reference/quantise.h"

/* What codes blocks of one component of a macroblock */
struct block_coder {
    struct quantiser q;
    uint8_t flat[64]; /* weight scale */
};

struct block_coder block_coder_at(int qp, bool intra, int level_max);

/* Levels in the order of coefficient blocks (rec_mb.coded): [block][coefficient]. back: the
 * residual that the levels stand for. Each returns which blocks have a level that is not 0. */

/* One block: r and back have 16 or 64 samples, raster; 1, or 15 for 8x8 */
unsigned levels_4x4(const struct block_coder *coder, const int32_t r[16], int16_t level[1][16],
                    int32_t back[16]);
unsigned levels_8x8(const struct block_coder *coder, const int32_t r[64], int16_t level[4][16],
                    int32_t back[64]);
/* Luma of a macroblock: by 4x4 or 8x8 transforms, or as Intra16x16. Stride 16 */
unsigned levels_luma_4x4(const struct block_coder *coder, const int32_t r[256],
                         int16_t level[16][16], int32_t back[256]);
unsigned levels_luma_8x8(const struct block_coder *coder, const int32_t r[256],
                         int16_t level[16][16], int32_t back[256]);
unsigned levels_luma_16x16(const struct block_coder *coder, const int32_t r[256],
                           int16_t level[16][16], int32_t back[256]);
/* One component of 4:2:0 chroma. Stride 8 */
unsigned levels_chroma(const struct block_coder *coder, const int32_t r[64], int16_t level[4][16],
                       int32_t back[64]);

/* An estimate of what levels take, in 16ths of a bit: those of all blocks of a mask */
uint32_t levels_bits(const int16_t (*level)[16], unsigned coded, bool transform_8x8);

#endif
