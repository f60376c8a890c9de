/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sources that the configuration names, as clients see them: how many read each, its state and
 * the cause.
 *
 * CLOSED -> OPENING (first reader) -> RUNNING -> LOST -> BACKOFF -> RUNNING ...
 * It is ENDED when the stream of its last reader has ended by itself, and CLOSED when its last
 * reader has closed it. The daemon itself counts as a reader here, where it keeps the source open.
 * The state is that of the camera or connection that the readers share. The latest news of any of
 * them counts.
 */
#include "daemon/broker/named.h"

#include "camera/camera_params.h"
#include "daemon/broker/client_link.h"
#include "daemon/broker/client_rights.h"
#include "daemon/monotonic.h"

#include <stdlib.h>
#include <string.h>

enum { LISTED = 128 /* what a message holds */, LISTED_TEXT = 160 };

struct named_source *named_create(struct broker *b, const struct configured_source *from)
{
    struct named_source *n = calloc(1, sizeof(*n));
    if (!n || !source_copy(from, &n->config)) {
        free(n);
        return NULL;
    }
    n->broker = b;
    n->state = PELTON__SOURCE_STATE__STATE__CLOSED;
    n->since_ns = monotonic_ns();
    pelton__rational__init(&n->frame_rate);
    return n;
}

void named_free(struct named_source *n)
{
    if (n) {
        source_clear(&n->config);
        free(n);
    }
}

bool named_init(struct broker *b)
{
    struct named_source **tail = &b->named;
    for (unsigned i = 0; i < b->settings->n_sources; i++) {
        *tail = named_create(b, &b->settings->sources[i]);
        if (!*tail)
            return false;
        tail = &(*tail)->next;
    }
    return true;
}

void named_end(struct broker *b)
{
    while (b->named) {
        struct named_source *next = b->named->next;
        named_free(b->named);
        b->named = next;
    }
}

struct named_source *named_find(const struct broker *b, const char *name)
{
    struct named_source *n = b->named;
    while (n && strcmp(n->config.name, name) != 0)
        n = n->next;
    return n;
}

/* ---- to clients ---- */

struct source_message {
    Pelton__Source msg;
    Pelton__Rational frame_rate;
    char uri[256], cause[256];
};

static void source_describe(const struct named_source *n, size_t text, struct source_message *out)
{
    pelton__source__init(&out->msg);
    config_redact(n->config.address, out->uri, text < sizeof(out->uri) ? text : sizeof(out->uri));
    wire_copy(out->cause, text < sizeof(out->cause) ? text : sizeof(out->cause), n->cause);
    out->frame_rate = n->frame_rate;
    out->msg.name = (char *)n->config.name;
    out->msg.uri = out->uri;
    out->msg.readers = n->readers;
    out->msg.state = n->state;
    out->msg.cause = out->cause;
    out->msg.codec = (char *)n->codec;
    out->msg.format = (char *)n->format;
    out->msg.width = n->width;
    out->msg.height = n->height;
    out->msg.frame_rate = n->frame_rate.den ? &out->frame_rate : NULL;
    out->msg.since_ns = n->since_ns;
}

/* now NULL: its state has changed. */
static void source_send_event(struct client *c, const struct named_source *n, bool removed,
                              const Pelton__ControlsReply *now)
{
    Pelton__SourceEvent m = PELTON__SOURCE_EVENT__INIT;
    struct source_message source;
    source_describe(n, sizeof(source.uri), &source);
    m.source = &source.msg;
    m.removed = removed;
    m.n_controls = now ? now->n_controls : 0;
    m.controls = now ? now->controls : NULL;
    client_send(c, WIRE_SOURCE_EVENT, 0, 0, &m.base);
}

static void watchers_tell(const struct named_source *n, bool removed,
                          const Pelton__ControlsReply *now)
{
    for (struct client *c = n->broker->clients; c; c = c->next)
        if (c->watches && !c->closing && client_may_read(c, n))
            source_send_event(c, n, removed, now);
}

void named_tell(const struct named_source *n, bool removed)
{
    watchers_tell(n, removed, NULL);
}

void named_tell_controls(const struct named_source *n, const Pelton__ControlsReply *now)
{
    if (now->n_controls <= PELTON_MAX_CONTROLS)
        watchers_tell(n, false, now);
}

void named_set_rights(struct named_source *n, const struct source_rights *rights)
{
    const struct source_rights before = n->config.rights;
    for (struct client *c = n->broker->clients; c; c = c->next) {
        n->config.rights = before;
        bool could = client_may_read(c, n);
        n->config.rights = *rights;
        bool may = client_may_read(c, n);
        if (c->watches && !c->closing && could != may)
            source_send_event(c, n, could, NULL);
    }
    n->config.rights = *rights;
}

