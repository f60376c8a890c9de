/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The forward transforms: inverse of 8.5.10 to 8.5.13. The standard leaves them to the encoder. All
 * functions are pure.
 */
#ifndef PELTON_FORWARD_H
#define PELTON_FORWARD_H

#include <stdint.h>

/* Residual samples -> coefficients, raster. In and out may be the same. */
void forward_dct4(const int32_t r[16], int32_t c[16]);
void forward_dct8(const int32_t r[64], int32_t c[64]);
/* DC coefficients of the 16 luma blocks of Intra16x16, and of the 4 blocks of 4:2:0 chroma, raster
 * of blocks */
void forward_luma_dc(const int32_t c[16], int32_t out[16]);
void forward_chroma_dc(const int32_t c[4], int32_t out[4]);

#endif
