/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --motion FILE --time N: the time of motion derivation on the GPU, of up to N pictures at
 * once. Their records are in memory of the device; or in that of the host, where they are copied
 * whole or read as the shapes of macroblocks need them.
 */
#include "tests/gpu/h264/motion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES  32 /* different pictures at most, which are taken round and round */
#define ROUNDS 4  /* the best one counts */

static int no_flush(struct motion_check *p)
{
    p->most = 0; /* enough */
    return 0;
}

enum way { FROM_DEVICE, COPIED, FETCHED, WAYS };
static const char *const way_names[WAYS] = {"of the device", "of the host, copied",
                                            "of the host, fetched"};

struct timing {
    double inputs, passes; /* seconds of the device */
    double all;            /* from submission to the end */
    uint64_t bytes;        /* of host memory, read */
};

static void keep_best(struct timing *best, const struct timing *t, bool first)
{
    best->inputs = first || t->inputs < best->inputs ? t->inputs : best->inputs;
    best->passes = first || t->passes < best->passes ? t->passes : best->passes;
    best->all = first || t->all < best->all ? t->all : best->all;
    best->bytes = t->bytes;
}

/* Once: n pictures, whose records are at `from`. Those of the device go back to the host. */
static int time_once(struct motion_check *p, enum way way, uint8_t *from, uint32_t n,
                     struct timing *got)
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
        void *to_still = to_motion + mbs;
        bool back = way == FROM_DEVICE;
        err = motion_add_case(b, c, from + used[i % p->count], back ? to_mbs : NULL,
                              back ? to_motion : NULL, to_still);
        out += mbs * MOTION_MB_BYTES;
    }
    double start = check_seconds();
    if (err == 0)
        err = gpu_motion_submit(b);
    if (err == 0)
        err = motion_wait(b);
    *got = (struct timing){.inputs = gpu_motion_input_seconds(b),
                           .passes = gpu_motion_seconds(b),
                           .all = check_seconds() - start};
    for (uint32_t i = 0; i < n && err == 0; i++) {
        bad += (gpu_motion_result(b, i) & DER_BAD) != 0;
        got->bytes += gpu_motion_host_bytes(b, i);
    }
    if (bad)
        printf("checkgpu: %" PRIu32 " of %" PRIu32 " pictures are bad\n", bad, n);
    gpu_motion_end(b);
    return err;
}

static int time_count(struct motion_check *p, enum way way, uint32_t n)
{
    struct gpu_motion_params params = {.batches = 1, .pictures = n, .copies = way == COPIED};
    struct timing best = {0}, once;
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
        err =
            time_once(p, way, way == FROM_DEVICE ? p->device_memory : p->host_memory[0], n, &once);
        keep_best(&best, &once, round == 0);
    }
    if (err == 0)
        printf("x%-4" PRIu32
               " %9.3f ms, %9.4f ms a picture; with copies %9.3f ms, %9.4f ms a picture; inputs "
               "%9.4f ms and %9.0f bytes a picture: records %s\n",
               n, 1e3 * best.passes, 1e3 * best.passes / n, 1e3 * best.all, 1e3 * best.all / n,
               1e3 * best.inputs / n, (double)best.bytes / n, way_names[way]);
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
    if (err == 0)
        err = gpu_arena_create(p->env->gpu, size, &p->host_arena[0], &memory);
    p->host_memory[0] = memory;
    for (uint32_t i = 0; i < p->count && err == 0; i++) {
        size = p->cases[i].pic->mb_count * MOTION_MB_BYTES;
        err = gpu_arena_write(p->env->gpu, p->device_memory + at, size, p->cases[i].raw);
        memcpy(p->host_memory[0] + at, p->cases[i].raw, size);
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
        for (int way = 0; way < WAYS && err == 0; way++)
            err = time_count(&p, (enum way)way, n);
    if (err)
        printf("checkgpu: %s\n", gpu_error_text(err));
    motion_close(&p);
    return err ? -1 : 0;
}
