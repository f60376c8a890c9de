/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The groups of checkisp: inputs are built for each branch; everything else is random.
 */
#include "tests/gpu/isp/checkisp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_params(struct check_env *env, struct isp_params *p)
{
    *p = (struct isp_params){.width = 16 + 4 * check_random(env, 40),
                             .height = 16 + 2 * check_random(env, 50),
                             .depth = 12,
                             .order = (enum isp_order)check_random(env, 5),
                             .demosaic = ISP_MALVAR,
                             .format = ISP_RGB48};
    for (int i = 0; i < 4; i++)
        p->black[i] = (uint16_t)check_random(env, 60);
}

void check_lens(struct check_env *env, struct isp_params *p)
{
    struct isp_lens *l = &p->lens;
    double f = p->width * check_uniform(env, 0.6, 1.5);
    l->model = check_random(env, 2) ? ISP_LENS_BROWN_CONRADY : ISP_LENS_FISHEYE;
    l->camera = (struct isp_pinhole){f, f * check_uniform(env, 0.9, 1.1),
                                     p->width * check_uniform(env, 0.4, 0.6),
                                     p->height * check_uniform(env, 0.4, 0.6)};
    for (int i = 0; i < 8; i++)
        l->coefficients[i] = check_uniform(env, -0.1, 0.1) * (i == 2 || i == 3 ? 0.1 : 1);
    p->camera = l->camera;
    p->camera.fx *= check_uniform(env, 0.7, 1.2);
    p->camera.fy *= check_uniform(env, 0.7, 1.2);
}

static void gains(struct check_env *env, struct check_frame *f)
{
    for (int i = 0; i < 3; i++)
        f->gain[i] = (float)check_uniform(env, 0.3, 3);
}

static int group_packing(struct check_env *env)
{
    static const struct {
        enum isp_packing packing;
        uint32_t depth;
    } kinds[] = {{ISP_UNPACKED, 8},  {ISP_UNPACKED, 10}, {ISP_UNPACKED, 12}, {ISP_UNPACKED, 14},
                 {ISP_UNPACKED, 16}, {ISP_MIPI, 10},     {ISP_MIPI, 12},     {ISP_MIPI, 14}};
    int failed = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (int order = 0; order < 5; order++) {
            struct check_frame f = {.pattern = (int)check_random(env, 3),
                                    .in_arena = check_random(env, 2),
                                    .padded = check_random(env, 2)};
            check_params(env, &f.params);
            gains(env, &f);
            f.params.packing = kinds[i].packing;
            f.params.depth = kinds[i].depth;
            f.params.order = (enum isp_order)order;
            f.params.width += f.params.packing == ISP_UNPACKED || f.params.depth == 12
                                  ? 2 * check_random(env, 2)
                                  : 0;
            if (check_random(env, 2))
                f.params.white = (uint16_t)((1u << f.params.depth) - 1 - check_random(env, 100));
            failed |= check_run(env, &f, 1);
        }
    }
    return failed;
}

static int group_demosaic(struct check_env *env)
{
    int failed = 0;
    for (int i = 0; i < ISP_DEMOSAICS * 5 * 2; i++) {
        struct check_frame f = {.pattern = (int)check_random(env, 3),
                                .statistics = check_random(env, 2)};
        check_params(env, &f.params);
        gains(env, &f);
        f.params.demosaic = (enum isp_demosaic)(i % ISP_DEMOSAICS);
        f.params.order = (enum isp_order)(i / ISP_DEMOSAICS % 5);
        f.params.defect = i / ISP_DEMOSAICS / 5 ? (uint16_t)(1 + check_random(env, 300)) : 0;
        failed |= check_run(env, &f, 1);
    }
    return failed;
}

static int group_lens(struct check_env *env)
{
    int failed = 0;
    for (int i = 0; i < 24; i++) {
        struct check_frame f = {.pattern = i % 3, .padded = check_random(env, 2)};
        struct isp_params *p = &f.params;
        check_params(env, p);
        gains(env, &f);
        p->interpolation = i & 1 ? ISP_INTERPOLATE_BICUBIC : ISP_INTERPOLATE_BILINEAR;
        p->format = i & 2 ? ISP_RGB24 : ISP_RGB48;
        if (i & 4)
            check_lens(env, p);
        if (i & 8) {
            p->region = (struct isp_rect){.width = 1 + check_random(env, p->width),
                                          .height = 1 + check_random(env, p->height)};
            p->region.x = check_random(env, p->width - p->region.width + 1);
            p->region.y = check_random(env, p->height - p->region.height + 1);
        }
        if (!(i & 4) || check_random(env, 2)) {
            p->out_width = 1 + check_random(env, 200);
            p->out_height = 1 + check_random(env, 120);
        }
        failed |= check_run(env, &f, 1);
    }
    return failed;
}

