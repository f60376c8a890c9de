/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A tap and its readers, as data: see web_feed.h. The feed's lock guards all of it but `encoder`,
 * which the tap's thread alone has.
 */
#ifndef PELTON_FEED_TAP_H
#define PELTON_FEED_TAP_H

#include "web/web_feed.h"

#include <pthread.h>

enum { TAP_RING = 64 };

struct feed_encoder;

struct feed_source {
    struct feed_figures figures;
    struct feed_source *next;
};

/* One subscription's part of the figures. */
struct feed_share {
    uint64_t number;     /* never 0 */
    bool encoded;        /* it gives access units */
    uint64_t dropped[3]; /* as the last frame told them */
};

struct feed_tap {
    struct feed *feed;
    struct feed_key key;
    struct feed_tap *next, **link;
    struct feed_source *source;
    struct feed_encoder *encoder;
    pthread_cond_t news;
    struct web_frame *ring[TAP_RING]; /* frame number n lies at n % TAP_RING */
    unsigned depth;                   /* that it keeps, by their size */
    uint64_t made;                    /* frames so far */
    uint64_t taken;                   /* of a file: what its reader has */
    unsigned readers;
    int64_t idle_ns;      /* without readers since then */
    enum feed_news state; /* FEED_FRAME while it runs */
    struct pelton_failure failure;
    char waits[256];
    struct feed_share share;
    bool asks;    /* the daemon is asked for JPEG files; the tap's thread, as the next one */
    bool refused; /* it makes none of this source */
};

struct feed {
    pthread_mutex_t lock;
    pthread_cond_t empty; /* the last tap is gone */
    struct feed_tap *first;
    struct feed_source *sources;
    uint64_t shares; /* so many were made */
    char *socket;
    atomic_bool ending;
};

/* The thread of a tap (feed_loop.c). It ends, and frees the tap, when nobody has read for a while.
 */
void *feed_loop_run(void *tap);

/* ---- feed_tap.c; the caller holds the lock ---- */

/* Takes the frame over. */
void tap_publish(struct feed_tap *t, struct web_frame *frame);
void tap_finish(struct feed_tap *t, enum feed_news state, const struct pelton_failure *why);

/* ---- feed_counter.c; the caller holds the lock ---- */

/* NULL: no memory. */
struct feed_source *feed_source_find(struct feed *f, const char *name);
/* Counts one frame of a subscription. */
void figures_count(struct feed_figures *figures, struct feed_share *share,
                   const struct pelton_frame *frame, size_t size);

#endif
