/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton bench: hashes of frames, made by threads while the reader takes the next ones.
 */
#ifndef CLIENT_BENCH_HASH_H
#define CLIENT_BENCH_HASH_H

#include "client/bench.h"

/* A frame whose hash is wanted. */
struct bench_job {
    struct pelton_frame frame;
    struct pelton_stream *stream; /* to which the frame goes back; NULL: it is back already */
    struct bench_place *place;    /* of the stream */
    unsigned input, loop;
    uint64_t n;    /* of the frame in its pass over the input */
    uint64_t hash; /* once hashed; never 0 */
    bool hashed;
};

/* Jobs in the order in which they were put, and the threads that do them. These functions are for
 * one caller, the thread that has the connection: frames go back there. */
struct bench_hashers;

uint64_t bench_hash_frame(const struct pelton_frame *frame); /* never 0; any thread */
/* Fewer threads where the system gives no more: without any the caller hashes. NULL: no memory. */
struct bench_hashers *bench_hashers_open(unsigned threads);
/* becomes readable when a job is done; -1: no threads */
int bench_hashers_fd(const struct bench_hashers *h);
/* Takes the frame over: a thread hashes it and it is held so long, or, where there are no threads
 * or they have a frame of the stream already, the caller does, and it goes back at once. Needs
 * room: not bench_hashers_full. */
void bench_hashers_put(struct bench_hashers *h, const struct bench_job *job);
bool bench_hashers_full(const struct bench_hashers *h);
/* The oldest job if it is done, and NULL otherwise; bench_hashers_wait waits for it, does what no
 * thread has begun meanwhile, and gives NULL only where there is none. Valid until it is dropped.
 */
const struct bench_job *bench_hashers_oldest(struct bench_hashers *h);
const struct bench_job *bench_hashers_wait(struct bench_hashers *h);
/* the oldest job, which is done: its frame goes back */
void bench_hashers_drop(struct bench_hashers *h);
/* All jobs have been dropped. NULL allowed. */
void bench_hashers_close(struct bench_hashers *h);

#endif
