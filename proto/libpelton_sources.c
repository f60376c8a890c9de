/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The daemon's administration: named sources and their changes, status, reload, shutdown.
 */
#include "proto/libpelton_conn.h"

#include <stdlib.h>

enum { MOST_CHANGES = 1024 };

int pelton_sources(struct pelton *conn, int timeout_ms, struct pelton_source **out, size_t *count)
{
    ProtobufCMessage *body;
    int rc = pelton_ask(conn, WIRE_SOURCES, 0, NULL, NULL, 0, WIRE_SOURCES_REPLY,
                        pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__SourcesReply *m = (const Pelton__SourcesReply *)body;
    struct pelton_source *list = calloc(m->n_sources + 1, sizeof(*list));
    if (list) {
        for (size_t i = 0; i < m->n_sources; i++)
            wire_source_to(m->sources[i], &list[i]);
        *count = m->n_sources;
        *out = list;
    }
    wire_free(body);
    return list ? PELTON_OK : pelton_fail(conn, PELTON_ERR_NOMEM, "", "out of memory");
}

int pelton_sources_watch(struct pelton *conn, int timeout_ms)
{
    ProtobufCMessage *body;
    int rc = pelton_ask(conn, WIRE_WATCH_SOURCES, 0, NULL, NULL, 0, WIRE_SOURCES_REPLY,
                        pelton_deadline(timeout_ms), &body);
    if (rc == 0)
        wire_free(body);
    return rc;
}

static void change_pop(struct pelton *conn, struct pelton_source *out)
{
    struct pelton_source_change *c = conn->changes;
    *out = c->source;
    conn->changes = c->next;
    conn->changes_tail = c->next ? conn->changes_tail : &conn->changes;
    conn->n_changes--;
    free(c);
}

int pelton_source_event(struct pelton *conn, const Pelton__SourceEvent *m)
{
    struct pelton_source_change *c = calloc(1, sizeof(*c));
    struct pelton_source oldest;
    if (!c)
        return pelton_die(conn, PELTON_ERR_NOMEM, "", "out of memory");
    wire_source_to(m->source, &c->source);
    c->source.state = m->removed ? PELTON_SOURCE_REMOVED : c->source.state;
    if (conn->n_changes == MOST_CHANGES)
        change_pop(conn, &oldest);
    *(conn->changes ? conn->changes_tail : &conn->changes) = c;
    conn->changes_tail = &c->next;
    conn->n_changes++;
    return PELTON_OK;
}

void pelton_changes_free(struct pelton *conn)
{
    struct pelton_source unused;
    while (conn->changes)
        change_pop(conn, &unused);
}

int pelton_sources_next(struct pelton *conn, int timeout_ms, struct pelton_source *out)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    while (!conn->changes) {
        int rc = pelton_pump(conn, deadline);
        if (rc <= 0 && !conn->changes)
            return rc < 0 ? rc : pelton_fail(conn, PELTON_ERR_TIMEOUT, "", "nothing has changed");
    }
    change_pop(conn, out);
    return 1;
}

int pelton_reload(struct pelton *conn, int timeout_ms, struct pelton_reloaded *out)
{
    ProtobufCMessage *body;
    int rc = pelton_ask(conn, WIRE_RELOAD, 0, NULL, NULL, 0, WIRE_RELOAD_REPLY,
                        pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__ReloadReply *m = (const Pelton__ReloadReply *)body;
    *out = (struct pelton_reloaded){m->added, m->removed, m->changed, m->kept, ""};
    wire_copy(out->note, sizeof(out->note), m->note);
    wire_free(body);
    return PELTON_OK;
}

int pelton_shutdown(struct pelton *conn, int timeout_ms)
{
    ProtobufCMessage *body;
    int rc = pelton_ask(conn, WIRE_SHUTDOWN, 0, NULL, NULL, 0, WIRE_GOODBYE,
                        pelton_deadline(timeout_ms), &body);
    if (rc == 0)
        wire_free(body);
    return rc == PELTON_ERR_GONE ? PELTON_OK : rc;
}

static void stream_status(const Pelton__StreamStatus *in, struct pelton_stream_status *out)
{
    *out = (struct pelton_stream_status){.id = in->id,
                                         .pid = in->pid,
                                         .uid = in->uid,
                                         .depth = in->depth,
                                         .width = in->width,
                                         .height = in->height,
                                         .frames = in->frames,
                                         .waiting = in->waiting,
                                         .held = in->held,
                                         .slots = in->slots,
                                         .dropped_source = in->dropped_source,
                                         .dropped_decoder = in->dropped_decoder,
                                         .dropped_client = in->dropped_client,
                                         .restarts = in->restarts,
                                         .age_ns = in->age_ns,
                                         .gpu_entropy_pictures = in->gpu_entropy_pictures,
                                         .gpu_entropy = in->gpu_entropy};
    out->state = wire_state_to(in->state);
    out->policy = in->policy <= PELTON_FIFO ? (enum pelton_policy)in->policy : PELTON_LOSSLESS;
    wire_copy(out->name, sizeof(out->name), in->name);
    wire_copy(out->source, sizeof(out->source), in->source);
    wire_copy(out->client, sizeof(out->client), in->client);
    wire_copy(out->pix_fmt, sizeof(out->pix_fmt), in->pix_fmt);
}

int pelton_status(struct pelton *conn, int timeout_ms, struct pelton_status *out,
                  struct pelton_stream_status **streams, size_t *count)
{
    ProtobufCMessage *body;
    int rc = pelton_ask(conn, WIRE_STATUS, 0, NULL, NULL, 0, WIRE_STATUS_REPLY,
                        pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__StatusReply *m = (const Pelton__StatusReply *)body;
    struct pelton_stream_status *list = calloc(m->n_streams + 1, sizeof(*list));
    if (list) {
        for (size_t i = 0; i < m->n_streams; i++)
            stream_status(m->streams[i], &list[i]);
        *out = (struct pelton_status){.n_streams = m->total_streams,
                                      .most_streams = m->most_streams,
                                      .n_clients = m->total_clients,
                                      .most_clients = m->most_clients,
                                      .up_ms = m->up_ms};
        wire_copy(out->server, sizeof(out->server), m->server);
        wire_device_to(m->device, &out->device);
        *count = m->n_streams;
        *streams = list;
    }
    wire_free(body);
    return list ? PELTON_OK : pelton_fail(conn, PELTON_ERR_NOMEM, "", "out of memory");
}
