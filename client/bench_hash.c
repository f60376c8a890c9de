/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Hashes of frames, and a ring of jobs for the threads that make them. The caller puts jobs at
 * `end`, threads take them at `next`, the caller drops them at `first`. Jobs are dropped in the
 * order in which they were put.
 *
 * At most one frame of a stream is held, so that a pool of 4 slots goes on. A ring of RING jobs has
 * room for one frame of each of 64 streams. When threads are late, the caller hashes: no frame is
 * left out.
 */
#include "client/bench_hash.h"

#define XXH_INLINE_ALL /* no library at run time */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <xxhash.h>

enum { RING = 64, MAX_THREADS = 8 };

uint64_t bench_hash_frame(const struct pelton_frame *frame)
{
    const uint32_t shape[] = {frame->width, frame->height, frame->planes};
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, shape, sizeof(shape));
    for (uint32_t p = 0; p < frame->planes; p++)
        for (uint32_t y = 0; y < frame->plane_height[p]; y++)
            XXH3_64bits_update(&state, frame->data[p] + (size_t)y * frame->stride[p],
                               frame->plane_width[p]);
    uint64_t sum = XXH3_64bits_digest(&state);
    return sum ? sum : 1;
}

struct bench_hashers {
    pthread_mutex_t lock; /* guards next, end, stop and each job's hash and hashed */
    pthread_cond_t work, done;
    struct bench_job jobs[RING];
    uint64_t first, next, end; /* they only grow; first is the caller's own */
    bool stop;
    int fd;
    unsigned n_threads;
    pthread_t threads[MAX_THREADS];
};

static struct bench_job *job_at(struct bench_hashers *h, uint64_t i)
{
    return &h->jobs[i % RING];
}

/* Takes the next job that nobody does, or NULL. The lock is held. */
static struct bench_job *begin_job(struct bench_hashers *h)
{
    while (h->next < h->end) {
        struct bench_job *job = job_at(h, h->next++);
        if (!job->hashed)
            return job;
    }
    return NULL;
}

/* Called with the lock held; releases it while it hashes. */
static void do_job(struct bench_hashers *h, struct bench_job *job)
{
    pthread_mutex_unlock(&h->lock);
    uint64_t hash = bench_hash_frame(&job->frame);
    pthread_mutex_lock(&h->lock);
    job->hash = hash;
    job->hashed = true;
}

static void *hasher(void *arg)
{
    struct bench_hashers *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->stop) {
        struct bench_job *job = begin_job(h);
        if (job) {
            do_job(h, job);
            pthread_cond_signal(&h->done);
            eventfd_write(h->fd, 1);
        } else {
            pthread_cond_wait(&h->work, &h->lock);
        }
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

struct bench_hashers *bench_hashers_open(unsigned threads)
{
    struct bench_hashers *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->work, NULL);
    pthread_cond_init(&h->done, NULL);
    h->fd = threads ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    sigset_t all, before; /* the caller handles interrupts: they end its poll */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (h->fd >= 0 && h->n_threads < threads && h->n_threads < MAX_THREADS &&
           pthread_create(&h->threads[h->n_threads], NULL, hasher, h) == 0)
        h->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return h;
}

int bench_hashers_fd(const struct bench_hashers *h)
{
    return h->fd;
}

bool bench_hashers_full(const struct bench_hashers *h)
{
    return h->end - h->first == RING;
}

void bench_hashers_put(struct bench_hashers *h, const struct bench_job *job)
{
    struct bench_job own = *job;
    own.hashed = h->n_threads == 0 || own.place->held;
    if (own.hashed) {
        own.hash = bench_hash_frame(&own.frame);
        pelton_release(own.stream, &own.frame);
        own.stream = NULL;
    } else {
        own.place->held = true;
    }
    pthread_mutex_lock(&h->lock);
    *job_at(h, h->end++) = own;
    if (!own.hashed)
        pthread_cond_signal(&h->work);
    pthread_mutex_unlock(&h->lock);
}

const struct bench_job *bench_hashers_oldest(struct bench_hashers *h)
{
    if (h->first == h->end)
        return NULL;
    const struct bench_job *job = job_at(h, h->first);
    pthread_mutex_lock(&h->lock);
    bool hashed = job->hashed;
    pthread_mutex_unlock(&h->lock);
    return hashed ? job : NULL;
}

const struct bench_job *bench_hashers_wait(struct bench_hashers *h)
{
    if (h->first == h->end)
        return NULL;
    const struct bench_job *oldest = job_at(h, h->first);
    pthread_mutex_lock(&h->lock);
    while (!oldest->hashed) {
        struct bench_job *job = begin_job(h);
        if (job)
            do_job(h, job);
        else
            pthread_cond_wait(&h->done, &h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return oldest;
}

void bench_hashers_drop(struct bench_hashers *h)
{
    const struct bench_job *job = job_at(h, h->first++);
    if (job->stream) {
        pelton_release(job->stream, &job->frame);
        job->place->held = false;
    }
}

void bench_hashers_close(struct bench_hashers *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_broadcast(&h->work);
    pthread_mutex_unlock(&h->lock);
    for (unsigned i = 0; i < h->n_threads; i++)
        pthread_join(h->threads[i], NULL);
    if (h->fd >= 0)
        close(h->fd);
    pthread_cond_destroy(&h->done);
    pthread_cond_destroy(&h->work);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