static int group_format(struct check_env *env)
{
    static uint16_t table[300];
    int failed = 0;
    for (int i = 0; i < 300; i++)
        table[i] = (uint16_t)lrint(65535 * pow(i / 299.0, 0.7));
    for (int i = 0; i < ISP_FORMATS * 8; i++) {
        struct check_frame f = {
            .pattern = i % 2, .padded = check_random(env, 2), .gain = {1, 1, 1}};
        struct isp_params *p = &f.params;
        check_params(env, p);
        p->format = (enum isp_format)(i % ISP_FORMATS);
        p->tone = (enum isp_tone)(i / ISP_FORMATS % 4);
        p->tone_table = table;
        p->tone_count = check_random(env, 2) ? 257 : 5;
        p->matrix = (enum isp_matrix)check_random(env, 2);
        p->full_range = check_random(env, 2);
        for (int k = 0; k < 9 && i / ISP_FORMATS >= 4; k++)
            p->colour[k] =
                (float)(k % 4 == 0 ? check_uniform(env, 1, 2) : check_uniform(env, -0.5, 0.2));
        if (p->format == ISP_RGB24 || p->format == ISP_GRAY8)
            p->region = (struct isp_rect){1, 1, p->width - 3, p->height - 5};
        if (check_random(env, 3) == 0)
            check_lens(env, p);
        failed |= check_run(env, &f, 1);
    }
    return failed;
}

/* What goes by one pass: every packing and order, statistics beside it, several frames of a camera,
 * with and without a lens. */
static int group_fused(struct check_env *env)
{
    static const uint32_t depths[] = {8, 10, 12, 14, 16, 10, 12, 14};
    int failed = 0;
    for (uint32_t i = 0; i < 8 * 5; i++) {
        struct check_frame f = {.pattern = (int)check_random(env, 3), .statistics = true};
        struct isp_params *p = &f.params;
        check_params(env, p);
        gains(env, &f);
        p->packing = i % 8 < 5 ? ISP_UNPACKED : ISP_MIPI;
        p->depth = depths[i % 8];
        p->order = (enum isp_order)(i / 8);
        p->width += p->depth == 12 ? 2 * check_random(env, 2) : 0;
        p->demosaic = i % 3 ? ISP_MALVAR : ISP_BILINEAR;
        p->format = i % 2 ? ISP_NV12 : ISP_RGB24;
        p->tone = i % 4 ? ISP_TONE_SRGB : ISP_TONE_LINEAR;
        if (check_random(env, 2))
            check_lens(env, p);
        failed |= check_run(env, &f, 1);
    }
    return failed;
}

/* Luminance denoise of every kind of frame, beside frames without it in a batch. */
static int group_denoise(struct check_env *env)
{
    int failed = 0;
    for (int i = 0; i < 15; i++) {
        struct check_frame f[3] = {0};
        for (int k = 0; k < 3; k++) {
            struct isp_params *p = &f[k].params;
            f[k].pattern = (i + k) % 3;
            f[k].gain[0] = f[k].gain[1] = f[k].gain[2] = 1;
            f[k].statistics = k == 0;
            check_params(env, p);
            p->demosaic = i % 2 ? ISP_BILINEAR : ISP_MALVAR;
            p->denoise = k == 1 ? 0 : (float)check_uniform(env, 0.02, 1);
            if (i % 3 == 0) {
                p->format = ISP_NV12;
                p->tone = ISP_TONE_SRGB;
            }
        }
        failed |= check_run(env, f, 3);
    }
    return failed;
}

/* Rectangles in every output format, with and without a lens. */
static int group_blur(struct check_env *env)
{
    int failed = 0;
    for (int i = 0; i < ISP_FORMATS * 4; i++) {
        struct check_frame f = {
            .pattern = i % 2, .padded = check_random(env, 2), .gain = {1, 1, 1}};
        check_params(env, &f.params);
        f.params.format = (enum isp_format)(i % ISP_FORMATS);
        f.params.tone = ISP_TONE_SRGB;
        if (i / ISP_FORMATS % 2)
            check_lens(env, &f.params);
        struct isp_params blurred = f.params;
        blurred.blur_count = 1 + check_random(env, i % 5 == 0 ? ISP_BLURS : 3);
        for (uint32_t k = 0; k < blurred.blur_count; k++)
            blurred.blur[k] = (struct isp_rect){
                check_random(env, blurred.width), check_random(env, blurred.height),
                1 + check_random(env, blurred.width), 1 + check_random(env, blurred.height)};
        failed |= check_blurred(env, &f, &blurred);
    }
    return failed;
}

