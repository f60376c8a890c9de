/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /metrics: the text form of Prometheus. Names end in their unit, and counters in _total.
 */
#include "daemon/monotonic.h"
#include "web/api_sources.h"
#include "web/handlers.h"
#include "web/http_connections.h"
#include "web/http_reply.h"
#include "web/web.h"
#include "web/web_feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SOURCES_MOST = 1024 };

static void metric_head(FILE *to, const char *name, const char *type, const char *help)
{
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void metric_one(FILE *to, const char *name, const char *type, const char *help, double value)
{
    metric_head(to, name, type, help);
    fprintf(to, "%s %.17g\n", name, value);
}

/* In a label a backslash, a quote and the end of a line are escaped. */
static void label_write(FILE *to, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", to);
        else if (*text == '\\' || *text == '"')
            fprintf(to, "\\%c", *text);
        else
            putc(*text, to);
}

/* NAME{source="..."; the caller goes on with more labels, or with the end. */
static void series_begin(FILE *to, const char *name, const char *source)
{
    fprintf(to, "%s{source=\"", name);
    label_write(to, source);
    putc('"', to);
}

/* ---- the daemon ---- */

static struct pelton_encoder_usage usage_sum(const struct pelton_encoder_usage *list, uint32_t n)
{
    struct pelton_encoder_usage sum = {0};
    for (uint32_t i = 0; i < n && i < PELTON_PROCESSES_MOST; i++) {
        sum.pictures += list[i].pictures;
        sum.missed += list[i].missed;
        sum.bytes += list[i].bytes;
    }
    return sum;
}

/* What workers encode of streams. */
static void transcoders_write(FILE *to, const struct pelton_status *s)
{
    struct pelton_encoder_usage h264 = usage_sum(s->transcoders, s->n_processes),
                                jpeg = usage_sum(s->jpegs, s->n_processes);
    metric_one(to, "pelton_transcoder_pictures_total", "counter",
               "Decoded frames, encoded anew to H.264.", (double)h264.pictures);
    metric_one(to, "pelton_transcoder_bytes_total", "counter", "Bytes of these.",
               (double)h264.bytes);
    metric_one(to, "pelton_jpeg_pictures_total", "counter", "JPEG files that the device made.",
               (double)jpeg.pictures);
    metric_one(to, "pelton_jpeg_bytes_total", "counter", "Bytes of these.", (double)jpeg.bytes);
}

/* And of cameras. */
static void encoders_write(FILE *to, const struct pelton_status *s)
{
    struct pelton_encoder_usage sum = usage_sum(s->encoders, s->n_processes);
    metric_one(to, "pelton_encoder_pictures_total", "counter", "Frames of cameras, encoded.",
               (double)sum.pictures);
    metric_one(to, "pelton_encoder_missed_total", "counter",
               "Frames of cameras that a busy encoder left out.", (double)sum.missed);
    metric_one(to, "pelton_encoder_bytes_total", "counter", "Bytes of access units of cameras.",
               (double)sum.bytes);
}

static void daemon_write(FILE *to, const struct watched_daemon *d)
{
    const struct pelton_status *s = &d->status;
    metric_one(to, "pelton_up", "gauge", "Whether the daemon answers.", d->connected);
    metric_one(to, "pelton_web_daemon_connects_total", "counter",
               "Connections to the daemon so far.", (double)d->connects);
    if (!d->known)
        return;
    metric_one(to, "pelton_uptime_seconds", "gauge", "Time since the daemon started.",
               (double)s->up_ms * 1e-3);
    metric_one(to, "pelton_software_device", "gauge", "Whether no GPU decodes.",
               s->software || s->libavcodec);
    metric_one(to, "pelton_streams", "gauge", "Streams of all clients.", s->n_streams);
    metric_one(to, "pelton_streams_limit", "gauge", "Streams that the daemon allows.",
               s->most_streams);
    metric_one(to, "pelton_clients", "gauge", "Clients of the daemon.", s->n_clients);
    metric_head(to, "pelton_quota_refused_total", "counter", "Refusals by each limit.");
    for (uint32_t i = 0; i < s->n_quotas && i < PELTON_QUOTAS_MOST; i++) {
        fputs("pelton_quota_refused_total{quota=\"", to);
        label_write(to, s->quotas[i].name);
        fprintf(to, "\"} %" PRIu64 "\n", s->quotas[i].refused);
    }
    encoders_write(to, s);
    transcoders_write(to, s);
}

/* ---- sources ---- */

static double source_up(const struct pelton_source *s)
{
    return s->state != PELTON_SOURCE_LOST && s->state != PELTON_SOURCE_BACKOFF;
}

static double source_seconds(const struct pelton_source *s)
{
    return s->since_ns ? (double)(monotonic_ns() - s->since_ns) * 1e-9 : 0;
}

static double source_readers(const struct pelton_source *s)
{
    return s->readers;
}

/* All sources that the daemon names. */
static void sources_write(FILE *to, const struct watched_source *list, size_t n)
{
    static const struct {
        const char *name, *help;
        double (*value)(const struct pelton_source *s);
    } rows[] = {
        {"pelton_source_up", "0 while a source is lost or waits to be opened again.", source_up},
        {"pelton_source_state_seconds", "Time since a source came into its state.", source_seconds},
        {"pelton_source_readers", "Readers of a source, of all clients.", source_readers},
    };
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        metric_head(to, rows[k].name, "gauge", rows[k].help);
        for (size_t i = 0; i < n; i++) {
            series_begin(to, rows[k].name, list[i].source.name);
            fprintf(to, "} %.17g\n", rows[k].value(&list[i].source));
        }
    }
}

