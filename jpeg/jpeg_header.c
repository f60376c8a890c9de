/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Settings, and the marker segments before the scan (Annex B, JFIF 1.02).
 */
#include "jpeg/jpeg_blocks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SOF0 = 0xc0, DHT = 0xc4, SOI = 0xd8, SOS = 0xda, DQT = 0xdb, DRI = 0xdd, APP0 = 0xe0 };

/* ---- settings ---- */

/* Luma of red and of blue, of H.273 */
static bool matrix_luma(uint8_t matrix, uint32_t height, double *red, double *blue)
{
    switch (matrix == 2 ? (height > 576 ? 1 : 6) : matrix) {
    case 1:
        *red = 0.2126, *blue = 0.0722;
        return true;
    case 4:
        *red = 0.30, *blue = 0.11;
        return true;
    case 5:
    case 6:
        *red = 0.299, *blue = 0.114;
        return true;
    case 7:
        *red = 0.212, *blue = 0.087;
        return true;
    case 9:
    case 10:
        *red = 0.2627, *blue = 0.0593;
        return true;
    default:
        return false;
    }
}

static int32_t fixed(double v)
{
    return (int32_t)lround(v * 16384);
}

/* Over RGB: R = Y + 2 (1 - red) Cr, B = Y + 2 (1 - blue) Cb, and G so that the sum is Y. So luma
 * of BT.601 is Y + of_cb Cb + of_cr Cr. */
bool jpeg_colours_of(uint8_t matrix, bool full_range, uint32_t height, struct jpeg_colours *out)
{
    double red, blue, green, of_cb, of_cr;
    double luma = full_range ? 1 : 255.0 / 219, chroma = full_range ? 1 : 255.0 / 224;
    if (!matrix_luma(matrix, height, &red, &blue))
        return false;
    green = 1 - red - blue;
    of_cb = 2 * (1 - blue) * (0.114 - 0.587 * blue / green);
    of_cr = 2 * (1 - red) * (0.299 - 0.587 * red / green);
    *out = (struct jpeg_colours){
        .luma = {fixed(luma), fixed(chroma * of_cb), fixed(chroma * of_cr)},
        .chroma = {{fixed(chroma * (2 * (1 - blue) - of_cb) / 1.772),
                    fixed(chroma * -of_cr / 1.772)},
                   {fixed(chroma * -of_cb / 1.402),
                    fixed(chroma * (2 * (1 - red) - of_cr) / 1.402)}},
        .black = full_range ? 0 : 16,
    };
    return true;
}

int jpeg_check(const struct jpeg_settings *s, char why[JPEG_WHY])
{
    if (!s->width || !s->height || s->width > JPEG_MOST_SIZE || s->height > JPEG_MOST_SIZE)
        snprintf(why, JPEG_WHY, "a JPEG file of %u x %u samples: 1 to %d fit", s->width, s->height,
                 JPEG_MOST_SIZE);
    else if (s->sampling >= JPEG_SAMPLINGS)
        snprintf(why, JPEG_WHY, "JPEG files are gray, 4:2:0, 4:2:2 or 4:4:4");
    else if (s->quality < 1 || s->quality > 100)
        snprintf(why, JPEG_WHY, "a quality of %u: 1 to 100 fit", s->quality);
    else
        return 0;
    return -1;
}

/* ---- shape ---- */

static uint32_t parts(uint32_t all, uint32_t part)
{
    return (all + part - 1) / part;
}

void jpeg_shape_of(const struct jpeg_settings *s, struct jpeg_shape *out)
{
    uint32_t x = s->sampling == JPEG_420 || s->sampling == JPEG_422 ? 2 : 1;
    uint32_t y = s->sampling == JPEG_420 ? 2 : 1;
    *out = (struct jpeg_shape){
        .components = s->sampling == JPEG_GREY ? 1 : 3,
        .sampling = {x, y},
        .mcu_size = {8 * x, 8 * y},
        .mcus = {parts(s->width, 8 * x), parts(s->height, 8 * y)},
        .mcu_blocks = x * y + (s->sampling == JPEG_GREY ? 0 : 2),
        .plane_size = {{s->width, s->height},
                       {parts(s->width, x), parts(s->height, y)},
                       {parts(s->width, x), parts(s->height, y)}},
    };
}

struct jpeg_place jpeg_place_of(const struct jpeg_shape *shape, uint32_t mcu_x, uint32_t mcu_y,
                                uint32_t block)
{
    uint32_t luma = shape->sampling[0] * shape->sampling[1];
    if (block >= luma)
        return (struct jpeg_place){1 + block - luma, 8 * mcu_x, 8 * mcu_y};
    return (struct jpeg_place){0, mcu_x * shape->mcu_size[0] + block % shape->sampling[0] * 8,
                               mcu_y * shape->mcu_size[1] + block / shape->sampling[0] * 8};
}

