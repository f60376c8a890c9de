/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 2 of one slice: its two builds, and redundant slices.
 */
#ifndef PELTON_CODEC_SLICE_DECODE_H
#define PELTON_CODEC_SLICE_DECODE_H

#include <stdbool.h>

struct h264_picture;
struct h264_scratch;
struct h264_slice;

/* Has the processor BMI2, LZCNT and POPCNT, for which some files are compiled a second time? */
bool h264_has_bmi2(void);

/* As h264_slice_decode, for redundant slices too. */
int h264_slice_decode_now(struct h264_slice *slice, struct h264_scratch *scratch);
/* slice_data.c, compiled for any processor, and with H264_BMI2 for those with BMI2. */
int h264_slice_parse(struct h264_slice *slice, struct h264_scratch *scratch);
int h264_slice_parse_bmi2(struct h264_slice *slice, struct h264_scratch *scratch);
/* redundant.c: redundant slices replace primary slices that step 2 did not decode wholly. True:
 * some did. */
bool h264_decode_redundant(struct h264_picture *pic);

#endif
