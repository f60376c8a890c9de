/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A lens's picture made straight: where positions come from, how pixels are read and interpolated,
 * in what precision, and whether the conversion to NV12 is part of it.
 */
#include "bench/bench_camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shaders/bench_convert.spv.h"
#include "shaders/bench_undistort.spv.h"

enum { BUFFER, IMAGE, TEXTURE, HALF_BUFFER, HALF_IMAGE, HALF_TEXTURE };
enum { MAP, COMPUTED };
enum { LINEAR, KEYS };
enum { RGB, NV12 };
/* References: by interpolation and whether positions are those of the map, in 1/32 pixel. */
#define REFERENCES                          4
#define PARAM(source, position, kernel, to) ((source) | (position) << 3 | (kernel) << 4 | (to) << 5)
#define SOURCE_OF(v)                        ((v)->param & 7u)
#define POSITION_OF(v)                      ((v)->param >> 3 & 1u)
#define KERNEL_OF(v)                        ((v)->param >> 4 & 1u)
#define TO_OF(v)                            ((v)->param >> 5 & 1u)

#define ONLY (1u << KERNEL_RGB16)
#define SHADED(label, lx, ly, source, position, kernel, to)                                        \
    {                                                                                              \
        .name = label, .formats = ONLY, .param = PARAM(source, position, kernel, to),              \
        .pass_count = 1, .passes = {                                                               \
            {KERNEL_SHADER(bench_undistort),                                                       \
             KERNEL_CONSTANTS(lx, ly, source, position, kernel, to)}                               \
        }                                                                                          \
    }
#define TWO_PASSES(label, source, position)                                                        \
    {                                                                                              \
        .name = label, .formats = ONLY, .param = PARAM(source, position, LINEAR, NV12),            \
        .pass_count = 2, .passes = {                                                               \
            {KERNEL_SHADER(bench_undistort),                                                       \
             KERNEL_CONSTANTS(16, 8, source, position, LINEAR, RGB)},                              \
            {KERNEL_SHADER(bench_convert), KERNEL_CONSTANTS(16, 8)}                                \
        }                                                                                          \
    }

static const struct kernel_variant variants[] = {
    SHADED("map-buffer", 16, 8, BUFFER, MAP, LINEAR, RGB),
    SHADED("map-buffer-32x4", 32, 4, BUFFER, MAP, LINEAR, RGB),
    SHADED("map-buffer-8x16", 8, 16, BUFFER, MAP, LINEAR, RGB),
    SHADED("map-buffer-8x8", 8, 8, BUFFER, MAP, LINEAR, RGB),
    SHADED("map-image", 16, 8, IMAGE, MAP, LINEAR, RGB),
    SHADED("map-texture", 16, 8, TEXTURE, MAP, LINEAR, RGB),
    SHADED("map-half-buffer", 16, 8, HALF_BUFFER, MAP, LINEAR, RGB),
    SHADED("map-half-image", 16, 8, HALF_IMAGE, MAP, LINEAR, RGB),
    SHADED("map-half-texture", 16, 8, HALF_TEXTURE, MAP, LINEAR, RGB),
    SHADED("computed-buffer", 16, 8, BUFFER, COMPUTED, LINEAR, RGB),
    SHADED("computed-image", 16, 8, IMAGE, COMPUTED, LINEAR, RGB),
    SHADED("computed-texture", 16, 8, TEXTURE, COMPUTED, LINEAR, RGB),
    SHADED("computed-texture-8x8", 8, 8, TEXTURE, COMPUTED, LINEAR, RGB),
    SHADED("computed-half-texture", 16, 8, HALF_TEXTURE, COMPUTED, LINEAR, RGB),
    {.name = "pipeline", .formats = ONLY, .param = PARAM(BUFFER, MAP, LINEAR, RGB), .hosted = true},
    SHADED("bicubic-map-buffer", 16, 8, BUFFER, MAP, KEYS, RGB),
    SHADED("bicubic-map-image", 16, 8, IMAGE, MAP, KEYS, RGB),
    SHADED("bicubic-map-half-buffer", 16, 8, HALF_BUFFER, MAP, KEYS, RGB),
    SHADED("bicubic-computed-buffer", 16, 8, BUFFER, COMPUTED, KEYS, RGB),
    SHADED("bicubic-computed-image", 16, 8, IMAGE, COMPUTED, KEYS, RGB),
    {.name = "bicubic-pipeline",
     .formats = ONLY,
     .param = PARAM(BUFFER, MAP, KEYS, RGB),
     .hosted = true},
    SHADED("nv12-map-buffer", 16, 8, BUFFER, MAP, LINEAR, NV12),
    TWO_PASSES("nv12-map-buffer-two-passes", BUFFER, MAP),
    SHADED("nv12-map-texture", 16, 8, TEXTURE, MAP, LINEAR, NV12),
    SHADED("nv12-computed-texture", 16, 8, TEXTURE, COMPUTED, LINEAR, NV12),
    TWO_PASSES("nv12-computed-texture-two-passes", TEXTURE, COMPUTED),
};

