/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JPEG files of pictures: baseline, sequential, 8 bits, Huffman codes (ITU-T T.81), in a JFIF
 * frame. All is integer and has one result, which gpu/jpeg/ gives, too. docs/design/jpeg.md has
 * the rules.
 *
 * Thread: any.
 */
#ifndef PELTON_JPEG_H
#define PELTON_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JPEG_MOST_SIZE 65500 /* samples of a side that common readers take */
#define JPEG_WHY       160
#define JPEG_HEADER    640 /* bytes of a header at most */
#define JPEG_TRAILER   2   /* the marker EOI */

/* Chroma of the source and of the file */
enum jpeg_sampling { JPEG_GREY, JPEG_420, JPEG_422, JPEG_444, JPEG_SAMPLINGS };

/* Samples of a source to those of JFIF (BT.601, full range), in units of 2^-14:
 * Y = luma[0] (y - black) + luma[1] (cb - 128) + luma[2] (cr - 128), and so on. */
struct jpeg_colours {
    int32_t luma[3], chroma[2][2], black;
};

struct jpeg_settings {
    uint32_t width, height;
    enum jpeg_sampling sampling;
    uint32_t quality;   /* 1 to 100 */
    uint16_t aspect[2]; /* of a sample; 0: square */
    struct jpeg_colours colours;
};

/* Planes of the source: chroma has half of the size, rounded up, where it is subsampled. */
struct jpeg_planes {
    const uint8_t *data[3];
    size_t stride[3];
};

/* The colours of a source. matrix: matrix_coefficients of H.273; 2: BT.709 above 576 rows, else
 * BT.601. False: there is no way from this matrix. */
bool jpeg_colours_of(uint8_t matrix, bool full_range, uint32_t height, struct jpeg_colours *out);

/* 0. Else why[] says in one line what is wrong, and the result is -1. */
int jpeg_check(const struct jpeg_settings *s, char why[JPEG_WHY]);

/* Bytes from SOI up to the scan, of settings that jpeg_check allows. Returns their number. */
size_t jpeg_header(const struct jpeg_settings *s, uint8_t out[JPEG_HEADER]);

/* A whole file, by slow plain C. Returns its size; 0: it is larger than `room`. */
size_t jpeg_encode(const struct jpeg_settings *s, const struct jpeg_planes *planes, uint8_t *out,
                   size_t room);

/* No picture of these settings has more bytes. */
size_t jpeg_most_bytes(const struct jpeg_settings *s);

#endif
