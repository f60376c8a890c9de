/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who gives a place up, and who gets it back: see resting.h.
 *
 * A stream rests only where another one needs its place, because it decodes from its start again.
 * Its frames keep their memory and their sequence numbers, and none is missing. The failure mode is
 * that nobody can rest: then a new stream is refused, and one that wants to go on waits for a tick
 * of the broker's timer.
 *
 * A device that has no memory for a stream is such a place, too: its worker says so, and says it
 * again until the stream has some. Each time one stream rests. Where streams that are read in turns
 * do not fit together they would take each other's memory again and again. So each rest doubles the
 * time that the next one takes, and such streams soon wait as if none could rest.
 */
#include "daemon/broker/resting.h"

#include "daemon/broker/broker_stream.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/broker/worker_process.h"
#include "daemon/broker/worker_recovery.h"
#include "daemon/log.h"
#include "daemon/monotonic.h"

#include <inttypes.h>
#include <stdio.h>

/* A reader that gives slots back more often is at work. */
#define STILL_NS 100000000
/* Rests that double this, for memory. */
#define STILL_DOUBLED 10

static unsigned resting_count(const struct broker *b)
{
    unsigned n = 0;
    for (const struct broker_stream *s = b->streams; s; s = s->next)
        n += s->state == STREAM_RESTING || s->state == STREAM_ENDED;
    return n;
}

unsigned resting_places_used(const struct broker *b)
{
    unsigned resting = resting_count(b);
    uint64_t most = b->settings->limits.resting;
    return b->n_streams - (resting < most ? resting : (unsigned)most);
}

/* It can go on with the frame that is due, and nobody waits for one. */
static bool may_rest(const struct broker_stream *s, int64_t still_ns)
{
    bool still =
        delivery_stands_still(&s->delivery) && monotonic_ns() - s->delivery.sent_ns > still_ns;
    return still && s->state == STREAM_OPEN && s->replied && !s->probe && !s->source.named &&
           !s->source.live && !s->deaths.strikes && s->delivery.credit == UINT64_MAX &&
           recovery_can_resume(s);
}

/* w NULL: of any worker; else one that has memory of it. */
static struct broker_stream *longest_still(const struct broker *b, const struct worker_process *w)
{
    struct broker_stream *best = NULL;
    for (struct broker_stream *s = b->streams; s; s = s->next) {
        unsigned doubled = s->rests < STILL_DOUBLED ? s->rests : STILL_DOUBLED;
        bool may =
            w ? s->worker == w && !s->short_of_memory && may_rest(s, (int64_t)STILL_NS << doubled)
              : may_rest(s, STILL_NS);
        if (may && (!best || s->delivery.sent_ns < best->delivery.sent_ns))
            best = s;
    }
    return best;
}

static void stream_rest(struct broker_stream *s)
{
    log_line(LOG_LEVEL_DEBUG, "%s: rests, its reader holds all frames", stream_name(s));
    stream_withdraw(s);
    stream_enter(s, STREAM_RESTING);
    s->rests++;
    delivery_keep_drops(&s->delivery);
}

/* The stream that is still for the longest time rests, w as above. False: none may. */
static bool one_rests(struct broker *b, const struct worker_process *w)
{
    bool room = resting_count(b) < b->settings->limits.resting;
    struct broker_stream *s = room ? longest_still(b, w) : NULL;
    if (s)
        stream_rest(s);
    return s != NULL;
}

/* Gives a place, where one is free or another stream rests instead. */
static bool place_find(struct broker *b)
{
    return resting_places_used(b) < b->settings->limits.streams || one_rests(b, NULL);
}

bool resting_make_room(struct broker *b)
{
    return place_find(b) ||
           quota_admits(QUOTA_STREAMS, b->settings, &b->quotas, resting_places_used(b));
}

void resting_refuse(const struct broker *b, struct pelton_failure *out)
{
    *out = (struct pelton_failure){.code = PELTON_ERR_LIMIT,
                                   .cause = "the daemon has as many streams open as it may have"};
    snprintf(out->hint, sizeof(out->hint), "close others, or raise %s, now %" PRIu64,
             quota_names[QUOTA_STREAMS], quota_limit(QUOTA_STREAMS, b->settings));
}

void resting_step(struct broker *b)
{
    for (unsigned i = 0; i < b->n_workers; i++) {
        struct worker_process *w = &b->workers[i];
        if (w->short_of_memory)
            one_rests(b, w);
        w->short_of_memory = false;
    }
    for (struct broker_stream *s = b->streams; s; s = s->next) {
        bool wants = s->state == STREAM_RESTING && !delivery_stands_still(&s->delivery);
        if (wants && place_find(b))
            stream_enter(s, STREAM_QUEUED);
    }
}
