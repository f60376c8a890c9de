/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What follows from changes of state: see broker_step.h.
 *
 * Messages only change state, so nothing here is called from within a message. The order is:
 * streams of clients that leave; sessions that are over; sources that are kept open; trials and
 * deaths of workers; sources that come back; streams that rested; what waits is handed to workers,
 * which share the cores; ends are told; memory goes. A step that changes state again asks for
 * another one.
 */
#include "daemon/broker/broker_step.h"

#include "daemon/broker/ask.h"
#include "daemon/broker/broker_stream.h"
#include "daemon/broker/client_rights.h"
#include "daemon/broker/devices.h"
#include "daemon/broker/kept_open.h"
#include "daemon/broker/placeholder.h"
#include "daemon/broker/reconnect.h"
#include "daemon/broker/resting.h"
#include "daemon/broker/stream_messages.h"
#include "daemon/broker/worker_handover.h"
#include "daemon/broker/worker_recovery.h"

static void clients_leave(struct broker *b)
{
    for (struct broker_stream *s = b->streams; s; s = s->next)
        if (s->client->closing)
            stream_close(s);
    asks_drop(b); /* also those of streams that were closed one by one */
}

/* Tells the client of an end when no announced frame waits any more. The client knows a probe, and
 * a stream that was refused, as never opened: it is closed. */
static void stream_finish(struct broker_stream *s)
{
    bool refused = !s->replied;
    if (s->state != STREAM_ENDED || s->eos_sent || s->delivery.head)
        return;
    stream_send_end(s);
    if (s->probe || refused)
        stream_close(s);
}

static void streams_finish(struct broker *b)
{
    asks_settle(b); /* answers come before the end */
    for (struct broker_stream *s = b->streams; s; s = s->next)
        stream_finish(s);
}

static void streams_reap(struct broker *b)
{
    asks_drop(b);
    for (struct broker_stream *s = b->streams, *next; s; s = next) {
        next = s->next;
        if (s->state == STREAM_CLOSED)
            stream_free(s);
    }
}

static void clients_reap(struct broker *b)
{
    for (struct client **link = &b->clients; *link;) {
        struct client *c = *link;
        if (!c->gone) {
            link = &c->next;
            continue;
        }
        *link = c->next;
        b->n_clients--;
        id_table_free(&c->streams);
        client_free(c);
    }
}

void broker_step(struct broker *b, uint64_t now_ms)
{
    b->changed = false;
    clients_leave(b);
    reconnect_over(b, now_ms);
    kept_open_step(b, now_ms);
    recovery_progress(b, now_ms);
    recovery_deaths(b, now_ms);
    reconnect_due(b, now_ms);
    resting_step(b);
    if (!b->closing)
        worker_handover(b, now_ms);
    devices_share_cores(b);
    placeholders_step(b, now_ms);
    streams_finish(b);
    streams_reap(b);
    clients_reap(b);
}
