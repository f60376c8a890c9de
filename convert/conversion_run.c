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
    uint16_t *line; /* a row of the source, and zeros for the taps behind it */
    /* Of each plane a column for each output column, and a row for each source row. The first
     * `made` rows are there. */
    int16_t *rows[3];
    uint32_t made[3];
    int32_t *sums[3]; /* of one output row of each plane */
    int32_t *values;  /* of one channel of it */
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

static uint32_t source_width(const struct conversion *c, uint32_t p)
{
    bool half = p && c->source.chroma && c->source.chroma < 3;
    return half ? (c->source.width + 1) / 2 : c->source.width;
}

static void line_load(struct cpu_pass *r, uint32_t p, uint32_t y)
{
    const uint8_t *row = r->from->plane[p] + (size_t)y * r->from->stride[p];
    uint32_t width = source_width(r->c, p);
    if (r->wide)
        memcpy(r->line, row, 2 * (size_t)width);
    for (uint32_t x = 0; x < width && !r->wide; x++)
        r->line[x] = row[x];
    memset(r->line + width, 0, plane_of(r->c, p)[CONVERT_X_TAPS] * sizeof(*r->line));
}

static void row_filter(struct cpu_pass *r, uint32_t p, uint32_t y, int16_t *to)
{
    const uint32_t *plane = plane_of(r->c, p);
    uint32_t taps = plane[CONVERT_X_TAPS], shift = plane[CONVERT_SHIFT],
             width = plane[CONVERT_WIDTH];
    line_load(r, p, y);
    for (uint32_t x = 0; x < width; x++) {
        const uint32_t *entry = entry_of(r->c, plane[CONVERT_X], taps, x);
        const uint16_t *samples = r->line + entry[0];
        int32_t sum = 1 << shift >> 1;
        for (uint32_t i = 0; i < taps; i += 2)
            sum += (int16_t)entry[1 + i / 2] * samples[i] +
                   (int16_t)(entry[1 + i / 2] >> 16) * samples[i + 1];
        sum >>= shift;
        to[x] = (int16_t)(sum > CONVERT_ROW_TOP ? CONVERT_ROW_TOP : sum);
    }
}

