/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Between jobs.c, job_queues.c and workers.c. Everything with engine.lock, unless it says
 * otherwise.
 */
#ifndef PELTON_WORKER_JOB_QUEUES_H
#define PELTON_WORKER_JOB_QUEUES_H

#include "daemon/worker/steps/entropy_gpu.h"

/* Takes up to most workers off the list of idle ones; they are to be signalled, with the lock or
 * without it. */
unsigned workers_take(struct engine *e, unsigned most, struct worker **out);

/* engine.motion, or derive where the GPU is to derive it */
void motion_push(struct engine *e, struct job *job);
struct job *motion_pop(struct job **heap); /* one of these, not NULL: the lowest turn */

void entropy_push(struct engine *e, struct job *job); /* a new picture, at its turn */
/* after prev; NULL: first */
void entropy_insert(struct engine *e, struct job *job, struct job *prev);
/* NULL: nothing that the workers should do */
struct job *pick_entropy(struct engine *e, struct worker *w);

/* these two without the lock: arrays for the picture, and the next one, */
int prepare_picture(struct job *job);
int prepare_following(struct job *job); /* what its slices need to be followed, if they can be */
void entropy_finished(struct engine *e, struct job *job);

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

#endif
