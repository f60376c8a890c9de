/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CAVLC parsing of transform coefficient levels (9.2): tables and the code readers that need
 * nothing but the next bits.
 */
#ifndef PELTON_CODEC_CAVLC_H
#define PELTON_CODEC_CAVLC_H

#include "codec/bits.h"

/* Columns of Table 9-5 */
enum h264_nc_class {
    H264_NC_0,
    H264_NC_2,
    H264_NC_4,
    H264_NC_CHROMA_DC_420,
    H264_NC_CHROMA_DC_422,
    H264_NC_8
};

extern const uint16_t h264_cavlc_coeff_token[5][16][8];
extern const uint8_t h264_cavlc_coeff_token_8[64];
extern const uint8_t h264_cavlc_total_zeros[15][10][4];
extern const uint8_t h264_cavlc_total_zeros_420[3][4][4];
extern const uint8_t h264_cavlc_total_zeros_422[7][6][4];
extern const uint8_t h264_cavlc_run_before[7][8];
extern const uint8_t h264_cavlc_cbp[2][2][48];

/* Functions of a window: the next bits of the stream, left-aligned, at least 20 of them valid. */

static inline enum h264_nc_class h264_cavlc_nc_class(unsigned nc)
{
    static const uint8_t classes[9] = {H264_NC_0, H264_NC_0, H264_NC_2, H264_NC_2, H264_NC_4,
                                       H264_NC_4, H264_NC_4, H264_NC_4, H264_NC_8};
    return (enum h264_nc_class)classes[nc < 8 ? nc : 8];
}

/* coeff_token: length << 8 | TotalCoeff << 2 | TrailingOnes, or 0 where there is no such code. */
static inline unsigned h264_cavlc_token(uint64_t window, enum h264_nc_class column)
{
    unsigned zeros, entry;
    if (column == H264_NC_8) {
        entry = h264_cavlc_coeff_token_8[window >> 58];
        return entry == 255 ? 0 : 6 << 8 | entry;
    }
    zeros = (unsigned)__builtin_clzll(window | (uint64_t)1 << 48);
    return h264_cavlc_coeff_token[column][zeros][(window >> (60 - zeros)) & 7];
}

/* total_zeros of a block of 15, 16 coefficients, or of chroma DC with 4 or 8: length << 4 |
 * total_zeros, or 0. total is less than the number of coefficients. */
static inline unsigned h264_cavlc_zeros(uint64_t window, unsigned total, unsigned max_coeff)
{
    unsigned zeros = (unsigned)__builtin_clzll(window | (uint64_t)1 << 54),
             next = (window >> (61 - zeros)) & 3;
    if (max_coeff == 4)
        return h264_cavlc_total_zeros_420[total - 1][zeros < 3 ? zeros : 3][next];
    if (max_coeff == 8)
        return h264_cavlc_total_zeros_422[total - 1][zeros < 5 ? zeros : 5][next];
    return h264_cavlc_total_zeros[total - 1][zeros][next];
}

/* run_before: length << 4 | run_before, or 0; zeros_left > 0. */
static inline unsigned h264_cavlc_run(uint64_t window, unsigned zeros_left)
{
    unsigned entry = h264_cavlc_run_before[(zeros_left < 7 ? zeros_left : 7) - 1][window >> 61];
    if (!entry) {
        unsigned zeros = (unsigned)__builtin_clzll(window | (uint64_t)1 << 52);
        entry = zeros <= 10 ? (zeros + 1) << 4 | (zeros + 4) : 0;
    }
    return entry;
}

/* residual_block_cavlc (7.3.5.3.2, 9.2) after coeff_token, which was not 0: levels go to out[scan[i
 * << scan_shift]] of coefficients i = 0 .. max_coeff - 1. Returns the sum of all |level|, or 0 on
 * a code or value that is not allowed. Compiled for 16-bit and 32-bit levels. Reads at most 96
 * bytes past the position, and clamps it afterwards. */
uint32_t h264_cavlc_levels_16(struct h264_bits *b, unsigned token, unsigned max_coeff,
                              const uint8_t *scan, unsigned scan_shift, int16_t *out);
uint32_t h264_cavlc_levels_32(struct h264_bits *b, unsigned token, unsigned max_coeff,
                              const uint8_t *scan, unsigned scan_shift, int32_t *out);

#endif
