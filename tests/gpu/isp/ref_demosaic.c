/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Demosaic. Malvar's filters are in eighths, as in figure 2 of the paper. The edge-directed method
 * is that of docs/design/isp.md.
 */
#include "tests/gpu/isp/ref.h"

#include <math.h>
#include <stdlib.h>

struct picture {
    const struct isp_params *p;
    const uint16_t *level;
    int red_x, red_y;
};

static double at(const struct picture *m, int64_t x, int64_t y)
{
    int64_t w = m->p->width, h = m->p->height;
    x = x < 0 ? -x : x >= w ? 2 * (w - 1) - x : x;
    y = y < 0 ? -y : y >= h ? 2 * (h - 1) - y : y;
    return m->level[y * w + x];
}

static double filter(const struct picture *m, int64_t x, int64_t y, const double k[5][5],
                     double divisor, bool turned)
{
    double sum = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++)
            sum += (turned ? k[dx + 2][dy + 2] : k[dy + 2][dx + 2]) * at(m, x + dx, y + dy);
    return sum / divisor;
}

static const double green_at_colour[5][5] = {
    {0, 0, -1, 0, 0}, {0, 0, 2, 0, 0}, {-1, 2, 4, 2, -1}, {0, 0, 2, 0, 0}, {0, 0, -1, 0, 0}};
static const double colour_in_row[5][5] = {
    {0, 0, 0.5, 0, 0}, {0, -1, 0, -1, 0}, {-1, 4, 5, 4, -1}, {0, -1, 0, -1, 0}, {0, 0, 0.5, 0, 0}};
static const double colour_at_other[5][5] = {{0, 0, -1.5, 0, 0},
                                             {0, 2, 0, 2, 0},
                                             {-1.5, 0, 6, 0, -1.5},
                                             {0, 2, 0, 2, 0},
                                             {0, 0, -1.5, 0, 0}};

static const double bilinear_cross[5][5] = {
    {0}, {0, 0, 1, 0, 0}, {0, 1, 0, 1, 0}, {0, 0, 1, 0, 0}, {0}};
static const double bilinear_corners[5][5] = {{0}, {0, 1, 0, 1, 0}, {0}, {0, 1, 0, 1, 0}, {0}};
static const double bilinear_row[5][5] = {{0}, {0}, {0, 1, 0, 1, 0}, {0}, {0}};

static bool is_green(const struct picture *m, int64_t x, int64_t y)
{
    return ((x ^ y ^ m->red_x ^ m->red_y) & 1) != 0;
}

/* Green - colour along a row (or, turned, a column) */
static double difference(const struct picture *m, int64_t x, int64_t y, bool turned)
{
    int dx = !turned, dy = turned;
    double other = (at(m, x - dx, y - dy) + at(m, x + dx, y + dy)) / 2 + at(m, x, y) / 2 -
                   (at(m, x - 2 * dx, y - 2 * dy) + at(m, x + 2 * dx, y + 2 * dy)) / 4;
    return is_green(m, x, y) ? at(m, x, y) - other : other - at(m, x, y);
}

static double variation(const struct picture *m, int64_t x, int64_t y, bool turned)
{
    double sum = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++)
            sum += fabs(difference(m, x + dx + !turned, y + dy + turned, turned) -
                        difference(m, x + dx - !turned, y + dy - turned, turned));
    return sum + 0.25;
}

static double green_minus(const struct picture *m, int64_t x, int64_t y)
{
    double v[2], d[2];
    for (int turned = 0; turned < 2; turned++) {
        v[turned] = variation(m, x, y, turned);
        d[turned] =
            (difference(m, x - !turned, y - turned, turned) + 2 * difference(m, x, y, turned) +
             difference(m, x + !turned, y + turned, turned)) /
            4;
    }
    double mixed = rint((d[0] * v[1] * v[1] + d[1] * v[0] * v[0]) / (v[0] * v[0] + v[1] * v[1])),
           green = mixed + at(m, x, y);
    return (green < 0 ? 0 : green > 65535 ? 65535 : green) - at(m, x, y);
}

