/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reduction of a picture to its luminance.
 */
#include "bench/kernels_internal.h"

#include <stdlib.h>
#include <string.h>

#include "shaders/bench_reduce.spv.h"
#include "shaders/bench_reduce_final.spv.h"

enum { INTERLEAVED, SEQUENTIAL, UNROLLED, DOUBLED, SUBGROUP };
#define COLOUR (1u << KERNEL_RGBA8 | 1u << KERNEL_RGBA32F)
#define FINAL                                                                                      \
    {                                                                                              \
        KERNEL_SHADER(bench_reduce_final), .param = 1                                              \
    }

#define TWO_PASSES(label, group, values, method, full)                                             \
    {                                                                                              \
        .name = label, .formats = COLOUR, .whole = full, .pass_count = 2, .passes = {              \
            {KERNEL_SHADER(bench_reduce), KERNEL_CONSTANTS(group, values, method, 0, 0, 0)},       \
            FINAL                                                                                  \
        }                                                                                          \
    }
#define IN_SUBGROUPS(label, mask, values, ticket, histogram, quads)                                \
    {                                                                                              \
        .name = label, .formats = mask, .whole = true, .clear = histogram,                         \
        .clear_scratch = ticket, .param = histogram, .pass_count = ticket ? 1 : 2, .passes = {     \
            {KERNEL_SHADER(bench_reduce),                                                          \
             KERNEL_CONSTANTS(256, values, SUBGROUP, ticket, histogram, quads)},                   \
            FINAL                                                                                  \
        }                                                                                          \
    }

static const struct kernel_variant variants[] = {
    TWO_PASSES("interleaved", 256, 1, INTERLEAVED, false),
    TWO_PASSES("sequential", 256, 1, SEQUENTIAL, false),
    TWO_PASSES("unrolled", 256, 1, UNROLLED, true),
    TWO_PASSES("two-64", 64, 2, UNROLLED, true),
    TWO_PASSES("four-16", 16, 4, SEQUENTIAL, false),
    TWO_PASSES("four-64", 64, 4, UNROLLED, true),
    TWO_PASSES("four-256", 256, 4, UNROLLED, true),
    TWO_PASSES("four-512", 512, 4, UNROLLED, true),
    TWO_PASSES("four-1024", 1024, 4, UNROLLED, true),
    TWO_PASSES("four-1024-doubled", 1024, 4, DOUBLED, false),
    TWO_PASSES("sixteen-1024", 1024, 16, UNROLLED, true),
    IN_SUBGROUPS("subgroup", COLOUR, 16, 0, 0, 0),
    IN_SUBGROUPS("subgroup-quads", 1u << KERNEL_RGBA8, 16, 0, 0, 1),
    IN_SUBGROUPS("subgroup-quads-32", 1u << KERNEL_RGBA8, 32, 0, 0, 1),
    IN_SUBGROUPS("ticket", COLOUR, 16, 1, 0, 0),
    IN_SUBGROUPS("ticket-quads", 1u << KERNEL_RGBA8, 16, 1, 0, 1),
    IN_SUBGROUPS("ticket-quads-32", 1u << KERNEL_RGBA8, 32, 1, 0, 1),
    IN_SUBGROUPS("histogram", COLOUR, 16, 0, 1, 0),
    IN_SUBGROUPS("ticket-histogram", COLOUR, 16, 1, 1, 0),
    IN_SUBGROUPS("nv12", 1u << KERNEL_NV12, 16, 0, 0, 1),
    IN_SUBGROUPS("nv12-ticket", 1u << KERNEL_NV12, 16, 1, 0, 1),
    IN_SUBGROUPS("bayer", 1u << KERNEL_BAYER8, 16, 0, 0, 1),
    IN_SUBGROUPS("bayer-ticket", 1u << KERNEL_BAYER8, 16, 1, 0, 1),
};

#define ONE(w, h, f)                                                                               \
    {                                                                                              \
        .width = w, .height = h, .format = f                                                       \
    }
#define SIZES(f) ONE(848, 480, f), ONE(1280, 720, f), ONE(1920, 1080, f), ONE(3840, 2160, f)
static const struct kernel_case cases[] = {SIZES(KERNEL_RGBA8), SIZES(KERNEL_RGBA32F),
                                           SIZES(KERNEL_NV12), SIZES(KERNEL_BAYER8)};

/* What `item` of the shader sums at once: a pixel, or four samples. */
static uint32_t items(const struct kernel_case *c)
{
    return c->width * c->height / (c->format == KERNEL_NV12 || c->format == KERNEL_BAYER8 ? 4 : 1);
}