/* Output row y of a plane: 65536 is the largest sample and one. */
static void sums_make(struct cpu_pass *r, uint32_t p, uint32_t y)
{
    const uint32_t *plane = plane_of(r->c, p);
    uint32_t width = plane[CONVERT_WIDTH], taps = plane[CONVERT_Y_TAPS];
    const uint32_t *entry = entry_of(r->c, plane[CONVERT_Y], taps, y);
    int32_t *to = r->sums[p];
    for (uint32_t x = 0; x < width; x++)
        to[x] = 1 << (CONVERT_ROW_BITS - 1);
    r->made[p] = r->made[p] < entry[0] ? entry[0] : r->made[p];
    for (uint32_t i = 0; i < taps; i++) {
        int32_t w = weight(entry, i);
        int16_t *row = r->rows[p] + (size_t)(entry[0] + i) * width;
        if (!w) /* there may be no such row */
            continue;
        for (; r->made[p] <= entry[0] + i; r->made[p]++)
            row_filter(r, p, r->made[p], r->rows[p] + (size_t)r->made[p] * width);
        for (uint32_t x = 0; x < width; x++)
            to[x] += w * row[x];
    }
    for (uint32_t x = 0; x < width; x++)
        to[x] >>= CONVERT_ROW_BITS;
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

static void plane_make(struct cpu_pass *r, uint32_t p, uint8_t *to, size_t stride)
{
    const uint32_t *table = r->c->table, *plane = plane_of(r->c, p);
    uint32_t pairs = table[CONVERT_PAIRS] && p, shift = 16 - table[CONVERT_DEPTH],
             bytes = r->c->bytes;
    for (uint32_t y = 0; y < plane[CONVERT_HEIGHT]; y++) {
        sums_make(r, p, y);
        for (uint32_t x = 0; x < plane[CONVERT_WIDTH]; x++) {
            uint32_t at = pairs ? 2 * x + p - 1 : x;
            value_put(to + y * stride + (size_t)at * bytes, bytes,
                      (uint32_t)clamped((r->sums[p][x] + (1 << shift >> 1)) >> shift,
                                        (1 << table[CONVERT_DEPTH]) - 1));
        }
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

/* A channel of an output row, before its type. */
static void channel_make(struct cpu_pass *r, uint32_t channel)
{
    const uint32_t *table = r->c->table;
    uint32_t width = r->c->wish.width;
    memset(r->values, 0, width * sizeof(*r->values));
    for (uint32_t p = 0; p < table[CONVERT_SOURCES]; p++) {
        int32_t factor = (int32_t)table[CONVERT_MATRIX + 3 * channel + p],
                zero = (int32_t)table[CONVERT_ZERO + p];
        const int32_t *sums = r->sums[p];
        for (uint32_t x = 0; x < width; x++)
            r->values[x] += factor * (sums[x] - zero);
    }
}

static void channel_write(const struct cpu_pass *r, uint32_t channel, uint8_t *to, uint32_t step)
{
    const struct conversion *c = r->c;
    uint32_t width = c->wish.width, bytes = c->bytes;
    if (bytes == 1) {
        for (uint32_t x = 0; x < width; x++)
            to[(size_t)x * step] = (uint8_t)clamped(
                (r->values[x] + (1 << (CONVERT_LEVEL_BITS - 1))) >> CONVERT_LEVEL_BITS, 255);
        return;
    }
    for (uint32_t x = 0; x < width; x++)
        value_put(to + (size_t)x * step, bytes, float_of(c, channel, r->values[x]));
}

static void pixels_make(struct cpu_pass *r, uint8_t *const to[4], const size_t stride[4])
{
    const struct conversion *c = r->c;
    bool packed = c->wish.packed;
    uint32_t bytes = c->bytes, step = packed ? c->channels * bytes : bytes;
    for (uint32_t y = 0; y < c->wish.height; y++) {
        for (uint32_t p = 0; p < c->table[CONVERT_SOURCES]; p++)
            sums_make(r, p, y);
        for (uint32_t i = 0; i < c->channels; i++) {
            uint8_t *row =
                packed ? to[0] + y * stride[0] + (size_t)i * bytes : to[i] + y * stride[i];
            for (uint32_t x = 0; x < c->wish.width && i == 3; x++)
                value_put(row + (size_t)x * step, bytes, c->table[CONVERT_OPAQUE]);
            if (i == 3)
                break;
            channel_make(r, i);
            channel_write(r, i, row, step);
        }
    }
}

static bool pass_alloc(struct cpu_pass *r)
{
    const struct conversion *c = r->c;
    size_t width = c->wish.width;
    uint32_t taps = 0;
    for (uint32_t p = 0; p < c->table[CONVERT_SOURCES]; p++) {
        taps = plane_of(c, p)[CONVERT_X_TAPS] > taps ? plane_of(c, p)[CONVERT_X_TAPS] : taps;
        r->rows[p] = malloc(sizeof(*r->rows[p]) * width * c->source.height);
        r->sums[p] = malloc(sizeof(*r->sums[p]) * width);
        if (!r->rows[p] || !r->sums[p])
            return false;
    }
    r->line = malloc(sizeof(*r->line) * ((size_t)c->source.width + taps));
    r->values = malloc(sizeof(*r->values) * width);
    return r->line && r->values;
}

bool conversion_run(const struct conversion *c, const struct conversion_input *from,
                    uint8_t *const to[4], const size_t stride[4])
{
    bool pixels = c->wish.kind == CONVERSION_PIXELS;
    struct cpu_pass r = {
        .c = c, .from = from, .wide = c->source.depth[0] > 8 || c->source.depth[1] > 8};
    bool made = pass_alloc(&r);
    for (uint32_t p = 0; made && !pixels && p < c->table[CONVERT_SOURCES]; p++) {
        uint32_t i = p && c->wish.pairs ? 1 : p;
        plane_make(&r, p, to[i], stride[i]);
    }
    if (made && pixels)
        pixels_make(&r, to, stride);
    for (uint32_t p = 0; p < 3; p++) {
        free(r.rows[p]);
        free(r.sums[p]);
    }
    free(r.line);
    free(r.values);
    return made;
}
