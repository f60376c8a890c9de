/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton bench: hashes of frames. Threads make them while the reader takes the next frames.
 */
#ifndef CLIENT_BENCH_HASH_H
#define CLIENT_BENCH_HASH_H

#include "client/bench.h"

/* A frame whose hash is wanted. */
struct bench_job {
    struct pelton_frame frame;
    struct pelton_stream *stream; /* the frame goes back to it; NULL: it is back already */
    struct bench_place *place;    /* of the stream */
    unsigned input, loop;
    uint64_t n;    /* number of the frame in its pass over the input */
    uint64_t hash; /* once hashed; never 0 */
    bool hashed;
};

/* Jobs in the order in which they were put, and the threads that do them. Only the thread that has
 * the connection calls these functions: frames go back there. */
struct bench_hashers;

uint64_t bench_hash_frame(const struct pelton_frame *frame); /* never 0; any thread */
/* Starts fewer threads where the system gives no more. Without threads the caller hashes. NULL: out
 * of memory. */
struct bench_hashers *bench_hashers_open(unsigned threads);
/* becomes readable when a job is done; -1: no threads */
int bench_hashers_fd(const struct bench_hashers *h);
/* Takes the frame over. A thread hashes it and holds it meanwhile. Without threads, or while they
 * hold a frame of the stream, the caller hashes and the frame goes back at once. The ring must have
 * room (bench_hashers_full). */
void bench_hashers_put(struct bench_hashers *h, const struct bench_job *job);
bool bench_hashers_full(const struct bench_hashers *h);
/* bench_hashers_oldest returns the oldest job if it is done, else NULL. bench_hashers_wait waits
 * for it and hashes meanwhile; it returns NULL only where there is no job. A job is valid until it
 * is dropped. */
const struct bench_job *bench_hashers_oldest(struct bench_hashers *h);
const struct bench_job *bench_hashers_wait(struct bench_hashers *h);
/* Drops the oldest job, which is done. Its frame goes back. */
void bench_hashers_drop(struct bench_hashers *h);
/* Call it after all jobs are dropped. NULL allowed. */
void bench_hashers_close(struct bench_hashers *h);

#endif