static void states_write(FILE *to, const struct watched_source *list, size_t n)
{
    metric_head(to, "pelton_source_state", "gauge", "1 for the state that a source is in.");
    for (size_t i = 0; i < n; i++) {
        for (int state = PELTON_SOURCE_CLOSED; state < PELTON_SOURCE_REMOVED; state++) {
            series_begin(to, "pelton_source_state", list[i].source.name);
            fprintf(to, ",state=\"%s\"} %d\n", source_state_word((enum pelton_source_state)state),
                    (int)list[i].source.state == state);
        }
    }
}

/* Without those that the daemon no longer names. */
static size_t sources_named(struct watched_source *list, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i].source.state != PELTON_SOURCE_REMOVED)
            list[kept++] = list[i];
    return kept;
}

/* ---- frames that this program has seen ---- */

struct figure_row {
    const char *name, *type, *help;
    double (*value)(const struct feed_figures *f);
};

static double figure_frames(const struct feed_figures *f)
{
    return (double)f->frames;
}

static double figure_bytes(const struct feed_figures *f)
{
    return (double)f->bytes;
}

static double figure_age(const struct feed_figures *f)
{
    return f->age_ms * 1e-3;
}

static double figure_readers(const struct feed_figures *f)
{
    return f->readers;
}

static double figure_taps(const struct feed_figures *f)
{
    return f->taps;
}

static double figure_encode(const struct feed_figures *f)
{
    return f->encode_s;
}

static double figure_jpegs_daemon(const struct feed_figures *f)
{
    return (double)f->jpegs_daemon;
}

static double figure_jpegs_gateway(const struct feed_figures *f)
{
    return (double)f->jpegs_gateway;
}

static double figure_overrun(const struct feed_figures *f)
{
    return (double)f->overrun;
}

static const struct figure_row *figure_rows(size_t *n)
{
    static const struct figure_row rows[] = {
        {"pelton_source_frames_total", "counter", "Frames that the gateway has fetched.",
         figure_frames},
        {"pelton_source_bytes_total", "counter", "Bytes of these, as readers get them.",
         figure_bytes},
        {"pelton_source_age_seconds", "gauge", "From the capture of the last frame to its arrival.",
         figure_age},
        {"pelton_web_readers", "gauge", "HTTP readers.", figure_readers},
        {"pelton_web_taps", "gauge", "Subscriptions that these share.", figure_taps},
        {"pelton_web_jpegs_by_daemon_total", "counter", "JPEG files that the daemon's device made.",
         figure_jpegs_daemon},
        {"pelton_web_jpegs_by_gateway_total", "counter", "JPEG files that the gateway made.",
         figure_jpegs_gateway},
        {"pelton_web_encode_seconds_total", "counter", "CPU time of scaling and encoding.",
         figure_encode},
        {"pelton_web_overruns_total", "counter", "Readers cut because they were too slow.",
         figure_overrun},
    };
    *n = sizeof(rows) / sizeof(*rows);
    return rows;
}