static int group_statistics(struct check_env *env)
{
    static const struct {
        uint32_t width, height;
    } sizes[] = {{16, 16}, {64, 32}, {66, 34}, {1920, 16}, {640, 600}, {1154, 50}};
    int failed = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) * 2; i++) {
        struct check_frame f = {.pattern = i % 3, .statistics = true};
        check_params(env, &f.params);
        gains(env, &f);
        f.params.width = sizes[i / 2].width;
        f.params.height = sizes[i / 2].height;
        f.params.order = i % 2 ? ISP_MONO : (enum isp_order)check_random(env, 4);
        f.params.demosaic =
            i % 2 ? ISP_BILINEAR : (enum isp_demosaic)check_random(env, ISP_DEMOSAICS);
        failed |= check_run(env, &f, 1);
    }
    return failed;
}

/* Cameras that develop themselves: every layout and output, plain, cut, scaled, straightened. */
static int group_picture(struct check_env *env)
{
    int failed = 0;
    for (int i = 0; i < 7 * ISP_FORMATS * 2; i++) {
        struct check_frame f = {.pattern = i % 3,
                                .in_arena = check_random(env, 2),
                                .padded = check_random(env, 2),
                                .statistics = check_random(env, 2)};
        struct isp_params *p = &f.params;
        check_params(env, p);
        *p = (struct isp_params){.width = p->width + 2 * check_random(env, 2),
                                 .height = p->height,
                                 .depth = 8,
                                 .order = ISP_YUV};
        p->packing = (enum isp_packing)(ISP_YUYV + i % 7);
        p->format = (enum isp_format)(i / 7 % ISP_FORMATS);
        p->matrix = (enum isp_matrix)check_random(env, 2);
        p->full_range = check_random(env, 2);
        if (i >= 7 * ISP_FORMATS && check_random(env, 2))
            check_lens(env, p);
        else if (i >= 7 * ISP_FORMATS && check_random(env, 2))
            p->region = (struct isp_rect){1, 3, p->width / 4 * 2, p->height / 4 * 2};
        else if (i >= 7 * ISP_FORMATS)
            p->out_width = p->out_height = 22;
        failed |= check_run(env, &f, 1);
    }
    return failed;
}

/* Cameras of different sizes and outputs, more frames than a batch holds, of which some are
 * measured. */
static int group_batch(struct check_env *env)
{
    enum { FRAMES = 23 };
    struct check_frame *frames = calloc(FRAMES, sizeof(*frames));
    int failed = frames == NULL;
    for (int i = 0; frames && i < FRAMES; i++) {
        struct check_frame *f = &frames[i];
        f->pattern = (int)check_random(env, 3);
        f->in_arena = check_random(env, 2);
        f->padded = check_random(env, 2);
        f->statistics = check_random(env, 3) != 0;
        check_params(env, &f->params);
        gains(env, f);
        if (i % 3) { /* sizes repeat, so that developed frames share images */
            f->params.width = 96;
            f->params.height = 64;
        }
        f->params.format = (enum isp_format)check_random(env, ISP_FORMATS);
        if (check_random(env, 2))
            check_lens(env, &f->params);
    }
    failed |= frames && check_run(env, frames, FRAMES);
    free(frames);
    return failed;
}