#define ONE(w, h)                                                                                  \
    {                                                                                              \
        .width = w, .height = h, .format = KERNEL_RGB16                                            \
    }
static const struct kernel_case cases[] = {ONE(848, 480), ONE(1280, 720), ONE(1920, 1080),
                                           ONE(3840, 2160)};

/* A wide lens: about a tenth of the picture's width at its corners. */
static void lens_of(const struct kernel_case *c, struct isp_lens *out)
{
    double focal = 0.8 * c->width;
    *out = (struct isp_lens){ISP_LENS_BROWN_CONRADY,
                             {focal, focal, 0.5 * c->width + 3.25, 0.5 * c->height - 2.5},
                             {-0.27, 0.09, 0.001, -0.0005, -0.01}};
}

static uint64_t pixels(const struct kernel_case *c)
{
    return (uint64_t)c->width * c->height;
}

static uint64_t size(const struct kernel_case *c, uint32_t binding)
{
    return binding == BENCH_BIND_PARAMS   ? 4 * pixels(c)
           : binding == BENCH_BIND_OUTPUT ? pixels(c) / 2 * 19
                                          : 8 * pixels(c);
}

/* Of the plainest variant: pixels in and out. */
static uint64_t traffic(const struct kernel_case *c)
{
    return 16 * pixels(c);
}

static void push(const struct kernel_case *c, const struct kernel_data *d,
                 float weights[BENCH_WEIGHTS])
{
    struct isp_lens lens;
    lens_of(c, &lens);
    const double values[9] = {1 / lens.camera.fx,   lens.camera.fx,       lens.camera.cx,
                              lens.camera.cy,       lens.coefficients[0], lens.coefficients[1],
                              lens.coefficients[2], lens.coefficients[3], lens.coefficients[4]};
    for (int i = 0; i < 9; i++)
        weights[i] = (float)values[i];
}

static void position(const struct kernel_case *c, const struct isp_lens *lens, uint32_t x,
                     uint32_t y, bool of_map, double at[2])
{
    if (!isp_lens_distort(lens, &lens->camera, x, y, &at[0], &at[1]))
        at[0] = at[1] = -64;
    for (int i = 0; i < 2 && of_map; i++)
        at[i] = rint(32 * at[i]) / 32;
}

/* To the nearest, ties to even; 0 < v <= 1. */
static uint16_t half_from(double v)
{
    int exponent;
    if (v <= 0)
        return 0;
    frexp(v, &exponent);
    exponent = exponent < -13 ? -13 : exponent;
    /* 1024..2048, less for the smallest */
    uint32_t mantissa = (uint32_t)rint(ldexp(v, 11 - exponent));
    return (uint16_t)((uint32_t)(exponent + 13) * 1024 + mantissa);
}

