/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw Bayer samples to linear RGB of 16 bits: methods, tiles, loads, pixels a thread, and where
 * developed frames are kept.
 */
#include "bench/bench_camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shaders/bench_demosaic.spv.h"
#include "shaders/bench_demosaic_edge.spv.h"

#define RAW       (1u << KERNEL_BAYER8 | 1u << KERNEL_BAYER12)
#define METHOD(v) ((v)->param & 3u)
#define IN_HALVES 4u /* of param: pixels are half floats */

enum { MEMORY, TILE, UP_FRONT, SHORT };
enum { OUT_BUFFER, OUT_IMAGE, OUT_HALF_BUFFER, OUT_HALF_IMAGE };

#define SUMS(label, method, lx, ly, cells, loads, to, image)                                       \
    {                                                                                              \
        .name = label, .formats = RAW, .param = method | (to >= OUT_HALF_BUFFER ? IN_HALVES : 0),  \
        .image_output = image, .pass_count = 1, .passes = {                                        \
            {KERNEL_SHADER(bench_demosaic), KERNEL_CONSTANTS(lx, ly, cells, method, loads, to)}    \
        }                                                                                          \
    }
#define EDGE(label, lx, ly, sums, loads)                                                           \
    {                                                                                              \
        .name = label, .formats = RAW, .param = KERNEL_EDGE, .pass_count = 1, .passes = {          \
            {KERNEL_SHADER(bench_demosaic_edge),                                                   \
             KERNEL_CONSTANTS(lx, ly, sums, 0, loads, OUT_BUFFER)}                                 \
        }                                                                                          \
    }
#define HOSTED(label, method)                                                                      \
    {                                                                                              \
        .name = label, .formats = RAW, .param = method, .hosted = true                             \
    }
/* Tiles are named by their pixels: twice the threads in x and, times the cells a thread, in y. */
#define SHAPES(text, method)                                                                       \
    SUMS(text "-memory", method, 32, 8, 1, MEMORY, OUT_BUFFER, 0),                                 \
        SUMS(text "-64x16", method, 32, 8, 1, TILE, OUT_BUFFER, 0),                                \
        SUMS(text "-64x16-up-front", method, 32, 8, 1, UP_FRONT, OUT_BUFFER, 0),                   \
        SUMS(text "-64x8-up-front", method, 32, 4, 1, UP_FRONT, OUT_BUFFER, 0),                    \
        SUMS(text "-32x32-up-front", method, 16, 16, 1, UP_FRONT, OUT_BUFFER, 0),                  \
        SUMS(text "-32x16-up-front", method, 16, 8, 1, UP_FRONT, OUT_BUFFER, 0),                   \
        SUMS(text "-128x8-up-front", method, 64, 4, 1, UP_FRONT, OUT_BUFFER, 0),                   \
        SUMS(text "-64x16-short", method, 32, 8, 1, SHORT, OUT_BUFFER, 0),                         \
        SUMS(text "-64x32-2x4", method, 32, 8, 2, UP_FRONT, OUT_BUFFER, 0),                        \
        SUMS(text "-64x16-2x4", method, 32, 4, 2, UP_FRONT, OUT_BUFFER, 0),                        \
        SUMS(text "-64x16-image", method, 32, 8, 1, UP_FRONT, OUT_IMAGE, 1),                       \
        SUMS(text "-64x16-half-buffer", method, 32, 8, 1, UP_FRONT, OUT_HALF_BUFFER, 0),           \
        SUMS(text "-64x16-half-image", method, 32, 8, 1, UP_FRONT, OUT_HALF_IMAGE, 2)

static const struct kernel_variant variants[] = {
    SHAPES("bilinear", KERNEL_BILINEAR),
    HOSTED("bilinear-pipeline", KERNEL_BILINEAR),
    SHAPES("malvar", KERNEL_MALVAR),
    HOSTED("malvar-pipeline", KERNEL_MALVAR),
    EDGE("edge-32x16", 16, 8, 0, TILE),
    EDGE("edge-32x16-up-front", 16, 8, 0, UP_FRONT),
    EDGE("edge-16x16-up-front", 8, 8, 0, UP_FRONT),
    EDGE("edge-64x8-up-front", 32, 4, 0, UP_FRONT),
    EDGE("edge-32x16-row-sums", 16, 8, 1, UP_FRONT),
    EDGE("edge-16x16-row-sums", 8, 8, 1, UP_FRONT),
    HOSTED("edge-pipeline", KERNEL_EDGE),
};

