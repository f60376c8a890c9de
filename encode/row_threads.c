/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See row_threads.h. The caller works, too. A run is over when its rows are done and no thread
 * looks at it any more. A thread that wakes up later leaves it alone, so nobody waits for it.
 */
#include "encode/row_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct row_threads {
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    unsigned count, busy; /* helpers; those in the present run */
    uint64_t run;         /* number of the present one, */
    bool open, stop;      /* whose rows may be taken */
    void (*row)(void *ctx, uint32_t index);
    void *ctx;
    uint32_t rows;
    atomic_uint next;
    pthread_t thread[];
};

static void rows_take(struct row_threads *t)
{
    for (;;) {
        uint32_t i = atomic_fetch_add(&t->next, 1);
        if (i >= t->rows)
            return;
        t->row(t->ctx, i);
    }
}

static void *helper_main(void *arg)
{
    struct row_threads *t = arg;
    uint64_t seen = 0;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (t->run == seen && !t->stop)
            pthread_cond_wait(&t->begun, &t->lock);
        if (t->stop)
            break;
        seen = t->run;
        if (!t->open)
            continue;
        t->busy++;
        pthread_mutex_unlock(&t->lock);
        rows_take(t);
        pthread_mutex_lock(&t->lock);
        if (--t->busy == 0)
            pthread_cond_signal(&t->ended);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct row_threads *row_threads_create(unsigned count)
{
    struct row_threads *t =
        count < 2 ? NULL : calloc(1, sizeof(*t) + (count - 1) * sizeof(t->thread[0]));
    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begun, NULL);
    pthread_cond_init(&t->ended, NULL);
    while (t->count < count - 1 && pthread_create(&t->thread[t->count], NULL, helper_main, t) == 0)
        t->count++;
    return t;
}

void row_threads_free(struct row_threads *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->begun);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->count; i++)
        pthread_join(t->thread[i], NULL);
    pthread_cond_destroy(&t->begun);
    pthread_cond_destroy(&t->ended);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void run_together(struct row_threads *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->next, 0);
    t->open = true;
    t->run++;
    pthread_cond_broadcast(&t->begun);
    pthread_mutex_unlock(&t->lock);
    rows_take(t);
    pthread_mutex_lock(&t->lock);
    t->open = false;
    while (t->busy > 0)
        pthread_cond_wait(&t->ended, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void row_threads_run(struct row_threads *t, void (*row)(void *ctx, uint32_t index), void *ctx,
                     uint32_t count)
{
    if (t) {
        t->row = row;
        t->ctx = ctx;
        t->rows = count;
        run_together(t);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        row(ctx, i);
}
