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
 *   checkgpu --frames N [--threads T] [--seconds S]    see frames.c
 *   checkgpu --entropy FILE...             see entropy.c
 *   checkgpu --motion FILE...              see motion.c
 * --bare: without robust buffer access, and with canaries round all memory
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
    {"convert", check_group_convert},     {"rows", check_group_rows},
};
#define ENTROPY_FILES  256
#define GROUP_COUNT    (sizeof(groups) / sizeof(groups[0]))
#define CHECK_CANARIES 0x5ca1ab1eu

static void print_log(void *ctx, int level, const char *line)
{
    if (level < 2)
        printf("%s\n", line);
}

static int usage(void)
{
    fprintf(stderr, "usage: checkgpu [--device NAME] [--seed N] [--bare] [--wavefront 1|2] "
                    "[--only GROUP | --frames N [--threads T] [--seconds S]] "
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

/* The command line. */
struct options {
    const char *device, *only, *clip, *format, *entropy[ENTROPY_FILES], *motion[ENTROPY_FILES];
    int timed, pictures, damage, threads;
    unsigned long frames;
    double seconds; /* 0: no limit */
    unsigned entropy_count, motion_count;
    bool bare;
};

static bool option_flag(struct options *o, struct check_env *env, const char *name)
{
    bool flow = !strcmp(name, "--flow"), bare = !strcmp(name, "--bare");
    env->flow |= flow;
    o->bare |= bare;
    return flow || bare;
}

static bool option_file(struct options *o, const char *name, const char *value)
{
    if (!strcmp(name, "--entropy") && o->entropy_count < ENTROPY_FILES)
        o->entropy[o->entropy_count++] = value;
    else if (!strcmp(name, "--motion") && o->motion_count < ENTROPY_FILES)
        o->motion[o->motion_count++] = value;
    else
        return false;
    return true;
}

static bool option_value(struct options *o, struct check_env *env, const char *name,
                         const char *value)
{
    if (!strcmp(name, "--device"))
        o->device = value;
    else if (!strcmp(name, "--seed"))
        env->seed = strtoull(value, NULL, 0);
    else if (!strcmp(name, "--wavefront"))
        env->wavefront = atoi(value);
    else if (!strcmp(name, "--time"))
        o->timed = atoi(value);
    else if (!strcmp(name, "--format"))
        o->format = value;
    else if (!strcmp(name, "--clip"))
        o->clip = value;
    else if (!strcmp(name, "--flight"))
        env->flight = atoi(value);
    else if (!strcmp(name, "--beside"))
        env->beside = (unsigned)atoi(value);
    else if (!strcmp(name, "--pictures"))
        o->pictures = atoi(value);
    else if (!strcmp(name, "--damage"))
        o->damage = atoi(value);
    else if (!strcmp(name, "--only"))
        o->only = value;
    else if (!strcmp(name, "--frames"))
        o->frames = strtoul(value, NULL, 0);
    else if (!strcmp(name, "--seconds"))
        o->seconds = strtod(value, NULL);
    else if (!strcmp(name, "--threads"))
        o->threads = atoi(value);
    else
        return option_file(o, name, value);
    return true;
}

static bool group_known(const char *only)
{
    bool known = !only;
    for (size_t i = 0; i < GROUP_COUNT; i++)
        known |= only && !strcmp(only, groups[i].name);
    return known;
}

static bool options_read(struct options *o, struct check_env *env, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!option_flag(o, env, argv[i])) {
            if (i + 1 == argc || !option_value(o, env, argv[i], argv[i + 1]))
                return false;
            i++;
        }
    return group_known(o->only) && env->wavefront >= 0 && env->wavefront <= 2 && o->pictures >= 0 &&
           o->damage >= 0 && o->threads >= 1 && o->threads <= CHECK_MOST_THREADS &&
           (!o->clip || o->timed >= 1);
}

static int options_run(const struct options *o, struct check_env *env)
{
    uint32_t pictures = (uint32_t)o->pictures, timed = (uint32_t)o->timed;
    if (o->entropy_count && timed)
        return check_entropy_timing(env, o->entropy[0], timed);
    if (o->entropy_count)
        return check_entropy(env, o->entropy, o->entropy_count, pictures, (unsigned)o->damage);
    if (o->motion_count && timed)
        return check_motion_timing(env, o->motion[0], timed);
    if (o->motion_count)
        return check_motion(env, o->motion, o->motion_count, pictures, (unsigned)o->damage);
    if (o->clip)
        return check_replay(env, o->clip, timed, pictures);
    if (timed)
        return check_timing(env, timed, o->format);
    return o->frames ? check_frames(env, o->frames, (unsigned)o->threads, o->seconds)
                     : run_groups(env, o->only);
}

int main(int argc, char **argv)
{
    const char *day = getenv("PELTON_SEED");
    struct check_env env = {.seed = day ? strtoull(day, NULL, 0) : (uint64_t)time(NULL) / 86400};
    struct options o = {.device = getenv("PELTON_DEVICE"), .format = "420", .threads = 1};
    if (!options_read(&o, &env, argc, argv))
        return usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct gpu_params params = {.device = o.device,
                                      .timestamps = o.timed > 0,
                                      .no_robustness = o.bare,
                                      .canaries = o.bare ? CHECK_CANARIES ^ (uint32_t)env.seed : 0,
                                      .log = print_log};
    int err = gpu_open(&params, &env.gpu);
    if (err < 0) {
        printf("checkgpu: %s\n", gpu_error_text(err));
        return err == GPU_ERR_NO_DEVICE ? 77 : 1;
    }
    const struct gpu_device_info *info = gpu_info(env.gpu);
    printf("checkgpu: %s%s, subgroups of %u, seed %" PRIu64 "%s\n", info->name,
           info->software ? " (software)" : "", info->subgroup_size, env.seed,
           o.bare ? ", not robust, with canaries" : "");
    env.group = "time";
    env.format = (struct check_format){.chroma_format_idc = 1, .bit_depth = {8, 8}};
    env.structure = REC_FRAME;
    env.random = env.seed + 1;
    int failed = options_run(&o, &env);
    unsigned messages = gpu_validation_messages(env.gpu), changed = gpu_canaries_changed(env.gpu);
    if (messages)
        printf("checkgpu: %u validation messages\n", messages);
    if (o.bare)
        printf("checkgpu: %u canaries changed\n", changed);
    gpu_close(env.gpu);
    return failed || messages || changed ? 1 : 0;
}
