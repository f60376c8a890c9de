/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Demosaics as slow C: bilinear; Malvar, He and Cutler 2004, figure 2, in sixteenths; the
 * edge-directed one of docs/design/isp.md.
 */
#include "bench/bench_camera.h"

#include <math.h>
#include <stdlib.h>

struct mosaic {
    int64_t width, height;
    const uint16_t *level;
};

bool kernel_row_is_checked(const struct kernel_case *c, uint32_t y)
{
    return c->height <= 144 || y < 6 || y + 6 >= c->height || y / 2 % 53 == 0;
}

uint32_t kernel_rows_checked(const struct kernel_case *c)
{
    uint32_t rows = 0;
    for (uint32_t y = 0; y < c->height; y++)
        rows += kernel_row_is_checked(c, y);
    return rows;
}

static int at(const struct mosaic *m, int64_t x, int64_t y)
{
    x = x < 0 ? -x : x >= m->width ? 2 * (m->width - 1) - x : x;
    y = y < 0 ? -y : y >= m->height ? 2 * (m->height - 1) - y : y;
    return m->level[y * m->width + x];
}

static bool is_green(int64_t x, int64_t y)
{
    return (x ^ y) & 1;
}

static double limited(double v)
{
    return v < 0 ? 0 : v > 65535 ? 65535 : v;
}

/* Sums around a sample: the four at distance d along the axes, by axis; the corners. */
static int along(const struct mosaic *m, int64_t x, int64_t y, int d)
{
    return at(m, x - d, y) + at(m, x + d, y);
}

static int across(const struct mosaic *m, int64_t x, int64_t y, int d)
{
    return at(m, x, y - d) + at(m, x, y + d);
}

static int corners(const struct mosaic *m, int64_t x, int64_t y)
{
    return at(m, x - 1, y - 1) + at(m, x + 1, y - 1) + at(m, x - 1, y + 1) + at(m, x + 1, y + 1);
}

static void by_sums(const struct mosaic *m, int64_t x, int64_t y, bool malvar, double out[3])
{
    int c = at(m, x, y), row = y & 1 ? 2 : 0; /* the colour that shares the row with green */
    int we = along(m, x, y, 1), ns = across(m, x, y, 1), we2 = along(m, x, y, 2),
        ns2 = across(m, x, y, 2), diagonal = corners(m, x, y);
    if (is_green(x, y)) {
        out[1] = c;
        out[row] = malvar ? (10 * c + 8 * we - 2 * we2 - 2 * diagonal + ns2) / 16.0 : we / 2.0;
        out[2 - row] = malvar ? (10 * c + 8 * ns - 2 * ns2 - 2 * diagonal + we2) / 16.0 : ns / 2.0;
    } else {
        out[row] = c;
        out[1] = malvar ? (8 * c + 4 * (we + ns) - 2 * (we2 + ns2)) / 16.0 : (we + ns) / 4.0;
        out[2 - row] = malvar ? (12 * c + 4 * diagonal - 3 * (we2 + ns2)) / 16.0 : diagonal / 4.0;
    }
}

/* Green minus colour, estimated along a row or a column. */
static double difference(const struct mosaic *m, int64_t x, int64_t y, bool column)
{
    int near = column ? across(m, x, y, 1) : along(m, x, y, 1),
        far = column ? across(m, x, y, 2) : along(m, x, y, 2), c = at(m, x, y);
    double other = near / 2.0 + c / 2.0 - far / 4.0;
    return is_green(x, y) ? c - other : other - c;
}

static double variation(const struct mosaic *m, int64_t x, int64_t y, bool column)
{
    double sum = 0.25;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++)
            sum += fabs(difference(m, x + i + !column, y + j + column, column) -
                        difference(m, x + i - !column, y + j - column, column));
    return sum;
}

static double chosen(const struct mosaic *m, int64_t x, int64_t y)
{
    double v[2], d[2];
    for (int k = 0; k < 2; k++) {
        v[k] = variation(m, x, y, k);
        d[k] = (2 * difference(m, x, y, k) + difference(m, x - !k, y - k, k) +
                difference(m, x + !k, y + k, k)) /
               4;
    }
    double mixed = rint((d[0] * v[1] * v[1] + d[1] * v[0] * v[0]) / (v[0] * v[0] + v[1] * v[1]));
    return limited(mixed + at(m, x, y)) - at(m, x, y);
}

/* rows: chosen() of rows y - 1, y, y + 1, from column -1 on. */
static void by_edges(const struct mosaic *m, int64_t x, int64_t y, double *const rows[3],
                     double out[3])
{
    int c = at(m, x, y), row = y & 1 ? 2 : 0;
    int64_t i = x + 1;
    if (is_green(x, y)) {
        out[1] = c;
        out[row] = c - (rows[1][i - 1] + rows[1][i + 1]) / 2;
        out[2 - row] = c - (rows[0][i] + rows[2][i]) / 2;
    } else {
        out[row] = c;
        out[1] = c + rows[1][i];
        out[2 - row] =
            out[1] - (rows[0][i - 1] + rows[0][i + 1] + rows[2][i - 1] + rows[2][i + 1]) / 4;
    }
}

static void choose_row(const struct mosaic *m, int64_t y, double *row)
{
    for (int64_t x = -1; x <= m->width; x++)
        row[x + 1] = is_green(x, y) ? 0 : chosen(m, x, y);
}

static void reference_row(const struct mosaic *m, int64_t y, double *const rows[3], uint16_t *out,
                          uint64_t method_stride)
{
    for (int64_t x = 0; x < m->width; x++) {
        for (int method = 0; method < KERNEL_DEMOSAICS; method++) {
            double rgb[3];
            if (method == KERNEL_EDGE)
                by_edges(m, x, y, rows, rgb);
            else
                by_sums(m, x, y, method == KERNEL_MALVAR, rgb);
            for (int i = 0; i < 3; i++)
                out[(uint64_t)method * method_stride + 3 * (uint64_t)x + (uint64_t)i] =
                    (uint16_t)rint(limited(rgb[i]));
        }
    }
}

int kernel_demosaic_reference(const struct kernel_case *c, const uint16_t *level, uint16_t **out)
{
    struct mosaic m = {c->width, c->height, level};
    uint64_t stride = 3ull * c->width * kernel_rows_checked(c), line = c->width + 2;
    uint16_t *rgb = malloc(KERNEL_DEMOSAICS * stride * sizeof(*rgb));
    double *lines = malloc(3 * line * sizeof(*lines)),
           *rows[3] = {lines, lines + line, lines + 2 * line};
    if (!rgb || !lines) {
        free(rgb);
        free(lines);
        return GPU_ERR_NOMEM;
    }
    int64_t next = -1; /* row that is not in rows[2] yet */
    for (int64_t y = 0, n = 0; y < m.height; y++) {
        if (!kernel_row_is_checked(c, (uint32_t)y))
            continue;
        for (next = next < y - 1 ? y - 1 : next; next <= y + 1; next++) {
            double *first = rows[0];
            rows[0] = rows[1];
            rows[1] = rows[2];
            rows[2] = first;
            choose_row(&m, next, rows[2]);
        }
        reference_row(&m, y, rows, rgb + 3 * m.width * n++, stride);
    }
    free(lines);
    *out = rgb;
    return GPU_OK;
}
