/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which kernels are fastest on a device: a few cases of the kernel bench.
 */
#include "gpu/kernels/kernels.h"
#include "gpu/tune.h"

#include <string.h>

#define VARIANTS 2
#define ROUNDS 9
#define BETTER 0.97 /* of the preset's time: less is noise */

static const enum kernel_format formats[TUNE_FAMILIES] = {[TUNE_WAVEFRONT] = KERNEL_LUMA8, [TUNE_READBACK] = KERNEL_NV12};
static const struct {
    uint32_t width, height;
} sizes[TUNE_SIZES] = {{848, 480}, {1920, 1088}, {3840, 2160}};

static int measure_family(struct kernel_bench *b, int f, enum tune_size size, uint32_t pictures, uint8_t *choice)
{
    const struct kernel_family *family = kernel_family_find(tune_family_name((enum tune_family)f));
    struct kernel_case c = {.width = sizes[size].width, .height = sizes[size].height, .format = formats[f], .pictures = pictures};
    double seconds[VARIANTS] = {0};
    for (int v = 0; v < VARIANTS; v++) {
        struct kernel_result r;
        char why[KERNEL_WHY];
        int err = kernel_run(b, family, kernel_variant_find(family, tune_variant_name((enum tune_family)f, (uint8_t)v)), &c, &r, why);
        if (err < 0)
            return err;
        seconds[v] = err == GPU_OK ? r.batch : 0;
    }
    int preset = *choice, other = !preset;
    if (seconds[other] > 0 && (seconds[preset] <= 0 || seconds[other] < BETTER * seconds[preset]))
        *choice = (uint8_t)other;
    return GPU_OK;
}

int tune_measure(struct gpu *g, struct tune *out)
{
    struct kernel_bench *b = NULL;
    struct tune tune;
    bool software = gpu_info(g)->software;
    int err = kernel_bench_create(g, 1, software ? 3 : ROUNDS, &b);
    tune_preset(gpu_info(g), &tune);
    for (int f = 0; f < TUNE_FAMILIES && err == GPU_OK; f++) {
        for (int s = 0; s < (software ? 1 : TUNE_SIZES) && err == GPU_OK; s++)
            err = measure_family(b, f, (enum tune_size)s, software ? 1 : 4, &tune.choice[f][s]);
        if (software) /* seconds would become minutes: one size stands for all */
            memset(tune.choice[f], tune.choice[f][0], TUNE_SIZES);
        tune.source[f] = TUNE_MEASURED;
    }
    kernel_bench_free(b);
    if (err == GPU_OK)
        *out = tune;
    return err;
}
