/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Random frames, through the device and through the reference.
 */
#include "tests/gpu/isp/checkisp.h"
#include "tests/gpu/isp/ref.h"
#include "reference/ref_blur.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t check_random(struct check_env *env, uint32_t below)
{
    env->random ^= env->random << 13;
    env->random ^= env->random >> 7;
    env->random ^= env->random << 17;
    return (uint32_t)((env->random >> 20) % below);
}

double check_uniform(struct check_env *env, double low, double high)
{
    return low + (high - low) * check_random(env, 1u << 24) / (double)(1u << 24);
}

static uint32_t raw_value(struct check_env *env, const struct check_frame *f, uint32_t x,
                          uint32_t y)
{
    uint32_t most = (1u << f->params.depth) - 1;
    if (f->pattern == 0)
        return check_random(env, most + 1);
    if (f->pattern == 2)
        return check_random(env, 2) ? most : 0;
    uint32_t noise = check_random(env, most / 16 + 1),
             slope = (uint32_t)((uint64_t)most * (x + 2 * y) /
                                (f->params.width + 2 * f->params.height));
    return check_random(env, 200) == 0 ? most : slope * 7 / 8 + noise;
}

static void make_raw(struct check_env *env, struct check_frame *f)
{
    const struct isp_params *p = &f->params;
    for (uint32_t y = 0; y < isp_raw_rows(p); y++) {
        uint8_t *row = f->raw + (size_t)y * f->stride;
        memset(row, 0, f->stride);
        for (uint32_t i = 0; i < isp_row_bytes(p) && p->order == ISP_YUV; i++)
            row[i] = f->pattern == 1 ? (uint8_t)(100 + (i + y) % 40 + check_random(env, 9))
                                     : (uint8_t)raw_value(env, f, i, y);
        for (uint32_t x = 0; x < p->width && p->order != ISP_YUV; x++)
            ref_pack(p, f->raw + (size_t)y * f->stride, x, raw_value(env, f, x, y));
    }
}

static void make_reference(struct check_frame *f)
{
    const struct isp_params *p = &f->params;
    size_t pixels = (size_t)p->width * p->height;
    uint16_t *level = malloc(pixels * sizeof(*level)), (*rgb)[3] = malloc(pixels * sizeof(*rgb));
    for (uint32_t i = 0; i < f->planes; i++)
        f->reference[i] = malloc((size_t)f->row_bytes[i] * f->rows[i] * sizeof(double));
    if (!level || !rgb || !f->reference[f->planes - 1])
        abort();
    if (p->order == ISP_YUV) {
        ref_picture(p, f->raw, f->stride, level, rgb);
    } else {
        ref_level(p, f->gain, f->raw, f->stride, level);
        ref_demosaic(p, level, rgb);
    }
    if (p->denoise > 0)
        ref_denoise(p, rgb);
    ref_finish(p, rgb, f->reference);
    ref_statistics(p, level, &f->wanted);
    free(level);
    free(rgb);
}

int check_prepare(struct check_env *env, struct check_frame *f, uint64_t *at, uint64_t *arena_at)
{
    char why[ISP_WHY] = "";
    int err = isp_camera_create(env->isp, &f->params, &f->camera, why);
    if (err < 0) {
        printf("no camera: %s %s\n", gpu_error_text(err), why);
        return 1;
    }
    f->stride = isp_row_bytes(&f->params) + (f->padded ? 1 + check_random(env, 40) : 0);
    size_t bytes = (size_t)f->stride * isp_raw_rows(&f->params);
    if (f->in_arena) {
        f->raw = env->arena_memory + *arena_at;
        *arena_at += (bytes + 63) / 64 * 64;
    } else {
        f->raw = malloc(bytes);
    }
    if (!f->raw)
        abort();
    make_raw(env, f);
    f->planes = isp_planes(&f->params, f->row_bytes, f->rows);
    for (uint32_t i = 0; i < f->planes; i++) {
        f->out_stride[i] = f->row_bytes[i] + (f->padded ? check_random(env, 9) : 0);
        f->offset[i] = *at + (f->padded ? check_random(env, 5) : 0);
        *at = (f->offset[i] + (uint64_t)f->out_stride[i] * f->rows[i] + 63) / 64 * 64;
    }
    make_reference(f);
    return 0;
}

void check_describe(const struct check_frame *f, struct isp_frame *out, struct check_env *env)
{
    *out =
        (struct isp_frame){.camera = f->camera,
                           .raw = f->raw,
                           .raw_stride = f->stride,
                           .host = env->host,
                           .statistics = f->statistics ? (struct isp_statistics *)&f->got : NULL};
    memcpy(out->gain, f->gain, sizeof(out->gain));
    memcpy(out->offset, f->offset, sizeof(out->offset));
    memcpy(out->stride, f->out_stride, sizeof(out->stride));
}

/* The planes that came out without rectangles, blurred by the reference: what is to come with them,
 * sample by sample. */