void named_list(struct client *c, uint32_t request_id)
{
    struct source_message *bodies = calloc(LISTED, sizeof(*bodies));
    Pelton__Source *list[LISTED];
    Pelton__SourcesReply m = PELTON__SOURCES_REPLY__INIT;
    for (const struct named_source *n = c->broker->named; n; n = n->next) {
        if (!client_may_read(c, n))
            continue;
        m.count++;
        if (bodies && m.n_sources < LISTED) {
            source_describe(n, LISTED_TEXT, &bodies[m.n_sources]);
            list[m.n_sources] = &bodies[m.n_sources].msg;
            m.n_sources++;
        }
    }
    m.sources = list;
    client_send(c, WIRE_SOURCES_REPLY, request_id, 0, &m.base);
    free(bodies);
}

void named_watch(struct client *c, uint32_t request_id, bool stop)
{
    Pelton__SourcesReply m = PELTON__SOURCES_REPLY__INIT;
    c->watches = !stop;
    for (const struct named_source *n = c->broker->named; n; n = n->next)
        m.count += client_may_read(c, n);
    client_send(c, WIRE_SOURCES_REPLY, request_id, 0, &m.base);
    for (const struct named_source *n = c->broker->named; n && !stop; n = n->next)
        if (client_may_read(c, n))
            source_send_event(c, n, false, NULL);
}

/* ---- what happens to it ---- */

static void source_change(struct named_source *n, Pelton__SourceState__State state,
                          const char *cause)
{
    if (n->state != state)
        n->since_ns = monotonic_ns();
    n->state = state;
    wire_copy(n->cause, sizeof(n->cause), cause);
    named_tell(n, false);
}

void named_join(struct broker_stream *s, struct named_source *n)
{
    bool first = !n->kept.stream && n->readers == 0;
    s->source.named = n;
    if (stream_is_keeper(s))
        n->kept.stream = s;
    else
        n->readers++;
    if (first)
        source_change(n, PELTON__SOURCE_STATE__STATE__OPENING, "");
    else
        named_tell(n, false);
}

void named_leave(struct broker_stream *s, const struct pelton_failure *end)
{
    struct named_source *n = s->source.named;
    s->source.named = NULL;
    if (!n)
        return;
    if (stream_is_keeper(s)) {
        n->kept.stream = NULL;
        n->kept.has_ended = end != NULL;
        n->kept.end = end ? *end : n->kept.end;
    } else if (--n->readers == 0) {
        n->left_ms = uv_now(&n->broker->loop);
    }
    broker_changed(n->broker);
    if (n->readers > 0 || n->kept.stream)
        named_tell(n, false);
    else if (end)
        source_change(n, PELTON__SOURCE_STATE__STATE__ENDED, end->code ? end->cause : "");
    else
        source_change(n, PELTON__SOURCE_STATE__STATE__CLOSED, "");
}

static void info_keep(struct named_source *n, const Pelton__Info *info)
{
    wire_copy(n->codec, sizeof(n->codec), info->codec);
    wire_copy(n->format, sizeof(n->format), info->profile);
    n->width = info->width;
    n->height = info->height;
}

/* A camera's access units may be smaller than its frames, which count. */
void named_info(struct broker_stream *s, const Pelton__Info *info)
{
    struct named_source *n = s->source.named;
    if (!n)
        return;
    if (!s->source.open->encoded || !camera_address(s->source.open->uri) || !n->width)
        info_keep(n, info);
    if (info->frame_rate) {
        n->frame_rate.num = info->frame_rate->num;
        n->frame_rate.den = info->frame_rate->den;
    }
    if (n->state != PELTON__SOURCE_STATE__STATE__RUNNING)
        source_change(n, PELTON__SOURCE_STATE__STATE__RUNNING, "");
}

/* Every reader of a camera tells the same. */
void named_state(struct broker_stream *s, Pelton__SourceState__State state, const char *cause)
{
    struct named_source *n = s->source.named;
    bool restarting = state == PELTON__SOURCE_STATE__STATE__RESTARTING;
    if (!n || (n->state == state && strcmp(n->cause, cause) == 0))
        return;
    if (restarting && n->state == PELTON__SOURCE_STATE__STATE__RUNNING)
        source_change(n, PELTON__SOURCE_STATE__STATE__LOST, cause);
    state = restarting ? PELTON__SOURCE_STATE__STATE__BACKOFF : state;
    if (n->state != state || strcmp(n->cause, cause) != 0)
        source_change(n, state, cause);
}
