/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples: MIPI CSI-2 packing (V4L2's documentation of SRGGB10P, 12P, 14P), levels, defects,
 * statistics.
 */
#include "tests/gpu/isp/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples of a packed group, and where each one's low bits start behind the group's high bytes. */
static uint32_t group_of(const struct isp_params *p)
{
    return p->depth == 12 ? 2 : 4;
}

uint32_t ref_unpack(const struct isp_params *p, const uint8_t *row, uint32_t x)
{
    if (p->packing == ISP_UNPACKED)
        return p->depth == 8 ? row[x] : row[2 * x] | (uint32_t)row[2 * x + 1] << 8;
    uint32_t n = group_of(p), low = p->depth - 8, i = x % n;
    const uint8_t *group = row + x / n * (n * p->depth / 8);
    uint32_t value = 0;
    for (uint32_t bit = 0; bit < low; bit++) {
        uint32_t at = i * low + bit;
        value |= (uint32_t)(group[n + at / 8] >> at % 8 & 1) << bit;
    }
    return (uint32_t)group[i] << low | value;
}

void ref_pack(const struct isp_params *p, uint8_t *row, uint32_t x, uint32_t value)
{
    if (p->packing == ISP_UNPACKED) {
        if (p->depth == 8) {
            row[x] = (uint8_t)value;
        } else {
            row[2 * x] = (uint8_t)value;
            row[2 * x + 1] = (uint8_t)(value >> 8);
        }
        return;
    }
    uint32_t n = group_of(p), low = p->depth - 8, i = x % n;
    uint8_t *group = row + x / n * (n * p->depth / 8);
    group[i] = (uint8_t)(value >> low);
    for (uint32_t bit = 0; bit < low; bit++) {
        uint32_t at = i * low + bit;
        group[n + at / 8] |= (uint8_t)((value >> bit & 1) << at % 8);
    }
}

static uint32_t mirrored(int64_t i, uint32_t size)
{
    if (i < 0)
        i = -i;
    return (uint32_t)(i < size ? i : 2 * ((int64_t)size - 1) - i);
}

/* 0 red, 1 green, 2 blue at (x, y) */
static int colour_at(const struct isp_params *p, uint32_t x, uint32_t y)
{
    static const char *orders[] = {"RGGB", "GRBG", "GBRG", "BGGR", "GGGG", "GGGG"};
    switch (orders[p->order][y % 2 * 2 + x % 2]) {
    case 'R':
        return 0;
    case 'G':
        return 1;
    default:
        return 2;
    }
}

static float gain_at(const struct isp_params *p, const float gain[3], uint32_t x, uint32_t y)
{
    float white = p->white ? p->white : (float)((1u << p->depth) - 1);
    return gain[colour_at(p, x, y)] * 65535.0f / (white - p->black[y % 2 * 2 + x % 2]);
}

static int clamp_defect(const struct isp_params *p, const uint16_t *level, uint32_t x, uint32_t y,
                        float excess)
{
    int d = p->order == ISP_MONO ? 1 : 2, low = 65535, high = 0;
    for (int dy = -d; dy <= d; dy += d) {
        for (int dx = -d; dx <= d; dx += d) {
            if (!dx && !dy)
                continue;
            int v = level[mirrored((int64_t)y + dy, p->height) * p->width +
                          mirrored((int64_t)x + dx, p->width)];
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
    }
    int v = level[y * p->width + x];
    double least = low - (double)excess, most = high + (double)excess;
    return (int)(v < least ? least : v > most ? most : v);
}

void ref_level(const struct isp_params *p, const float gain[3], const uint8_t *raw, uint32_t stride,
               uint16_t *level)
{
    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t x = 0; x < p->width; x++) {
            uint32_t v = ref_unpack(p, raw + (size_t)y * stride, x),
                     black = p->black[y % 2 * 2 + x % 2];
            float scaled = (float)(v > black ? v - black : 0) * gain_at(p, gain, x, y);
            level[y * p->width + x] = (uint16_t)rintf(scaled < 65535 ? scaled : 65535);
        }
    }
    if (!p->defect)
        return;
    size_t bytes = (size_t)p->width * p->height * sizeof(*level);
    uint16_t *before = malloc(bytes);
    if (!before)
        abort();
    memcpy(before, level, bytes);
    for (uint32_t y = 0; y < p->height; y++)
        for (uint32_t x = 0; x < p->width; x++)
            level[y * p->width + x] =
                (uint16_t)clamp_defect(p, before, x, y, rintf(p->defect * gain_at(p, gain, x, y)));
    free(before);
}

/* The zone of tile t of `tiles` */
static uint32_t zones_of(uint32_t size, uint32_t tile, uint32_t at, uint32_t *count)
{
    uint32_t tiles = (size + tile - 1) / tile;
    *count = tiles < ISP_ZONES ? tiles : ISP_ZONES;
    return at / tile * *count / tiles;
}

static void add_cell(const struct isp_params *p, const uint16_t *level, uint32_t x, uint32_t y,
                     struct isp_statistics *out, double *logs)
{
    uint32_t sum[3] = {0}, all = 0, column = zones_of(p->width, 64, x, &out->columns),
             row = zones_of(p->height, 32, y, &out->rows);
    bool clipped = false;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t v = level[(y + i / 2) * p->width + x + i % 2];
        sum[colour_at(p, x + i % 2, y + i / 2)] += v;
        all += v;
        clipped |= v == 65535;
    }
    uint32_t red = sum[0], green = (sum[1] + 1) / 2, blue = sum[2];
    if (p->order >= ISP_MONO)
        red = green = blue = (all + 2) / 4;
    uint32_t luma = (54 * red + 183 * green + 19 * blue) / 256;
    struct isp_zone *z = &out->zones[row * out->columns + column];
    z->cells++;
    z->luma += luma;
    logs[row * out->columns + column] += 4096 * log2(luma ? luma : 1);
    z->red += clipped ? 0 : red;
    z->green += clipped ? 0 : green;
    z->blue += clipped ? 0 : blue;
    z->clipped += clipped;
    z->dark += luma < 256;
    out->histogram[luma / 256]++;
}

void ref_statistics(const struct isp_params *p, const uint16_t *level, struct isp_statistics *out)
{
    double logs[ISP_ZONES * ISP_ZONES] = {0};
    memset(out, 0, sizeof(*out));
    for (uint32_t y = 0; y < p->height; y += 2)
        for (uint32_t x = 0; x < p->width; x += 2)
            add_cell(p, level, x, y, out, logs);
    for (uint32_t i = 0; i < out->columns * out->rows; i++)
        out->zones[i].log_luma = (uint32_t)logs[i];
}