#define ONE(w, h, f)                                                                               \
    {                                                                                              \
        .width = w, .height = h, .format = f                                                       \
    }
#define SIZES(f) ONE(848, 480, f), ONE(1280, 720, f), ONE(1920, 1080, f), ONE(3840, 2160, f)
static const struct kernel_case cases[] = {SIZES(KERNEL_BAYER12), SIZES(KERNEL_BAYER8)};

static const float gains[3] = {1.7f, 1.0f, 1.4f};

static uint16_t black(const struct kernel_case *c)
{
    return c->format == KERNEL_BAYER8 ? 4 : 64;
}

static uint64_t size(const struct kernel_case *c, uint32_t binding)
{
    switch (binding) {
    case BENCH_BIND_INPUT:
        return kernel_format_bytes(c->format, c->width, c->height);
    case BENCH_BIND_OUTPUT:
        return kernel_format_bytes(KERNEL_RGB16, c->width, c->height);
    default:
        return 0;
    }
}

static uint64_t traffic(const struct kernel_case *c)
{
    return size(c, BENCH_BIND_INPUT) + size(c, BENCH_BIND_OUTPUT);
}

/* Gains of a cell's samples, red first, and the black level; in the pipeline's arithmetic. */
static void push(const struct kernel_case *c, const struct kernel_data *d,
                 float weights[BENCH_WEIGHTS])
{
    static const uint8_t colours[4] = {0, 1, 1, 2};
    int white = c->format == KERNEL_BAYER8 ? 255 : 4095;
    for (int i = 0; i < 4; i++)
        weights[i] = gains[colours[i]] * 65535.0f / (float)(white - black(c));
    weights[4] = black(c);
}

/* Smooth light with noise, so that edges have directions, and here and there what clips. */
static void fill(const struct kernel_case *c, struct kernel_data *d, uint64_t *random)
{
    uint32_t most = c->format == KERNEL_BAYER8 ? 255 : 4095,
             row_bytes = kernel_format_bytes(c->format, c->width, 1);
    for (uint32_t y = 0; y < c->height; y++) {
        uint8_t *row = d->input + (uint64_t)y * row_bytes;
        for (uint32_t x = 0; x < c->width; x++) {
            uint32_t r = kernel_random(random),
                     wave = (x * 5 + y * 3) % 64 < 32 ? most / 4 : most / 2;
            uint32_t v = r % 16 == 0 ? r >> 8 & most : wave + (r >> 8) % (most / 8);
            if (c->format == KERNEL_BAYER8) {
                row[x] = (uint8_t)v;
            } else { /* CSI-2 RAW12: the high bytes of two samples, then their low bits, the first's
                        lower */
                row[x / 2 * 3 + x % 2] = (uint8_t)(v >> 4);
                row[x / 2 * 3 + 2] |= (uint8_t)((v & 15) << 4 * (x % 2));
            }
        }
    }
}

static uint32_t sample_of(const struct kernel_case *c, const struct kernel_data *d, uint32_t x,
                          uint32_t y)
{
    const uint8_t *row = d->input + (uint64_t)y * kernel_format_bytes(c->format, c->width, 1);
    if (c->format == KERNEL_BAYER8)
        return row[x];
    return (uint32_t)row[x / 2 * 3 + x % 2] << 4 | (row[x / 2 * 3 + 2] >> 4 * (x % 2) & 15);
}

static int reference(const struct kernel_case *c, struct kernel_data *d)
{
    float weights[BENCH_WEIGHTS];
    uint16_t *level = malloc(2ull * c->width * c->height), *out = NULL;
    if (!level)
        return GPU_ERR_NOMEM;
    push(c, d, weights);
    for (uint32_t y = 0; y < c->height; y++) {
        for (uint32_t x = 0; x < c->width; x++) {
            float above =
                fmaxf((float)sample_of(c, d, x, y) - weights[4], 0) * weights[y % 2 * 2 + x % 2];
            level[(uint64_t)y * c->width + x] = (uint16_t)rintf(fminf(above, 65535));
        }
    }
    int err = kernel_demosaic_reference(c, level, &out);
    free(level);
    d->reference = out;
    return err;
}

static double half_of(uint32_t h)
{
    int exponent = (int)(h >> 10 & 31);
    double mantissa = exponent ? 1024 + (h & 1023) : h & 1023;
    return ldexp(mantissa, (exponent ? exponent : 1) - 25) * (h & 0x8000 ? -1 : 1);
}

