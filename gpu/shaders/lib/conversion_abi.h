/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A conversion as the shader reads it: words of 32 bits. The head has fixed places, and the weights
 * of the axes follow it. docs/design/convert.md has the rules. Included by C and GLSL.
 *
 * An axis has an entry for each output sample: the first source sample, then its weights, two in a
 * word, the first one in the low half. CONVERT_TAPS is a multiple of 4; weights that no sample
 * needs are 0.
 */
#ifndef PELTON_CONVERSION_ABI_H
#define PELTON_CONVERSION_ABI_H

#define CONVERT_KIND_PLANES 0 /* each output plane comes from the source's plane of that number */
#define CONVERT_KIND_PIXELS 1 /* channels are sums of the source's planes */

#define CONVERT_KIND     0
#define CONVERT_SOURCES  1 /* planes of the source that count: 1 or 3 */
#define CONVERT_CHANNELS 2 /* of a pixel: 1..4; the fourth is opaque */
#define CONVERT_BYTES    3 /* of an output value: 1, 2 (of pixels: half floats), 4 (floats) */
#define CONVERT_PACKED   4 /* 1: the channels of a pixel stand side by side */
#define CONVERT_DEPTH    5 /* of planes: bits of an output sample */
#define CONVERT_PAIRS    6 /* of planes: 1: chroma samples stand in pairs (NV12) */
#define CONVERT_FLOAT    7 /* of pixels: 1: CONVERT_SCALE and CONVERT_ADD apply */

#define CONVERT_ZERO   8  /* [source plane]: the value that the matrix counts from */
#define CONVERT_MATRIX 11 /* [channel 0..2][source plane] */
#define CONVERT_SCALE  20 /* [channel], bits of a float */
#define CONVERT_ADD    24
#define CONVERT_OPAQUE 28 /* the fourth channel as it is written */
#define CONVERT_PLANES 29 /* [source plane] of CONVERT_PLANE_WORDS words */

#define CONVERT_WIDTH       0 /* of the output plane, in samples */
#define CONVERT_HEIGHT      1
#define CONVERT_SHIFT       2 /* of the horizontal sum: depth of the source - 1 */
#define CONVERT_X           3 /* word of the first entry, from the head on */
#define CONVERT_X_TAPS      4
#define CONVERT_Y           5
#define CONVERT_Y_TAPS      6
#define CONVERT_PLANE_WORDS 7

#define CONVERT_HEAD_WORDS (CONVERT_PLANES + 3 * CONVERT_PLANE_WORDS)

#define CONVERT_ENTRY_WORDS(taps) (1 + (taps) / 2)

#define CONVERT_WEIGHT_BITS 14    /* the weights of an output sample add up to 1 << 14 */
#define CONVERT_ROW_TOP     32767 /* the largest horizontal result */
#define CONVERT_ROW_BITS    13    /* of the shift of the vertical sum */
#define CONVERT_MATRIX_BITS 13
#define CONVERT_LEVEL_BITS  21 /* of a pixel's sum below one level of 255 */
#define CONVERT_FLOAT_BITS  16 /* of those that a float is made of */

#define CONVERT_TILE 16 /* a workgroup makes 16 x 16 output pixels */

#endif
