/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Work with the dependencies of macroblocks: a dispatch per diagonal against one dispatch that synchronises inside.
 */
#include "gpu/kernels/kernels_internal.h"

#include <stdlib.h>
#include <string.h>

#include "shaders/bench_wavefront.spv.h"

enum { PREDICT, SMOOTH };
enum { WHOLE, BY_DIAGONALS, BY_ROWS };

#define FORMATS (1u << KERNEL_LUMA8)
/* The filter works in place: what it filters is moved there first. */
#define MOVE {KERNEL_SHADER(bench_wavefront), KERNEL_CONSTANTS(SMOOTH, 2), .param = WHOLE}
#define DIAGONALS(mode) {KERNEL_SHADER(bench_wavefront), KERNEL_CONSTANTS(mode, 0), .param = BY_DIAGONALS, .diagonals = true}
#define ROWS(mode) {KERNEL_SHADER(bench_wavefront), KERNEL_CONSTANTS(mode, 1), .param = BY_ROWS}

static const struct kernel_variant variants[] = {
    {.name = "intra-diagonal", .formats = FORMATS, .param = PREDICT, .pass_count = 1, .passes = {DIAGONALS(PREDICT)}},
    {.name = "intra-persistent", .formats = FORMATS, .param = PREDICT, .clear_scratch = true, .pass_count = 1, .passes = {ROWS(PREDICT)}},
    {.name = "deblock-diagonal", .formats = FORMATS, .param = SMOOTH, .pass_count = 2, .passes = {MOVE, DIAGONALS(SMOOTH)}},
    {.name = "deblock-persistent", .formats = FORMATS, .param = SMOOTH, .clear_scratch = true, .pass_count = 2, .passes = {MOVE, ROWS(SMOOTH)}},
};

#define ONE(n) {.width = 1920, .height = 1088, .format = KERNEL_LUMA8, .pictures = n}
static const struct kernel_case cases[] = {ONE(1), ONE(2), ONE(4), ONE(8), ONE(16), ONE(32), ONE(64), ONE(128)};

static uint64_t samples(const struct kernel_case *c)
{
    return (uint64_t)c->width * c->height * c->pictures;
}

static uint64_t size(const struct kernel_case *c, uint32_t binding)
{
    return binding <= BENCH_BIND_OUTPUT ? samples(c) : binding == BENCH_BIND_SCRATCH ? 64 + 4ull * c->height / 16 * c->pictures : 0;
}

static uint64_t traffic(const struct kernel_case *c)
{
    return 2 * samples(c);
}

static uint32_t items(const struct kernel_case *c)
{
    return (uint32_t)(samples(c) / 4);
}

static void fill(const struct kernel_case *c, struct kernel_data *d, uint64_t *random)
{
    for (uint64_t i = 0; i < samples(c) / 4; i++) {
        uint32_t r = kernel_random(random);
        memcpy(d->input + 4 * i, &r, 4);
    }
}

static void predict(const struct kernel_case *c, const uint8_t *in, uint8_t *out, uint32_t bx, uint32_t by)
{
    uint32_t w = c->width, top = by * 16, first = bx * 16;
    for (uint32_t y = top; y < top + 16; y++) {
        for (uint32_t x = first; x < first + 16; x++) {
            int above = by ? out[(top - 1) * w + x] : 128, left = bx ? out[y * w + first - 1] : 128;
            int right = by && x + 16 < w ? out[(top - 1) * w + x + 16] : above;
            out[y * w + x] = (uint8_t)(((2 * above + left + right + 2) >> 2) + in[y * w + x]);
        }
    }
}

static void smooth_line(uint8_t *first, uint32_t stride)
{
    int p[6];
    for (int i = 0; i < 6; i++)
        p[i] = first[i * (int)stride];
    for (int i = 1; i < 5; i++)
        first[i * (int)stride] = (uint8_t)((p[i - 1] + 2 * p[i] + p[i + 1] + 2) >> 2);
}

static void smooth(const struct kernel_case *c, uint8_t *out, uint32_t bx, uint32_t by)
{
    for (uint32_t k = 0; k < 16 && bx; k++)
        smooth_line(out + (by * 16 + k) * c->width + bx * 16 - 3, 1);
    for (uint32_t k = 0; k < 16 && by; k++)
        smooth_line(out + (by * 16 - 3) * c->width + bx * 16 + k, c->width);
}

/* Both modes, one behind the other, in raster order. */
static int reference(const struct kernel_case *c, struct kernel_data *d)
{
    uint64_t one = (uint64_t)c->width * c->height;
    uint8_t *out = malloc(2 * samples(c));
    if (!out)
        return GPU_ERR_NOMEM;
    memcpy(out + samples(c), d->input, samples(c));
    for (uint32_t p = 0; p < c->pictures; p++) {
        for (uint32_t by = 0; by < c->height / 16; by++) {
            for (uint32_t bx = 0; bx < c->width / 16; bx++) {
                predict(c, d->input + p * one, out + p * one, bx, by);
                smooth(c, out + samples(c) + p * one, bx, by);
            }
        }
    }
    d->reference = out;
    return GPU_OK;
}

static double compare(const struct kernel_case *c, const struct kernel_variant *v, const struct kernel_data *d, const uint8_t *output,
                      double *allowed)
{
    const uint8_t *want = (const uint8_t *)d->reference + (v->param == SMOOTH ? samples(c) : 0);
    double wrong = 0;
    for (uint64_t i = 0; i < samples(c); i++)
        wrong += output[i] != want[i];
    *allowed = 0;
    return wrong;
}

static void groups(const struct kernel_case *c, const struct kernel_variant *v, const struct kernel_pass *p, const struct kernel_data *d,
                   uint32_t step, uint32_t xyz[3])
{
    uint32_t across = c->width / 16, down = c->height / 16;
    if (p->param == WHOLE) {
        xyz[0] = (items(c) / 4 + 63) / 64;
    } else if (p->param == BY_ROWS) {
        xyz[0] = down * c->pictures;
    } else {
        uint32_t first = step < across ? 0 : (step - across + 2) / 2, last = step / 2 < down ? step / 2 : down - 1;
        xyz[0] = first <= last ? last - first + 1 : 0;
        xyz[1] = c->pictures;
    }
}

const struct kernel_family kernel_wavefront = {
    .name = "wavefront", .variants = variants, .variant_count = sizeof(variants) / sizeof(*variants),
    .cases = cases, .case_count = sizeof(cases) / sizeof(*cases), .quick = ONE(4), .axis = KERNEL_AXIS_PICTURES, .whole_blocks = true,
    .size = size, .traffic = traffic, .fill = fill, .reference = reference, .compare = compare, .groups = groups, .items = items,
};