static void fill(const struct kernel_case *c, struct kernel_data *d, uint64_t *random)
{
    struct isp_lens lens;
    lens_of(c, &lens);
    for (uint64_t i = 0; i < pixels(c); i++) {
        uint32_t a = kernel_random(random), b = kernel_random(random);
        uint16_t pixel[4] = {(uint16_t)a, (uint16_t)(a >> 16), (uint16_t)b, 0}, halves[4] = {0};
        for (int k = 0; k < 3; k++)
            halves[k] = half_from(pixel[k] / 65535.0);
        memcpy(d->input + 8 * i, pixel, 8);
        memcpy(d->scratch + 8 * i, halves, 8);
    }
    for (uint32_t y = 0; y < c->height; y++) {
        for (uint32_t x = 0; x < c->width; x++) {
            double at[2];
            position(c, &lens, x, y, true, at);
            int16_t entry[2] = {(int16_t)(32 * (at[0] - x)), (int16_t)(32 * (at[1] - y))};
            memcpy(d->params + 4 * ((uint64_t)y * c->width + x), entry, 4);
        }
    }
}

static double sample(const struct kernel_case *c, const struct kernel_data *d, int x, int y, int i)
{
    uint16_t pixel[4];
    if (x < 0 || y < 0 || x >= (int)c->width || y >= (int)c->height)
        return 0;
    memcpy(pixel, d->input + 8 * ((uint64_t)y * c->width + (uint32_t)x), 8);
    return pixel[i];
}

/* Keys 1981 with a = -0.75. */
static void keys(double f, double w[4])
{
    const double a = -0.75, g = 1 - f;
    w[0] = a * f * g * g;
    w[1] = ((a + 2) * f - (a + 3)) * f * f + 1;
    w[2] = ((a + 2) * g - (a + 3)) * g * g + 1;
    w[3] = a * f * f * g;
}

/* In 1/2048, sums rounded after each direction: as docs/design/isp.md has it. */
static double whole_cubic(const struct kernel_case *c, const struct kernel_data *d, const int p[2],
                          const double f[2], int i)
{
    int64_t w[2][4], sum = 1024;
    for (int k = 0; k < 2; k++) {
        double exact[4];
        keys(f[k], exact);
        for (int n = 0; n < 3; n++)
            w[k][n] = (int64_t)rint(2048 * exact[n]);
        w[k][3] = 2048 - w[k][0] - w[k][1] - w[k][2];
    }
    for (int y = 0; y < 4; y++) {
        int64_t row = 1024;
        for (int x = 0; x < 4; x++)
            row += w[0][x] * (int64_t)sample(c, d, p[0] + x - 1, p[1] + y - 1, i);
        sum += w[1][y] * (row >> 11);
    }
    return (double)(sum >> 11);
}

static double interpolate(const struct kernel_case *c, const struct kernel_data *d,
                          const double at[2], uint32_t kernel, bool of_map, int i)
{
    int p[2] = {(int)floor(at[0]), (int)floor(at[1])};
    double f[2] = {at[0] - p[0], at[1] - p[1]}, wx[4] = {0, 1 - f[0], f[0], 0},
           wy[4] = {0, 1 - f[1], f[1], 0}, sum = 0;
    if (kernel == KEYS && of_map)
        return whole_cubic(c, d, p, f, i);
    if (kernel == KEYS) {
        keys(f[0], wx);
        keys(f[1], wy);
    }
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            if (wx[x] != 0 && wy[y] != 0)
                sum += wx[x] * wy[y] * sample(c, d, p[0] + x - 1, p[1] + y - 1, i);
    return of_map ? floor(sum + 0.5) : sum; /* the map's sums are of 1/1024, halves rounded up */
}