static void groups(const struct kernel_case *c, const struct kernel_variant *v,
                   const struct kernel_pass *p, const struct kernel_data *d, uint32_t xyz[3])
{
    if (p->param)
        return;
    uint32_t each = p->constants[0] * p->constants[1], count = (items(c) + each - 1) / each;
    xyz[0] = count < 16384 ? count : 16384;
    xyz[1] = (count + xyz[0] - 1) / xyz[0];
}

static uint64_t size(const struct kernel_case *c, uint32_t binding)
{
    switch (binding) {
    case BENCH_BIND_INPUT:
        return kernel_format_bytes(c->format, c->width, c->height);
    case BENCH_BIND_OUTPUT:
        return 4 * (4 + BENCH_BINS);
    case BENCH_BIND_SCRATCH:
        return 16 + 4 * ((uint64_t)items(c) / 64 + 1 + 16384);
    default:
        return 0;
    }
}

static uint64_t traffic(const struct kernel_case *c)
{
    return c->format == KERNEL_NV12 ? (uint64_t)c->width * c->height
                                    : kernel_format_bytes(c->format, c->width, c->height);
}

static void fill(const struct kernel_case *c, struct kernel_data *d, uint64_t *random)
{
    for (uint64_t i = 0; i < d->size[BENCH_BIND_INPUT] / 4; i++) {
        uint32_t r = kernel_random(random);
        if (c->format == KERNEL_RGBA32F)
            ((float *)(void *)d->input)[i] = (float)(r >> 24);
        else
            memcpy(d->input + 4 * i, &r, 4);
    }
}

struct reduced {
    uint64_t sum;
    uint32_t bins[BENCH_BINS];
};

static uint32_t component(const struct kernel_case *c, const struct kernel_data *d, uint64_t pixel,
                          int i)
{
    return c->format == KERNEL_RGBA32F
               ? (uint32_t)((const float *)(const void *)d->input)[4 * pixel + i]
               : d->input[4 * pixel + i];
}

static uint32_t bayer_weight(uint32_t x, uint32_t y)
{
    if ((x ^ y) & 1)
        return 2 * BENCH_GREEN;
    return 4 * (y & 1 ? BENCH_BLUE : BENCH_RED);
}

static int reference(const struct kernel_case *c, struct kernel_data *d)
{
    struct reduced *r = calloc(1, sizeof(*r));
    if (!r)
        return GPU_ERR_NOMEM;
    for (uint64_t i = 0; i < (uint64_t)c->width * c->height; i++) {
        if (c->format == KERNEL_NV12) {
            r->sum += (uint64_t)d->input[i] << 8;
        } else if (c->format == KERNEL_BAYER8) {
            r->sum +=
                bayer_weight((uint32_t)(i % c->width), (uint32_t)(i / c->width)) * d->input[i] >> 8;
        } else {
            uint32_t luma =
                (BENCH_RED * component(c, d, i, 0) + BENCH_GREEN * component(c, d, i, 1) +
                 BENCH_BLUE * component(c, d, i, 2)) >>
                8;
            r->sum += luma;
            r->bins[luma >> 8]++;
        }
    }
    d->reference = r;
    return GPU_OK;
}

static double compare(const struct kernel_case *c, const struct kernel_variant *v,
                      const struct kernel_data *d, const uint8_t *output, double *allowed)
{
    const struct reduced *r = d->reference;
    uint64_t sum;
    memcpy(&sum, output, 8);
    double most = (double)(sum > r->sum ? sum - r->sum : r->sum - sum);
    for (uint32_t i = 0; v->param && i < BENCH_BINS; i++) {
        uint32_t bin;
        memcpy(&bin, output + 16 + 4 * i, 4);
        double off = (double)bin - r->bins[i];
        most = off > most ? off : -off > most ? -off : most;
    }
    *allowed = 0;
    return most;
}

static uint32_t constants(const struct kernel_case *c, const struct kernel_pass *p,
                          uint32_t values[8])
{
    if (p->param)
        return 0;
    values[6] = c->format;
    return 7;
}

const struct kernel_family kernel_reduce = {
    .name = "reduce",
    .variants = variants,
    .variant_count = sizeof(variants) / sizeof(*variants),
    .cases = cases,
    .case_count = sizeof(cases) / sizeof(*cases),
    .quick = ONE(1920, 1080, KERNEL_RGBA8),
    .size = size,
    .traffic = traffic,
    .fill = fill,
    .reference = reference,
    .compare = compare,
    .groups = groups,
    .constants = constants,
    .items = items,
};