/* A code and its bits have 27 at most, and every byte may be stuffed. */
size_t jpeg_most_bytes(const struct jpeg_settings *s)
{
    struct jpeg_shape shape;
    jpeg_shape_of(s, &shape);
    size_t row = (size_t)shape.mcus[0] * shape.mcu_blocks * (64 * 27 / 8);
    return JPEG_HEADER + shape.mcus[1] * (2 * row + 4) + JPEG_TRAILER;
}

/* ---- marker segments ---- */

struct header_writer {
    uint8_t *out;
    size_t size;
};

static void put_byte(struct header_writer *w, uint32_t v)
{
    w->out[w->size++] = (uint8_t)v;
}

static void put_word(struct header_writer *w, uint32_t v)
{
    put_byte(w, v >> 8);
    put_byte(w, v);
}

/* size: of the parameters */
static void put_marker(struct header_writer *w, uint32_t marker, uint32_t size)
{
    put_byte(w, 0xff);
    put_byte(w, marker);
    put_word(w, size + 2);
}

static void put_jfif(struct header_writer *w, const struct jpeg_settings *s)
{
    bool shaped = s->aspect[0] && s->aspect[1];
    put_marker(w, APP0, 14);
    for (int i = 0; i < 5; i++)
        put_byte(w, (uint8_t) "JFIF"[i]);
    put_word(w, 0x0102);
    put_byte(w, 0); /* densities are a ratio */
    put_word(w, shaped ? s->aspect[0] : 1);
    put_word(w, shaped ? s->aspect[1] : 1);
    put_word(w, 0); /* no thumbnail */
}

/* B.2.4.1 */
static void put_quantiser(struct header_writer *w, const uint16_t steps[64], uint32_t table)
{
    put_marker(w, DQT, 65);
    put_byte(w, table);
    for (int k = 0; k < 64; k++)
        put_byte(w, steps[k]);
}

/* B.2.2 */
static void put_frame(struct header_writer *w, const struct jpeg_settings *s,
                      const struct jpeg_shape *shape)
{
    put_marker(w, SOF0, 6 + 3 * shape->components);
    put_byte(w, 8);
    put_word(w, s->height);
    put_word(w, s->width);
    put_byte(w, shape->components);
    for (uint32_t c = 0; c < shape->components; c++) {
        put_byte(w, c + 1);
        put_byte(w, c ? 0x11 : shape->sampling[0] << 4 | shape->sampling[1]);
        put_byte(w, c > 0);
    }
}

/* B.2.4.2 */
static void put_huffman(struct header_writer *w, uint32_t ac, uint32_t table)
{
    const struct jpeg_huffman_spec *spec = &jpeg_huffman_specs[ac][table];
    put_marker(w, DHT, 17u + spec->count);
    put_byte(w, ac << 4 | table);
    for (int i = 0; i < 16; i++)
        put_byte(w, spec->counts[i]);
    for (int i = 0; i < spec->count; i++)
        put_byte(w, spec->symbols[i]);
}

/* B.2.3 */
static void put_scan(struct header_writer *w, const struct jpeg_shape *shape)
{
    put_marker(w, SOS, 4 + 2 * shape->components);
    put_byte(w, shape->components);
    for (uint32_t c = 0; c < shape->components; c++) {
        put_byte(w, c + 1);
        put_byte(w, c ? 0x11 : 0);
    }
    put_byte(w, 0);
    put_byte(w, 63);
    put_byte(w, 0);
}

size_t jpeg_header(const struct jpeg_settings *s, uint8_t out[JPEG_HEADER])
{
    struct header_writer w = {.out = out};
    struct jpeg_shape shape;
    uint16_t quantiser[2][64];
    uint32_t tables = s->sampling == JPEG_GREY ? 1 : 2;
    jpeg_shape_of(s, &shape);
    jpeg_quantiser_fill(s->quality, quantiser);
    put_byte(&w, 0xff);
    put_byte(&w, SOI);
    put_jfif(&w, s);
    for (uint32_t t = 0; t < tables; t++)
        put_quantiser(&w, quantiser[t], t);
    put_frame(&w, s, &shape);
    for (uint32_t t = 0; t < tables; t++)
        for (uint32_t ac = 0; ac < 2; ac++)
            put_huffman(&w, ac, t);
    put_marker(&w, DRI, 2);
    put_word(&w, shape.mcus[0]);
    put_scan(&w, &shape);
    return w.size;
}