static int compare_blurred(struct check_env *env, const struct check_frame *f,
                           const struct isp_params *p, const uint8_t *plain, const uint8_t *got,
                           uint32_t i)
{
    uint32_t bytes = ref_sample_bytes(p), drop = p->format == ISP_P010 ? 6 : 0;
    uint32_t components = i ? (f->planes == 2 ? 2 : 1) : isp_components(p->format);
    struct isp_rect out;
    isp_output_size(p, &out);
    const struct ref_blur_plane plane = {.width = f->row_bytes[i] / bytes / components,
                                         .height = f->rows[i],
                                         .shift_x = i > 0,
                                         .shift_y = i > 0,
                                         .picture_width = out.width,
                                         .picture_height = out.height};
    struct ref_rect rects[ISP_BLURS];
    uint16_t *from = malloc(2 * (size_t)plane.width * plane.height),
             *to = malloc(2 * (size_t)plane.width * plane.height);
    int failed = !from || !to;
    for (uint32_t k = 0; k < p->blur_count; k++)
        rects[k] =
            (struct ref_rect){p->blur[k].x, p->blur[k].y, p->blur[k].width, p->blur[k].height};
    for (uint32_t c = 0; c < components && !failed; c++) {
        for (size_t at = 0; at < (size_t)plane.width * plane.height; at++) {
            const uint8_t *s = plain + at / plane.width * f->out_stride[i] +
                               (at % plane.width * components + c) * bytes;
            from[at] = (uint16_t)((bytes == 2 ? s[0] | s[1] << 8 : s[0]) >> drop);
        }
        ref_blur(&plane, rects, p->blur_count, from, to);
        for (size_t at = 0; at < (size_t)plane.width * plane.height && !failed; at++) {
            const uint8_t *s = got + at / plane.width * f->out_stride[i] +
                               (at % plane.width * components + c) * bytes;
            uint32_t value = (uint32_t)(bytes == 2 ? s[0] | s[1] << 8 : s[0]);
            failed = value != (uint32_t)to[at] << drop;
            if (failed)
                printf("blur: plane %u, component %u of %zu,%zu: %u instead of %u: format %d\n", i,
                       c, at % plane.width, at / plane.width, value, (uint32_t)to[at] << drop,
                       p->format);
        }
    }
    env->samples += (unsigned long long)plane.width * plane.height * components;
    free(from);
    free(to);
    return failed;
}

int check_blurred(struct check_env *env, struct check_frame *f, const struct isp_params *blurred)
{
    struct isp_camera *camera = NULL;
    uint64_t at = 0, arena_at = 0, ticket = 0, size;
    char why[ISP_WHY] = "";
    if (check_prepare(env, f, &at, &arena_at))
        return 1;
    size = at;
    int failed = isp_camera_create(env->isp, blurred, &camera, why) < 0;
    struct isp_frame list[2];
    check_describe(f, &list[0], env);
    list[1] = list[0];
    list[1].camera = camera;
    list[1].statistics = NULL;
    for (int i = 0; i < 3; i++)
        list[1].offset[i] += size;
    if (failed || isp_submit(env->isp, list, 2, &ticket) < 0 ||
        isp_wait(env->isp, ticket, UINT64_MAX) < 0) {
        printf("blur: no frames: %s\n", why);
        failed = 1;
    }
    env->frames++;
    for (uint32_t i = 0; i < f->planes && !failed; i++)
        failed = compare_blurred(env, f, blurred, env->memory + f->offset[i],
                                 env->memory + size + f->offset[i], i);
    isp_camera_free(camera);
    check_release(f);
    return failed;
}

/* How far a code value may be from the reference's value, beyond the half of rounding. Floats may
 * round another way where the reference lies beside the middle of two codes. Whole numbers all the
 * way are exact. */
static double tolerance(const struct isp_params *p)
{
    bool wide = p->format == ISP_RGB48, edge = p->demosaic == ISP_EDGE && p->order < ISP_MONO,
         matrix = p->colour[0] != 0 || p->order == ISP_YUV;
    if (!wide)
        return p->format == ISP_P010 ? 1.0 / 16 : 1.0 / 32;
    return edge || matrix ? 1.5 : p->denoise > 0 ? 0.5 : 0;
}

static int value_at(const struct isp_params *p, const uint8_t *row, uint32_t i)
{
    if (p->format == ISP_RGB48)
        return row[2 * i] | row[2 * i + 1] << 8;
    return p->format == ISP_P010 ? (row[2 * i] | row[2 * i + 1] << 8) >> 6 : row[i];
}

static const char *describe(const struct isp_params *p)
{
    static char text[256];
    snprintf(text, sizeof(text),
             "%u x %u, order %d, packing %d of %u, defect %u, demosaic %d, lens %d, interpolation "
             "%d, output %u x %u, tone %d, "
             "format %d",
             p->width, p->height, p->order, p->packing, p->depth, p->defect, p->demosaic,
             p->lens.model, p->interpolation, p->out_width, p->out_height, p->tone, p->format);
    return text;
}

