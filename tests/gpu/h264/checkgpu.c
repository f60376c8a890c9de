/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Compares the shaders with the slow reference. The seed of the day is printed, so any failure can
 * be repeated.
 *
 *   checkgpu [--device NAME] [--seed N] [--only GROUP] [--wavefront 1|2]
 *   checkgpu --time N [--format NAME]      prints the time of batches of up to N pictures, by stage
 *   checkgpu --time N --clip FILE          the same for the pictures of a raw stream
 *     --pictures N    only its first N pictures
 *     --flow          with deliveries, as fast as possible; --flight N: N batches at once
 *     --beside N      while N batches of entropy decoding are at work
 *   checkgpu --entropy FILE...             see entropy.c
 *   checkgpu --motion FILE...              see motion.c
 *
 * Exit code 0, 1 after a mismatch, 2 for wrong usage, 77 without a device.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    int (*run)(struct check_env *env);
} groups[] = {
    {"residual", check_group_residual},   {"bypass", check_group_bypass},
    {"inter", check_group_inter},         {"intra", check_group_intra},
    {"deblock", check_group_deblock},     {"random", check_group_random},
    {"sizes", check_group_sizes},         {"formats", check_group_formats},
    {"fields", check_group_fields},       {"mbaff", check_group_mbaff},
    {"switching", check_group_switching}, {"growth", check_group_growth},
};
#define ENTROPY_FILES 256
#define GROUP_COUNT   (sizeof(groups) / sizeof(groups[0]))

static void print_log(void *ctx, int level, const char *line)
{
    if (level < 2)
        printf("%s\n", line);
}

static int usage(void)
{
    fprintf(stderr, "usage: checkgpu [--device NAME] [--seed N] [--wavefront 1|2] [--only GROUP] "
                    "[--time PICTURES [--format NAME | --clip FILE "
                    "[--pictures N] [--flow [--beside BATCHES]] [--flight 2..4]]] [--entropy "
                    "FILE.. | --motion FILE.. [--pictures N] [--damage ROUNDS]]\ngroups:");
    for (size_t i = 0; i < GROUP_COUNT; i++)
        fprintf(stderr, " %s", groups[i].name);
    fprintf(stderr, "\n");
    return 2;
}

static int run_groups(struct check_env *env, const char *only)
{
    int failed = 0;
    for (size_t i = 0; i < GROUP_COUNT; i++) {
        if (only && strcmp(only, groups[i].name) != 0)
            continue;
        double start = check_seconds();
        env->group = groups[i].name;
        env->random = env->seed * 0x9e3779b97f4a7c15u + i + 1;
        env->batches = env->pictures = env->mbs = 0;
        env->format = (struct check_format){.chroma_format_idc = 1, .bit_depth = {8, 8}};
        env->structure = REC_FRAME;
        env->mbaff = env->colour_plane = 0;
        env->switching = false;
        int result = groups[i].run(env);
        check_close(env);
        printf("checkgpu %s: %s, %lu batches, %lu pictures, %lu macroblocks, %.1f s\n", env->group,
               result ? "FAILED" : "ok", env->batches, env->pictures, env->mbs,
               check_seconds() - start);
        fflush(stdout);
        failed |= result != 0;
    }
    return failed;
}

int main(int argc, char **argv)
{
    struct check_env env = {.seed = (uint64_t)time(NULL) / 86400};
    struct gpu_params params = {.device = getenv("PELTON_DEVICE"), .log = print_log};
    const char *only = NULL, *clip = NULL, *format = "420", *entropy[ENTROPY_FILES],
               *motion[ENTROPY_FILES];
    int timed = 0, pictures = 0, damage = 0;
    unsigned entropy_count = 0, motion_count = 0;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--flow")) {
            env.flow = true;
            i--; /* it has no value */
            continue;
        }
        if (value && !strcmp(argv[i], "--device"))
            params.device = value;
        else if (value && !strcmp(argv[i], "--seed"))
            env.seed = strtoull(value, NULL, 0);
        else if (value && !strcmp(argv[i], "--wavefront"))
            env.wavefront = atoi(value);
        else if (value && !strcmp(argv[i], "--time"))
            timed = atoi(value);
        else if (value && !strcmp(argv[i], "--format"))
            format = value;
        else if (value && !strcmp(argv[i], "--clip"))
            clip = value;
        else if (value && !strcmp(argv[i], "--flight"))
            env.flight = atoi(value);
        else if (value && !strcmp(argv[i], "--beside"))
            env.beside = (unsigned)atoi(value);
        else if (value && !strcmp(argv[i], "--pictures"))
            pictures = atoi(value);
        else if (value && !strcmp(argv[i], "--entropy") && entropy_count < ENTROPY_FILES)
            entropy[entropy_count++] = value;
        else if (value && !strcmp(argv[i], "--motion") && motion_count < ENTROPY_FILES)
            motion[motion_count++] = value;
        else if (value && !strcmp(argv[i], "--damage"))
            damage = atoi(value);
        else if (value && !strcmp(argv[i], "--only"))
            only = value;
        else
            return usage();
    }
    bool known = !only;
    for (size_t i = 0; i < GROUP_COUNT; i++)
        known |= only && !strcmp(only, groups[i].name);
    params.timestamps = timed > 0;
    if (!known || env.wavefront < 0 || env.wavefront > 2 || pictures < 0 || damage < 0 ||
        (clip && timed < 1))
        return usage();
    int err = gpu_open(&params, &env.gpu);
    if (err < 0) {
        printf("checkgpu: %s\n", gpu_error_text(err));
        return err == GPU_ERR_NO_DEVICE ? 77 : 1;
    }
    const struct gpu_device_info *info = gpu_info(env.gpu);
    printf("checkgpu: %s%s, subgroups of %u, seed %" PRIu64 "\n", info->name,
           info->software ? " (software)" : "", info->subgroup_size, env.seed);
    env.group = "time";
    env.format = (struct check_format){.chroma_format_idc = 1, .bit_depth = {8, 8}};
    env.structure = REC_FRAME;
    env.random = env.seed + 1;
    int failed =
        entropy_count && timed ? check_entropy_timing(&env, entropy[0], (uint32_t)timed)
        : entropy_count
            ? check_entropy(&env, entropy, entropy_count, (uint32_t)pictures, (unsigned)damage)
        : motion_count && timed ? check_motion_timing(&env, motion[0], (uint32_t)timed)
        : motion_count
            ? check_motion(&env, motion, motion_count, (uint32_t)pictures, (unsigned)damage)
        : clip      ? check_replay(&env, clip, (uint32_t)timed, (uint32_t)pictures)
        : timed > 0 ? check_timing(&env, (uint32_t)timed, format)
                    : run_groups(&env, only);
    unsigned messages = gpu_validation_messages(env.gpu);
    if (messages)
        printf("checkgpu: %u validation messages\n", messages);
    gpu_close(env.gpu);
    return failed || messages ? 1 : 0;
}
