/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Questions passed on to workers: see ask.h.
 *
 * The happy path is ask, send, answer. The failure modes are:
 * - The stream ends meanwhile. Its final totals are the answer.
 * - The worker dies first. The last known totals are the answer. A question about devices is
 *   answered by an error, because it may be the one that killed the worker.
 * - The client or the stream goes away. The answer finds nobody.
 * - No worker can be had. An error is the answer.
 */
#include "daemon/broker/ask.h"

#include "daemon/broker/client_link.h"
#include "daemon/broker/devices.h"
#include "daemon/broker/kept_controls.h"
#include "daemon/broker/named.h"
#include "daemon/broker/stream_messages.h"
#include "daemon/broker/worker_link.h"

#include <stdlib.h>

struct ask {
    struct ask *next;
    struct client *client;
    struct broker_stream *stream;            /* of Stats and Controls; NULL for Devices */
    ProtobufCMessage *controls;              /* of Controls, owned */
    uint32_t client_request, worker_request; /* worker_request 0: not sent yet */
    bool current;                            /* Devices: only the one in use */
};

static struct ask *ask_create(struct client *c, struct broker_stream *s, uint32_t client_request)
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
    broker_changed(c->broker);
    return a;
}

static void ask_remove(struct ask **link)
{
    struct ask *a = *link;
    *link = a->next;
    wire_free(a->controls);
    free(a);
}

static struct worker_process *worker_of(const struct ask *a)
{
    return a->stream ? a->stream->worker : a->client->broker->workers;
}

static bool is_with_worker(const struct broker_stream *s)
{
    return s->state == STREAM_OPEN && worker_running(s->worker);
}

static void controls_refuse(struct broker_stream *s, uint32_t client_request)
{
    struct pelton_failure failure = {
        .code = PELTON_ERR_USAGE, .cause = "the stream has ended", .hint = ""};
    client_error(s->client, client_request, s->object_id, &failure, true);
}

void ask_stats(struct broker_stream *s, uint32_t client_request)
{
    if (is_with_worker(s))
        ask_create(s->client, s, client_request);
    else
        stream_send_stats(s, client_request);
}

void ask_controls(struct broker_stream *s, uint32_t client_request, ProtobufCMessage *controls)
{
    struct ask *a = is_with_worker(s) ? ask_create(s->client, s, client_request) : NULL;
    if (!a) {
        controls_refuse(s, client_request);
        wire_free(controls);
        return;
    }
    a->controls = controls;
}

void ask_devices(struct client *c, uint32_t client_request, bool current)
{
    struct ask *a = ask_create(c, NULL, client_request);
    if (a)
        a->current = current;
}

bool asks_want_worker(const struct broker *b)
{
    const struct ask *a = b->asks;
    while (a && (a->stream || a->worker_request))
        a = a->next;
    return a != NULL;
}

static void ask_send(struct ask *a, struct worker_process *w)
{
    a->worker_request = ++w->broker->last_request;
    if (a->controls) {
        worker_send(w, WIRE_CONTROLS, a->worker_request, a->stream->wid, a->controls, NULL, 0);
    } else if (a->stream) {
        worker_send(w, WIRE_STATS, a->worker_request, a->stream->wid, NULL, NULL, 0);
    } else {
        Pelton__Devices m = PELTON__DEVICES__INIT;
        m.current = a->current;
        worker_send(w, WIRE_DEVICES, a->worker_request, 0, &m.base, NULL, 0);
    }
}

void asks_send(struct broker *b)
{
    bool ready = b->devices->state == DEVICES_READY;
    for (struct ask *a = b->asks; a; a = a->next) {
        struct worker_process *w = worker_of(a);
        if (!a->worker_request && worker_running(w) && (!a->current || ready))
            ask_send(a, w);
    }
}

/* Of several devices the first, which says how many there are. */
static void send_current(struct broker *b, const struct ask *a)
{
    Pelton__DevicesReply m = PELTON__DEVICES_REPLY__INIT;
    Pelton__Device device, *list[] = {&device};
    wire_device_from(&b->devices->first, &device);
    m.n_devices = 1;
    m.devices = list;
    client_send(a->client, WIRE_DEVICES_REPLY, a->client_request, 0, &m.base);
}