static int compare_planes(struct check_env *env, const struct check_frame *f)
{
    const struct isp_params *p = &f->params;
    double worst = 0, most = tolerance(p);
    unsigned long long samples = 0, inexact = 0;
    uint32_t at[3] = {0}, bytes = ref_sample_bytes(p);
    for (uint32_t i = 0; i < f->planes; i++) {
        for (uint32_t y = 0; y < f->rows[i]; y++) {
            uint32_t width = f->row_bytes[i] / bytes;
            const uint8_t *got = env->memory + f->offset[i] + (size_t)y * f->out_stride[i];
            const double *wanted = f->reference[i] + (size_t)y * width;
            for (uint32_t x = 0; x < width; x++) {
                double d = fabs(value_at(p, got, x) - wanted[x]) - 0.5;
                samples++;
                inexact += value_at(p, got, x) != rint(wanted[x]);
                if (d > worst) {
                    worst = d;
                    at[0] = i, at[1] = x, at[2] = y;
                }
            }
        }
    }
    env->samples += samples;
    env->inexact += inexact;
    env->worst = worst > env->worst ? worst : env->worst;
    if (worst <= most && inexact <= samples / 100 + 2)
        return 0;
    printf("plane %u differs by %g beyond rounding at %u,%u (at most %g); %llu of %llu samples "
           "differ: %s\n",
           at[0], worst, at[1], at[2], most, inexact, samples, describe(p));
    return 1;
}

static int compare_statistics(const struct check_frame *f)
{
    const struct isp_statistics *got = &f->got, *wanted = &f->wanted;
    if (got->columns != wanted->columns || got->rows != wanted->rows ||
        memcmp(got->histogram, wanted->histogram, sizeof(got->histogram)) != 0) {
        printf("statistics: shape or histogram differ: %s\n", describe(&f->params));
        return 1;
    }
    for (uint32_t i = 0; i < got->columns * got->rows; i++) {
        struct isp_zone a = got->zones[i], b = wanted->zones[i];
        double logs = (double)a.log_luma - b.log_luma;
        a.log_luma = b.log_luma = 0;
        if (memcmp(&a, &b, sizeof(a)) != 0 || logs > 41.0 * a.cells || logs < -41.0 * a.cells) {
            printf("statistics: zone %u differs (logarithms by %.2f stops a cell): %s\n", i,
                   logs / 4096 / a.cells, describe(&f->params));
            return 1;
        }
    }
    return 0;
}

int check_compare(struct check_env *env, struct check_frame *f)
{
    env->frames++;
    int failed = compare_planes(env, f);
    return f->statistics ? failed | compare_statistics(f) : failed;
}

void check_release(struct check_frame *f)
{
    isp_camera_free(f->camera);
    for (int i = 0; i < 3; i++)
        free(f->reference[i]);
    if (!f->in_arena)
        free(f->raw);
}

#define UNTOUCHED    0xa5
#define BEYOND_BYTES 4096

/* Everything outside of the planes is as it was. The planes are overwritten. */
static int compare_outside(struct check_env *env, const struct check_frame *frames, uint32_t n,
                           uint64_t end)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < frames[i].planes; k++)
            memset(env->memory + frames[i].offset[k], UNTOUCHED,
                   (size_t)frames[i].out_stride[k] * (frames[i].rows[k] - 1) +
                       frames[i].row_bytes[k]);
    for (uint64_t i = 0; i < end; i++)
        if (env->memory[i] != UNTOUCHED) {
            printf("byte %llu of the host's memory is outside of all planes, and was changed: %s\n",
                   (unsigned long long)i, describe(&frames[0].params));
            return 1;
        }
    return 0;
}

int check_run(struct check_env *env, struct check_frame *frames, uint32_t n)
{
    uint64_t at = 0, arena_at = 0, ticket = 0;
    struct isp_frame *list = calloc(n, sizeof(*list));
    int failed = list == NULL;
    for (uint32_t i = 0; i < n && !failed; i++)
        failed = check_prepare(env, &frames[i], &at, &arena_at);
    for (uint32_t i = 0; i < n && !failed; i++)
        check_describe(&frames[i], &list[i], env);
    uint64_t end = at + BEYOND_BYTES < CHECK_HOST_BYTES ? at + BEYOND_BYTES : CHECK_HOST_BYTES;
    memset(env->memory, UNTOUCHED, end);
    int err = failed ? 0 : isp_submit(env->isp, list, n, &ticket);
    if (!failed && err == GPU_OK)
        err = isp_wait(env->isp, ticket, UINT64_MAX);
    if (err < 0)
        printf("no frames: %s\n", gpu_error_text(err));
    for (uint32_t i = 0; i < n && !failed && err == GPU_OK; i++)
        failed |= check_compare(env, &frames[i]);
    if (!failed && err == GPU_OK)
        failed = compare_outside(env, frames, n, end);
    for (uint32_t i = 0; i < n; i++)
        check_release(&frames[i]);
    free(list);
    return failed || err < 0;
}
