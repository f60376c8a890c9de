/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --frames N: so many small pictures of random records, in stores of random formats and
 * sizes, by threads of their own. Bytes of records are changed at random (frames_patch.c): what the
 * validator passes is reconstructed by both sides, which must agree in each sample. Slots that no
 * picture was written to must not change. Last come pictures that the validator passes although no
 * decoder could make them; of those only the memory around is compared.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define REFS         3
#define WIDTH        6
#define STORE_FRAMES 400 /* about so many of one store */
#define FREE_BATCHES 3

struct frames_run {
    unsigned long wanted;
    double end; /* by check_seconds; 0: none */
    atomic_ulong frames, free, patched, passed, refused;
    atomic_int failed;
};

struct frames_thread {
    struct check_env env;
    struct frames_run *run;
    pthread_t thread;
};

/* ---- batches ---- */

static int frames_batch(struct check_env *env, struct frames_run *run, uint32_t n, bool plain,
                        int first_field, bool free)
{
    struct check_picture *pictures[CHECK_SLOTS];
    for (uint32_t i = 0; i < n; i++) {
        struct frames_patches patches = {0};
        uint32_t slot = env->refs + (env->format.separate_planes ? i / 3 : i);
        int own = first_field ? REC_REF((int)slot, first_field) : -1;
        env->colour_plane = env->format.separate_planes ? (uint8_t)(i % 3) : 0;
        pictures[i] = plain ? check_build_plain(env, i) : check_build_any(env, i, own);
        if (!pictures[i])
            return -1;
        pictures[i]->view.head.slot = slot;
        if (free || check_chance(env, 70))
            frames_patch(env, pictures[i], own, free, &patches);
        atomic_fetch_add(&run->patched, !free && patches.passed > 0);
        atomic_fetch_add(&run->passed, patches.passed);
        atomic_fetch_add(&run->refused, patches.refused);
    }
    atomic_fetch_add(free ? &run->free : &run->frames, n);
    return free ? check_submit(env, pictures, n) : check_run(env, pictures, n);
}

static bool frames_wanted(struct frames_run *run)
{
    return atomic_load(&run->frames) < run->wanted && !atomic_load(&run->failed) &&
           (!run->end || check_seconds() < run->end);
}

/* Pictures of one store, in batches; fields come in pairs of batches. */
static int frames_store(struct check_env *env, struct frames_run *run, bool plain)
{
    bool interlaced = env->format.interlaced;
    int result = check_open(env, env->mb_width, env->mb_height, REFS, WIDTH);
    for (int i = 0; i < STORE_FRAMES && result == 0 && frames_wanted(run); i += WIDTH) {
        uint32_t n = env->format.separate_planes ? 6 : 1 + check_random(env, WIDTH);
        uint8_t first =
            interlaced && check_chance(env, 50) ? (uint8_t)(1 + check_random(env, 2)) : 0;
        env->structure = first ? first : REC_FRAME;
        env->mbaff = interlaced && !first && check_chance(env, 70);
        result = frames_batch(env, run, n, plain && !interlaced, 0, false);
        if (first && result == 0) {
            env->structure = REC_FRAME - first;
            result = frames_batch(env, run, n, false, first, false);
        }
        env->structure = REC_FRAME;
        env->mbaff = env->colour_plane = 0;
    }
    if (result == 0)
        result = check_slots(env);
    env->mbaff = interlaced && check_chance(env, 50);
    for (int i = 0; i < FREE_BATCHES && result == 0; i++)
        result = frames_batch(env, run, WIDTH, plain && !interlaced, 0, true);
    env->mbaff = env->colour_plane = 0;
    check_close(env);
    return result;
}

/* Formats are those of the groups, so that there are not too many pipelines. */
static bool store_choose(struct check_env *env)
{
    static const struct check_format formats[] = {
        {1, {8, 8}, false, false},   {1, {8, 8}, false, false},  {1, {8, 8}, true, false},
        {1, {8, 8}, true, false},    {2, {8, 8}, false, false},  {3, {8, 8}, false, false},
        {0, {8, 8}, false, false},   {1, {10, 10}, true, false}, {2, {9, 11}, false, false},
        {3, {14, 14}, false, false}, {2, {8, 8}, true, false},   {3, {10, 8}, false, true},
    };
    env->format = formats[check_random(env, sizeof(formats) / sizeof(formats[0]))];
    env->switching = env->format.chroma_format_idc == 1 && env->format.bit_depth[0] == 8 &&
                     env->format.bit_depth[1] == 8 && check_chance(env, 20);
    env->mb_width = 1 + check_random(env, check_chance(env, 10) ? 12 : 5);
    env->mb_height = 1 + check_random(env, check_chance(env, 10) ? 8 : 4);
    if (env->format.interlaced)
        env->mb_height = 2 * ((env->mb_height + 1) / 2);
    return env->format.chroma_format_idc == 1 && !env->switching && env->format.bit_depth[0] == 8;
}

static void *frames_main(void *ctx)
{
    struct frames_thread *t = ctx;
    struct frames_run *run = t->run;
    if (check_host_open(&t->env) < 0)
        atomic_store(&run->failed, 1);
    while (frames_wanted(run)) {
        bool plain = store_choose(&t->env);
        if (frames_store(&t->env, run, plain) < 0)
            atomic_store(&run->failed, 1);
    }
    check_host_close(&t->env);
    return NULL;
}

int check_frames(struct check_env *env, unsigned long frames, unsigned threads, double seconds)
{
    struct frames_thread *all = calloc(threads, sizeof(*all));
    double start = check_seconds();
    struct frames_run run = {.wanted = frames, .end = seconds ? start + seconds : 0};
    unsigned begun = 0;
    if (!all)
        return -1;
    for (; begun < threads; begun++) {
        struct frames_thread *t = &all[begun];
        t->run = &run;
        t->env = *env;
        t->env.random = (env->seed + 1) * 0x9e3779b97f4a7c15u + 7919 * begun + 1;
        if (pthread_create(&t->thread, NULL, frames_main, t))
            break;
    }
    for (unsigned i = 0; i < begun; i++)
        pthread_join(all[i].thread, NULL);
    free(all);
    bool failed = atomic_load(&run.failed) || begun < threads;
    printf("checkgpu frames: %s, %lu frames, %lu of them with changed bytes, %lu changes passed "
           "the validator, %lu were refused, %lu frames more without "
           "comparison, %.1f s\n",
           failed ? "FAILED" : "ok", atomic_load(&run.frames), atomic_load(&run.patched),
           atomic_load(&run.passed), atomic_load(&run.refused), atomic_load(&run.free),
           check_seconds() - start);
    return failed ? -1 : 0;
}
