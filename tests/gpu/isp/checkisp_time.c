/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The time of the pipeline: GPU time a frame from timestamps, the median of several batches, for
 * each variant.
 */
#include "tests/gpu/isp/checkisp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROUNDS = 7 };

struct variant {
    const char *name;
    struct isp_options options;
    enum isp_demosaic demosaic;
    bool lens, bicubic, statistics, tone, matrix;
};

static const struct variant variants[] = {
    {"Malvar, lens, statistics", {.width = 16}, ISP_MALVAR, true, false, true, true, false},
    {"  + colour matrix", {.width = 16}, ISP_MALVAR, true, false, true, true, true},
    {"  bicubic", {.width = 16}, ISP_MALVAR, true, true, true, true, false},
    {"  two passes",
     {.width = 16, .passes = ISP_TWO_PASSES},
     ISP_MALVAR,
     true,
     false,
     true,
     true,
     false},
    {"  groups of 1", {.width = 16, .group = 1}, ISP_MALVAR, true, false, true, true, false},
    {"  groups of 2", {.width = 16, .group = 2}, ISP_MALVAR, true, false, true, true, false},
    {"  groups of 4", {.width = 16, .group = 4}, ISP_MALVAR, true, false, true, true, false},
    {"  groups of 8", {.width = 16, .group = 8}, ISP_MALVAR, true, false, true, true, false},
    {"  groups of 16", {.width = 16, .group = 16}, ISP_MALVAR, true, false, true, true, false},
    {"  one frame", {.width = 1, .group = 1}, ISP_MALVAR, true, false, true, true, false},
    {"  no statistics", {.width = 16}, ISP_MALVAR, true, false, false, true, false},
    {"  linear tone", {.width = 16}, ISP_MALVAR, true, false, true, false, false},
    {"  no lens", {.width = 16}, ISP_MALVAR, false, false, true, true, false},
    {"bilinear, lens, statistics", {.width = 16}, ISP_BILINEAR, true, false, true, true, false},
    {"edge, lens, statistics", {.width = 16}, ISP_EDGE, true, false, true, true, false},
};

static void describe(const struct variant *v, uint32_t width, uint32_t height, struct isp_params *p)
{
    *p = (struct isp_params){.width = width,
                             .height = height,
                             .packing = ISP_MIPI,
                             .depth = 12,
                             .black = {64, 64, 64, 64},
                             .demosaic = v->demosaic,
                             .format = ISP_NV12,
                             .tone = v->tone ? ISP_TONE_SRGB : ISP_TONE_LINEAR,
                             .interpolation =
                                 v->bicubic ? ISP_INTERPOLATE_BICUBIC : ISP_INTERPOLATE_BILINEAR};
    if (v->lens)
        p->lens = (struct isp_lens){ISP_LENS_BROWN_CONRADY,
                                    {0.8 * width, 0.8 * width, 0.5 * width, 0.5 * height},
                                    {-0.27, 0.09, 0.001, -0.0005, -0.01}};
    if (v->matrix)
        memcpy(p->colour, (float[9]){1.6f, -0.4f, -0.2f, -0.3f, 1.5f, -0.2f, 0, -0.6f, 1.6f},
               sizeof(p->colour));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof(*v), by_value);
    return 1e6 * v[ROUNDS / 2];
}

static int run(struct isp *isp, const struct isp_frame *frames, uint32_t n,
               double seconds[ISP_STAGES][ROUNDS])
{
    int err = GPU_OK;
    for (int round = -2; round < ROUNDS && err == GPU_OK; round++) {
        struct isp_times before, after;
        uint64_t ticket = 0;
        isp_times(isp, &before);
        err = isp_submit(isp, frames, n, &ticket);
        if (err == GPU_OK)
            err = isp_wait(isp, ticket, UINT64_MAX);
        isp_times(isp, &after);
        for (int i = 0; i < ISP_STAGES && round >= 0; i++)
            seconds[i][round] = (after.seconds[i] - before.seconds[i]) / n;
    }
    return err;
}

static int time_variant(struct gpu *gpu, const struct variant *v, const struct isp_params *p,
                        struct gpu_host *host, const uint8_t *raw)
{
    static struct isp_statistics statistics[64];
    static double seconds[ISP_STAGES][ROUNDS];
    struct isp *isp = NULL;
    struct isp_camera *camera = NULL;
    struct isp_frame frames[64];
    char why[ISP_WHY] = "";
    uint32_t n = v->options.width, row = isp_row_bytes(p);
    int err = isp_create(gpu, &v->options, &isp);
    if (err == GPU_OK)
        err = isp_camera_create(isp, p, &camera, why);
    uint64_t size = (uint64_t)p->width * p->height * 3 / 2;
    for (uint32_t i = 0; i < n; i++)
        frames[i] =
            (struct isp_frame){.camera = camera,
                               .raw = raw + (size_t)i * row * p->height,
                               .raw_stride = row,
                               .gain = {1.8f, 1, 1.5f},
                               .host = host,
                               .offset = {i * size, i * size + (uint64_t)p->width * p->height},
                               .stride = {p->width, p->width},
                               .statistics = v->statistics ? &statistics[i] : NULL};
    if (err == GPU_OK)
        err = run(isp, frames, n, seconds);
    if (err == GPU_OK) {
        double develop = median(seconds[ISP_STAGE_DEVELOP]),
               finish = median(seconds[ISP_STAGE_FINISH]);
        printf("%-28s %8.2f %8.2f %8.2f %8.2f %8.2f\n", v->name, develop + finish, develop, finish,
               median(seconds[ISP_STAGE_UPLOAD]), median(seconds[ISP_STAGE_DELIVER]));
        fflush(stdout);
    } else {
        printf("%s: %s %s\n", v->name, gpu_error_text(err), why);
    }
    isp_camera_free(camera);
    isp_free(isp);
    return err < 0;
}

/* A smooth picture with noise: neither flat nor the worst that a histogram can meet. */
static void fill(uint8_t *raw, size_t row, uint32_t rows)
{
    uint32_t random = 1;
    for (uint32_t y = 0; y < rows; y++)
        for (size_t x = 0; x < row; x++) {
            random = random * 1664525 + 1013904223;
            raw[y * row + x] =
                (uint8_t)((x * 200 / row + y * 40 / rows % 40 + (random >> 28)) & 0xff);
        }
}

int check_timing(struct gpu *gpu, uint32_t width, uint32_t height)
{
    struct isp_params p;
    char why[ISP_WHY];
    struct gpu_arena *arena = NULL;
    struct gpu_host *host = NULL;
    void *raw = NULL, *memory;
    describe(&variants[0], width, height, &p);
    if (isp_params_check(&p, why) < 0) {
        printf("checkisp: %s\n", why);
        return 1;
    }
    size_t row = isp_row_bytes(&p),
           size = ((size_t)width * height * 3 / 2 * 16 + 4095) / 4096 * 4096;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    int failed = gpu_host_import(gpu, memory, size, &host) < 0 ||
                 gpu_arena_create(gpu, row * height * 16, &arena, &raw) < 0;
    if (!failed)
        fill(raw, row, 16 * height);
    printf("%u x %u, 12 bits packed to NV12, microseconds of GPU time a frame:\n%-28s %8s %8s %8s "
           "%8s %8s\n",
           width, height, "", "total", "develop", "finish", "upload", "deliver");
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]) && !failed; i++) {
        describe(&variants[i], width, height, &p);
        failed = time_variant(gpu, &variants[i], &p, host, raw);
    }
    gpu_host_free(host);
    gpu_arena_free(arena);
    munmap(memory, size);
    return failed;
}
