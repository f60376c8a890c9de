/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a stream: see broker_stream.h. Functions here change its state; broker_step.c draws
 * the consequences.
 */
#include "daemon/broker/broker_stream.h"

#include "daemon/broker/client.h"
#include "daemon/broker/named.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/broker/worker_link.h"
#include "daemon/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Room in both tables, so that no later step needs memory. */
static bool tables_reserve(struct client *c)
{
    struct broker *b = c->broker;
    return id_table_reserve(&c->streams, c->streams.count + 1) &&
           id_table_reserve(&b->streams_by_wid, b->n_streams + 1);
}

struct broker_stream *stream_create(struct client *c, const struct frame *f, ProtobufCMessage *body)
{
    struct broker *b = c->broker;
    struct broker_stream *s = tables_reserve(c) ? calloc(1, sizeof(*s)) : NULL;
    if (!s)
        return NULL;
    s->broker = b;
    s->client = c;
    s->id = ++b->last_stream;
    s->object_id = f->h.object_id;
    s->open_request = f->h.request_id;
    s->probe = f->h.type == WIRE_PROBE;
    s->source.body = body;
    s->source.open = s->probe ? ((Pelton__Probe *)body)->source : (Pelton__Open *)body;
    s->source.own_blur = s->source.open->n_blur;
    s->source.fd = s->source.table = -1;
    delivery_init(&s->delivery, s->source.open->policy == PELTON_LOSSLESS);
    id_table_put(&c->streams, s->object_id, s);
    *b->streams_tail = s;
    b->streams_tail = &s->next;
    b->n_streams++;
    broker_changed(b);
    return s;
}

/* The states that may follow each state. */
static const uint8_t may_follow[] = {
    [STREAM_QUEUED] =
        1 << STREAM_QUEUED | 1 << STREAM_OPEN | 1 << STREAM_ENDED | 1 << STREAM_CLOSED,
    [STREAM_WAITING] = 1 << STREAM_QUEUED | 1 << STREAM_ENDED | 1 << STREAM_CLOSED,
    [STREAM_RESTING] = 1 << STREAM_QUEUED | 1 << STREAM_ENDED | 1 << STREAM_CLOSED,
    [STREAM_OPEN] = 1 << STREAM_QUEUED | 1 << STREAM_RESTING | 1 << STREAM_OVER |
                    1 << STREAM_ENDED | 1 << STREAM_CLOSED,
    [STREAM_OVER] =
        1 << STREAM_QUEUED | 1 << STREAM_WAITING | 1 << STREAM_ENDED | 1 << STREAM_CLOSED,
    [STREAM_ENDED] = 1 << STREAM_CLOSED,
    [STREAM_CLOSED] = 0,
};

void stream_enter(struct broker_stream *s, enum stream_state state)
{
    assert(may_follow[s->state] & 1 << state);
    if (s->state == STREAM_OPEN)
        id_table_remove(&s->broker->streams_by_wid, s->wid);
    if (state == STREAM_OPEN)
        id_table_put(&s->broker->streams_by_wid, s->wid, s);
    s->state = state;
    broker_changed(s->broker);
}

void stream_withdraw(struct broker_stream *s)
{
    if (s->state == STREAM_OPEN)
        worker_send(s->worker, WIRE_CLOSE, 0, s->wid, NULL, NULL, 0);
}

/* The worker may have ended it before, and keeps its pools for the client's next stream. */
static void stream_tell_end(struct broker_stream *s)
{
    Pelton__Close m = PELTON__CLOSE__INIT;
    m.returned = !s->client->closing && !s->client->gone && delivery_all_returned(&s->delivery);
    if (s->state == STREAM_OPEN || (s->state == STREAM_ENDED && s->delivery.present))
        worker_send(s->worker, WIRE_CLOSE, 0, s->wid, &m.base, NULL, 0);
}

void stream_over(struct broker_stream *s, const struct pelton_failure *failure)
{
    s->end = *failure;
    stream_enter(s, STREAM_OVER);
}

void stream_end(struct broker_stream *s, const struct pelton_failure *failure)
{
    if (s->state == STREAM_ENDED || s->state == STREAM_CLOSED)
        return;
    s->end = *failure;
    stream_enter(s, STREAM_ENDED);
    named_leave(s, failure);
}

void stream_fail(struct broker_stream *s, int code, const char *hint, const char *cause, ...)
{
    struct pelton_failure failure = {.code = code};
    va_list args;
    va_start(args, cause);
    vsnprintf(failure.cause, sizeof(failure.cause), cause, args);
    va_end(args);
    wire_copy(failure.hint, sizeof(failure.hint), hint);
    log_line(LOG_LEVEL_WARNING, "%s", failure.cause);
    stream_end(s, &failure);
}

void stream_close(struct broker_stream *s)
{
    if (s->state == STREAM_CLOSED)
        return;
    stream_tell_end(s);
    stream_enter(s, STREAM_CLOSED);
    named_leave(s, NULL);
    id_table_remove(&s->client->streams, s->object_id);
    s->broker->n_streams--;
}

static void stream_unlink(struct broker_stream *s)
{
    struct broker *b = s->broker;
    struct broker_stream **link = &b->streams;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    if (!*link)
        b->streams_tail = link;
}

void stream_free(struct broker_stream *s)
{
    stream_unlink(s);
    delivery_free(&s->delivery);
    if (s->source.fd >= 0)
        close(s->source.fd);
    if (s->source.table >= 0)
        close(s->source.table);
    wire_free(s->source.body);
    free(s->source.controls);
    free(s);
}
