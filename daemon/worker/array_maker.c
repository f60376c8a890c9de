/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The thread of array_maker.h. It knows one wish, the last one: pictures of several sizes at once are rare.
 */
#include "daemon/worker/array_maker.h"

#include <pthread.h>
#include <stdlib.h>

struct array_maker {
    struct memory *memory;
    uv_mutex_t lock;
    uv_cond_t wish;
    uv_thread_t thread;
    uint32_t mb_count, count; /* what is wanted; count 0: nothing */
    bool stop;
};

/* A slab, if one is short. */
static bool make(struct memory *m, size_t mb_count, uint32_t count)
{
    return memory_provide(m, mb_count * sizeof(struct rec_motion), count) || memory_provide(m, mb_count * sizeof(struct rec_mb), count) ||
           memory_provide(m, mb_count * sizeof(struct h264_mb_syntax), count);
}

static void maker_main(void *arg)
{
    struct array_maker *a = arg;
    pthread_setname_np(pthread_self(), "pelton-arrays");
    uv_mutex_lock(&a->lock);
    while (!a->stop) {
        uint32_t mb_count = a->mb_count, count = a->count;
        if (!count) {
            uv_cond_wait(&a->wish, &a->lock);
            continue;
        }
        uv_mutex_unlock(&a->lock);
        bool more = make(a->memory, mb_count, count);
        uv_mutex_lock(&a->lock);
        if (!more && a->count == count && a->mb_count == mb_count)
            a->count = 0;
    }
    uv_mutex_unlock(&a->lock);
}

struct array_maker *array_maker_start(struct memory *m)
{
    struct array_maker *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->memory = m;
    uv_mutex_init(&a->lock);
    uv_cond_init(&a->wish);
    if (uv_thread_create(&a->thread, maker_main, a) == 0)
        return a;
    uv_cond_destroy(&a->wish);
    uv_mutex_destroy(&a->lock);
    free(a);
    return NULL;
}

void array_maker_want(struct array_maker *a, uint32_t mb_count, uint32_t count)
{
    if (!a)
        return;
    uv_mutex_lock(&a->lock);
    a->mb_count = mb_count;
    a->count = count;
    uv_cond_signal(&a->wish);
    uv_mutex_unlock(&a->lock);
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