/* words: halves of the output a pixel; the largest difference in units of 8 bits. */
static double compare_pixels(const struct kernel_case *c, uint32_t method,
                             const struct kernel_data *d, const uint16_t *got, uint32_t words,
                             bool halves)
{
    const uint16_t *want =
        (const uint16_t *)d->reference + 3ull * c->width * kernel_rows_checked(c) * method;
    double most = 0;
    for (uint32_t y = 0; y < c->height; y++) {
        if (!kernel_row_is_checked(c, y))
            continue;
        for (uint32_t x = 0; x < c->width; x++) {
            const uint16_t *pixel = got + words * ((uint64_t)y * c->width + x);
            for (int i = 0; i < 3; i++) {
                double off = fabs((halves ? 65535 * half_of(pixel[i]) : pixel[i]) - *want++);
                most = off <= most ? most : off;
            }
        }
    }
    return most / 257;
}

/* A half has 11 bits, to the nearest or, stored to an image, either way; the edge-directed method
 * divides, so that a whole number may come out of either of its neighbours. */
static double allowed_of(const struct kernel_variant *v)
{
    return (!(v->param & IN_HALVES) ? 0
            : v->image_output       ? 0.126
                                    : 0.0645) +
           (METHOD(v) == KERNEL_EDGE ? 2.01 / 257 : 0);
}

static double compare(const struct kernel_case *c, const struct kernel_variant *v,
                      const struct kernel_data *d, const uint8_t *output, double *allowed)
{
    *allowed = allowed_of(v);
    return compare_pixels(c, METHOD(v), d, (const uint16_t *)(const void *)output, 4,
                          v->param & IN_HALVES);
}

static void groups(const struct kernel_case *c, const struct kernel_variant *v,
                   const struct kernel_pass *p, const struct kernel_data *d, uint32_t xyz[3])
{
    uint32_t x = 2 * p->constants[0],
             y = 2 * p->constants[1] * (METHOD(v) == KERNEL_EDGE ? 1 : p->constants[2]);
    xyz[0] = (c->width + x - 1) / x;
    xyz[1] = (c->height + y - 1) / y;
}

static uint32_t constants(const struct kernel_case *c, const struct kernel_pass *p,
                          uint32_t values[8])
{
    values[6] = c->format;
    return 7;
}

static double compare_hosted(struct kernel_bench *b, const uint16_t *rgb)
{
    return compare_pixels(&b->c, METHOD(b->variant), &b->data, rgb, 3, false);
}

static int host(struct kernel_bench *b, const struct kernel_variant *v, struct kernel_result *out,
                char why[KERNEL_WHY])
{
    static const enum isp_demosaic methods[KERNEL_DEMOSAICS] = {ISP_BILINEAR, ISP_MALVAR, ISP_EDGE};
    uint16_t level = black(&b->c);
    struct kernel_isp how = {
        .raw = b->data.input,
        .gain = {gains[0], gains[1], gains[2]},
        .stage = ISP_STAGE_DEVELOP,
        .params = {.width = b->c.width,
                   .height = b->c.height,
                   .black = {level, level, level, level},
                   .packing = b->c.format == KERNEL_BAYER8 ? ISP_UNPACKED : ISP_MIPI,
                   .depth = b->c.format == KERNEL_BAYER8 ? 8 : 12,
                   .demosaic = methods[METHOD(v)],
                   .format = ISP_RGB48}};
    return kernel_isp_run(b, &how, compare_hosted, allowed_of(v), out, why);
}

const struct kernel_family kernel_demosaic = {
    .name = "demosaic",
    .variants = variants,
    .variant_count = sizeof(variants) / sizeof(*variants),
    .cases = cases,
    .case_count = sizeof(cases) / sizeof(*cases),
    .quick = ONE(1920, 1080, KERNEL_BAYER12),
    .image_count = 2,
    .images = {{VK_FORMAT_R32G32B32A32_UINT, 2, KERNEL_BINDINGS, BENCH_BIND_IMAGE, 0, false},
               {VK_FORMAT_R16G16B16A16_SFLOAT, 1, KERNEL_BINDINGS, BENCH_BIND_IMAGE_2, 0, false}},
    .size = size,
    .traffic = traffic,
    .fill = fill,
    .reference = reference,
    .compare = compare,
    .groups = groups,
    .constants = constants,
    .push = push,
    .host = host,
};
