/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Compares every variant of every family with the reference, on small pictures of random content.
 * Nothing is timed. The seed is PELTON_SEED or the day.
 */
#include "bench/kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void on_log(void *ctx, int level, const char *line)
{
    if (level <= 1)
        fprintf(stderr, "%s\n", line);
}

static uint64_t seed_of_day(void)
{
    const char *env = getenv("PELTON_SEED");
    return env ? strtoull(env, NULL, 10) : (uint64_t)time(NULL) / 86400;
}

/* Sizes that are no multiples of workgroups; all formats, and the narrowest, a middle and the
 * widest blur of either kind. */
static const struct kernel_case cases[] = {
    {200, 88, KERNEL_RGBA8, 3, false, 1},   {200, 88, KERNEL_RGBA8, 9, true, 2},
    {136, 264, KERNEL_RGBA8, 19, false, 3}, {136, 72, KERNEL_RGBA8, 19, true, 5},
    {200, 72, KERNEL_RGBA32F, 5, true, 1},  {104, 72, KERNEL_RGBA32F, 19, false, 1},
    {200, 120, KERNEL_NV12, 3, false, 1},   {168, 72, KERNEL_BAYER8, 3, false, 1},
    {104, 88, KERNEL_BAYER12, 3, false, 1}, {136, 104, KERNEL_RGB16, 3, false, 1},
    {176, 144, KERNEL_LUMA8, 3, false, 3},  {176, 160, KERNEL_YUV420, 3, false, 3},
};
#define CASES (sizeof(cases) / sizeof(*cases))

int main(void)
{
    struct gpu *g = NULL;
    struct kernel_bench *b = NULL;
    uint64_t seed = seed_of_day();
    unsigned failures = 0, done = 0;
    int err = gpu_open(&(struct gpu_params){.log = on_log}, &g);
    if (err == GPU_ERR_NO_DEVICE)
        return 77;
    if (err == GPU_OK)
        err = kernel_bench_create(g, seed * 1000003 + 17, 0, &b);
    if (err < 0) {
        fprintf(stderr, "%s\n", gpu_error_text(err));
        return 1;
    }
    printf("PELTON_SEED=%" PRIu64 ", %s\n", seed, gpu_info(g)->name);
    for (uint32_t f = 0; f < kernel_family_count(); f++) {
        const struct kernel_family *family = kernel_family(f);
        uint32_t count = kernel_variant_count(family);
        unsigned *runs = calloc(count, sizeof(*runs));
        if (!runs)
            return 1;
        for (size_t k = 0; k < CASES; k++) {
            for (uint32_t v = 0; v < count; v++) {
                char why[KERNEL_WHY], text[96];
                struct kernel_result result;
                err = kernel_run(b, family, kernel_variant(family, v), &cases[k], &result, why);
                runs[v] += err == GPU_OK;
                done += err == GPU_OK;
                if (err >= 0)
                    continue;
                kernel_case_text(family, &cases[k], text, sizeof(text));
                fprintf(stderr, "%s %s %s: %s\n", kernel_family_name(family),
                        kernel_variant_name(kernel_variant(family, v)), text, why);
                failures++;
            }
        }
        for (uint32_t v = 0; v < count; v++) {
            if (runs[v])
                continue;
            fprintf(stderr, "%s %s: no case has run it\n", kernel_family_name(family),
                    kernel_variant_name(kernel_variant(family, v)));
            failures++;
        }
        free(runs);
    }
    if (gpu_validation_messages(g)) {
        fprintf(stderr, "%u validation messages\n", gpu_validation_messages(g));
        failures++;
    }
    kernel_bench_free(b);
    gpu_close(g);
    printf("%u runs, %u failures\n", done, failures);
    return failures != 0;
}
