/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The slow reference of conversions, from the rules of docs/design/convert.md alone: each output
 * value by itself, without tables.
 */
#ifndef PELTON_REF_CONVERT_H
#define PELTON_REF_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

struct ref_convert {
    /* the source */
    uint32_t width, height;
    int chroma_format; /* 0..3 */
    int depth[2];
    int matrix, siting;
    bool full_range;
    const uint16_t *plane[3]; /* without gaps */
    /* the wish, all sizes given */
    uint32_t crop_x, crop_y, crop_width, crop_height, out_width, out_height;
    char filter; /* 'c' bicubic, 'l' bilinear, 'a' area */
};

/* Sample x, y of output plane p of chroma format `format` and so many bits. */
uint32_t ref_convert_sample(const struct ref_convert *r, int p, int format, int depth, uint32_t x,
                            uint32_t y);
/* Channel 'r', 'g', 'b' or 'y' (luma in full range) of a pixel. */
uint32_t ref_convert_level(const struct ref_convert *r, char channel, uint32_t x, uint32_t y);
/* The same as a float: (value - mean) * scale, of values 0..1. */
float ref_convert_float(const struct ref_convert *r, char channel, double mean, double scale,
                        uint32_t x, uint32_t y);
/* To the nearest half float, ties to even; its bits. */
uint16_t ref_convert_half(float value);

#endif
