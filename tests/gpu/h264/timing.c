/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The GPU time of batches of 1080p pictures like those of a stream, by stage and kind of wavefront,
 * in a choice of formats. I pictures are all intra. P pictures have a third skipped and a tenth
 * intra. B pictures use both lists, two thirds without residual. Nothing is compared here; the
 * groups do that.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS 5

static const struct timed_format {
    const char *name;
    struct check_format format;
    uint8_t structure, mbaff;
} formats[] = {
    {"420", {.chroma_format_idc = 1, .bit_depth = {8, 8}}, REC_FRAME, 0},
    {"420p10", {.chroma_format_idc = 1, .bit_depth = {10, 10}}, REC_FRAME, 0},
    {"422", {.chroma_format_idc = 2, .bit_depth = {8, 8}}, REC_FRAME, 0},
    {"422p10", {.chroma_format_idc = 2, .bit_depth = {10, 10}}, REC_FRAME, 0},
    {"444", {.chroma_format_idc = 3, .bit_depth = {8, 8}}, REC_FRAME, 0},
    {"fields", {.chroma_format_idc = 1, .bit_depth = {8, 8}, .interlaced = true}, REC_TOP, 0},
    {"mbaff", {.chroma_format_idc = 1, .bit_depth = {8, 8}, .interlaced = true}, REC_FRAME, 1},
};
#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

static const char *const stages[RECON_STAGES] = {"upload", "classify", "residual", "inter",
                                                 "intra",  "deblock",  "deliver"};

static void build_mb(struct check_env *env, struct check_picture *p, uint32_t addr, int type)
{
    struct check_motion motion = {.width = check_chance(env, 70) ? 16 : 8,
                                  .height = check_chance(env, 70) ? 16 : 8,
                                  .lists = type == 'B' ? 0 : 1,
                                  .fraction = {-1, -1}};
    bool intra = type == 'I' || check_chance(env, type == 'P' ? 10 : 3),
         skip = !intra && check_chance(env, 35);
    uint8_t field = p->mbs[addr].flags & REC_MB_FIELD;
    if (intra) {
        check_mb_intra(env, p, addr, (int)check_random(env, 3), 31);
    } else {
        motion.width = skip ? 16 : motion.width;
        motion.height = skip ? 16 : motion.height;
        check_mb_inter(env, p, addr, &motion);
        p->mbs[addr].flags = (uint8_t)(field | (check_chance(env, 50) ? REC_MB_TRANSFORM_8X8 : 0));
    }
    check_mb_filter(env, p, addr);
    p->mbs[addr].deblock = (uint8_t)(REC_DEBLOCK_INTERNAL | check_place_of(p, addr).deblock);
    if (intra || (!skip && check_chance(env, type == 'B' ? 40 : 60)))
        check_mb_residual(env, p, addr, LEVELS_SPARSE, 30);
}

static int build_batch(struct check_env *env, struct check_picture **pictures,
                       struct recon_picture *jobs, uint32_t n, int type)
{
    for (uint32_t i = 0; i < n; i++) {
        struct check_picture *p = pictures[i] = check_picture_create(env, i, 1);
        if (!p)
            return -1;
        for (uint32_t addr = 0; env->mbaff && addr < p->view.head.mb_count; addr++)
            if (!(addr / env->mb_width & 1) && check_chance(env, 50)) {
                p->mbs[addr].flags |= REC_MB_FIELD;
                p->mbs[addr + env->mb_width].flags |= REC_MB_FIELD;
            }
        for (uint32_t addr = 0; addr < p->view.head.mb_count; addr++)
            build_mb(env, p, addr, type);
        check_finish_head(p);
        jobs[i] = (struct recon_picture){.view = &p->view, .slot = p->view.head.slot};
    }
    return 0;
}

static int submit_rounds(struct recon *r, const struct recon_picture *jobs, uint32_t n, int rounds)
{
    uint64_t ticket = 0;
    int err = 0;
    for (int i = 0; i < rounds && err == 0; i++)
        err = recon_submit(r, jobs, n, NULL, 0, &ticket);
    return err ? err : recon_wait(r, ticket, UINT64_MAX);
}

static int time_batch(struct check_env *env, uint32_t n, int type)
{
    struct check_picture *pictures[CHECK_SLOTS] = {0};
    struct recon_picture jobs[CHECK_SLOTS] = {0};
    int err = build_batch(env, pictures, jobs, n, type);
    for (int kind = 0; kind < CHECK_KINDS && err == 0; kind++) {
        struct recon_times before, after;
        if (!env->recons[kind])
            continue;
        err = submit_rounds(env->recons[kind], jobs, n, 1); /* pipelines are made on first use */
        recon_times(env->recons[kind], &before);
        if (err == 0)
            err = submit_rounds(env->recons[kind], jobs, n, ROUNDS);
        recon_times(env->recons[kind], &after);
        double total = 0;
        printf("%c x%-2u %-10s", type, n, kind ? "persistent" : "diagonals");
        for (int s = 0; s < RECON_STAGES - 1; s++) {
            double ms = 1e3 * (after.seconds[s] - before.seconds[s]) / ROUNDS;
            printf("  %s %8.3f", stages[s], ms);
            total += ms;
        }
        printf("  ms a batch; %.0f pictures/s\n", total > 0 ? 1e3 * n / total : 0.0);
    }
    for (uint32_t i = 0; i < n; i++)
        check_picture_free(pictures[i]);
    return err ? -1 : 0;
}

/* The frame store, whose references are frames, then pictures of the format in it. */
static int time_width(struct check_env *env, const struct timed_format *f, uint32_t n)
{
    env->format = f->format;
    int result = check_open(env, 120, 68, 2, n);
    env->structure = f->structure;
    env->mbaff = f->mbaff;
    for (const char *type = "IPB"; *type && result == 0; type++)
        result = time_batch(env, n, *type);
    env->structure = REC_FRAME;
    env->mbaff = 0;
    check_close(env);
    return result;
}

int check_timing(struct check_env *env, uint32_t most, const char *format)
{
    int result = 0;
    double bandwidth = 0;
    const struct timed_format *f = formats;
    while (f < formats + FORMAT_COUNT && strcmp(f->name, format) != 0)
        f++;
    if (f == formats + FORMAT_COUNT) {
        fprintf(stderr, "checkgpu: no format %s; there are:", format);
        for (size_t i = 0; i < FORMAT_COUNT; i++)
            fprintf(stderr, " %s", formats[i].name);
        fprintf(stderr, "\n");
        return -1;
    }
    if (gpu_bandwidth(env->gpu, &bandwidth) == GPU_OK)
        printf("device memory: %.0f GB/s, read and written\n", bandwidth * 1e-9);
    for (uint32_t n = 1; n <= most && n <= CHECK_SLOTS - 2 && result == 0; n *= 2)
        result = time_width(env, f, n);
    return result;
}
