/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Scans of transform coefficients: idx to raster position, row * 4 + column or row * 8 + column.
 * First index: [0] zig-zag (frame), [1] field (Tables 8-13 and 8-14).
 */
#ifndef PELTON_CODEC_SCAN_H
#define PELTON_CODEC_SCAN_H

#include <stdint.h>

extern const uint8_t h264_scan_4x4[2][16];
extern const uint8_t h264_scan_8x8[2][64];

#endif
