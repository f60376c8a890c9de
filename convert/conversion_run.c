/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A conversion by the CPU, for decoders without a GPU. It reads the same table as the shader, and
 * gives the same bytes.
 */
#include "convert/conversion.h"

#include <stdlib.h>
#include <string.h>

struct cpu_pass {
    const struct conversion *c;
    const struct conversion_input *from;
    bool wide;
    int16_t *rows; /* of one plane: a column for each output column, a row for each source row */
    int32_t *sums; /* [plane][row][column] of pixels, or those of one plane */
};

static const uint32_t *plane_of(const struct conversion *c, uint32_t p)
{
    return &c->table[CONVERT_PLANES + p * CONVERT_PLANE_WORDS];
}

static const uint32_t *entry_of(const struct conversion *c, uint32_t at, uint32_t taps, uint32_t k)
{
    return &c->table[at + (size_t)k * CONVERT_ENTRY_WORDS(taps)];
}

static int32_t weight(const uint32_t *entry, uint32_t i)
{
    return (int16_t)(entry[1 + i / 2] >> 16 * (i % 2));
}

static int32_t sample(const struct cpu_pass *r, uint32_t p, uint32_t x, uint32_t y)
{
    const uint8_t *row = r->from->plane[p] + (size_t)y * r->from->stride[p];
    uint16_t value = row[r->wide ? 0 : x];
    if (r->wide)
        memcpy(&value, row + 2 * (size_t)x, sizeof(value));
    return value;
}

/* Weights of 0 stand behind the last sample: nothing is read there. */
static uint32_t taps_used(const uint32_t *entry, uint32_t taps)
{
    while (taps > 1 && !weight(entry, taps - 1))
        taps--;
    return taps;
}

static void row_filter(const struct cpu_pass *r, uint32_t p, uint32_t y, int16_t *to)
{
    const uint32_t *plane = plane_of(r->c, p);
    uint32_t shift = plane[CONVERT_SHIFT], taps = plane[CONVERT_X_TAPS];
    for (uint32_t x = 0; x < plane[CONVERT_WIDTH]; x++) {
        const uint32_t *entry = entry_of(r->c, plane[CONVERT_X], taps, x);
        int32_t sum = 1 << shift >> 1;
        for (uint32_t i = 0, n = taps_used(entry, taps); i < n; i++)
            sum += weight(entry, i) * sample(r, p, entry[0] + i, y);
        sum >>= shift;
        to[x] = (int16_t)(sum > CONVERT_ROW_TOP ? CONVERT_ROW_TOP : sum);
    }
}

/* Both sums of a plane: 65536 is the largest sample and one. */
static void plane_filter(struct cpu_pass *r, uint32_t p, int32_t *to)
{
    const uint32_t *plane = plane_of(r->c, p);
    uint32_t width = plane[CONVERT_WIDTH], taps = plane[CONVERT_Y_TAPS], made = 0;
    for (uint32_t y = 0; y < plane[CONVERT_HEIGHT]; y++) {
        const uint32_t *entry = entry_of(r->c, plane[CONVERT_Y], taps, y);
        uint32_t n = taps_used(entry, taps);
        made = made < entry[0] ? entry[0] : made;
        for (; made < entry[0] + n; made++)
            row_filter(r, p, made, r->rows + (size_t)made * width);
        for (uint32_t x = 0; x < width; x++) {
            int32_t sum = 1 << (CONVERT_ROW_BITS - 1);
            for (uint32_t i = 0; i < n; i++)
                sum += weight(entry, i) * r->rows[(size_t)(entry[0] + i) * width + x];
            to[(size_t)y * width + x] = sum >> CONVERT_ROW_BITS;
        }
    }
}

