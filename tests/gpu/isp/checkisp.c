/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Compares the camera pipeline with its slow reference.
 *
 *   checkisp [--device NAME] [--seed N] [--only GROUP] [--width N] [--group N]
 *   checkisp --frames N      all groups again and again, with other seeds, until so many frames
 *   checkisp --time WxH      prints the time of the variants on frames of that size
 *
 * Exit code 0, 1 after a mismatch, 2 for wrong usage, 77 without a device.
 */
#include "tests/gpu/isp/checkisp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static int quiet; /* refused frames are logged as errors; they are wanted */

static void print_log(void *ctx, int level, const char *line)
{
    if (level < 2 && !quiet)
        printf("%s\n", line);
}

static int usage(void)
{
    fprintf(stderr, "usage: checkisp [--device NAME] [--seed N] [--width N] [--group N] [--only "
                    "GROUP] [--frames N] [--bare] [--time WxH]\ngroups:");
    for (size_t i = 0; i < check_group_count; i++)
        fprintf(stderr, " %s", check_groups[i].name);
    fprintf(stderr, "\n");
    return 2;
}

static int open_memory(struct check_env *env)
{
    void *memory = mmap(NULL, CHECK_HOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0),
         *arena = NULL;
    if (memory == MAP_FAILED)
        return GPU_ERR_NOMEM;
    env->memory = memory;
    int err = gpu_host_import(env->gpu, memory, CHECK_HOST_BYTES, &env->host);
    if (err == GPU_OK)
        err = gpu_arena_create(env->gpu, 16u << 20, &env->arena, &arena);
    env->arena_memory = arena;
    return err;
}

static int run_groups(struct check_env *env, uint64_t seed, const char *only)
{
    int failed = 0;
    for (size_t i = 0; i < check_group_count; i++) {
        if (only && strcmp(only, check_groups[i].name) != 0)
            continue;
        env->random = (seed + 1) * 0x9e3779b97f4a7c15u + i + 1;
        env->frames = 0;
        env->samples = env->inexact = 0;
        env->worst = 0;
        quiet = !strcmp(check_groups[i].name, "refusals");
        int result = check_groups[i].run(env);
        printf("checkisp %s: %s, %lu frames, %llu of %llu samples differ, by %.3g beyond "
               "rounding at most\n",
               check_groups[i].name, result ? "FAILED" : "ok", env->frames, env->inexact,
               env->samples, env->worst);
        fflush(stdout);
        failed |= result != 0;
        env->all_frames += env->frames;
    }
    return failed;
}

static int check(struct gpu *gpu, const struct isp_options *options, uint64_t seed,
                 const char *only, unsigned long frames)
{
    struct check_env env = {.gpu = gpu};
    int err = open_memory(&env);
    if (err == GPU_OK)
        err = isp_create(gpu, options, &env.isp);
    if (err < 0)
        printf("checkisp: %s\n", gpu_error_text(err));
    int failed = err < 0 ? 1 : run_groups(&env, seed, only);
    while (!failed && env.all_frames < frames)
        failed = run_groups(&env, ++seed, only);
    isp_free(env.isp);
    env.isp = NULL;
    if (err == GPU_OK && (!only || !strcmp(only, "format"))) { /* what went by one pass, by two */
        const struct isp_options two = {
            .width = options->width, .group = options->group, .passes = ISP_TWO_PASSES};
        failed |= isp_create(gpu, &two, &env.isp) < 0 || run_groups(&env, seed, "format");
    }
    isp_free(env.isp);
    gpu_arena_free(env.arena);
    gpu_host_free(env.host);
    if (frames)
        printf("checkisp: %lu frames\n", env.all_frames);
    if (env.memory)
        munmap(env.memory, CHECK_HOST_BYTES);
    return failed;
}

int main(int argc, char **argv)
{
    struct gpu_params params = {.device = getenv("PELTON_DEVICE"), .log = print_log};
    struct isp_options options = {.width = 8, .group = 3, .passes = ISP_ONE_PASS};
    struct gpu *gpu = NULL;
    const char *only = NULL, *day = getenv("PELTON_SEED");
    uint64_t seed = day ? strtoull(day, NULL, 0) : (uint64_t)time(NULL) / 86400;
    unsigned width = 0, height = 0;
    unsigned long frames = 0;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--bare")) {
            params.no_robustness = true;
            params.canaries = 0x5ca1ab1e;
            i--; /* it has no value */
            continue;
        }
        if (value && !strcmp(argv[i], "--device"))
            params.device = value;
        else if (value && !strcmp(argv[i], "--seed"))
            seed = strtoull(value, NULL, 0);
        else if (value && !strcmp(argv[i], "--width"))
            options.width = (uint32_t)atoi(value);
        else if (value && !strcmp(argv[i], "--group"))
            options.group = (uint32_t)atoi(value);
        else if (value && !strcmp(argv[i], "--only"))
            only = value;
        else if (value && !strcmp(argv[i], "--frames"))
            frames = strtoul(value, NULL, 0);
        else if (!value || strcmp(argv[i], "--time") != 0 ||
                 sscanf(value, "%ux%u", &width, &height) != 2)
            return usage();
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool known = !only;
    for (size_t i = 0; i < check_group_count; i++)
        known |= only && !strcmp(only, check_groups[i].name);
    if (!known)
        return usage();
    params.timestamps = width > 0;
    int err = gpu_open(&params, &gpu);
    if (err < 0) {
        printf("checkisp: %s\n", gpu_error_text(err));
        return err == GPU_ERR_NO_DEVICE ? 77 : 1;
    }
    printf("checkisp: %s, seed %" PRIu64 "\n", gpu_info(gpu)->name, seed);
    int failed =
        width ? check_timing(gpu, width, height) : check(gpu, &options, seed, only, frames);
    unsigned messages = gpu_validation_messages(gpu), changed = gpu_canaries_changed(gpu);
    if (messages)
        printf("checkisp: %u validation messages\n", messages);
    if (params.canaries)
        printf("checkisp: %u canaries changed\n", changed);
    gpu_close(gpu);
    return failed || messages || changed ? 1 : 0;
}
