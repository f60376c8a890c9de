/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The daemon's administration: named sources and their changes, status, reload, shutdown.
 */
#include "proto/libpelton_conn.h"
#include "proto/libpelton_sizes.h"

#include <stdlib.h>

enum { MOST_CHANGES = 1024 };

int pelton_sources_sized(struct pelton *conn, int timeout_ms, struct pelton_source **out,
                         size_t size, size_t *count)
{
    struct pelton_source source;
    ProtobufCMessage *body;
    int rc = pelton_ask(conn, WIRE_SOURCES, 0, NULL, NULL, 0, WIRE_SOURCES_REPLY,
                        pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__SourcesReply *m = (const Pelton__SourcesReply *)body;
    char *list = calloc(m->n_sources + 1, size);
    if (list) {
        for (size_t i = 0; i < m->n_sources; i++) {
            wire_source_to(m->sources[i], &source);
            PELTON_GIVE(list + i * size, size, &source);
        }
        *count = m->n_sources;
        *out = (struct pelton_source *)list;
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

/* The first change leaves the queue; the caller frees it. */
static struct pelton_source_change *change_pop(struct pelton *conn)
{
    struct pelton_source_change *c = conn->changes;
    conn->changes = c->next;
    conn->changes_tail = c->next ? conn->changes_tail : &conn->changes;
    conn->n_changes--;
    return c;
}

int pelton_source_event(struct pelton *conn, const Pelton__SourceEvent *m)
{
    size_t n = m->n_controls <= PELTON_MAX_CONTROLS ? m->n_controls : 0;
    struct pelton_source_change *c = calloc(1, sizeof(*c) + n * sizeof(c->controls[0]));
    if (!c)
        return pelton_die(conn, PELTON_ERR_NOMEM, "", "out of memory");
    wire_source_to(m->source, &c->source);
    c->source.state = m->removed ? PELTON_SOURCE_REMOVED : c->source.state;
    c->n_controls = wire_controls_to(m->controls, n, c->controls) == 0 ? (uint32_t)n : 0;
    if (conn->n_changes == MOST_CHANGES)
        free(change_pop(conn));
    *(conn->changes ? conn->changes_tail : &conn->changes) = c;
    conn->changes_tail = &c->next;
    conn->n_changes++;
    return PELTON_OK;
}

void pelton_changes_free(struct pelton *conn)
{
    while (conn->changes)
        free(change_pop(conn));
    free(conn->told);
}

int pelton_sources_next_sized(struct pelton *conn, int timeout_ms, struct pelton_source *out,
                              size_t size)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    while (!conn->changes) {
        int rc = pelton_pump(conn, deadline);
        if (rc <= 0 && !conn->changes)
            return rc < 0 ? rc : pelton_fail(conn, PELTON_ERR_TIMEOUT, "", "nothing has changed");
    }
    free(conn->told);
    conn->told = change_pop(conn);
    PELTON_GIVE(out, size, &conn->told->source);
    return 1;
}

uint32_t pelton_source_controls_sized(const struct pelton *conn, struct pelton_control *out,
                                      uint32_t most, size_t size)
{
    uint32_t n = conn->told ? conn->told->n_controls : 0;
    for (uint32_t i = 0; i < n && i < most; i++)
        PELTON_GIVE((char *)out + i * size, size, &conn->told->controls[i]);
    return n < most ? n : most;
}

int pelton_reload_sized(struct pelton *conn, int timeout_ms, struct pelton_reloaded *out,
                        size_t size)
{
    ProtobufCMessage *body;
    int rc = pelton_ask(conn, WIRE_RELOAD, 0, NULL, NULL, 0, WIRE_RELOAD_REPLY,
                        pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__ReloadReply *m = (const Pelton__ReloadReply *)body;
    struct pelton_reloaded result;
    wire_reloaded_to(m, &result);
    PELTON_GIVE(out, size, &result);
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

int pelton_status_sized(struct pelton *conn, int timeout_ms, struct pelton_status *out, size_t size,
                        struct pelton_stream_status **streams, size_t stream_size, size_t *count)
{
    struct pelton_status status;
    struct pelton_stream_status stream;
    ProtobufCMessage *body;
    int rc = pelton_ask(conn, WIRE_STATUS, 0, NULL, NULL, 0, WIRE_STATUS_REPLY,
                        pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__StatusReply *m = (const Pelton__StatusReply *)body;
    char *list = calloc(m->n_streams + 1, stream_size);
    if (list) {
        for (size_t i = 0; i < m->n_streams; i++) {
            wire_stream_status_to(m->streams[i], &stream);
            PELTON_GIVE(list + i * stream_size, stream_size, &stream);
        }
        wire_status_to(m, &status);
        PELTON_GIVE(out, size, &status);
        *count = m->n_streams;
        *streams = (struct pelton_stream_status *)list;
    }
    wire_free(body);
    return list ? PELTON_OK : pelton_fail(conn, PELTON_ERR_NOMEM, "", "out of memory");
}