static void drops_write(FILE *to, const struct feed_figures *list, size_t n)
{
    metric_head(to, "pelton_source_dropped_total", "counter",
                "Frames lost before the gateway, and those that its readers skipped.");
    for (size_t i = 0; i < n; i++) {
        const struct {
            const char *place;
            uint64_t count;
        } places[] = {{"source", list[i].dropped_source},
                      {"decoder", list[i].dropped_decoder},
                      {"client", list[i].dropped_client},
                      {"gateway", list[i].skipped}};
        for (size_t k = 0; k < sizeof(places) / sizeof(*places); k++) {
            series_begin(to, "pelton_source_dropped_total", list[i].name);
            fprintf(to, ",place=\"%s\"} %" PRIu64 "\n", places[k].place, places[k].count);
        }
    }
}

static void figures_write(FILE *to, const struct feed_figures *list, size_t n)
{
    size_t n_rows;
    const struct figure_row *rows = figure_rows(&n_rows);
    for (size_t k = 0; k < n_rows; k++) {
        metric_head(to, rows[k].name, rows[k].type, rows[k].help);
        for (size_t i = 0; i < n; i++) {
            series_begin(to, rows[k].name, list[i].name);
            fprintf(to, "} %.17g\n", rows[k].value(&list[i]));
        }
    }
    drops_write(to, list, n);
}

/* ---- HTTP ---- */

static void counted_write(FILE *to, const char *name, const char *reason, uint64_t count)
{
    fprintf(to, "%s{reason=\"%s\"} %" PRIu64 "\n", name, reason, count);
}

static void connections_write(FILE *to, const struct http_connection_counts *c)
{
    metric_one(to, "pelton_web_connections", "gauge", "HTTP connections.", (double)c->open);
    metric_one(to, "pelton_web_connections_total", "counter", "HTTP connections so far.",
               (double)c->accepted);
    metric_head(to, "pelton_web_refused_total", "counter", "Refusals by limits of this program.");
    counted_write(to, "pelton_web_refused_total", "connections", c->refused_connections);
    counted_write(to, "pelton_web_refused_total", "rate", c->refused_rate);
    counted_write(to, "pelton_web_refused_total", "token", c->refused_tokens);
    metric_head(to, "pelton_web_cut_total", "counter",
                "Connections that were cut by a time limit.");
    counted_write(to, "pelton_web_cut_total", "header", c->cut_header);
    counted_write(to, "pelton_web_cut_total", "idle", c->cut_idle);
    counted_write(to, "pelton_web_cut_total", "stall", c->cut_stall);
}

static void metrics_write(struct web *w, FILE *to, struct feed_figures *figures,
                          const struct watched_source *sources, size_t n_sources)
{
    struct watched_daemon daemon;
    struct http_connection_counts counts;
    size_t n = feed_count(w->feed, figures, SOURCES_MOST);
    daemon_watch_state(w->watch, &daemon);
    http_connections_count(w->connections, &counts);
    daemon_write(to, &daemon);
    sources_write(to, sources, n_sources);
    states_write(to, sources, n_sources);
    figures_write(to, figures, n);
    connections_write(to, &counts);
}

enum MHD_Result metrics_get(struct http_request *r)
{
    char *text = NULL;
    size_t size = 0, n = 0;
    struct watched_source *sources = NULL;
    struct feed_figures *figures = calloc(SOURCES_MOST, sizeof(*figures));
    FILE *to = figures && daemon_watch_sources(r->web->watch, &sources, &n) == 0
                   ? open_memstream(&text, &size)
                   : NULL;
    if (to)
        metrics_write(r->web, to, figures, sources, sources_named(sources, n));
    bool good = to && fclose(to) == 0;
    enum MHD_Result result =
        good ? http_reply(r, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text, size)
             : http_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "free some memory", "no memory");
    free(figures);
    free(sources);
    free(text);
    return result;
}
