/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds the fastest kernels of a device with a few cases of the kernel bench.
 */
#include "bench/bench_tune.h"
#include "bench/kernel_bench.h"
#include "gpu/engine/vk.h"

#include <string.h>

#define VARIANTS     2
#define ROUNDS       9
#define QUICK_ROUNDS 3    /* on software devices */
#define BETTER       0.97 /* of the preset's time: less is noise */
#define WORSE        2.0  /* times the other one's time: not measured at other sizes */
#define SETS         4    /* of buffers: pinning more memory takes longer than measuring it */

static const enum kernel_format formats[TUNE_FAMILIES] = {
    [TUNE_WAVEFRONT] = KERNEL_YUV420, [TUNE_READBACK] = KERNEL_NV12};
static const struct {
    uint32_t width, height;
} sizes[TUNE_SIZES] = {{848, 480}, {1920, 1088}, {3840, 2160}};

/* *clear: one is so much faster that it will be at other sizes. */
static int measure_family(struct kernel_bench *b, int f, enum tune_size size, uint32_t pictures,
                          uint8_t *choice, bool *clear)
{
    const struct kernel_family *family = kernel_family_find(tune_family_name((enum tune_family)f));
    struct kernel_case c = {.width = sizes[size].width,
                            .height = sizes[size].height,
                            .format = formats[f],
                            .pictures = pictures};
    double seconds[VARIANTS] = {0};
    for (int v = 0; v < VARIANTS; v++) {
        struct kernel_result r;
        char why[KERNEL_WHY];
        const char *name = tune_variant_name((enum tune_family)f, (uint8_t)v);
        double begin = kernel_seconds();
        int err = kernel_run(b, family, kernel_variant_find(family, name), &c, &r, why);
        if (err < 0)
            return err;
        seconds[v] = err == GPU_OK ? r.batch : 0;
        gpu_log(b->g, 2, "%s, %u x %u: %.1f us, found in %.2f s", name, c.width, c.height,
                1e6 * seconds[v], kernel_seconds() - begin);
    }
    int preset = *choice, other = !preset;
    if (seconds[other] > 0 && (seconds[preset] <= 0 || seconds[other] < BETTER * seconds[preset]))
        *choice = (uint8_t)other;
    *clear = seconds[*choice] > 0 && seconds[!*choice] > WORSE * seconds[*choice];
    return GPU_OK;
}

/* A software device is measured at one size, because more would take minutes. It keeps the preset
 * of the wavefront: its threads would wait for each other. */
static bool left_out(const struct gpu_device_info *info, int f, int size)
{
    return info->software && (f == TUNE_WAVEFRONT || size != TUNE_SMALL);
}

int tune_measure(struct gpu *g, struct tune *out)
{
    const struct gpu_device_info *info = gpu_info(g);
    bool clear[TUNE_FAMILIES] = {false};
    struct kernel_bench *b = NULL;
    struct tune tune;
    int err = kernel_bench_create(g, 1, info->software ? QUICK_ROUNDS : ROUNDS, &b);
    if (err == GPU_OK)
        b->most_sets = SETS;
    tune_preset(info, &tune);
    for (int i = 0; i < TUNE_FAMILIES * TUNE_SIZES && err == GPU_OK; i++) {
        int f = i % TUNE_FAMILIES, s = i / TUNE_FAMILIES;
        if (s > 0 && (clear[f] || left_out(info, f, s)))
            tune.choice[f][s] = tune.choice[f][s - 1];
        else if (!left_out(info, f, s))
            err = measure_family(b, f, (enum tune_size)s, info->software ? 1 : 4,
                                 &tune.choice[f][s], &clear[f]);
        tune.source[f] = TUNE_MEASURED;
    }
    kernel_bench_free(b);
    if (err == GPU_OK)
        *out = tune;
    return err;
}
