/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Statistics after the device has summed: copies added up, geometry, measures for exposure control.
 */
#include "gpu/isp/isp_internal.h"

#include <math.h>
#include <string.h>

static uint32_t tiles(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

void isp_zones(uint32_t width, uint32_t height, uint32_t *columns, uint32_t *rows)
{
    uint32_t x = tiles(width, ISP_TILE_X), y = tiles(height, ISP_TILE_Y);
    *columns = x < ISP_ZONES ? x : ISP_ZONES;
    *rows = y < ISP_ZONES ? y : ISP_ZONES;
}

/* Samples [begin, end) of zone i of `zones` along one axis: whole tiles, the last one cut by the
 * picture. */
static void zone_range(uint32_t size, uint32_t tile, uint32_t zones, uint32_t i, uint32_t *begin,
                       uint32_t *end)
{
    uint32_t count = tiles(size, tile);
    *begin = (i * count + zones - 1) / zones * tile; /* the first t with t * zones / count == i */
    *end = ((i + 1) * count + zones - 1) / zones * tile;
    *end = *end > size ? size : *end;
}

void isp_statistics_read(const uint32_t *words, struct isp_statistics *out, uint32_t width,
                         uint32_t height)
{
    memset(out->histogram, 0, sizeof(out->histogram));
    memset(out->zones, 0, sizeof(out->zones));
    isp_zones(width, height, &out->columns, &out->rows);
    for (uint32_t i = 0; i < ISP_HISTOGRAMS * ISP_HISTOGRAM_BINS; i++)
        out->histogram[i % ISP_HISTOGRAM_BINS] += words[i];
    words += ISP_HISTOGRAMS * ISP_HISTOGRAM_BINS;
    for (uint32_t i = 0; i < out->columns * out->rows; i++) {
        const uint32_t *w = words + i * ISP_ZONE_WORDS;
        uint32_t x0, x1, y0, y1;
        zone_range(width, ISP_TILE_X, out->columns, i % out->columns, &x0, &x1);
        zone_range(height, ISP_TILE_Y, out->rows, i / out->columns, &y0, &y1);
        out->zones[i] = (struct isp_zone){.cells = (x1 - x0) / 2 * ((y1 - y0) / 2),
                                          .luma = w[0],
                                          .log_luma = w[1],
                                          .red = w[2],
                                          .green = w[3],
                                          .blue = w[4],
                                          .clipped = w[5],
                                          .dark = w[6]};
    }
}

void isp_measure(const struct isp_statistics *s, const uint8_t *weights, struct isp_measures *out)
{
    double cells = 0, luma = 0, log_luma = 0, clipped = 0, dark = 0, red = 0, green = 0, blue = 0;
    for (uint32_t i = 0; i < s->columns * s->rows; i++) {
        const struct isp_zone *z = &s->zones[i];
        double weight = weights ? weights[i] : 1;
        cells += weight * z->cells;
        luma += weight * z->luma;
        log_luma += weight * z->log_luma;
        clipped += weight * z->clipped;
        dark += weight * z->dark;
        red += z->red;
        green += z->green;
        blue += z->blue;
    }
    *out = (struct isp_measures){.grey_red = 1, .grey_blue = 1};
    if (cells > 0) {
        out->mean = luma / cells / 65535;
        out->log_mean = exp2(log_luma / cells / 4096) / 65535;
        out->clipped = clipped / cells;
        out->dark = dark / cells;
    }
    bool lit = red > 0 && green > 0 && blue > 0 && s->gain[1] > 0;
    if (lit) {
        out->grey_red = green / red * (double)(s->gain[0] / s->gain[1]);
        out->grey_blue = green / blue * (double)(s->gain[2] / s->gain[1]);
    }
}

static uint8_t centre_weight(const struct isp_statistics *shape, uint32_t column, uint32_t row)
{
    double x = (2 * column + 1.0) / shape->columns - 1, y = (2 * row + 1.0) / shape->rows - 1;
    return (uint8_t)(1 + lrint(254 * exp(-2.5 * (x * x + y * y))));
}

void isp_metering_weights(enum isp_metering metering, const struct isp_statistics *shape,
                          const struct isp_rect *region, uint32_t width, uint32_t height,
                          uint8_t weights[ISP_ZONES * ISP_ZONES])
{
    bool any = false;
    memset(weights, 0, ISP_ZONES * ISP_ZONES);
    for (uint32_t i = 0; i < shape->columns * shape->rows; i++) {
        uint32_t column = i % shape->columns, row = i / shape->columns, x0, x1, y0, y1;
        zone_range(width, ISP_TILE_X, shape->columns, column, &x0, &x1);
        zone_range(height, ISP_TILE_Y, shape->rows, row, &y0, &y1);
        bool inside = region && x0 < (uint64_t)region->x + region->width && region->x < x1 &&
                      y0 < (uint64_t)region->y + region->height && region->y < y1;
        weights[i] = metering == ISP_METER_MATRIX   ? 1
                     : metering == ISP_METER_CENTRE ? centre_weight(shape, column, row)
                                                    : inside;
        any |= weights[i] != 0;
    }
    if (!any)
        memset(weights, 1, shape->columns * shape->rows);
}
