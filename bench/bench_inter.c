/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interprediction of luma: samples a thread, ways to read the reference, lists of like blocks
 * against one branching kernel.
 */
#include "bench/kernels_internal.h"

#include <stdlib.h>
#include <string.h>

#include "shaders/bench_inter.spv.h"

enum { BUFFER, IMAGE, TEXTURE };
#define BRANCHES 4

#define PASS(pels, source, class)                                                                  \
    {                                                                                              \
        KERNEL_SHADER(bench_inter), KERNEL_CONSTANTS(pels, source, class), .param = class          \
    }
#define BRANCHING(label, pels, source)                                                             \
    {                                                                                              \
        .name = label, .formats = 1u << KERNEL_LUMA8, .pass_count = 1, .passes = {                 \
            PASS(pels, source, BRANCHES)                                                           \
        }                                                                                          \
    }
#define LISTS(label, pels, source)                                                                 \
    {                                                                                              \
        .name = label, .formats = 1u << KERNEL_LUMA8, .independent = true, .pass_count = 4,        \
        .passes = {                                                                                \
            PASS(pels, source, 0),                                                                 \
            PASS(pels, source, 1),                                                                 \
            PASS(pels, source, 2),                                                                 \
            PASS(pels, source, 3)                                                                  \
        }                                                                                          \
    }
#define BOTH(pels, text, source, place)                                                            \
    BRANCHING(text "-" place "-branching", pels, source),                                          \
        LISTS(text "-" place "-lists", pels, source)
#define ALL(pels, text)                                                                            \
    BOTH(pels, text, BUFFER, "buffer"), BOTH(pels, text, IMAGE, "image"),                          \
        BOTH(pels, text, TEXTURE, "texture")

static const struct kernel_variant variants[] = {ALL(4, "4"), ALL(16, "16"), ALL(64, "64")};

#define ONE(w, h)                                                                                  \
    {                                                                                              \
        .width = w, .height = h, .format = KERNEL_LUMA8                                            \
    }
static const struct kernel_case cases[] = {ONE(848, 480), ONE(1280, 720), ONE(1920, 1080),
                                           ONE(3840, 2160)};

static uint32_t blocks(const struct kernel_case *c)
{
    return c->width / 8 * (c->height / 8);
}

static uint64_t size(const struct kernel_case *c, uint32_t binding)
{
    if (binding == BENCH_BIND_PARAMS)
        return 16 + 4 * 5ull * blocks(c);
    return binding <= BENCH_BIND_OUTPUT ? (uint64_t)c->width * c->height : 0;
}

static uint64_t traffic(const struct kernel_case *c)
{
    return 2ull * c->width * c->height;
}

static int vector_of(const struct kernel_data *d, uint32_t block, int axis)
{
    int16_t v;
    memcpy(&v, d->params + 16 + 4ull * block + 2 * axis, 2);
    return v;
}

/* Vectors of up to 16 samples; a quarter of the blocks have no fraction, as in streams of little
 * motion. */
static void fill(const struct kernel_case *c, struct kernel_data *d, uint64_t *random)
{
    for (uint64_t i = 0; i < (uint64_t)c->width * c->height; i++)
        d->input[i] = (uint8_t)(kernel_random(random) >> 24);
    for (uint32_t b = 0; b < blocks(c); b++) {
        uint32_t r = kernel_random(random);
        int16_t v[2] = {(int16_t)((r & 127) - 64), (int16_t)((r >> 8 & 127) - 64)};
        if (!(r >> 16 & 3))
            v[0] &= ~3, v[1] &= ~3;
        memcpy(d->params + 16 + 4ull * b, v, 4);
    }
    memset(d->counts, 0, sizeof(d->counts));
    for (uint32_t b = 0; b < blocks(c); b++) {
        uint32_t kind = (vector_of(d, b, 0) & 3 ? 1 : 0) + (vector_of(d, b, 1) & 3 ? 2 : 0);
        memcpy(d->params + 16 + 4ull * ((1 + kind) * blocks(c) + d->counts[kind]), &b, 4);
        d->counts[kind]++;
    }
    memcpy(d->params, d->counts, 16);
}

static int sample(const struct kernel_case *c, const struct kernel_data *d, int x, int y)
{
    x = x < 0 ? 0 : x >= (int)c->width ? (int)c->width - 1 : x;
    y = y < 0 ? 0 : y >= (int)c->height ? (int)c->height - 1 : y;
    return d->input[(uint32_t)y * c->width + (uint32_t)x];
}

static const int taps[6] = {1, -5, 20, 20, -5, 1};