/* [2 * kernel + of_map][rows][width][3] */
static int reference(const struct kernel_case *c, struct kernel_data *d)
{
    struct isp_lens lens;
    uint64_t stride = 3ull * c->width * kernel_rows_checked(c), n = 0;
    float *out = malloc(REFERENCES * stride * sizeof(*out));
    if (!out)
        return GPU_ERR_NOMEM;
    lens_of(c, &lens);
    for (uint32_t y = 0; y < c->height; y++) {
        for (uint32_t x = 0; x < c->width && kernel_row_is_checked(c, y); x++, n += 3) {
            double at[2][2];
            position(c, &lens, x, y, false, at[0]);
            position(c, &lens, x, y, true, at[1]);
            for (uint32_t k = 0; k < REFERENCES; k++)
                for (uint32_t i = 0; i < 3; i++)
                    out[k * stride + n + i] = (float)fmin(
                        fmax(interpolate(c, d, at[k & 1], k >> 1, k & 1, (int)i), 0), 65535);
        }
    }
    d->reference = out;
    return GPU_OK;
}

static const float *reference_of(const struct kernel_case *c, const struct kernel_variant *v,
                                 const struct kernel_data *d)
{
    return (const float *)d->reference +
           3ull * c->width * kernel_rows_checked(c) * (2 * KERNEL_OF(v) + (POSITION_OF(v) == MAP));
}

static double compare_pixels(const struct kernel_case *c, const struct kernel_variant *v,
                             const struct kernel_data *d, const uint16_t *got, uint32_t words,
                             bool grey)
{
    const float *want = reference_of(c, v, d);
    double most = 0;
    for (uint32_t y = 0; y < c->height; y++) {
        for (uint32_t x = 0; x < c->width && kernel_row_is_checked(c, y); x++, want += 3) {
            const uint16_t *pixel = got + words * ((uint64_t)y * c->width + x);
            for (int i = 0; i < 3; i++) {
                double off = fabs((double)pixel[i] - (double)want[grey ? 0 : i]);
                most = off <= most ? most : off;
            }
        }
    }
    return most / 257;
}

static int off_byte(int got, int64_t want)
{
    return abs(got - (int)(want < 0 ? 0 : want > 255 ? 255 : want));
}

/* Rec. ITU-R BT.709-6, 3.2 and 3.3, in 1/32768; chroma of the mean of four. rows: two of the
 * reference. */
static int compare_chroma(const float *rows, uint32_t width, const uint8_t *got)
{
    int64_t p[3];
    for (uint32_t i = 0; i < 3; i++) {
        double sum = 2;
        for (uint32_t k = 0; k < 4; k++)
            sum += rint((double)rows[3 * ((k >> 1) * width + (k & 1)) + i]);
        p[i] = (int64_t)sum >> 2;
    }
    int cb =
        off_byte(got[0], 128 + ((-3754 * p[0] - 12630 * p[1] + 16384 * p[2] + (1 << 22)) >> 23));
    int cr =
        off_byte(got[1], 128 + ((16384 * p[0] - 14882 * p[1] - 1502 * p[2] + (1 << 22)) >> 23));
    return cb > cr ? cb : cr;
}

static double compare_nv12(const struct kernel_case *c, const struct kernel_variant *v,
                           const struct kernel_data *d, const uint8_t *luma)
{
    const uint8_t *chroma = luma + pixels(c);
    const float *want = reference_of(c, v, d);
    int most = 0;
    for (uint32_t y = 0; y < c->height; y++) {
        for (uint32_t x = 0; x < c->width && kernel_row_is_checked(c, y); x++, want += 3) {
            int64_t p[3] = {(int64_t)rint((double)want[0]), (int64_t)rint((double)want[1]),
                            (int64_t)rint((double)want[2])};
            int off = off_byte(luma[(uint64_t)y * c->width + x],
                               (6966 * p[0] + 23436 * p[1] + 2366 * p[2] + (1 << 22)) >> 23);
            if (y % 2 == 0 && x % 2 == 0) {
                int other =
                    compare_chroma(want, c->width, chroma + (uint64_t)(y / 2) * c->width + x);
                off = off > other ? off : other;
            }
            most = off > most ? off : most;
        }
    }
    return most;
}

