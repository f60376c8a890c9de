/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --motion FILE --time N: the time of motion derivation on the GPU, of up to N pictures at
 * once.
 */
#include "tests/gpu/h264/motion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CASES  32 /* different pictures at most, which are taken round and round */
#define ROUNDS 4  /* the best one counts */

static int no_flush(struct motion_check *p)
{
    p->most = 0; /* enough */
    return 0;
}

/* Once: n pictures. *seconds: of the device, *all: from submission to the end. */
static int time_once(struct motion_check *p, uint32_t n, double *seconds, double *all)
{
    struct gpu_motion_batch *b = gpu_motion_begin(p->gpu);
    uint32_t bad = 0;
    size_t used[CASES] = {0}, at = 0, out = 0;
    int err = b ? 0 : GPU_ERR_NOMEM;
    for (uint32_t i = 0; i < p->count; i++) {
        used[i] = at;
        at += p->cases[i].pic->mb_count * MOTION_MB_BYTES;
    }
    for (uint32_t i = 0; i < n && err == 0; i++) {
        const struct motion_case *c = &p->cases[i % p->count];
        const uint32_t mbs = c->pic->mb_count;
        struct rec_mb *to_mbs = (void *)(p->arena_memory + out);
        struct rec_motion *to_motion = (void *)(to_mbs + mbs);
        err = motion_add_case(b, c, p->device_memory + used[i % p->count], to_mbs, to_motion,
                              (void *)(to_motion + mbs));
        out += mbs * MOTION_MB_BYTES;
    }
    double start = check_seconds();
    if (err == 0)
        err = gpu_motion_submit(b);
    if (err == 0)
        err = motion_wait(b);
    *all = check_seconds() - start;
    for (uint32_t i = 0; i < n && err == 0; i++)
        bad += (gpu_motion_result(b, i) & DER_BAD) != 0;
    if (bad)
        printf("checkgpu: %" PRIu32 " of %" PRIu32 " pictures are bad\n", bad, n);
    *seconds = err == 0 ? gpu_motion_seconds(b) : 0;
    gpu_motion_end(b);
    return err;
}

static int time_count(struct motion_check *p, uint32_t n)
{
    struct gpu_motion_params params = {.batches = 1, .pictures = n};
    double best = 0, best_all = 0, seconds, all;
    void *memory = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct h264_picture *pic = p->cases[i % p->count].pic;
        params.slices += pic->slice_count;
        params.mbs += pic->mb_count;
    }
    params.maps = 4 * params.mbs;
    int err = gpu_motion_create(p->env->gpu, &params, &p->gpu);
    if (err == 0)
        err = gpu_arena_create(p->env->gpu, params.mbs * MOTION_MB_BYTES, &p->arena, &memory);
    p->arena_memory = memory;
    for (int round = 0; round < ROUNDS && err == 0; round++) {
        err = time_once(p, n, &seconds, &all);
        best = round == 0 || seconds < best ? seconds : best;
        best_all = round == 0 || all < best_all ? all : best_all;
    }
    if (err == 0)
        printf("x%-4" PRIu32
               " %9.3f ms, %9.4f ms a picture; with copies %9.3f ms, %9.4f ms a picture\n",
               n, 1e3 * best, 1e3 * best / n, 1e3 * best_all, 1e3 * best_all / n);
    gpu_motion_free(p->gpu);
    p->gpu = NULL;
    gpu_arena_free(p->arena);
    p->arena = NULL;
    fflush(stdout);
    return err;
}

static int upload(struct motion_check *p)
{
    size_t size = 0, at = 0;
    void *memory = NULL;
    for (uint32_t i = 0; i < p->count; i++)
        size += p->cases[i].pic->mb_count * MOTION_MB_BYTES;
    int err = gpu_arena_create_device(p->env->gpu, size, &p->device_arena, &memory);
    p->device_memory = memory;
    for (uint32_t i = 0; i < p->count && err == 0; i++) {
        size = p->cases[i].pic->mb_count * MOTION_MB_BYTES;
        err = gpu_arena_write(p->env->gpu, p->device_memory + at, size, p->cases[i].raw);
        at += size;
    }
    return err;
}

int check_motion_timing(struct check_env *env, const char *path, uint32_t most)
{
    struct motion_check p = {
        .env = env, .flush = no_flush, .capacity = CASES, .most = CASES, .most_mbs = UINT32_MAX};
    p.cases = calloc(CASES, sizeof(*p.cases));
    p.scratch = h264_scratch_create();
    int err = p.cases && p.scratch ? motion_read_stream(&p, path) : GPU_ERR_NOMEM;
    if (err == 0 && !p.count)
        err = GPU_ERR_INVALID;
    if (err == 0)
        err = upload(&p);
    for (uint32_t n = 1; n <= most && err == 0; n = n == 1    ? 16
                                                    : n == 16 ? 64
                                                    : n == 64 ? 132
                                                              : n * 2)
        err = time_count(&p, n);
    if (err)
        printf("checkgpu: %s\n", gpu_error_text(err));
    motion_close(&p);
    return err ? -1 : 0;
}
