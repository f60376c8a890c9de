/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Conversions, plainly. Positions and distances are fractions of whole numbers.
 */
#include "reference/ref_convert.h"

#include <math.h>

/* One direction of one plane, of one output sample. */
struct line {
    int64_t at, unit;  /* position of the output sample: at / unit source samples */
    int64_t pitch;     /* of output samples, in 1 / unit */
    int64_t low, high; /* the source samples that exist */
    char filter;
};

static int subsampled(int format, bool vertical, int p)
{
    return p && (vertical ? format == 1 : format == 1 || format == 2) ? 2 : 1;
}

/* Of FFmpeg's AVCHROMA_LOC: half luma samples from luma to chroma. */
static int sited(int siting, bool vertical)
{
    static const int across[7] = {0, 0, 1, 0, 1, 0, 1}, down[7] = {1, 1, 1, 0, 0, 2, 2};
    return vertical ? down[siting] : across[siting];
}

static struct line line_of(const struct ref_convert *r, int p, int format, bool vertical,
                           uint32_t k)
{
    int64_t from = vertical ? r->crop_height : r->crop_width,
            to = vertical ? r->out_height : r->out_width, begin = vertical ? r->crop_y : r->crop_x;
    int64_t s = subsampled(r->chroma_format, vertical, p), d = subsampled(format, vertical, p);
    int64_t os = s == 2 ? sited(r->siting, vertical) : 0,
            od = d == 2 ? sited(r->siting, vertical) : 0;
    /* twice the luma position in the output, from the left edge of its first sample */
    int64_t twice = 2 * (d * (int64_t)k) + od + 1;
    /* position in luma: twice / 2 * from / to + begin - 1/2; in the plane: less os / 2, by s */
    return (struct line){.at = twice * from + (2 * begin - 1 - os) * to,
                         .unit = 2 * to * s,
                         .pitch = 2 * from * d,
                         .low = begin / s,
                         .high = (begin + from - 1) / s,
                         .filter = r->filter};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t raw(const struct line *l, int64_t j)
{
    int64_t stretch = larger(l->unit, l->pitch), away = l->at - j * l->unit;
    if (l->filter == 'a' && l->pitch > l->unit) {
        /* doubled, as half a sample is no whole number everywhere */
        int64_t begin = larger(2 * l->at - l->pitch, (2 * j - 1) * l->unit),
                end = smaller(2 * l->at + l->pitch, (2 * j + 1) * l->unit);
        return larger(end - begin, 0);
    }
    if (l->filter == 'n') /* half a sample behind it still counts, half a sample before does not */
        return 2 * away > -l->unit && 2 * away <= l->unit;
    away = away < 0 ? -away : away;
    if (away >= 2 * stretch || (l->filter != 'c' && away >= stretch))
        return 0;
    int64_t one = 32768, t = (away * 65536 + stretch) / (2 * stretch);
    if (l->filter != 'c')
        return one - t;
    if (t < one)
        return 7 * t * t * t - 12 * one * t * t + 5 * one * one * one;
    return -3 * t * t * t + 15 * one * t * t - 24 * one * one * t + 12 * one * one * one;
}

/* The nearest whole number, halves up. */
static int64_t nearest(int64_t a, int64_t b)
{
    int64_t n = 2 * a + b, q = n / (2 * b);
    return n % (2 * b) < 0 ? q - 1 : q;
}

struct taps {
    int64_t first, count, weight[1024];
};

static void taps_of(const struct line *l, struct taps *out)
{
    int64_t middle = l->at / l->unit, reach = 2 * larger(l->unit, l->pitch) / l->unit + 2, sum = 0,
            rest = 16384, best = 0;
    out->first = middle - reach;
    out->count = 2 * reach + 1;
    for (int64_t i = 0; i < out->count; i++)
        sum += raw(l, out->first + i);
    for (int64_t i = 0; i < out->count; i++) {
        int64_t value = raw(l, out->first + i);
        out->weight[i] = nearest(16384 * value, sum);
        rest -= out->weight[i];
        if (value > raw(l, out->first + best))
            best = i;
    }
    out->weight[best] += rest;
}

static int64_t shifted_down(int64_t value, int bits)
{
    int64_t whole = (int64_t)1 << bits, n = value + whole / 2;
    return n >= 0 ? n / whole : -((-n + whole - 1) / whole);
}

/* The plane at one output sample; 65536 is a sample's largest value and one. */
static int64_t filtered(const struct ref_convert *r, int p, int format, uint32_t x, uint32_t y)
{
    const uint32_t width = (r->width + (uint32_t)subsampled(r->chroma_format, false, p) - 1) /
                           (uint32_t)subsampled(r->chroma_format, false, p);
    struct line across = line_of(r, p, format, false, x), down = line_of(r, p, format, true, y);
    struct taps h, v;
    int64_t sum = 0;
    taps_of(&across, &h);
    taps_of(&down, &v);
    for (int64_t j = 0; j < v.count; j++) {
        if (!v.weight[j])
            continue;
        int64_t row = smaller(larger(v.first + j, down.low), down.high), part = 0;
        for (int64_t i = 0; i < h.count; i++) {
            int64_t column = smaller(larger(h.first + i, across.low), across.high);
            part += h.weight[i] * r->plane[p][row * width + column];
        }
        sum += v.weight[j] * smaller(shifted_down(part, r->depth[p > 0] - 1), 32767);
    }
    return shifted_down(sum, 13);
}

uint32_t ref_convert_sample(const struct ref_convert *r, int p, int format, int depth, uint32_t x,
                            uint32_t y)
{
    int64_t value = filtered(r, p, format, x, y), top = ((int64_t)1 << depth) - 1;
    return (uint32_t)smaller(larger(shifted_down(value, 16 - depth), 0), top);
}

/* ---- colours ---- */

/* What plane p adds to a channel, in levels of full range, of value 1. */
static double share(const struct ref_convert *r, char channel, int p)
{
    double kr, kb;
    int matrix = r->matrix;
    if (matrix == 2)
        matrix = r->height >= 720 ? 1 : 6;
    if (matrix == 0 && r->chroma_format != 3)
        matrix = 1;
    if (channel == 'y')
        return p == 0;
    if (matrix == 0)
        return (channel == 'g' && p == 0) || (channel == 'b' && p == 1) ||
               (channel == 'r' && p == 2);
    if (matrix == 8)
        return p == 0           ? 1
               : p == 1         ? (channel == 'g' ? 1 : -1)
               : channel == 'g' ? 0
               : channel == 'r' ? 1
                                : -1;
    switch (matrix) {
    case 1:
        kr = 0.2126, kb = 0.0722;
        break;
    case 4:
        kr = 0.30, kb = 0.11;
        break;
    case 7:
        kr = 0.212, kb = 0.087;
        break;
    case 9:
    case 10:
        kr = 0.2627, kb = 0.0593;
        break;
    default:
        kr = 0.299, kb = 0.114;
    }
    if (p == 0)
        return 1;
    if (channel == 'r')
        return p == 2 ? 2 * (1 - kr) : 0;
    if (channel == 'b')
        return p == 1 ? 2 * (1 - kb) : 0;
    return -(p == 1 ? 2 * kb * (1 - kb) : 2 * kr * (1 - kr)) / (1 - kr - kb);
}

/* In 1 / 2^21 of a level. */
static int64_t level_sum(const struct ref_convert *r, char channel, uint32_t x, uint32_t y)
{
    bool rgb = r->matrix == 0 && r->chroma_format == 3;
    int64_t sum = 0;
    for (int p = 0; p < (r->chroma_format && channel != 'y' ? 3 : 1); p++) {
        bool chroma = p && !rgb;
        double most = ldexp(1, r->depth[chroma]) - 1, gain = r->full_range
                                                                 ? 255 * (most + 1) / (256 * most)
                                                             : chroma ? 255. / 224
                                                                      : 255. / 219;
        int64_t zero = chroma ? 32768 : r->full_range ? 0 : 4096;
        int64_t factor = llround(share(r, channel, p) * gain * 8192);
        sum += factor * (filtered(r, p, 3, x, y) - zero);
    }
    return sum;
}

uint32_t ref_convert_level(const struct ref_convert *r, char channel, uint32_t x, uint32_t y)
{
    return (uint32_t)smaller(larger(shifted_down(level_sum(r, channel, x, y), 21), 0), 255);
}

float ref_convert_float(const struct ref_convert *r, char channel, double mean, double scale,
                        uint32_t x, uint32_t y)
{
    int64_t value = shifted_down(level_sum(r, channel, x, y), 5);
    value = smaller(larger(value, 0), 255 * 65536);
    float factor = (float)(scale / (255. * 65536)), add = (float)(-mean * scale);
    volatile float product = (float)value * factor;
    return product + add;
}

uint16_t ref_convert_half(float value)
{
    double v = fabs((double)value);
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (isnan(value))
        return 0x7e00;
    frexp(v, &exponent); /* v < 2 ^ exponent */
    exponent = exponent < -13 ? -13 : exponent;
    /* eleven bits count, and the least unit is 2 ^ -24 */
    double unit = ldexp(1, exponent - 11);
    v = nearbyint(v / unit) * unit;
    if (v >= 65536)
        return (uint16_t)(sign | 0x7c00);
    if (v < ldexp(1, -14))
        return (uint16_t)(sign | (uint16_t)ldexp(v, 24));
    frexp(v, &exponent);
    return (uint16_t)(sign | (unsigned)(exponent + 14) << 10 |
                      ((unsigned)ldexp(v, 11 - exponent) & 0x3ff));
}
