/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual samples to levels and back.
 */
#include "encode/reference/levels.h"

#include "encode/reference/forward.h"
#include "reference/recon_ref.h"

#include <stdlib.h>
#include <string.h>

/* Of DC levels, in 64ths of a step */
#define ROUNDING_INTRA 21
#define ROUNDING_INTER 14

struct block_coder block_coder_at(int qp, bool intra, int level_max)
{
    struct block_coder coder;
    coder.q = quantiser_at(qp, intra ? ROUNDING_INTRA : ROUNDING_INTER, level_max);
    memset(coder.flat, 16, sizeof(coder.flat));
    return coder;
}

/* Between a block of a macroblock and a raster of size x size */
static void block_take(const int32_t *from, int stride, int size, int32_t *block)
{
    for (int y = 0; y < size; y++)
        memcpy(block + size * y, from + stride * y, (size_t)size * sizeof(*block));
}

static void block_put(const int32_t *block, int size, int32_t *to, int stride)
{
    for (int y = 0; y < size; y++)
        memcpy(to + stride * y, block + size * y, (size_t)size * sizeof(*block));
}

static void levels_store(const int32_t *level, int count, int16_t *to)
{
    for (int i = 0; i < count; i++)
        to[i] = (int16_t)level[i];
}

unsigned levels_4x4(const struct block_coder *coder, const int32_t r[16], int16_t level[1][16],
                    int32_t back[16])
{
    int32_t v[16];
    bool any;
    forward_dct4(r, v);
    any = quantise4(&coder->q, v, 0, v);
    levels_store(v, 16, level[0]);
    ref_scale4(v, coder->flat, coder->q.qp, false, v);
    ref_idct4(v, back);
    return any;
}

unsigned levels_8x8(const struct block_coder *coder, const int32_t r[64], int16_t level[4][16],
                    int32_t back[64])
{
    int32_t v[64];
    bool any;
    forward_dct8(r, v);
    any = quantise8(&coder->q, v, v);
    levels_store(v, 64, level[0]);
    ref_scale8(v, coder->flat, coder->q.qp, v);
    ref_idct8(v, back);
    return any ? 15 : 0;
}

/* Where a 4x4 block lies in a macroblock (6.4.3) */
static int luma_offset(int blk)
{
    int x = (blk & 1) + (blk >> 1 & 2), y = (blk >> 1 & 1) + (blk >> 2 & 2);
    return 64 * y + 4 * x;
}

unsigned levels_luma_4x4(const struct block_coder *coder, const int32_t r[256],
                         int16_t level[16][16], int32_t back[256])
{
    unsigned coded = 0;
    for (int blk = 0; blk < 16; blk++) {
        int32_t v[16];
        block_take(r + luma_offset(blk), 16, 4, v);
        coded |= levels_4x4(coder, v, level + blk, v) << blk;
        block_put(v, 4, back + luma_offset(blk), 16);
    }
    return coded;
}

unsigned levels_luma_8x8(const struct block_coder *coder, const int32_t r[256],
                         int16_t level[16][16], int32_t back[256])
{
    unsigned coded = 0;
    for (int blk = 0; blk < 16; blk += 4) {
        int32_t v[64];
        block_take(r + luma_offset(blk), 16, 8, v);
        coded |= levels_8x8(coder, v, level + blk, v) << blk;
        block_put(v, 8, back + luma_offset(blk), 16);
    }
    return coded;
}

/* The inverse of blocks whose DC is scaled already, and the DC levels at their place; DC levels
 * make all blocks coded. */
static void dc_back(const struct block_coder *coder, const int32_t ac[16], int32_t dc,
                    int32_t dc_level, int16_t level[16], int32_t back[16])
{
    int32_t v[16];
    levels_store(ac, 16, level);
    level[0] = (int16_t)dc_level;
    memcpy(v, ac, sizeof(v));
    v[0] = dc;
    ref_scale4(v, coder->flat, coder->q.qp, true, v);
    ref_idct4(v, back);
}

unsigned levels_luma_16x16(const struct block_coder *coder, const int32_t r[256],
                           int16_t level[16][16], int32_t back[256])
{
    int32_t v[16][16], dc[16], dc_level[16];
    unsigned coded = 0;
    for (int blk = 0; blk < 16; blk++) {
        block_take(r + luma_offset(blk), 16, 4, v[blk]);
        forward_dct4(v[blk], v[blk]);
        dc[luma_offset(blk) / 64 * 4 + luma_offset(blk) % 64 / 4] = v[blk][0];
        coded |= (unsigned)quantise4(&coder->q, v[blk], 1, v[blk]) << blk;
    }
    forward_luma_dc(dc, dc);
    if (quantise_dc(&coder->q, dc, 16, dc_level))
        coded = 0xffff;
    ref_luma_dc(dc_level, coder->flat, coder->q.qp, dc);
    for (int blk = 0; blk < 16; blk++) {
        int raster = luma_offset(blk) / 64 * 4 + luma_offset(blk) % 64 / 4;
        dc_back(coder, v[blk], dc[raster], dc_level[raster], level[blk], v[blk]);
        block_put(v[blk], 4, back + luma_offset(blk), 16);
    }
    return coded;
}

unsigned levels_chroma(const struct block_coder *coder, const int32_t r[64], int16_t level[4][16],
                       int32_t back[64])
{
    int32_t v[4][16], dc[4], dc_level[4];
    unsigned coded = 0;
    for (int blk = 0; blk < 4; blk++) {
        block_take(r + 32 * (blk >> 1) + 4 * (blk & 1), 8, 4, v[blk]);
        forward_dct4(v[blk], v[blk]);
        dc[blk] = v[blk][0];
        coded |= (unsigned)quantise4(&coder->q, v[blk], 1, v[blk]) << blk;
    }
    forward_chroma_dc(dc, dc);
    if (quantise_dc(&coder->q, dc, 4, dc_level))
        coded = 15;
    ref_chroma_dc(dc_level, 4, coder->flat, coder->q.qp, dc);
    for (int blk = 0; blk < 4; blk++) {
        dc_back(coder, v[blk], dc[blk], dc_level[blk], level[blk], v[blk]);
        block_put(v[blk], 4, back + 32 * (blk >> 1) + 4 * (blk & 1), 8);
    }
    return coded;
}

/* A level: its place and sign, then its magnitude */
static uint32_t level_bits(int level)
{
    uint32_t bits = 16 * 3;
    for (int magnitude = abs(level); magnitude > 1; magnitude >>= 1)
        bits += 16 * 2 - 8;
    return bits;
}

uint32_t levels_bits(const int16_t (*level)[16], unsigned coded, bool transform_8x8)
{
    uint32_t bits = 0;
    for (int blk = 0; blk < 16; blk++) {
        if (!(coded >> blk & 1))
            continue;
        bits += transform_8x8 ? 8 : 16;
        for (int i = 0; i < 16; i++)
            bits += level[blk][i] ? level_bits(level[blk][i]) : 0;
    }
    return bits;
}