static int clip(int v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

static int sum_x(const struct kernel_case *c, const struct kernel_data *d, int x, int y)
{
    int sum = 0;
    for (int i = 0; i < 6; i++)
        sum += taps[i] * sample(c, d, x + i - 2, y);
    return sum;
}

/* b and h of figure 8-4, at the sample to whose right, below which, they lie; and j. */
static int half_x(const struct kernel_case *c, const struct kernel_data *d, int x, int y)
{
    return clip((sum_x(c, d, x, y) + 16) >> 5);
}

static int half_y(const struct kernel_case *c, const struct kernel_data *d, int x, int y)
{
    int sum = 0;
    for (int i = 0; i < 6; i++)
        sum += taps[i] * sample(c, d, x, y + i - 2);
    return clip((sum + 16) >> 5);
}

static int half_both(const struct kernel_case *c, const struct kernel_data *d, int x, int y)
{
    int sum = 0;
    for (int i = 0; i < 6; i++)
        sum += taps[i] * sum_x(c, d, x, y + i - 2);
    return clip((sum + 512) >> 10);
}

/* Table 8-12: the two values whose mean it is; those of half and integer positions are twice the
 * same. */
static int interpolate(const struct kernel_case *c, const struct kernel_data *d, int x, int y,
                       int fx, int fy)
{
    int right = x + (fx == 3), below = y + (fy == 3), a, b;
    if (fx == 2 && fy == 2) {
        a = b = half_both(c, d, x, y);
    } else if (!fx && !fy) {
        a = b = sample(c, d, x, y);
    } else if (!fy) {
        a = half_x(c, d, x, y);
        b = fx == 2 ? a : sample(c, d, right, y);
    } else if (!fx) {
        a = half_y(c, d, x, y);
        b = fy == 2 ? a : sample(c, d, x, below);
    } else {
        a = fx == 2 || fy == 2 ? half_both(c, d, x, y) : half_x(c, d, x, below);
        b = fx == 2 ? half_x(c, d, x, below) : half_y(c, d, right, y);
    }
    return (a + b + 1) >> 1;
}

/* Rows that the reference holds: all of a small picture; of a large one those at the borders and
 * every 13th. */
static bool row_is_checked(const struct kernel_case *c, uint32_t y)
{
    return c->height <= 288 || y < 24 || y + 24 >= c->height || y % 13 == 0;
}

static int reference(const struct kernel_case *c, struct kernel_data *d)
{
    uint8_t *out = malloc((uint64_t)c->width * c->height);
    if (!out)
        return GPU_ERR_NOMEM;
    for (uint32_t y = 0; y < c->height; y++) {
        for (uint32_t x = 0; x < c->width && row_is_checked(c, y); x++) {
            uint32_t block = y / 8 * (c->width / 8) + x / 8;
            int vx = vector_of(d, block, 0), vy = vector_of(d, block, 1);
            out[y * c->width + x] =
                (uint8_t)interpolate(c, d, (int)x + (vx >> 2), (int)y + (vy >> 2), vx & 3, vy & 3);
        }
    }
    d->reference = out;
    return GPU_OK;
}

static double compare(const struct kernel_case *c, const struct kernel_variant *v,
                      const struct kernel_data *d, const uint8_t *output, double *allowed)
{
    const uint8_t *want = d->reference;
    double wrong = 0;
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t x = 0; x < c->width && row_is_checked(c, y); x++)
            wrong += output[y * c->width + x] != want[y * c->width + x];
    *allowed = 0;
    return wrong;
}

static void groups(const struct kernel_case *c, const struct kernel_variant *v,
                   const struct kernel_pass *p, const struct kernel_data *d, uint32_t xyz[3])
{
    uint32_t n = p->param == BRANCHES ? blocks(c) : d->counts[p->param];
    xyz[0] = (n * (64 / p->constants[0]) + 63) / 64;
}

const struct kernel_family kernel_inter = {
    .name = "inter",
    .variants = variants,
    .variant_count = sizeof(variants) / sizeof(*variants),
    .cases = cases,
    .case_count = sizeof(cases) / sizeof(*cases),
    .quick = ONE(1920, 1080),
    .image_count = 1,
    .images = {{VK_FORMAT_R32_UINT, 4, BENCH_BIND_INPUT, BENCH_BIND_IMAGE, BENCH_BIND_TEXTURE,
                false}},
    .size = size,
    .traffic = traffic,
    .fill = fill,
    .reference = reference,
    .compare = compare,
    .groups = groups,
};
