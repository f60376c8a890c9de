/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Box and Gaussian blurs of pictures of 32 and 128 bits a pixel; beyond the border stands the
 * nearest pixel.
 */
#include "bench/kernels_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shaders/bench_blur_columns.spv.h"
#include "shaders/bench_blur_direct.spv.h"
#include "shaders/bench_blur_halves.spv.h"
#include "shaders/bench_blur_inline.spv.h"
#include "shaders/bench_blur_pass.spv.h"
#include "shaders/bench_blur_runs.spv.h"
#include "shaders/bench_blur_shuffle.spv.h"
#include "shaders/bench_blur_slide.spv.h"

#define BOTH    (1u << KERNEL_RGBA8 | 1u << KERNEL_RGBA32F)
#define ONLY_32 (1u << KERNEL_RGBA8)

/* What a pass's FROM and TO are: the case's format, or halves. */
enum { TO_SAME, TO_HALF, FROM_HALF, RUNS, HALVES, COLUMNS, SLIDE, SHUFFLE };

#define DIRECT(label, lx, ly, cache)                                                               \
    {                                                                                              \
        .name = label, .formats = BOTH, .pass_count = 1, .passes = {                               \
            {KERNEL_SHADER(bench_blur_direct), KERNEL_CONSTANTS(lx, ly, 0, cache)}                 \
        }                                                                                          \
    }
#define SEPARABLE(label, lx, ly, vx, vy, cache, half)                                              \
    {                                                                                              \
        .name = label, .formats = BOTH, .param = half, .pass_count = 2, .passes = {                \
            {KERNEL_SHADER(bench_blur_pass), KERNEL_CONSTANTS(lx, ly, 0, cache),                   \
             .param = half ? TO_HALF : TO_SAME},                                                   \
            {KERNEL_SHADER(bench_blur_pass), KERNEL_CONSTANTS(vx, vy, 1, cache),                   \
             .param = half ? FROM_HALF : TO_SAME}                                                  \
        }                                                                                          \
    }
#define INLINE(label, mask, lx, ly, cache, half)                                                   \
    {                                                                                              \
        .name = label, .formats = mask, .param = half, .pass_count = 1, .passes = {                \
            {KERNEL_SHADER(bench_blur_inline),                                                     \
             KERNEL_CONSTANTS(lx, ly, half ? BENCH_HALF : BENCH_RGBA32F, cache)}                   \
        }                                                                                          \
    }

#define SHUFFLES(label, threads, down, rows, keep)                                                 \
    {                                                                                              \
        .name = label, .formats = ONLY_32, .box_only = true, .whole = true, .shuffles = true,      \
        .pass_count = 1, .passes = {                                                               \
            {KERNEL_SHADER(bench_blur_shuffle), KERNEL_CONSTANTS(threads, down, rows, keep),       \
             .param = SHUFFLE}                                                                     \
        }                                                                                          \
    }
#define IN_HALVES(label, rows)                                                                     \
    {                                                                                              \
        .name = label, .formats = ONLY_32, .halves = true, .param = 1, .pass_count = 1,            \
        .passes = {                                                                                \
            {KERNEL_SHADER(bench_blur_halves), KERNEL_CONSTANTS(rows), .param = HALVES}            \
        }                                                                                          \
    }

#define IN_COLUMNS(label, threads, down)                                                           \
    {                                                                                              \
        .name = label, .formats = ONLY_32, .halves = true, .param = 1, .pass_count = 1,            \
        .passes = {                                                                                \
            {KERNEL_SHADER(bench_blur_columns), KERNEL_CONSTANTS(threads, down), .param = COLUMNS} \
        }                                                                                          \
    }