static void value_put(uint8_t *to, uint32_t bytes, uint32_t value)
{
    for (uint32_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static int32_t clamped(int32_t value, int32_t top)
{
    return value < 0 ? 0 : value > top ? top : value;
}

static void plane_write(const struct cpu_pass *r, uint32_t p, uint8_t *to, size_t stride)
{
    const uint32_t *table = r->c->table, *plane = plane_of(r->c, p);
    uint32_t pairs = table[CONVERT_PAIRS] && p, shift = 16 - table[CONVERT_DEPTH],
             bytes = r->c->bytes;
    for (uint32_t y = 0; y < plane[CONVERT_HEIGHT]; y++)
        for (uint32_t x = 0; x < plane[CONVERT_WIDTH]; x++) {
            int32_t sum = r->sums[(size_t)y * plane[CONVERT_WIDTH] + x];
            uint32_t at = pairs ? 2 * x + p - 1 : x;
            value_put(to + y * stride + (size_t)at * bytes, bytes,
                      (uint32_t)clamped((sum + (1 << shift >> 1)) >> shift,
                                        (1 << table[CONVERT_DEPTH]) - 1));
        }
}

/* Round to nearest, ties to even, in whole numbers. */
static uint32_t half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 0xff, low = bits & 0x7fffff;
    if (exponent == 0xff)
        return sign | 0x7c00 | (low ? 0x200 : 0);
    if (exponent < 102)
        return sign;
    uint32_t shift = exponent < 113 ? 126 - exponent : 13,
             whole = exponent < 113 ? low | 0x800000 : low | (exponent - 112) << 23,
             half = whole >> shift, rest = whole & ((1u << shift) - 1), middle = 1u << (shift - 1);
    half += rest > middle || (rest == middle && (half & 1));
    return sign | (half > 0x7c00 ? 0x7c00 : half);
}

static uint32_t float_of(const struct conversion *c, uint32_t channel, int32_t sum)
{
    const int32_t shift = CONVERT_LEVEL_BITS - CONVERT_FLOAT_BITS;
    float scale, add;
    memcpy(&scale, &c->table[CONVERT_SCALE + channel], sizeof(scale));
    memcpy(&add, &c->table[CONVERT_ADD + channel], sizeof(add));
    volatile float product =
        (float)clamped((sum + (1 << shift >> 1)) >> shift, 255 << CONVERT_FLOAT_BITS) * scale;
    float value = product + add;
    if (c->bytes == 2)
        return half_of(value);
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint32_t channel_value(const struct cpu_pass *r, uint32_t channel, size_t at,
                              size_t plane_size)
{
    const uint32_t *table = r->c->table;
    int32_t sum = 0;
    if (channel == 3)
        return table[CONVERT_OPAQUE];
    for (uint32_t p = 0; p < table[CONVERT_SOURCES]; p++)
        sum += (int32_t)table[CONVERT_MATRIX + 3 * channel + p] *
               (r->sums[p * plane_size + at] - (int32_t)table[CONVERT_ZERO + p]);
    if (table[CONVERT_FLOAT])
        return float_of(r->c, channel, sum);
    return (uint32_t)clamped((sum + (1 << (CONVERT_LEVEL_BITS - 1))) >> CONVERT_LEVEL_BITS, 255);
}

static void pixels_write(const struct cpu_pass *r, uint8_t *const to[4], const size_t stride[4])
{
    const struct conversion_wish *w = &r->c->wish;
    uint32_t bytes = r->c->bytes, channels = r->c->channels;
    size_t size = (size_t)w->width * w->height;
    for (uint32_t y = 0; y < w->height; y++)
        for (uint32_t x = 0; x < w->width; x++)
            for (uint32_t i = 0; i < channels; i++) {
                uint32_t value = channel_value(r, i, (size_t)y * w->width + x, size);
                uint8_t *row = w->packed ? to[0] + y * stride[0] : to[i] + y * stride[i];
                value_put(row + (size_t)(w->packed ? channels * x + i : x) * bytes, bytes, value);
            }
}

bool conversion_run(const struct conversion *c, const struct conversion_input *from,
                    uint8_t *const to[4], const size_t stride[4])
{
    size_t width = c->wish.width, size = width * c->wish.height;
    bool pixels = c->wish.kind == CONVERSION_PIXELS;
    uint32_t sources = c->table[CONVERT_SOURCES];
    struct cpu_pass r = {.c = c,
                         .from = from,
                         .wide = c->source.depth[0] > 8 || c->source.depth[1] > 8,
                         .rows = malloc(sizeof(*r.rows) * width * c->source.height),
                         .sums = malloc(sizeof(*r.sums) * size * (pixels ? 3 : 1))};
    bool made = r.rows && r.sums;
    for (uint32_t p = 0; made && p < sources; p++) {
        plane_filter(&r, p, r.sums + (pixels ? p * size : 0));
        if (!pixels) {
            uint32_t i = p && c->wish.pairs ? 1 : p;
            plane_write(&r, p, to[i], stride[i]);
        }
    }
    if (made && pixels)
        pixels_write(&r, to, stride);
    free(r.rows);
    free(r.sums);
    return made;
}
