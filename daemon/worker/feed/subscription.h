/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A subscription: the events, the frame pools and the end of one reader.
 *
 * The engine's lock guards every field that is not marked with its thread.
 */
#ifndef PELTON_SUBSCRIPTION_H
#define PELTON_SUBSCRIPTION_H

#include "daemon/worker/feed/frame_pool.h"

enum event_kind { EVENT_FORMAT, EVENT_FRAME, EVENT_STATE };
struct event {
    struct event *next;
    enum event_kind kind;
    struct pool *pool;          /* its events counts it; may be NULL */
    struct session_frame frame; /* owns its side */
    bool running;               /* EVENT_STATE */
    char cause[256];
};

struct subscription {
    struct session_callbacks callbacks; /* loop thread */
    void *ctx;

    struct event *events, **events_tail;
    bool news; /* loop thread: there are events, or information */
    bool info_ready, info_sent;

    struct pool *pools;      /* newest first; the first is the current one */
    struct pool_maker maker; /* of the next one */
    uint32_t epoch;

    bool closing;    /* the reader has closed it */
    bool released;   /* pools are given up */
    bool end_posted; /* on_end may follow */
    bool has_failure;
    struct pelton_failure failure; /* the first cause */
};

void subscription_post(struct subscription *sub, struct event *ev); /* with the lock */

#endif
