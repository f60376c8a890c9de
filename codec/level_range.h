/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Levels that the standard rules out (8.5.10 to 8.5.13): scaled, they are beyond -2^(7 + bitDepth)
 * .. 2^(7 + bitDepth) - 1 wherever they stand in their block. A level within the limit may be out
 * of range, too, or be so together with others; that is not looked for.
 */
#ifndef PELTON_CODEC_LEVEL_RANGE_H
#define PELTON_CODEC_LEVEL_RANGE_H

#include <stdint.h>

struct h264_pps;
struct h264_sps;

#define LEVEL_ANY (1 << 24) /* more than any level: nothing is ruled out */

/* No weight of the scaling lists is below 16 >> shift. */
unsigned h264_level_shift(const struct h264_sps *sps, const struct h264_pps *pps);
/* The greatest magnitude in a 4x4 block; ENT_LEVEL_8X8 and ENT_LEVEL_DC give that of others. qp:
 * QPY or QPC, -36..51; bitDepth cancels out. */
int32_t h264_level_most(int qp, unsigned shift);

#endif
