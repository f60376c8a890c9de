/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Weights of the filters, in whole numbers: docs/design/convert.md, "Weights".
 */
#include "convert/conversion.h"

#include <string.h>

#define UNIT_BITS 15 /* a distance of one source sample is 1 << 15 */

struct tap_range {
    int64_t first, count;
};

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Of an output sample, in 1 / denominator source samples. */
static int64_t axis_position(const struct conversion_axis *a, uint32_t k)
{
    return (int64_t)(2 * a->step_out * k + a->offset_out + 1) * a->from +
           ((int64_t)2 * a->crop - 1 - a->offset) * a->to;
}

static int64_t axis_denominator(const struct conversion_axis *a)
{
    return (int64_t)2 * a->to * a->step;
}

/* Half the distance between output samples, in the same unit: the width of the filters follows from
 * it where that is more than one source sample. */
static int64_t axis_half_pitch(const struct conversion_axis *a)
{
    return (int64_t)a->from * a->step_out;
}

static bool axis_reduces(const struct conversion_axis *a)
{
    return 2 * axis_half_pitch(a) > axis_denominator(a);
}

/* Half the filter's width, in the unit of positions. */
static int64_t axis_reach(const struct conversion_axis *a)
{
    int64_t wide = axis_reduces(a) ? 2 * axis_half_pitch(a) : axis_denominator(a);
    if (a->filter == CONVERSION_BICUBIC)
        return 2 * wide;
    if (a->filter == CONVERSION_AREA && axis_reduces(a))
        return axis_half_pitch(a) + axis_denominator(a) / 2;
    return wide;
}

/* Source samples nearer than the reach, before the edges. */
static struct tap_range axis_range(const struct conversion_axis *a, uint32_t k)
{
    int64_t d = axis_denominator(a), p = axis_position(a, k), reach = axis_reach(a);
    if (a->filter == CONVERSION_NEAREST) /* of two the first one */
        return (struct tap_range){-floor_divide(d - 2 * p, 2 * d), 1};
    int64_t first = floor_divide(p - reach, d) + 1, last = -floor_divide(-(p + reach), d) - 1;
    return (struct tap_range){first, last - first + 1};
}

static int64_t cubic(int64_t t)
{
    const int64_t one = 1 << UNIT_BITS;
    if (t < one)
        return (7 * t - 12 * one) * t * t + 5 * one * one * one;
    if (t < 2 * one)
        return ((-3 * t + 15 * one) * t - 24 * one * one) * t + 12 * one * one * one;
    return 0;
}

/* Length that the pixel of source sample j has in common with the output's. */
static int64_t overlap(const struct conversion_axis *a, int64_t position, int64_t j)
{
    int64_t d = axis_denominator(a), half = axis_half_pitch(a), low = position - half,
            high = position + half, left = j * d - d / 2, right = j * d + d / 2;
    low = low > left ? low : left;
    high = high < right ? high : right;
    return high > low ? high - low : 0;
}

/* The weight of source sample j before all are made to add up. */
static int64_t raw_weight(const struct conversion_axis *a, int64_t position, int64_t j)
{
    bool reduces = axis_reduces(a);
    if (a->filter == CONVERSION_NEAREST)
        return 1;
    if (a->filter == CONVERSION_AREA && reduces)
        return overlap(a, position, j);
    int64_t wide = reduces ? 2 * axis_half_pitch(a) : axis_denominator(a),
            away = position - j * axis_denominator(a);
    away = away < 0 ? -away : away;
    int64_t t = (2 * (away << UNIT_BITS) + wide) / (2 * wide);
    if (a->filter == CONVERSION_BICUBIC)
        return cubic(t);
    return t < (1 << UNIT_BITS) ? (1 << UNIT_BITS) - t : 0;
}

static uint32_t edge(const struct conversion_axis *a, int64_t j)
{
    return j < (int64_t)a->first ? a->first : j > (int64_t)a->last ? a->last : (uint32_t)j;
}

uint32_t conversion_axis_taps(const struct conversion_axis *a)
{
    uint32_t most = 1;
    for (uint32_t k = 0; k < a->count; k++) {
        struct tap_range r = axis_range(a, k);
        uint32_t n = edge(a, r.first + r.count - 1) - edge(a, r.first) + 1;
        most = n > most ? n : most;
    }
    return (most + 3) / 4 * 4;
}

/* Adds to weight i of an entry. */
static void weight_add(uint32_t *entry, uint32_t i, int32_t value)
{
    uint32_t *word = &entry[1 + i / 2], shift = 16 * (i % 2);
    uint32_t sum = ((*word >> shift) + (uint32_t)value) & 0xffff;
    *word = (*word & ~(0xffffu << shift)) | sum << shift;
}

static void entry_fill(const struct conversion_axis *a, uint32_t k, uint32_t *entry)
{
    const int64_t one = 1 << CONVERT_WEIGHT_BITS;
    struct tap_range r = axis_range(a, k);
    int64_t position = axis_position(a, k), sum = 0, left = one, best = 0, most = 0;
    entry[0] = edge(a, r.first);
    for (int64_t i = 0; i < r.count; i++) {
        int64_t raw = raw_weight(a, position, r.first + i);
        sum += raw;
        best = raw > most ? i : best;
        most = raw > most ? raw : most;
    }
    for (int64_t i = 0; i < r.count; i++) {
        int64_t weight =
            floor_divide(2 * one * raw_weight(a, position, r.first + i) + sum, 2 * sum);
        weight_add(entry, edge(a, r.first + i) - entry[0], (int32_t)weight);
        left -= weight;
    }
    weight_add(entry, edge(a, r.first + best) - entry[0], (int32_t)left);
}

void conversion_axis_fill(const struct conversion_axis *a, uint32_t taps, uint32_t *words)
{
    uint32_t size = CONVERT_ENTRY_WORDS(taps);
    memset(words, 0, sizeof(*words) * size * a->count);
    for (uint32_t k = 0; k < a->count; k++)
        entry_fill(a, k, words + (size_t)k * size);
}