static const struct kernel_variant variants[] = {
    DIRECT("direct-16x16", 16, 16, 0),
    DIRECT("direct-64x4", 64, 4, 0),
    DIRECT("direct-cached-16x16", 16, 16, 1),
    DIRECT("direct-cached-32x8", 32, 8, 1),
    SEPARABLE("separable-256x1", 256, 1, 256, 1, 0, 0),
    SEPARABLE("separable-16x16", 16, 16, 16, 16, 0, 0),
    SEPARABLE("separable-64x4", 64, 4, 64, 4, 0, 0),
    SEPARABLE("separable-cached-256x1", 256, 1, 1, 256, 1, 0),
    SEPARABLE("separable-cached-16x16", 16, 16, 16, 16, 1, 0),
    SEPARABLE("separable-cached-128x2-32x8", 128, 2, 32, 8, 1, 0),
    INLINE("inline-16x16", BOTH, 16, 16, 0, 0),
    INLINE("inline-32x8", BOTH, 32, 8, 0, 0),
    INLINE("inline-cached-16x16", BOTH, 16, 16, 1, 0),
    INLINE("inline-cached-32x8", ONLY_32, 32, 8, 1, 0),
    SEPARABLE("half-separable-256x1", 256, 1, 256, 1, 0, 1),
    SEPARABLE("half-separable-cached-128x2-32x8", 128, 2, 32, 8, 1, 1),
    INLINE("half-inline-cached-16x16", BOTH, 16, 16, 1, 1),
    INLINE("half-inline-cached-32x16", ONLY_32, 32, 16, 1, 1),
    {.name = "half-runs",
     .formats = ONLY_32,
     .param = 1,
     .pass_count = 1,
     .passes = {{KERNEL_SHADER(bench_blur_runs), .param = RUNS}}},
    IN_HALVES("half-runs-packed-64", 64),
    IN_HALVES("half-runs-packed-32", 32),
    /* threads, rows of a strip */
    IN_COLUMNS("half-columns-128-64", 128, 64),
    {.name = "slide",
     .formats = ONLY_32,
     .box_only = true,
     .pass_count = 1,
     .passes = {{KERNEL_SHADER(bench_blur_slide), .param = SLIDE}}},
    /* rows of a strip, rows at once, threads */
    SHUFFLES("shuffle-60-4-32", 32, 60, 4, 0),
    SHUFFLES("shuffle-60-4-64", 64, 60, 4, 0),
    SHUFFLES("shuffle-60-4-128", 128, 60, 4, 0),
    SHUFFLES("shuffle-64-4-32", 32, 64, 4, 0),
    SHUFFLES("shuffle-64-4-64", 64, 64, 4, 0),
    SHUFFLES("shuffle-60-2-32", 32, 60, 2, 0),
    SHUFFLES("shuffle-32-4-64", 64, 32, 4, 0),
    SHUFFLES("shuffle-32-2-32", 32, 32, 2, 0),
    SHUFFLES("shuffle-keep-60-4-32", 32, 60, 4, 1),
    SHUFFLES("shuffle-keep-60-4-64", 64, 60, 4, 1),
    SHUFFLES("shuffle-keep-64-8-32", 32, 64, 8, 1),
    SHUFFLES("shuffle-keep-120-4-32", 32, 120, 4, 1),
};

#define ONE(w, h, f, t, g)                                                                         \
    {                                                                                              \
        .width = w, .height = h, .format = f, .taps = t, .gauss = g                                \
    }
#define WIDTHS(w, h, f, g)                                                                         \
    ONE(w, h, f, 3, g), ONE(w, h, f, 5, g), ONE(w, h, f, 7, g), ONE(w, h, f, 9, g),                \
        ONE(w, h, f, 11, g), ONE(w, h, f, 13, g), ONE(w, h, f, 15, g), ONE(w, h, f, 17, g),        \
        ONE(w, h, f, 19, g)
#define SIZES(f, gauss) WIDTHS(1920, 1080, f, gauss), WIDTHS(4096, 4096, f, gauss)
static const struct kernel_case cases[] = {SIZES(KERNEL_RGBA8, false), SIZES(KERNEL_RGBA8, true),
                                           SIZES(KERNEL_RGBA32F, false),
                                           SIZES(KERNEL_RGBA32F, true)};

static uint64_t size(const struct kernel_case *c, uint32_t binding)
{
    uint64_t pixels = (uint64_t)c->width * c->height;
    switch (binding) {
    case BENCH_BIND_PARAMS:
        return 4 * (BENCH_MAX_TAPS + 1);
    case BENCH_BIND_SCRATCH:
        return pixels * (c->format == KERNEL_RGBA32F ? 16 : 8);
    default:
        return pixels * (c->format == KERNEL_RGBA32F ? 16 : 4);
    }
}

static uint64_t traffic(const struct kernel_case *c)
{
    return 2ull * kernel_format_bytes(c->format, c->width, c->height);
}

/* A Gaussian whose outermost tap lies at 2.5 of its deviation, or equal weights; their sum is 1. */
static void weights_of(const struct kernel_case *c, float weights[BENCH_MAX_TAPS + 1])
{
    const uint32_t half = c->taps / 2;
    double sum = 0, w[BENCH_MAX_TAPS], deviation = half / 2.5;
    for (uint32_t i = 0; i < c->taps; i++) {
        double x = ((double)i - half) / deviation;
        w[i] = c->gauss ? exp(-0.5 * x * x) : 1;
        sum += w[i];
    }
    for (uint32_t i = 0; i < c->taps; i++)
        weights[i] = (float)(w[i] / sum);
}

static void push(const struct kernel_case *c, const struct kernel_data *d,
                 float weights[BENCH_WEIGHTS])
{
    memcpy(weights, (const float *)(const void *)d->params + c->taps / 2,
           (c->taps / 2 + 1) * sizeof(float));
}

static void fill(const struct kernel_case *c, struct kernel_data *d, uint64_t *random)
{
    for (uint64_t i = 0; i < d->size[BENCH_BIND_INPUT] / 4; i++) {
        uint32_t r = kernel_random(random);
        if (c->format == KERNEL_RGBA32F)
            ((float *)(void *)d->input)[i] = (float)(r >> 16) * (255.0f / 65535.0f);
        else
            memcpy(d->input + 4 * i, &r, 4);
    }
    weights_of(c, (float *)(void *)d->params);
}

/* Rows that the reference holds: all of a small picture; of a large one those at the borders and
 * every 61st. */
