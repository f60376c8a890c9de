/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Questions of clients that only the worker can answer: the totals of a stream, the controls of a
 * camera, the machine's devices.
 *
 * The happy path is ask, send, answer. The failure modes are: the stream ends meanwhile (its final
 * totals are the answer), the worker dies first (totals: the last known are given; devices: an
 * error, for asking may be what killed it), the client or the stream goes away (the answer finds
 * nobody), no worker can be had (an error).
 */
#include "daemon/broker/broker.h"

#include <stdlib.h>

static struct ask *ask_create(struct client *c, struct stream *s, uint32_t client_request)
{
    struct ask *a = calloc(1, sizeof(*a));
    if (!a) {
        struct pelton_failure failure = {.code = PELTON_ERR_NOMEM, .cause = "out of memory"};
        client_error(c, client_request, 0, &failure, true);
        return NULL;
    }
    a->client = c;
    a->stream = s;
    a->client_request = client_request;
    struct ask **link = &c->broker->asks;
    while (*link)
        link = &(*link)->next;
    *link = a;
    return a;
}

static struct worker *worker_of(const struct ask *a)
{
    return a->stream ? a->stream->worker : a->client->broker->workers;
}

void ask_stats(struct stream *s, uint32_t client_request)
{
    if (s->state != STREAM_OPEN || !worker_running(s->worker)) {
        stream_send_stats(s, client_request);
        return;
    }
    if (ask_create(s->client, s, client_request))
        asks_send(s->broker);
}

static void refuse_controls(struct client *c, uint32_t client_request, const struct stream *s)
{
    struct pelton_failure failure = {
        .code = PELTON_ERR_USAGE, .cause = "the stream has ended", .hint = ""};
    client_error(c, client_request, s->object_id, &failure, true);
}

void ask_controls(struct stream *s, uint32_t client_request, ProtobufCMessage *controls)
{
    struct ask *a = s->state == STREAM_OPEN && worker_running(s->worker)
                        ? ask_create(s->client, s, client_request)
                        : NULL;
    if (!a) {
        refuse_controls(s->client, client_request, s);
        wire_free(controls);
        return;
    }
    a->controls = controls;
    asks_send(s->broker);
}

void ask_devices(struct client *c, uint32_t client_request, bool current)
{
    struct ask *a = ask_create(c, NULL, client_request);
    if (a) {
        a->current = current;
        recovery_pump(c->broker);
    }
}

void asks_send(struct broker *b)
{
    for (struct ask *a = b->asks; a; a = a->next) {
        struct worker *w = worker_of(a);
        if (a->worker_request || !worker_running(w) || (a->current && b->devices != DEVICES_READY))
            continue;
        a->worker_request = ++b->last_request;
        if (a->controls) {
            channel_send(&w->ch, WIRE_CONTROLS, a->worker_request, a->stream->wid, a->controls,
                         NULL, 0);
        } else if (a->stream) {
            channel_send(&w->ch, WIRE_STATS, a->worker_request, a->stream->wid, NULL, NULL, 0);
        } else {
            Pelton__Devices m = PELTON__DEVICES__INIT;
            m.current = a->current;
            channel_send(&w->ch, WIRE_DEVICES, a->worker_request, 0, &m.base, NULL, 0);
        }
    }
}

static void ask_free(struct broker *b, struct ask *a)
{
    struct ask **link = &b->asks;
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    wire_free(a->controls);
    free(a);
}

/* Of several devices the first, which says how many there are. */
static void send_current(struct broker *b, const struct ask *a)
{
    Pelton__DevicesReply m = PELTON__DEVICES_REPLY__INIT;
    Pelton__Device device, *list[] = {&device};
    wire_device_from(&b->device, &device);
    m.n_devices = 1;
    m.devices = list;
    channel_send(&a->client->ch, WIRE_DEVICES_REPLY, a->client_request, 0, &m.base, NULL, 0);
}

void asks_answer(struct worker *w, const struct frame *f, ProtobufCMessage *body)
{
    struct broker *b = w->broker;
    struct ask *a = b->asks;
    while (a && (a->worker_request == 0 || a->worker_request != f->h.request_id))
        a = a->next;
    if (!a || worker_of(a) != w)
        return;
    if (f->h.type == WIRE_DEVICES_REPLY && a->current && b->device_known) {
        send_current(b, a);
    } else if (f->h.type == WIRE_STATS_REPLY && a->stream && !a->controls) {
        wire_stats_to((const Pelton__StatsReply *)body, &a->stream->totals);
        stream_send_stats(a->stream, a->client_request);
    } else {
        channel_send(&a->client->ch, f->h.type, a->client_request,
                     a->stream ? a->stream->object_id : 0, body, NULL, 0);
    }
    ask_free(b, a);
}

void asks_worker_lost(struct worker *w)
{
    struct broker *b = w->broker;
    for (struct ask *a = b->asks, *next; a; a = next) {
        next = a->next;
        if (worker_of(a) != w)
            continue;
        if (a->controls) {
            refuse_controls(a->client, a->client_request, a->stream);
            ask_free(b, a);
        } else if (a->stream) {
            stream_send_stats(a->stream, a->client_request);
            ask_free(b, a);
        } else if (a->worker_request) {
            struct pelton_failure failure = {PELTON_ERR_WORKER_LOST,
                                             "the process that knows the devices has died",
                                             "run pelton doctor"};
            client_error(a->client, a->client_request, 0, &failure, true);
            ask_free(b, a);
        }
    }
}

void asks_stream_ended(struct stream *s)
{
    struct broker *b = s->broker;
    for (struct ask *a = b->asks, *next; a; a = next) {
        next = a->next;
        if (a->stream == s) {
            if (a->controls)
                refuse_controls(a->client, a->client_request, s);
            else
                stream_send_stats(s, a->client_request);
            ask_free(b, a);
        }
    }
}

void asks_refuse(struct broker *b, const struct pelton_failure *failure)
{
    for (struct ask *a = b->asks, *next; a; a = next) {
        next = a->next;
        if (a->worker_request == 0) {
            client_error(a->client, a->client_request, 0, failure, true);
            ask_free(b, a);
        }
    }
}

void asks_forget(struct broker *b, const struct client *c, const struct stream *s)
{
    for (struct ask *a = b->asks, *next; a; a = next) {
        next = a->next;
        if ((c && a->client == c) || (s && a->stream == s))
            ask_free(b, a);
    }
}
