/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A subscription: the events, the frame pools and the end of one reader. Decoded streams and
 * cameras embed the same type.
 *
 * Life cycle: init -> pools, events -> ended (the owner gives up the pools) -> over -> on_end, once
 * -> clear. Pools are made by a thread of their own, one at a time.
 *
 * The owner has a lock and two threads. The working thread makes frames and posts events. The loop
 * thread calls back. The lock guards every field that is not marked with its thread. Functions are
 * called with the lock unless they say otherwise.
 */
#ifndef PELTON_SUBSCRIPTION_H
#define PELTON_SUBSCRIPTION_H

#include "daemon/worker/feed/frame_pool.h"

#include <uv.h>

/* The object that embeds the subscription, and its lock. */
struct subscription_owner {
    uv_mutex_t *lock;
    struct gpu *gpu;           /* NULL: pools without a device (tests) */
    void (*wake)(void *owner); /* with the lock: the working thread has something to do */
    /* With the lock: the loop thread has something to call back. NULL: it looks by itself. */
    void (*note)(void *owner);
    void *owner;
};

enum event_kind { EVENT_FORMAT, EVENT_FRAME, EVENT_STATE };
struct event {
    struct event *next;
    enum event_kind kind;
    struct pool *pool;       /* its `events` counts this one; NULL: a state */
    struct feed_frame frame; /* owns its side data */
    bool called;             /* the reader has heard of it */
    struct feed_camera camera;
    bool running; /* EVENT_STATE */
    char cause[256];
};

/* The thread that makes the next pool, and then the rest of it while it is used. */
struct pool_maker {
    uv_thread_t thread;
    struct pool_params params;
    bool running;     /* the thread exists */
    bool made;        /* the pool can be used, or error says why not; until it is adopted */
    bool over;        /* the thread has nothing left to do but to end */
    atomic_bool stop; /* nobody needs more of the pool */
    int error;
    struct pool *pool;
};

struct subscription {
    struct subscription_owner by;
    struct feed_callbacks callbacks; /* loop thread */
    void *ctx;
    struct feed_user user;

    struct pelton_info info;            /* constant once info_ready */
    struct pelton_probe_sei *probe_sei; /* NULL: none; borrowed */
    bool info_ready, info_sent;
    struct event *events, **events_tail;
    bool memory_short; /* on_short is due */
    bool awaited;      /* the owner waits until the events are called */

    struct pool *pools;      /* newest first; the first is the current one */
    struct pool_maker maker; /* of the next one */
    uint32_t epoch;          /* of the current one; 0: there is none */

    bool closing;                  /* the reader has closed it: nothing but on_end is called */
    bool ended;                    /* the owner has given up the pools: on_end may follow */
    struct pelton_failure failure; /* the first cause */
};

void subscription_init(struct subscription *sub, const struct subscription_owner *by,
                       const struct feed_callbacks *callbacks, void *ctx);
void subscription_clear(
    struct subscription *sub); /* without the lock; no thread uses it any more */
/* The first failure stays. */
void subscription_fail(struct subscription *sub, int code, const char *cause, const char *hint);

/* ---- events ---- */

/* A subscription that is closing or has ended takes no events. False: that, or no memory. */
bool subscription_post_state(struct subscription *sub, bool running, const char *cause);
/* The first call for a pool queues its format. */
bool subscription_post_format(struct subscription *sub, struct pool *pool);
/* The format where that is new, and a frame in a slot that is WRITING. Takes frame->side. On
 * success the slot is HELD; else it is FREE and frame->side stays the caller's. camera may be
 * NULL. */
bool subscription_post_frame(struct subscription *sub, struct pool *pool, struct feed_frame *frame,
                             const struct feed_camera *camera);
/* It waits for memory of the device. */
void subscription_post_short(struct subscription *sub);
/* sub->info is complete. */
void subscription_post_info(struct subscription *sub);
/* Loop thread, without the lock. Calls back information and all events. A callback may close the
 * subscription; then the rest is dropped. True: there were events. */
bool subscription_dispatch(struct subscription *sub);

/* ---- pools ---- */

/* Starts the thread that makes the pool of the next epoch, when the former thread has ended
 * (subscription_maker_free). False: there is no thread. */
bool subscription_pool_start(struct subscription *sub, const struct pool_params *params);
/* The same without a thread: a pool that a former stream has left is made already. */
void subscription_pool_reuse(struct subscription *sub, struct pool *pool,
                             const struct feed_format *format);
/* One is being made, or is made and not adopted. */
static inline bool subscription_pool_making(const struct subscription *sub)
{
    return sub->maker.made || (sub->maker.running && !sub->maker.pool);
}
static inline bool subscription_pool_made(const struct subscription *sub)
{
    return sub->maker.made;
}
/* Makes the pool that is made the current one. Returns 0 or enum pelton_error. */
int subscription_pool_adopt(struct subscription *sub);
/* No thread makes a pool or a part of one. A thread that is over is joined; `stop` tells it to end
 * soon, once its pool is adopted. Drops the lock. */
bool subscription_maker_free(struct subscription *sub, bool stop);
/* Frees pools of former epochs that nobody uses, or all; drops the lock. True: there were some. */
bool subscription_pools_free(struct subscription *sub, bool all);
/* The reader is done with a slot; a wrong epoch, slot or generation is ignored. Loop thread,
 * without the lock. */
void subscription_release(struct subscription *sub, uint32_t epoch, uint32_t slot,
                          uint32_t generation);
/* Of all pools in the device's memory, or in the host's. */
uint64_t subscription_bytes(const struct subscription *sub, bool device);

/* ---- the end ---- */

/* No event is queued or being called, and no pool is being made: this is told to stop. Drops the
 * lock. */
bool subscription_quiet(struct subscription *sub);
/* Before subscription_end: all pools, which the owner frees later. Nobody has to wait for that. */
struct pool *subscription_take_pools(struct subscription *sub);
/* Once the owner has nothing in flight and the subscription is quiet: frees all pools (drops the
 * lock), and on_end may follow. */
void subscription_end(struct subscription *sub);
/* Loop thread: on_end is due, as everything else was called back. */
bool subscription_over(const struct subscription *sub);
/* Loop thread, without the lock, once. */
void subscription_call_end(struct subscription *sub, const struct pelton_stats *stats);

#endif