static bool row_is_checked(const struct kernel_case *c, uint32_t y)
{
    return c->height <= 288 || y < 20 || y + 20 >= c->height || y % 61 == 0;
}

static double sample(const struct kernel_case *c, const struct kernel_data *d, int x, int y, int i)
{
    x = x < 0 ? 0 : x >= (int)c->width ? (int)c->width - 1 : x;
    y = y < 0 ? 0 : y >= (int)c->height ? (int)c->height - 1 : y;
    uint64_t at = 4 * ((uint64_t)y * c->width + (uint32_t)x) + (uint32_t)i;
    return c->format == KERNEL_RGBA32F ? (double)((const float *)(const void *)d->input)[at]
                                       : d->input[at];
}

/* A row is filtered along y, then along x. */
static void reference_row(const struct kernel_case *c, const struct kernel_data *d, uint32_t y,
                          double *column, float *out)
{
    const float *w = (const float *)(const void *)d->params;
    int r = (int)c->taps / 2, width = (int)c->width;
    for (int x = 0; x < width; x++) {
        for (int i = 0; i < 4; i++) {
            double sum = 0;
            for (int k = -r; k <= r; k++)
                sum += w[k + r] * sample(c, d, x, (int)y + k, i);
            column[4 * x + i] = sum;
        }
    }
    for (int x = 0; x < width; x++) {
        for (int i = 0; i < 4; i++) {
            double sum = 0;
            for (int k = -r; k <= r; k++)
                sum += w[k + r] * column[4 * (x + k < 0        ? 0
                                              : x + k >= width ? width - 1
                                                               : x + k) +
                                         i];
            out[4 * x + i] = (float)sum;
        }
    }
}

static int reference(const struct kernel_case *c, struct kernel_data *d)
{
    uint32_t rows = 0;
    for (uint32_t y = 0; y < c->height; y++)
        rows += row_is_checked(c, y);
    double *column = malloc(4ull * c->width * sizeof(*column));
    float *out = malloc(4ull * c->width * rows * sizeof(*out));
    if (!column || !out) {
        free(column);
        free(out);
        return GPU_ERR_NOMEM;
    }
    for (uint32_t y = 0, at = 0; y < c->height; y++)
        if (row_is_checked(c, y))
            reference_row(c, d, y, column, out + 4ull * c->width * at++);
    free(column);
    d->reference = out;
    return GPU_OK;
}

static double compare(const struct kernel_case *c, const struct kernel_variant *v,
                      const struct kernel_data *d, const uint8_t *output, double *allowed)
{
    const float *want = d->reference;
    double most = 0;
    for (uint32_t y = 0; y < c->height; y++) {
        uint64_t at = 4ull * c->width * y;
        if (!row_is_checked(c, y))
            continue;
        for (uint32_t i = 0; i < 4 * c->width; i++) {
            double got = c->format == KERNEL_RGBA32F
                             ? (double)((const float *)(const void *)output)[at + i]
                             : output[at + i];
            double off = fabs(got - *want++);
            if (!(off <= most))
                most = off;
        }
    }
    /* rounding of the result and, between the passes, to 8 bits or to halves, whose step is 1/8
     * from 128 on */
    *allowed = (c->format == KERNEL_RGBA32F ? 0.001 : 1.05) + (v->param ? 0.13 : 0);
    return most;
}

static void groups(const struct kernel_case *c, const struct kernel_variant *v,
                   const struct kernel_pass *p, const struct kernel_data *d, uint32_t xyz[3])
{
    uint32_t x = p->constants[0], y = p->constants[1];
    switch (p->param) {
    case RUNS:
        x = 32, y = 64;
        break;
    case HALVES:
        x = 32, y = p->constants[0];
        break;
    case COLUMNS:
        x = (p->constants[0] - 24) / 8 * 8;
        break;
    case SLIDE:
        x = 232, y = 64;
        break;
    case SHUFFLE:
        x = p->constants[0] / d->subgroup * (4 * d->subgroup - 24);
        break;
    }
    xyz[0] = (c->width + x - 1) / x;
    xyz[1] = (c->height + y - 1) / y;
}

static uint32_t constants(const struct kernel_case *c, const struct kernel_pass *p,
                          uint32_t values[8])
{
    values[4] = p->param == FROM_HALF ? BENCH_HALF : c->format;
    values[5] = p->param == TO_HALF ? BENCH_HALF : c->format;
    values[6] = c->taps;
    values[7] = c->gauss;
    return 8;
}

const struct kernel_family kernel_blur = {
    .name = "blur",
    .variants = variants,
    .variant_count = sizeof(variants) / sizeof(*variants),
    .cases = cases,
    .case_count = sizeof(cases) / sizeof(*cases),
    .quick = ONE(1920, 1080, KERNEL_RGBA8, 9, true),
    .axis = KERNEL_AXIS_TAPS,
    .size = size,
    .traffic = traffic,
    .fill = fill,
    .reference = reference,
    .compare = compare,
    .groups = groups,
    .constants = constants,
    .push = push,
};