/* green_minus of the whole picture and what mirrors around it is needed four times: kept. */
struct edge {
    const struct picture *m;
    double *chosen; /* [height + 2][width + 2] */
};

static double chosen(const struct edge *e, int64_t x, int64_t y)
{
    return e->chosen[(y + 1) * (e->m->p->width + 2) + x + 1];
}

static void edge_pixel(const struct edge *e, int64_t x, int64_t y, double out[3])
{
    const struct picture *m = e->m;
    double c = at(m, x, y);
    int row = ((y ^ m->red_y) & 1) == 0 ? 0 : 2; /* colour of the row */
    if (is_green(m, x, y)) {
        out[1] = c;
        out[row] = c - (chosen(e, x - 1, y) + chosen(e, x + 1, y)) / 2;
        out[2 - row] = c - (chosen(e, x, y - 1) + chosen(e, x, y + 1)) / 2;
        return;
    }
    out[1] = c + chosen(e, x, y);
    out[row] = c;
    out[2 - row] = out[1] - (chosen(e, x - 1, y - 1) + chosen(e, x + 1, y - 1) +
                             chosen(e, x - 1, y + 1) + chosen(e, x + 1, y + 1)) /
                                4;
}

static void linear_pixel(const struct picture *m, int64_t x, int64_t y, double out[3])
{
    bool malvar = m->p->demosaic == ISP_MALVAR;
    int row = ((y ^ m->red_y) & 1) == 0 ? 0 : 2;
    if (is_green(m, x, y)) {
        out[1] = at(m, x, y);
        out[row] = malvar ? filter(m, x, y, colour_in_row, 8, false)
                          : filter(m, x, y, bilinear_row, 2, false);
        out[2 - row] = malvar ? filter(m, x, y, colour_in_row, 8, true)
                              : filter(m, x, y, bilinear_row, 2, true);
        return;
    }
    out[row] = at(m, x, y);
    out[1] = malvar ? filter(m, x, y, green_at_colour, 8, false)
                    : filter(m, x, y, bilinear_cross, 4, false);
    out[2 - row] = malvar ? filter(m, x, y, colour_at_other, 8, false)
                          : filter(m, x, y, bilinear_corners, 4, false);
}

void ref_demosaic(const struct isp_params *p, const uint16_t *level, uint16_t (*rgb)[3])
{
    struct picture m = {p, level, p->order == ISP_GRBG || p->order == ISP_BGGR,
                        p->order == ISP_GBRG || p->order == ISP_BGGR};
    struct edge e = {&m, NULL};
    int64_t w = p->width, h = p->height;
    bool edge = p->demosaic == ISP_EDGE && p->order != ISP_MONO;
    if (edge) {
        e.chosen = calloc((size_t)(w + 2) * (size_t)(h + 2), sizeof(double));
        if (!e.chosen)
            abort();
        for (int64_t y = -1; y <= h; y++)
            for (int64_t x = -1; x <= w; x++)
                if (!is_green(&m, x, y))
                    e.chosen[(y + 1) * (w + 2) + x + 1] = green_minus(&m, x, y);
    }
    for (int64_t y = 0; y < h; y++) {
        for (int64_t x = 0; x < w; x++) {
            double out[3] = {level[y * w + x], level[y * w + x], level[y * w + x]};
            if (edge)
                edge_pixel(&e, x, y, out);
            else if (p->order != ISP_MONO)
                linear_pixel(&m, x, y, out);
            for (int i = 0; i < 3; i++)
                rgb[y * w + x][i] = (uint16_t)rint(out[i] < 0       ? 0
                                                   : out[i] > 65535 ? 65535
                                                                    : out[i]);
        }
    }
    free(e.chosen);
}
