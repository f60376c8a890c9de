/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /api/v1/stats: the daemon, the sources that this program reads, and its own connections.
 */
#include "web/daemon_watch.h"
#include "web/handlers.h"
#include "web/http_connections.h"
#include "web/http_reply.h"
#include "web/web.h"
#include "web/web_feed.h"

#include <stdlib.h>

enum { SOURCES_MOST = 1024 };

static void daemon_write(struct json *j, const struct watched_daemon *d)
{
    const struct pelton_status *s = &d->status;
    json_open(j, "daemon", '{');
    json_bool(j, "connected", d->connected);
    json_text(j, "cause", d->cause);
    json_bool(j, "known", d->known);
    if (d->known) {
        json_text(j, "server", s->server);
        json_text(j, "device", s->device);
        json_bool(j, "software", s->software || s->libavcodec);
        json_int(j, "streams", s->n_streams);
        json_int(j, "streams_limit", s->most_streams);
        json_int(j, "clients", s->n_clients);
        json_number(j, "up_s", (double)s->up_ms * 1e-3);
    }
    json_close(j, '}');
}

static void figures_write(struct json *j, const struct feed_figures *f)
{
    json_open(j, NULL, '{');
    json_text(j, "name", f->name);
    json_int(j, "readers", f->readers);
    json_int(j, "taps", f->taps);
    json_int(j, "frames", (int64_t)f->frames);
    json_int(j, "bytes", (int64_t)f->bytes);
    json_number(j, "age_ms", f->age_ms);
    json_int(j, "jpegs_daemon", (int64_t)f->jpegs_daemon);
    json_int(j, "jpegs_gateway", (int64_t)f->jpegs_gateway);
    json_number(j, "encode_s", f->encode_s);
    json_open(j, "drops", '{');
    json_int(j, "source", (int64_t)f->dropped_source);
    json_int(j, "decoder", (int64_t)f->dropped_decoder);
    json_int(j, "client", (int64_t)f->dropped_client);
    json_int(j, "gateway", (int64_t)f->skipped);
    json_close(j, '}');
    json_close(j, '}');
}

static void connections_write(struct json *j, const struct http_connection_counts *c)
{
    json_open(j, "http", '{');
    json_int(j, "connections", (int64_t)c->open);
    json_int(j, "accepted", (int64_t)c->accepted);
    json_int(j, "refused", (int64_t)(c->refused_connections + c->refused_rate + c->refused_tokens));
    json_int(j, "cut", (int64_t)(c->cut_header + c->cut_idle + c->cut_stall));
    json_close(j, '}');
}

enum MHD_Result api_stats_get(struct http_request *r)
{
    struct watched_daemon daemon;
    struct http_connection_counts counts;
    struct http_json out;
    struct feed_figures *figures = calloc(SOURCES_MOST, sizeof(*figures));
    if (!figures || !http_json_begin(&out)) {
        free(figures);
        return http_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "free some memory", "no memory");
    }
    size_t n = feed_count(r->web->feed, figures, SOURCES_MOST);
    daemon_watch_state(r->web->watch, &daemon);
    http_connections_count(r->web->connections, &counts);
    json_open(&out.json, NULL, '{');
    daemon_write(&out.json, &daemon);
    json_open(&out.json, "sources", '[');
    for (size_t i = 0; i < n; i++)
        figures_write(&out.json, &figures[i]);
    json_close(&out.json, ']');
    connections_write(&out.json, &counts);
    json_close(&out.json, '}');
    free(figures);
    return http_json_end(r, MHD_HTTP_OK, &out);
}
