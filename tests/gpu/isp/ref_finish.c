/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From developed frames to pictures.
 */
#include "tests/gpu/isp/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct canvas {
    const struct isp_params *p;
    uint16_t (*rgb)[3];
    struct isp_rect region;
    uint32_t width, height; /* of the output */
    bool plain;
};

static double sample(const struct canvas *c, int64_t x, int64_t y, int i)
{
    if (x < 0 || y < 0 || x >= c->p->width || y >= c->p->height)
        return 0;
    return c->rgb[y * c->p->width + x][i];
}

/* Keys' cubic with a = -0.75 at distance d, to 1/2048, so that the last of four takes what is left.
 */
static double cubic(double d)
{
    const double a = -0.75;
    d = fabs(d);
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static void weights_of(const struct canvas *c, int phase, double w[4])
{
    double f = phase / 32.0;
    if (c->p->interpolation == ISP_INTERPOLATE_BILINEAR) {
        w[0] = w[3] = 0;
        w[1] = 1 - f;
        w[2] = f;
        return;
    }
    for (int i = 0; i < 3; i++)
        w[i] = rint(2048 * cubic(f + 1 - i)) / 2048;
    w[3] = 1 - w[0] - w[1] - w[2];
}

/* Linear light at output pixel (x, y). */
static void source(const struct canvas *c, uint32_t x, uint32_t y, double out[3])
{
    const struct isp_params *p = c->p;
    struct isp_pinhole straight = p->camera.fx > 0 ? p->camera : p->lens.camera;
    double sx = c->region.x + (x + 0.5) * c->region.width / c->width - 0.5,
           sy = c->region.y + (y + 0.5) * c->region.height / c->height - 0.5;
    double px, py;
    memset(out, 0, 3 * sizeof(double));
    if (c->plain) {
        for (int i = 0; i < 3; i++)
            out[i] = sample(c, c->region.x + x, c->region.y + y, i);
        return;
    }
    if (!isp_lens_distort(&p->lens, &straight, sx, sy, &px, &py) || fabs(px) > 1e6 ||
        fabs(py) > 1e6)
        return;
    long qx = lrint(px * 32), qy = lrint(py * 32);
    int64_t x0 = (int64_t)floor(qx / 32.0), y0 = (int64_t)floor(qy / 32.0);
    double wx[4], wy[4];
    weights_of(c, (int)(qx - 32 * x0), wx);
    weights_of(c, (int)(qy - 32 * y0), wy);
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int v = 0; v < 4; v++) {
            double row = 0;
            for (int u = 0; u < 4; u++)
                row += wx[u] * sample(c, x0 + u - 1, y0 + v - 1, i);
            sum += wy[v] * (p->interpolation == ISP_INTERPOLATE_BICUBIC ? floor(row + 0.5) : row);
        }
        if (p->interpolation == ISP_INTERPOLATE_BICUBIC || p->format == ISP_RGB48)
            sum = floor(sum + 0.5);
        out[i] = sum < 0 ? 0 : sum > 65535 ? 65535 : sum;
    }
}

static double curve(const struct isp_params *p, double v)
{
    switch (p->tone) {
    case ISP_TONE_SRGB:
        return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
    case ISP_TONE_BT709:
        return v < 0.018 ? 4.5 * v : 1.099 * pow(v, 0.45) - 0.099;
    case ISP_TONE_TABLE: {
        double at = v * (p->tone_count - 1), i = floor(at);
        double a = p->tone_table[(size_t)i],
               b = p->tone_table[i + 1 < p->tone_count ? (size_t)i + 1 : (size_t)i];
        return (a + (at - i) * (b - a)) / 65535;
    }
    default:
        return v;
    }
}

/* 1024 straight pieces between points of the curve. */
static double toned(const struct isp_params *p, double v)
{
    if (p->format == ISP_RGB48 || p->tone == ISP_TONE_LINEAR)
        return v;
    double at = v * 1024, i = floor(at);
    double a = curve(p, i / 1024);
    return i >= 1024 ? a : a + (at - i) * (curve(p, (i + 1) / 1024) - a);
}

static void developed(const struct canvas *c, uint32_t x, uint32_t y, double out[3])
{
    double v[3];
    bool identity = true;
    source(c, x, y, v);
    for (int i = 0; i < 9; i++)
        identity &= c->p->colour[i] == 0;
    for (int i = 0; i < 3; i++) {
        double sum = v[i];
        if (!identity)
            sum = c->p->colour[3 * i] * v[0] + c->p->colour[3 * i + 1] * v[1] +
                  c->p->colour[3 * i + 2] * v[2];
        sum /= 65535;
        out[i] = toned(c->p, sum < 0 ? 0 : sum > 1 ? 1 : sum);
    }
}