/* Parameters that are refused, each with the words that must be said. */
static int group_refusals(struct check_env *env)
{
    const struct {
        struct isp_params p;
        const char *words;
    } cases[] = {
        {{.width = 641, .height = 480, .depth = 8}, "641 x 480 is odd"},
        {{.width = 640, .height = 481, .depth = 8}, "640 x 481 is odd"},
        {{.width = 8, .height = 480, .depth = 8}, "8 x 480"},
        {{.width = 640, .height = 16384, .depth = 8}, "640 x 16384"},
        {{.width = 640, .height = 480, .depth = 9}, "depth 9"},
        {{.width = 640, .height = 480, .depth = 8, .packing = ISP_MIPI}, "depth 8"},
        {{.width = 642, .height = 480, .depth = 10, .packing = ISP_MIPI}, "width 642"},
        {{.width = 640, .height = 480, .depth = 10, .order = (enum isp_order)6}, "order 6"},
        {{.width = 640, .height = 480, .depth = 8, .order = ISP_YUV},
         "packing 0 is unknown of order 5"},
        {{.width = 640, .height = 480, .depth = 8, .packing = ISP_YUYV},
         "packing 2 is unknown of order 0"},
        {{.width = 640, .height = 480, .depth = 10, .order = ISP_YUV, .packing = ISP_YUYV},
         "depth 10"},
        {{.width = 640,
          .height = 480,
          .depth = 8,
          .order = ISP_YUV,
          .packing = ISP_YUYV,
          .tone = ISP_TONE_SRGB},
         "toned already"},
        {{.width = 640, .height = 480, .depth = 10, .black = {64, 64, 1023, 64}},
         "black level 1023"},
        {{.width = 640, .height = 480, .depth = 10, .white = 1024}, "white level 1024"},
        {{.width = 640, .height = 480, .depth = 10, .demosaic = ISP_DEMOSAICS}, "demosaic 3"},
        {{.width = 640, .height = 480, .depth = 10, .lens = {.model = ISP_LENS_FISHEYE}},
         "focal length 0"},
        {{.width = 640,
          .height = 480,
          .depth = 10,
          .lens = {.model = ISP_LENS_FISHEYE, .camera = {NAN, 1, 1, 1}}},
         "no number"},
        {{.width = 640, .height = 480, .depth = 10, .blur_count = 1, .blur = {{640, 0, 1, 1}}},
         "640,0 lies outside"},
        {{.width = 640, .height = 480, .depth = 10, .blur_count = 17}, "17 rectangles"},
        {{.width = 640, .height = 480, .depth = 10, .denoise = 1.5f}, "denoise 1.5"},
        {{.width = 640,
          .height = 480,
          .depth = 8,
          .order = ISP_YUV,
          .packing = ISP_YUYV,
          .denoise = 0.5f},
         "itself"},
        {{.width = 640, .height = 480, .depth = 10, .region = {600, 0, 41, 10}},
         "region 600,0 41 x 10"},
        {{.width = 640, .height = 480, .depth = 10, .out_width = 321, .format = ISP_NV12},
         "321 x 480 is odd"},
        {{.width = 640, .height = 480, .depth = 10, .out_height = 9000}, "640 x 9000"},
        {{.width = 640, .height = 480, .depth = 10, .tone = ISP_TONE_TABLE}, "tone table of 0"},
        {{.width = 640, .height = 480, .depth = 10, .colour = {1, 0, 0, 0, INFINITY}}, "element 5"},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[ISP_WHY] = "";
        struct isp_camera *camera = NULL;
        int err = isp_camera_create(env->isp, &cases[i].p, &camera, why);
        if (err != GPU_ERR_INVALID || camera || !strstr(why, cases[i].words)) {
            printf("refusal %zu: %d \"%s\", not \"%s\"\n", i, err, why, cases[i].words);
            failed = 1;
        }
    }
    struct isp_params p = {.width = 64, .height = 64, .depth = 8, .format = ISP_GRAY8};
    char why[ISP_WHY];
    uint64_t ticket = 0;
    struct isp_frame bad[] = {
        {.raw = env->memory, .raw_stride = 64, .host = env->host, .stride = {64}},
        {.raw = env->memory, .raw_stride = 63, .host = env->host, .stride = {64}},
        {.raw = env->memory, .raw_stride = 64, .stride = {64}},
        {.raw = env->memory, .raw_stride = 64, .host = env->host, .stride = {63}},
        {.raw = env->memory,
         .raw_stride = 64,
         .host = env->host,
         .stride = {64},
         .offset = {CHECK_HOST_BYTES - 64}},
        {.raw = env->memory,
         .raw_stride = 64,
         .host = env->host,
         .stride = {64},
         .offset = {UINT64_MAX}},
        {.raw = env->memory,
         .raw_stride = 64,
         .host = env->host,
         .stride = {64},
         .gain = {1, -1, 1}},
        {.raw = NULL, .raw_stride = 64, .host = env->host, .stride = {64}},
    };
    struct isp_camera *camera = NULL;
    if (isp_camera_create(env->isp, &p, &camera, why) < 0)
        return 1;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad[i].camera = i ? camera : NULL;
        if (isp_submit(env->isp, &bad[i], 1, &ticket) != GPU_ERR_INVALID) {
            printf("frame %zu was not refused\n", i);
            failed = 1;
        }
    }
    isp_camera_free(camera);
    return failed;
}

const struct check_group check_groups[] = {
    {"packing", group_packing},       {"demosaic", group_demosaic}, {"lens", group_lens},
    {"format", group_format},         {"fused", group_fused},       {"picture", group_picture},
    {"denoise", group_denoise},       {"blur", group_blur},         {"batch", group_batch},
    {"statistics", group_statistics}, {"refusals", group_refusals},
};
const size_t check_group_count = sizeof(check_groups) / sizeof(check_groups[0]);
