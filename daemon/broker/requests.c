/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The messages of clients: see requests.h. Each answer goes to the request it belongs to. A type
 * that is not known, or a body that cannot be parsed, is answered by an Error and changes nothing.
 */
#include "daemon/broker/requests.h"

#include "daemon/broker/ask.h"
#include "daemon/broker/broker_stream.h"
#include "daemon/broker/client_link.h"
#include "daemon/broker/client_rights.h"
#include "daemon/broker/named.h"
#include "daemon/broker/opened_source.h"
#include "daemon/broker/reload.h"
#include "daemon/broker/resting.h"
#include "daemon/broker/status.h"
#include "daemon/broker/stream_delivery.h"

#include "daemon/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void request_refuse(struct client *c, const struct frame *f, int code, const char *cause,
                           bool retryable)
{
    struct pelton_failure failure = {.code = code};
    wire_copy(failure.cause, sizeof(failure.cause), cause);
    client_error(c, f->h.request_id, f->h.object_id, &failure, retryable);
}

/* Takes the body over: it becomes the stream's. */
static void request_open(struct client *c, struct frame *f, ProtobufCMessage *body)
{
    struct broker *b = c->broker;
    struct pelton_failure failure = {0};
    const char *why = NULL;
    if (f->h.object_id == 0 || id_table_find(&c->streams, f->h.object_id)) {
        why = "an object number is 0 or in use";
    } else if (f->h.type == WIRE_PROBE && !((Pelton__Probe *)body)->source) {
        why = "a probe without its source";
    } else if (!resting_make_room(b)) {
        wire_free(body);
        resting_refuse(b, &failure);
        client_error(c, f->h.request_id, f->h.object_id, &failure, true);
        return;
    }
    struct broker_stream *s = why ? NULL : stream_create(c, f, body);
    if (!s) {
        wire_free(body);
        request_refuse(c, f, why ? PELTON_ERR_PROTOCOL : PELTON_ERR_NOMEM,
                       why ? why : "out of memory", true);
        return;
    }
    if (source_admit(s, f, uv_now(&b->loop), &failure) < 0) {
        client_error(c, f->h.request_id, f->h.object_id, &failure, false);
        stream_close(s);
    }
}

static void request_shutdown(struct client *c, const struct frame *f)
{
    if (!client_administers(c)) {
        request_refuse(c, f, PELTON_ERR_PERMISSION, "only the daemon's user may stop it", false);
        return;
    }
    log_line(LOG_LEVEL_INFO, "stopped by pid %d", (int)c->pid);
    c->broker->ending = true;
    broker_changed(c->broker);
}

static void request_of_stream(struct client *c, const struct frame *f, const ProtobufCMessage *body)
{
    struct broker_stream *s = id_table_find(&c->streams, f->h.object_id);
    if (!s) {
        if (f->h.type == WIRE_STATS)
            request_refuse(c, f, PELTON_ERR_USAGE, "no such stream", false);
        return; /* late words about a stream that has been closed */
    }
    switch (f->h.type) {
    case WIRE_CLOSE:
        stream_close(s);
        break;
    case WIRE_RELEASE:
        delivery_release(s, (const Pelton__Release *)body);
        break;
    case WIRE_CREDIT:
        delivery_credit(s, ((const Pelton__Credit *)body)->count);
        break;
    case WIRE_STATS:
        ask_stats(s, f->h.request_id);
        break;
    default:
        break;
    }
}

static void request_reload(struct client *c, const struct frame *f)
{
    struct pelton_reloaded done;
    char why[256];
    if (!client_administers(c)) {
        request_refuse(c, f, PELTON_ERR_PERMISSION, "only the daemon's user may have it reload",
                       false);
        return;
    }
    if (reload(c->broker, &done, why) < 0) {
        request_refuse(c, f, PELTON_ERR_USAGE, why, false);
        return;
    }
    Pelton__ReloadReply m = PELTON__RELOAD_REPLY__INIT;
    m.added = done.added;
    m.removed = done.removed;
    m.changed = done.changed;
    m.kept = done.kept;
    m.note = done.note;
    client_send(c, WIRE_RELOAD_REPLY, f->h.request_id, 0, &m.base);
}

/* Takes the body over. */
static void request_controls(struct client *c, const struct frame *f, ProtobufCMessage *body)
{
    struct broker_stream *s = id_table_find(&c->streams, f->h.object_id);
    const struct named_source *n = s ? s->source.origin : NULL;
    bool sets = ((const Pelton__Controls *)body)->n_set > 0;
    struct pelton_failure failure;
    if (s && (!sets || !n || client_may_control(c, n))) {
        ask_controls(s, f->h.request_id, body);
        return;
    }
    wire_free(body);
    if (!s) {
        request_refuse(c, f, PELTON_ERR_USAGE, "no such stream", false);
        return;
    }
    client_refuse_control(n, &failure);
    client_error(c, f->h.request_id, f->h.object_id, &failure, false);
}

void client_message(struct client *c, struct frame *f)
{
    if (!wire_type_body(f->h.type)) {
        char text[64];
        snprintf(text, sizeof(text), "message type %u is not known", f->h.type);
        request_refuse(c, f, PELTON_ERR_PROTOCOL, text, false);
        return;
    }
    ProtobufCMessage *body = wire_unpack(f);
    if (!body) {
        request_refuse(c, f, PELTON_ERR_PROTOCOL, "the message body cannot be parsed", false);
        return;
    }
    switch (f->h.type) {
    case WIRE_OPEN:
    case WIRE_PROBE:
        request_open(c, f, body);
        return;
    case WIRE_CONTROLS:
        request_controls(c, f, body);
        return;
    case WIRE_CLOSE:
    case WIRE_RELEASE:
    case WIRE_CREDIT:
    case WIRE_STATS:
        request_of_stream(c, f, body);
        break;
    case WIRE_DEVICES:
        ask_devices(c, f->h.request_id, ((const Pelton__Devices *)body)->current);
        break;
    case WIRE_SOURCES:
        named_list(c, f->h.request_id);
        break;
    case WIRE_WATCH_SOURCES:
        named_watch(c, f->h.request_id, ((const Pelton__WatchSources *)body)->stop);
        break;
    case WIRE_RELOAD:
        request_reload(c, f);
        break;
    case WIRE_STATUS:
        status_send(c, f->h.request_id, client_administers(c));
        break;
    case WIRE_PING:
        client_send(c, WIRE_PONG, f->h.request_id, 0, NULL);
        break;
    case WIRE_PONG:
        break;
    case WIRE_GOODBYE:
        client_close(c, NULL);
        break;
    case WIRE_SHUTDOWN:
        request_shutdown(c, f);
        break;
    default:
        request_refuse(c, f, PELTON_ERR_PROTOCOL, "a client does not send such a message", false);
        break;
    }
    wire_free(body);
}