/* With every source that is this camera, under whatever name. Who watches them is told. */
static void controls_keep_named(const struct named_source *of, const Pelton__Controls *set,
                                const Pelton__ControlsReply *now)
{
    for (struct named_source *n = of->broker->named; n; n = n->next) {
        if (n != of && !source_shares_camera(&n->config, &of->config))
            continue;
        kept_controls_add(&n->controls, set, now);
        if (set->n_set)
            named_tell_controls(n, now);
    }
}

/* What was set lasts: with the source that has a name, else with the stream. */
static void controls_keep(struct broker_stream *s, const Pelton__Controls *set,
                          const Pelton__ControlsReply *now)
{
    struct stream_source *source = &s->source;
    if (source->origin) {
        controls_keep_named(source->origin, set, now);
        return;
    }
    if (!source->controls)
        source->controls = calloc(1, sizeof(*source->controls));
    if (source->controls)
        kept_controls_add(source->controls, set, now);
}

void asks_answer(struct worker_process *w, const struct frame *f, ProtobufCMessage *body)
{
    struct broker *b = w->broker;
    struct ask **link = &b->asks;
    while (*link && ((*link)->worker_request == 0 || (*link)->worker_request != f->h.request_id))
        link = &(*link)->next;
    struct ask *a = *link;
    if (!a || worker_of(a) != w)
        return;
    if (f->h.type == WIRE_DEVICES_REPLY && a->current && b->devices->known) {
        send_current(b, a);
    } else if (f->h.type == WIRE_STATS_REPLY && a->stream && !a->controls) {
        wire_stats_to((const Pelton__StatsReply *)body, &a->stream->totals);
        stream_send_stats(a->stream, a->client_request);
    } else {
        if (f->h.type == WIRE_CONTROLS_REPLY && a->controls)
            controls_keep(a->stream, (const Pelton__Controls *)a->controls,
                          (const Pelton__ControlsReply *)body);
        client_send(a->client, f->h.type, a->client_request, a->stream ? a->stream->object_id : 0,
                    body);
    }
    ask_remove(link);
}

/* Without the worker. */
static void ask_settle(const struct ask *a)
{
    if (a->controls)
        controls_refuse(a->stream, a->client_request);
    else
        stream_send_stats(a->stream, a->client_request);
}

void asks_settle(struct broker *b)
{
    for (struct ask **link = &b->asks; *link;) {
        struct ask *a = *link;
        bool without = a->stream && a->stream->state != STREAM_OPEN;
        if (without && (a->worker_request == 0 || a->stream->state == STREAM_ENDED)) {
            ask_settle(a);
            ask_remove(link);
        } else {
            link = &a->next;
        }
    }
}

void asks_worker_lost(struct worker_process *w)
{
    static const struct pelton_failure failure = {
        PELTON_ERR_WORKER_LOST, "the process that knows the devices has died", "run pelton doctor"};
    for (struct ask **link = &w->broker->asks; *link;) {
        struct ask *a = *link;
        if (worker_of(a) != w || (!a->stream && !a->worker_request)) {
            link = &a->next;
            continue;
        }
        if (a->stream)
            ask_settle(a);
        else
            client_error(a->client, a->client_request, 0, &failure, true);
        ask_remove(link);
    }
}

void asks_refuse(struct broker *b, const struct pelton_failure *failure)
{
    for (struct ask **link = &b->asks; *link;) {
        struct ask *a = *link;
        if (a->worker_request || a->stream) {
            link = &a->next;
            continue;
        }
        client_error(a->client, a->client_request, 0, failure, true);
        ask_remove(link);
    }
}

void asks_drop(struct broker *b)
{
    for (struct ask **link = &b->asks; *link;) {
        const struct ask *a = *link;
        if (a->client->closing || (a->stream && a->stream->state == STREAM_CLOSED))
            ask_remove(link);
        else
            link = &(*link)->next;
    }
}