/* Float positions are off by some 1/1000 pixel; texture units weigh in 1/256; halves have 11 bits,
 * whose errors Keys' weights add up. */
static double allowed_of(const struct kernel_variant *v)
{
    bool unit = SOURCE_OF(v) == TEXTURE || SOURCE_OF(v) == HALF_TEXTURE,
         half = SOURCE_OF(v) >= HALF_BUFFER;
    double allowed = (POSITION_OF(v) == COMPUTED ? 0.6 : 0) + (unit ? 2.1 : 0) +
                     (!half                  ? 0
                      : KERNEL_OF(v) == KEYS ? 0.3
                                             : 0.16);
    return TO_OF(v) == NV12 ? ceil(allowed) : allowed;
}

static double compare(const struct kernel_case *c, const struct kernel_variant *v,
                      const struct kernel_data *d, const uint8_t *output, double *allowed)
{
    *allowed = allowed_of(v);
    return TO_OF(v) == NV12
               ? compare_nv12(c, v, d, output + 8 * pixels(c))
               : compare_pixels(c, v, d, (const uint16_t *)(const void *)output, 4, false);
}

static void groups(const struct kernel_case *c, const struct kernel_variant *v,
                   const struct kernel_pass *p, const struct kernel_data *d, uint32_t xyz[3])
{
    uint32_t x = 4 * p->constants[0], y = 2 * p->constants[1];
    xyz[0] = (c->width + x - 1) / x;
    xyz[1] = (c->height + y - 1) / y;
}

static double compare_hosted(struct kernel_bench *b, const uint16_t *rgb)
{
    return compare_pixels(&b->c, b->variant, &b->data, rgb, 3, true);
}

/* The pipeline develops a grey sensor's picture of 16 bits, the red samples, which leaves them as
 * they are. */
static int host(struct kernel_bench *b, const struct kernel_variant *v, struct kernel_result *out,
                char why[KERNEL_WHY])
{
    struct kernel_isp how = {.gain = {1, 1, 1},
                             .stage = ISP_STAGE_FINISH,
                             .params = {.width = b->c.width,
                                        .height = b->c.height,
                                        .order = ISP_MONO,
                                        .depth = 16,
                                        .format = ISP_RGB48,
                                        .interpolation = KERNEL_OF(v) == KEYS
                                                             ? ISP_INTERPOLATE_BICUBIC
                                                             : ISP_INTERPOLATE_BILINEAR}};
    uint8_t *raw = malloc(2 * pixels(&b->c));
    if (!raw)
        return GPU_ERR_NOMEM;
    for (uint64_t i = 0; i < pixels(&b->c); i++)
        memcpy(raw + 2 * i, b->data.input + 8 * i, 2);
    lens_of(&b->c, &how.params.lens);
    how.raw = raw;
    int err = kernel_isp_run(b, &how, compare_hosted, allowed_of(v), out, why);
    free(raw);
    return err;
}

const struct kernel_family kernel_undistort = {
    .name = "undistort",
    .variants = variants,
    .variant_count = sizeof(variants) / sizeof(*variants),
    .cases = cases,
    .case_count = sizeof(cases) / sizeof(*cases),
    .quick = ONE(1920, 1080),
    .fills_scratch = true,
    .image_count = 2,
    .images = {{VK_FORMAT_R16G16B16A16_UNORM, 1, BENCH_BIND_INPUT, 0, BENCH_BIND_TEXTURE, true},
               {VK_FORMAT_R16G16B16A16_SFLOAT, 1, BENCH_BIND_SCRATCH, 0, BENCH_BIND_TEXTURE_2,
                true}},
    .size = size,
    .traffic = traffic,
    .fill = fill,
    .reference = reference,
    .compare = compare,
    .groups = groups,
    .push = push,
    .host = host,
};
