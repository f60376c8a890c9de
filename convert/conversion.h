/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Conversion of pictures on the way out: crop, size, colours, layout and type of samples. A
 * conversion is a table of whole numbers, which the shader (gpu/shaders/h264/convert.comp) and
 * convert_frame read alike, so both give the same bytes. docs/design/convert.md has the rules.
 *
 * Thread: any; a conversion never changes.
 */
#ifndef PELTON_CONVERSION_H
#define PELTON_CONVERSION_H

#include "gpu/shaders/lib/conversion_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conversion_filter {
    CONVERSION_BICUBIC,
    CONVERSION_BILINEAR,
    CONVERSION_AREA,
    CONVERSION_NEAREST
};
enum conversion_type { CONVERSION_U8, CONVERSION_F16, CONVERSION_F32 };

#define CONVERSION_MOST_SIZE  16384
#define CONVERSION_MOST_RATIO 64 /* between a side of the crop and that of the output */

/* Pictures as the decoder gives them. */
struct conversion_source {
    uint32_t width, height; /* luma samples */
    uint8_t chroma;         /* chroma_format_idc */
    uint8_t depth[2];       /* of luma and chroma, 8..14 */
    uint8_t matrix;         /* matrix_coefficients of H.273; 2: by the height */
    uint8_t siting;         /* FFmpeg's AVCHROMA_LOC; 0: left */
    bool full_range;
};

struct conversion_rect {
    uint32_t x, y, width, height;
};

struct conversion_wish {
    struct conversion_rect crop; /* luma samples of the source; width 0: all */
    uint32_t width, height;      /* 0: the crop's */
    enum conversion_filter filter;
    enum { CONVERSION_PLANES, CONVERSION_PIXELS } kind;
    /* of planes */
    uint8_t chroma, depth; /* as the source's; all planes have one depth */
    bool pairs;            /* NV12 */
    /* of pixels: "rgb", "bgr", "rgba", "bgra", "gbr", "gray" */
    char order[5];
    bool packed; /* channels side by side; else plane after plane */
    enum conversion_type type;
    bool normalise; /* floats: (value - mean) * scale, of values 0..1 */
    float mean[4], scale[4];
};

/* Planes of the output: bytes of a row, and rows. Of pixels that are not packed, each channel is a
 * plane. */
struct conversion_shape {
    uint32_t planes, row_bytes[4], rows[4];
};

struct conversion {
    struct conversion_source source;
    struct conversion_wish wish; /* sizes are filled in */
    uint32_t channels;           /* of pixels */
    uint32_t bytes;              /* of an output value */
    struct conversion_shape shape;
    size_t words;
    uint32_t table[];
};

/* Fills in the sizes that the wish leaves open. False: why[] says in one line what cannot be made.
 */
bool conversion_settle(const struct conversion_source *source, struct conversion_wish *wish,
                       char why[160]);
/* Whether one conversion does for both. */
bool conversion_same_source(const struct conversion_source *a, const struct conversion_source *b);
bool conversion_same_wish(const struct conversion_wish *a, const struct conversion_wish *b);
/* The output's planes of a settled wish. */
void conversion_shape(const struct conversion_wish *wish, struct conversion_shape *out);
uint32_t conversion_channels(const struct conversion_wish *wish); /* of pixels; of planes 1 */

/* One malloc'd block. NULL: why[] says in one line what cannot be made; without memory why[0] is
 * 0. */
struct conversion *conversion_create(const struct conversion_source *source,
                                     const struct conversion_wish *wish, char why[160]);

/* The source's planes: samples of one byte where both depths are 8, else of two. Strides in
 * bytes. */
struct conversion_input {
    const uint8_t *plane[3];
    size_t stride[3];
};
/* By the CPU. to has the planes of conversion.shape. False: no memory. */
bool conversion_run(const struct conversion *c, const struct conversion_input *from,
                    uint8_t *const to[4], const size_t stride[4]);

/* conversion_weights.c: the entries of one axis. ----------------------------------------------- */

/* An axis in steps of the source's plane. Output sample k lies at
 * ((2 step_out k + offset_out + 1) from + (2 crop - 1 - offset) to) / (2 to step). */
struct conversion_axis {
    uint32_t from, to; /* luma samples of the crop and of the output */
    uint32_t crop;
    uint32_t step, offset;         /* of the source's plane: 1 or 2, and half luma samples */
    uint32_t step_out, offset_out; /* of the output plane */
    uint32_t count;                /* output samples */
    uint32_t first, last;          /* source samples that may be read */
    enum conversion_filter filter;
};
uint32_t conversion_axis_taps(const struct conversion_axis *axis); /* a multiple of 4 */
/* CONVERT_ENTRY_WORDS(taps) words for each output sample. */
void conversion_axis_fill(const struct conversion_axis *axis, uint32_t taps, uint32_t *words);

#endif
