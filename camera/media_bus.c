/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See media_bus.h.
 */
#include "camera/media_bus.h"

#include "gpu/isp/isp.h"

#include <ctype.h>
#include <linux/media-bus-format.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- codes ---- */

#define BAYER(depth)                                                                               \
    {MEDIA_BUS_FMT_SRGGB##depth##_1X##depth, MEDIA_RAW, ISP_RGGB, depth},                          \
        {MEDIA_BUS_FMT_SGRBG##depth##_1X##depth, MEDIA_RAW, ISP_GRBG, depth},                      \
        {MEDIA_BUS_FMT_SGBRG##depth##_1X##depth, MEDIA_RAW, ISP_GBRG, depth},                      \
    {                                                                                              \
        MEDIA_BUS_FMT_SBGGR##depth##_1X##depth, MEDIA_RAW, ISP_BGGR, depth                         \
    }
#define GREY(depth)                                                                                \
    {                                                                                              \
        MEDIA_BUS_FMT_Y##depth##_1X##depth, MEDIA_RAW, ISP_MONO, depth                             \
    }
#define YUV(name)                                                                                  \
    {                                                                                              \
        MEDIA_BUS_FMT_##name, MEDIA_YUV, ISP_YUV, 8                                                \
    }

static const struct media_code codes[] = {
    BAYER(8),         BAYER(10),       BAYER(12),        BAYER(14),        BAYER(16),
    GREY(8),          GREY(10),        GREY(12),         GREY(14),         YUV(UYVY8_1X16),
    YUV(UYVY8_2X8),   YUV(YUYV8_1X16), YUV(YUYV8_2X8),   YUV(VYUY8_1X16),  YUV(VYUY8_2X8),
    YUV(YVYU8_1X16),  YUV(YVYU8_2X8),  YUV(UYVY8_1_5X8), YUV(YUYV8_1_5X8), YUV(VYUY8_1_5X8),
    YUV(YVYU8_1_5X8), YUV(YUV8_1X24),
};
enum { CODES = sizeof(codes) / sizeof(*codes) };

struct media_code media_code_of(uint32_t code)
{
    for (int i = 0; i < CODES; i++)
        if (codes[i].code == code)
            return codes[i];
    return (struct media_code){code, MEDIA_OTHER, 0, 0};
}

void media_code_name(uint32_t code, char out[16])
{
    static const char *const orders[] = {"SRGGB", "SGRBG", "SGBRG", "SBGGR", "Y"};
    const struct media_code c = media_code_of(code);
    if (c.class == MEDIA_RAW)
        snprintf(out, 16, "%s%u", orders[c.order], c.depth & 31);
    else if (c.class == MEDIA_YUV)
        snprintf(out, 16, "YUV");
    else
        snprintf(out, 16, "code 0x%04x", code & 0xffff);
}

uint32_t media_code_pick(const uint32_t *list, uint32_t n, uint32_t incoming,
                         enum media_class wanted)
{
    uint32_t same = 0, of_class = 0;
    for (uint32_t i = 0; i < n; i++) {
        same = list[i] == incoming ? incoming : same;
        of_class = !of_class && media_code_of(list[i]).class == wanted ? list[i] : of_class;
    }
    if (same && (media_code_of(same).class == wanted || !of_class))
        return same;
    return of_class ? of_class : n ? list[0] : 0;
}

/* ---- time ---- */

/* So many samples of a line or lines of a frame are more than any sensor has. */
#define MOST_LENGTH (1 << 24)

static double line_samples(const struct media_timing *t)
{
    bool good = t->pixel_rate > 0 && t->width && t->hblank >= 0 && t->hblank < MOST_LENGTH;
    return good ? (double)t->width + (double)t->hblank : 0;
}

double media_line_us(const struct media_timing *t)
{
    double us = line_samples(t) > 0 ? line_samples(t) * 1e6 / (double)t->pixel_rate : 0;
    return us > 0.1 && us < 10000 ? us : 0;
}

double media_fps(const struct media_timing *t)
{
    double line = media_line_us(t);
    bool good = line > 0 && t->height && t->vblank >= 0 && t->vblank < MOST_LENGTH;
    return good ? 1e6 / (line * ((double)t->height + (double)t->vblank)) : 0;
}

int64_t media_vblank(const struct media_timing *t, double fps, int64_t least, int64_t most)
{
    double line = media_line_us(t);
    if (!(line > 0) || !(fps > 0))
        return least;
    double wanted = round(1e6 / (fps * line) - t->height);
    return wanted < (double)least ? least : wanted > (double)most ? most : (int64_t)wanted;
}

/* ---- gain ---- */

static const struct {
    const char *name;
    struct media_gain gain;
} gains[] = {
    {"imx219", {MEDIA_GAIN_RATIO, 256}},    {"imx258", {MEDIA_GAIN_RATIO, 512}},
    {"imx378", {MEDIA_GAIN_RATIO, 1024}},   {"imx477", {MEDIA_GAIN_RATIO, 1024}},
    {"imx519", {MEDIA_GAIN_RATIO, 1024}},   {"imx708", {MEDIA_GAIN_RATIO, 1024}},
    {"imx290", {MEDIA_GAIN_DECIBELS, 0.3}}, {"imx327", {MEDIA_GAIN_DECIBELS, 0.3}},
    {"imx462", {MEDIA_GAIN_DECIBELS, 0.3}}, {"imx415", {MEDIA_GAIN_DECIBELS, 0.3}},
    {"imx296", {MEDIA_GAIN_DECIBELS, 0.1}}, {"ov5647", {MEDIA_GAIN_STEPS, 16}},
    {"ov5640", {MEDIA_GAIN_STEPS, 16}},     {"ov7251", {MEDIA_GAIN_STEPS, 16}},
    {"ov9281", {MEDIA_GAIN_STEPS, 16}},     {"ov9282", {MEDIA_GAIN_STEPS, 16}},
};

struct media_gain media_gain_of(const char *sensor)
{
    for (unsigned i = 0; i < sizeof(gains) / sizeof(*gains); i++) {
        size_t n = strlen(gains[i].name);
        if (!strncasecmp(sensor, gains[i].name, n) && !isalnum((unsigned char)sensor[n]))
            return gains[i].gain;
    }
    return (struct media_gain){MEDIA_GAIN_UNKNOWN, 0};
}

double media_gain_factor(const struct media_gain *g, int64_t number)
{
    double n = (double)number;
    switch (g->kind) {
    case MEDIA_GAIN_RATIO:
        return n < g->of ? g->of / (g->of - n) : g->of;
    case MEDIA_GAIN_STEPS:
        return n / g->of;
    case MEDIA_GAIN_DECIBELS:
        return pow(10, n * g->of / 20);
    case MEDIA_GAIN_UNKNOWN:
        break;
    }
    return 1;
}

int64_t media_gain_number(const struct media_gain *g, double factor)
{
    double f = factor > 0.01 ? factor : 0.01;
    switch (g->kind) {
    case MEDIA_GAIN_RATIO:
        return llround(g->of - g->of / f);
    case MEDIA_GAIN_STEPS:
        return llround(f * g->of);
    case MEDIA_GAIN_DECIBELS:
        return llround(20 * log10(f) / g->of);
    case MEDIA_GAIN_UNKNOWN:
        break;
    }
    return 0;
}
