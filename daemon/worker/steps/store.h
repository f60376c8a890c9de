/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame stores: the images behind the slots of one picture size and format, and the submissions
 * that write them.
 *
 * Thread: the device's, with the lock.
 */
#ifndef PELTON_STORE_H
#define PELTON_STORE_H

#include "daemon/worker/steps/delivery.h"
#include "daemon/worker/schedule/batch.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/slots.h"
#include "daemon/worker/engine/session_internal.h"

/* A batch on the device: pictures and deliveries. */
struct submission {
    struct submission *next;
    struct batch batch;
    uint64_t ticket;                /* of recon_submit */
    bool refused;                   /* by the device: nothing of it was done */
    bool awaited;                   /* the reader of a live stream waits for it */
    struct h264_picture *begun;     /* rows of it alone, a reference; NULL: a batch */
    struct recon_picture *pictures; /* [batch.width] */
    struct rec_view *views;         /* [batch.width] */
    uint32_t delivery_count;
    struct {
        struct session *session;
        struct delivery *delivery;
    } to[BATCH_DELIVERIES];
    struct recon_delivery deliveries[BATCH_DELIVERIES];
};

/* More room for a store, which a thread makes. */
struct store_growth {
    uv_thread_t thread;
    bool running, done; /* the thread exists; it has nothing left to do but to end */
    int error;
    uint32_t count, width;
    struct recon_growth *made;
    uint32_t planned; /* the most slots that it may have if there is memory, */
    int64_t again_ns; /* which is looked at again then */
};

struct store {
    struct slots slots; /* first: the schedule's part */
    struct engine *engine;
    struct store_growth growth;
    struct recon *recon;
    struct submission *first, *last; /* in flight, oldest first */
    struct submission *spare;        /* with those in flight BATCHES_IN_FLIGHT */
    struct recon_times times;        /* as of the last completion */
    uint64_t memory;                 /* bytes of the device */
};

static inline struct store *store_of(struct slots *slots)
{
    return (struct store *)slots;
}

/* store_growth.c: more slots where they are wanted. A thread makes their memory; then the store
 * takes them between two batches. Drops the lock meanwhile. True: it has grown. */
bool store_grow(struct engine *e, struct store *st);
/* Begins to make the pipelines that nearly every stream needs, while no stream waits. Thread: any.
 * 0, or enum gpu_error. */
int store_warm_up(struct engine *e);
/* Stores that are idle for long are freed, and the last one becomes small. True: there will be more
 * to do later. Drops the lock meanwhile. */
bool stores_tend(struct engine *e, int64_t now);
/* Frees what is idle, or all. Drops the lock meanwhile. */
void store_collect(struct engine *e, bool all);

#endif
