/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See analysis.h. The last column and row repeat up to whole macroblocks; outside of them samples
 * in half of the size repeat those at the edges.
 */
#include "encode/analysis.h"

#include <stdlib.h>

/* A macroblock in half of the size is a block of 8x8 samples. */
#define BLOCK  8
#define WINDOW 6 /* of vectors: 12 samples of the picture */
#define MARGIN 8 /* what a vector may reach, and the samples beside a block */

/* Flat macroblocks show more than busy ones. So QP follows the logarithm of the sum of squared
 * differences from the mean, and stays at MIDDLE. */
#define MIDDLE      (14 * 64)
#define OFFSET_MOST 6

struct half_plane {
    uint8_t *memory, *origin; /* sample (0, 0) */
};

struct analysis {
    const struct encoding *encoding;
    uint32_t mb_width, mb_height;
    ptrdiff_t stride;
    struct half_plane plane[2]; /* of this picture, of the one before */
    bool has_last;
};

struct analysis *analysis_create(const struct encoding *e, const struct encoding_limits *limits)
{
    struct analysis *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->encoding = e;
    a->mb_width = limits->mb_width;
    a->mb_height = limits->mb_height;
    a->stride = (ptrdiff_t)limits->mb_width * BLOCK + 2 * MARGIN;
    for (int i = 0; i < 2; i++) {
        struct half_plane *p = &a->plane[i];
        p->memory = calloc((size_t)limits->mb_height * BLOCK + 2 * MARGIN, (size_t)a->stride);
        if (!p->memory) {
            analysis_free(a);
            return NULL;
        }
        p->origin = p->memory + MARGIN * a->stride + MARGIN;
    }
    return a;
}

void analysis_free(struct analysis *a)
{
    if (!a)
        return;
    free(a->plane[0].memory);
    free(a->plane[1].memory);
    free(a);
}

/* ---- samples ---- */

static uint32_t clamp(int v, uint32_t count)
{
    return v < 0 ? 0 : v < (int)count ? (uint32_t)v : count - 1;
}

static const uint8_t *luma_row(const struct analysis *a, const struct decider_source *s, int y)
{
    return s->plane[0] + clamp(y, a->encoding->height) * s->stride[0];
}

/* Rounded means of four samples, with the margins */
static void half_load(const struct analysis *a, const struct decider_source *s)
{
    uint32_t columns = a->mb_width * BLOCK, rows = a->mb_height * BLOCK;
    for (int y = -MARGIN; y < (int)rows + MARGIN; y++) {
        int row = 2 * (int)clamp(y, rows);
        const uint8_t *upper = luma_row(a, s, row), *lower = luma_row(a, s, row + 1);
        uint8_t *out = a->plane[0].origin + y * a->stride;
        for (int x = -MARGIN; x < (int)columns + MARGIN; x++) {
            int column = 2 * (int)clamp(x, columns);
            uint32_t left = clamp(column, a->encoding->width),
                     right = clamp(column + 1, a->encoding->width);
            out[x] = (uint8_t)((upper[left] + upper[right] + lower[left] + lower[right] + 2) >> 2);
        }
    }
}

/* ---- offsets of QP ---- */

/* log2(x) in 64ths, x >= 1: the place of the first bit, and the six bits behind it */
static int log2_about(uint32_t x)
{
    int whole = 31 - __builtin_clz(x);
    return 64 * whole + (int)((whole > 6 ? x >> (whole - 6) : x << (6 - whole)) & 63);
}

static int8_t offset_of(const struct analysis *a, const struct decider_source *s, uint32_t mb_x,
                        uint32_t mb_y)
{
    uint32_t sum = 0, squares = 0;
    int offset;
    for (uint32_t y = 0; y < 16; y++) {
        const uint8_t *row = luma_row(a, s, (int)(16 * mb_y + y));
        for (uint32_t x = 0; x < 16; x++) {
            uint32_t v = row[clamp((int)(16 * mb_x + x), a->encoding->width)];
            sum += v;
            squares += v * v;
        }
    }
    offset = (log2_about(squares - (sum * sum >> 8) + 1) - MIDDLE + 32) >> 6;
    offset = offset < -OFFSET_MOST ? -OFFSET_MOST : offset;
    return (int8_t)(offset > OFFSET_MOST ? OFFSET_MOST : offset);
}

/* ---- costs ---- */

/* The sum of differences, or any sum from limit on */
static uint32_t block_sad(const uint8_t *a, const uint8_t *b, ptrdiff_t stride, uint32_t limit)
{
    uint32_t sum = 0;
    for (int y = 0; y < BLOCK && sum < limit; y++)
        for (int x = 0; x < BLOCK; x++)
            sum += (uint32_t)abs(a[y * stride + x] - b[y * stride + x]);
    return sum;
}

/* The best of three predictions from the samples beside it: mean, from above, from the left */
static uint32_t intra_of(const uint8_t *s, ptrdiff_t stride)
{
    uint32_t sum = BLOCK, from_mean = 0, from_above = 0, from_left = 0;
    int mean;
    for (int i = 0; i < BLOCK; i++)
        sum += s[i - stride] + (uint32_t)s[i * stride - 1];
    mean = (int)(sum >> 4);
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < BLOCK; x++) {
            int v = s[y * stride + x];
            from_mean += (uint32_t)abs(v - mean);
            from_above += (uint32_t)abs(v - s[x - stride]);
            from_left += (uint32_t)abs(v - s[y * stride - 1]);
        }
    from_mean = from_above < from_mean ? from_above : from_mean;
    return from_left < from_mean ? from_left : from_mean;
}

/* The best vector into the source picture before */
static uint32_t inter_of(const uint8_t *s, const uint8_t *last, ptrdiff_t stride)
{
    uint32_t best = block_sad(s, last, stride, UINT32_MAX); /* most often the best, or near it */
    for (int y = -WINDOW; y <= WINDOW; y++)
        for (int x = -WINDOW; x <= WINDOW; x++) {
            uint32_t sad = block_sad(s, last + y * stride + x, stride, best);
            best = sad < best ? sad : best;
        }
    return best;
}

static void costs_add(const struct analysis *a, uint32_t mb_x, uint32_t mb_y,
                      struct analysis_costs *costs)
{
    ptrdiff_t at = BLOCK * (ptrdiff_t)mb_y * a->stride + BLOCK * (ptrdiff_t)mb_x;
    uint32_t intra = intra_of(a->plane[0].origin + at, a->stride), inter = intra;
    if (a->has_last)
        inter = inter_of(a->plane[0].origin + at, a->plane[1].origin + at, a->stride);
    costs->intra += intra;
    costs->inter += inter < intra ? inter : intra;
}

struct analysis_costs analysis_picture(struct analysis *a, const struct decider_source *source,
                                       int8_t *qp_offsets)
{
    struct analysis_costs costs = {0};
    struct half_plane last = a->plane[0];
    a->plane[0] = a->plane[1];
    a->plane[1] = last;
    half_load(a, source);
    for (uint32_t y = 0; y < a->mb_height; y++)
        for (uint32_t x = 0; x < a->mb_width; x++) {
            costs_add(a, x, y, &costs);
            qp_offsets[y * a->mb_width + x] = offset_of(a, source, x, y);
        }
    a->has_last = true;
    return costs;
}
