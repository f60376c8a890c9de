/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CAVLC of transform coefficient levels (9.2), and coded_block_pattern (9.1.2). The codes are those
 * of codec/'s tables, turned round.
 */
#ifndef PELTON_ENCODE_CAVLC_WRITER_H
#define PELTON_ENCODE_CAVLC_WRITER_H

#include "codec/cavlc.h"
#include "encode/bit_writer.h"

struct cavlc_code {
    uint16_t bits;
    uint8_t length; /* 0: no such code */
};

struct cavlc_codes {
    struct cavlc_code coeff_token[6][17][4]; /* [enum h264_nc_class][TotalCoeff][TrailingOnes] */
    /* [TotalCoeff - 1][total_zeros]: of 15 and 16 coefficients, of chroma DC with 4 and with 8 */
    struct cavlc_code total_zeros[15][16], total_zeros_420[3][4], total_zeros_422[7][8];
    struct cavlc_code run_before[7][15]; /* [least of zerosLeft and 7, minus 1] */
    uint8_t cbp[2][2][48]; /* codeNum by [ChromaArrayType is 1 or 2][inter][coded_block_pattern] */
};

void cavlc_codes_build(struct cavlc_codes *codes);

/* residual_block_cavlc() of count levels, 4, 8, 15 or 16, in scan order; returns TotalCoeff. A
 * level beyond 2^15 has no code. */
unsigned cavlc_block(struct bit_writer *w, const struct cavlc_codes *codes,
                     enum h264_nc_class nc_class, const int32_t *level, unsigned count);

#endif
