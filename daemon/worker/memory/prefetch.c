/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The thread that makes arrays ahead. It knows one wish, the last one: pictures of several sizes at
 * once are rare.
 */
#include "daemon/worker/memory/prefetch.h"
#include "codec/h264.h"

#include <pthread.h>
#include <stdlib.h>

#define ARRAYS 3

struct array_maker {
    struct memory *memory;
    struct resident *resident;
    uv_mutex_t lock;
    uv_cond_t wish;
    uv_thread_t thread;
    uint32_t mb_count, count; /* what is wanted; count 0: nothing */
    uint64_t coeff_bytes;     /* of these */
    uint32_t refused;         /* mb_count for which there was no memory */
    bool stop;
};

/* The small ones first, as they are made sooner. */
static void array_sizes(size_t mb_count, size_t sizes[ARRAYS])
{
    sizes[0] = mb_count * sizeof(struct h264_mb_syntax);
    sizes[1] = mb_count * sizeof(struct rec_mb);
    sizes[2] = mb_count * sizeof(struct rec_motion);
}

static bool arrays_missing(struct memory *m, size_t mb_count, uint32_t count)
{
    size_t sizes[ARRAYS];
    array_sizes(mb_count, sizes);
    return memory_missing(m, sizes[0], count) || memory_missing(m, sizes[1], count) ||
           memory_missing(m, sizes[2], count);
}

/* A piece of the device's memory or a slab, if any is short and can be made. */
static bool arrays_make(struct array_maker *a, size_t mb_count, uint32_t count,
                        uint64_t coeff_bytes)
{
    struct memory *m = a->memory;
    size_t sizes[ARRAYS];
    if (a->resident && resident_provide(a->resident, coeff_bytes))
        return true;
    array_sizes(mb_count, sizes);
    return memory_provide(m, sizes[0], count) || memory_provide(m, sizes[1], count) ||
           memory_provide(m, sizes[2], count);
}

static void array_maker_main(void *arg)
{
    struct array_maker *a = arg;
    pthread_setname_np(pthread_self(), "pelton-arrays");
    uv_mutex_lock(&a->lock);
    while (!a->stop) {
        uint32_t mb_count = a->mb_count, count = a->count;
        uint64_t coeff_bytes = a->coeff_bytes;
        if (!count) {
            uv_cond_wait(&a->wish, &a->lock);
            continue;
        }
        uv_mutex_unlock(&a->lock);
        bool made = arrays_make(a, mb_count, count, coeff_bytes),
             short_of = arrays_missing(a->memory, mb_count, count);
        uv_mutex_lock(&a->lock);
        if (!made && short_of)
            a->refused = mb_count;
        if (!made || !short_of)
            a->count = 0;
    }
    uv_mutex_unlock(&a->lock);
}

struct array_maker *array_maker_start(struct memory *m, struct resident *resident)
{
    struct array_maker *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->memory = m;
    a->resident = resident;
    if (uv_mutex_init(&a->lock))
        goto no_lock;
    if (uv_cond_init(&a->wish))
        goto no_cond;
    if (uv_thread_create(&a->thread, array_maker_main, a) == 0)
        return a;
    uv_cond_destroy(&a->wish);
no_cond:
    uv_mutex_destroy(&a->lock);
no_lock:
    free(a);
    return NULL;
}

bool array_maker_ready(struct array_maker *a, uint32_t mb_count, uint32_t count,
                       uint64_t coeff_bytes)
{
    if (!a)
        return true;
    bool ready = !arrays_missing(a->memory, mb_count, count),
         room = !a->resident || !resident_short(a->resident, coeff_bytes);
    uv_mutex_lock(&a->lock);
    if (!ready && a->refused == mb_count && !a->count)
        ready = true;
    if (!(ready && room) && !a->count) {
        a->mb_count = mb_count;
        a->count = count;
        a->coeff_bytes = coeff_bytes;
        uv_cond_signal(&a->wish);
    }
    uv_mutex_unlock(&a->lock);
    return ready;
}

void array_maker_stop(struct array_maker *a)
{
    if (!a)
        return;
    uv_mutex_lock(&a->lock);
    a->stop = true;
    uv_cond_signal(&a->wish);
    uv_mutex_unlock(&a->lock);
    uv_thread_join(&a->thread);
    uv_cond_destroy(&a->wish);
    uv_mutex_destroy(&a->lock);
    free(a);
}