uint32_t ref_sample_bytes(const struct isp_params *p)
{
    return p->format == ISP_P010 || p->format == ISP_RGB48 ? 2 : 1;
}

static void put(double *row, uint32_t index, double v, double most)
{
    row[index] = v < 0 ? 0 : v > most ? most : v;
}

/* Y or a colour difference by its definition: 0..1, -0.5..0.5. */
static double component(const struct isp_params *p, const double v[3], int which)
{
    double kr = p->matrix == ISP_MATRIX_BT601 ? 0.299 : 0.2126,
           kb = p->matrix == ISP_MATRIX_BT601 ? 0.114 : 0.0722;
    double y = kr * v[0] + (1 - kr - kb) * v[1] + kb * v[2];
    return which == 0 ? y : which == 1 ? (v[2] - y) / (2 * (1 - kb)) : (v[0] - y) / (2 * (1 - kr));
}

static void put_luma(const struct isp_params *p, double *row, uint32_t x, const double v[3])
{
    double scale = p->format == ISP_P010 ? 4 : 1, most = p->format == ISP_P010 ? 1023 : 255,
           y = component(p, v, 0);
    put(row, x,
        ref_picture_as_is(p)                      ? most * v[0]
        : p->full_range || p->format == ISP_GRAY8 ? most * y
                                                  : scale * (16 + 219 * y),
        most);
}

static void put_chroma(const struct isp_params *p, double *cb, double *cr, uint32_t x,
                       const double v[3])
{
    double scale = p->format == ISP_P010 ? 4 : 1, most = p->format == ISP_P010 ? 1023 : 255,
           range = p->full_range ? most : 224 * scale;
    double b = 128 * scale + range * component(p, v, 1),
           r = 128 * scale + range * component(p, v, 2);
    if (ref_picture_as_is(p)) {
        b = most * v[1] + 1 / 1024.0; /* halves round up */
        r = most * v[2] + 1 / 1024.0;
    }
    if (p->format == ISP_I420) {
        put(cb, x, b, most);
        put(cr, x, r, most);
    } else {
        put(cb, 2 * x, b, most);
        put(cb, 2 * x + 1, r, most);
    }
}

void ref_finish(const struct isp_params *p, uint16_t (*rgb)[3], double *planes[3])
{
    struct canvas c = {.p = p, .rgb = rgb, .region = p->region};
    uint32_t row_bytes[3], rows[3], count = isp_planes(p, row_bytes, rows), width[3];
    for (uint32_t i = 0; i < count; i++)
        width[i] = row_bytes[i] / ref_sample_bytes(p);
    if (!c.region.width)
        c.region = (struct isp_rect){0, 0, p->width, p->height};
    c.width = p->out_width ? p->out_width : c.region.width;
    c.height = p->out_height ? p->out_height : c.region.height;
    c.plain =
        p->lens.model == ISP_LENS_NONE && c.width == c.region.width && c.height == c.region.height;
    bool swapped = p->format == ISP_BGR24 || p->format == ISP_BGRA;
    uint32_t components = p->format == ISP_RGBA || p->format == ISP_BGRA ? 4 : 3;
    double(*all)[3] = calloc((size_t)c.width * c.height, sizeof(*all));
    if (!all)
        abort();
    for (uint32_t y = 0; y < c.height; y++) {
        for (uint32_t x = 0; x < c.width; x++) {
            double *v = all[(size_t)y * c.width + x];
            double *row = planes[0] + (size_t)y * width[0];
            developed(&c, x, y, v);
            if (components == 4)
                row[4 * x + 3] = 255;
            for (uint32_t i = 0; i < 3 && p->format >= ISP_RGB24; i++)
                put(row, components * x + (swapped ? 2 - i : i),
                    v[i] * (p->format == ISP_RGB48 ? 65535 : 255), 65535);
            if (p->format < ISP_RGB24)
                put_luma(p, row, x, v);
        }
    }
    for (uint32_t y = 0; count > 1 && y < c.height / 2; y++) {
        for (uint32_t x = 0; x < c.width / 2; x++) {
            double mean[3] = {0};
            for (int i = 0; i < 12; i++)
                mean[i % 3] +=
                    all[(2 * y + i / 6) * (size_t)c.width + 2 * x + i / 3 % 2][i % 3] / 4;
            put_chroma(p, planes[1] + (size_t)y * width[1],
                       count > 2 ? planes[2] + (size_t)y * width[2] : NULL, x, mean);
        }
    }
    free(all);
}
