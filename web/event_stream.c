/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /api/v1/events: server-sent events. `daemon` and `source` come at first and at each change,
 * `controls` at each change that any client made, and once a second while exposure control moves a
 * camera that this gateway reads. `frames` comes once a second for each source that it reads. A
 * comment keeps a silent connection alive.
 */
#include "daemon/monotonic.h"
#include "web/api_sources.h"
#include "web/control_board.h"
#include "web/event_frames.h"
#include "web/handlers.h"
#include "web/http_reply.h"
#include "web/web.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_NS  INT64_C(1000000000)
#define SILENCE_NS (15 * SECOND_NS)

struct event_body {
    struct web *web;
    uint64_t source_change, control_change;
    bool told, connected; /* the last `daemon` event */
    int64_t frames_ns, spoken_ns;
    struct event_frames frames;
    char *text; /* that is being sent */
};

static void event_begin(FILE *file, const char *kind, struct json *j)
{
    fprintf(file, "event: %s\ndata: ", kind);
    *j = (struct json){.file = file, .compact = true};
    json_open(j, NULL, '{');
}

static void event_end(FILE *file, struct json *j)
{
    json_close(j, '}');
    fputc('\n', file); /* the object has ended its line */
}

static void daemon_tell(struct event_body *b, const struct watched_daemon *d, FILE *file)
{
    struct json j;
    if (b->told && b->connected == d->connected)
        return;
    b->told = true;
    b->connected = d->connected;
    event_begin(file, "daemon", &j);
    json_bool(&j, "connected", d->connected);
    json_text(&j, "cause", d->cause);
    json_text(&j, "hint", d->hint);
    event_end(file, &j);
}

/* Sources that have changed since the last time, in one go. */
static void sources_tell(struct event_body *b, const struct watched_daemon *d, FILE *file)
{
    struct watched_source *list = NULL;
    uint64_t newest = b->source_change;
    struct json j;
    size_t n = 0;
    if (daemon_watch_sources(b->web->watch, &list, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (list[i].change <= b->source_change)
            continue;
        newest = list[i].change > newest ? list[i].change : newest;
        event_begin(file, "source", &j);
        source_write(&j, &list[i], d);
        event_end(file, &j);
    }
    b->source_change = newest;
    free(list);
}

static void controls_tell(struct event_body *b, FILE *file)
{
    struct control_list list;
    struct json j;
    while (control_board_next(b->web->controls, b->control_change, &list)) {
        b->control_change = list.change;
        event_begin(file, "controls", &j);
        json_text(&j, "name", list.source);
        control_list_write(&j, &list);
        event_end(file, &j);
    }
}

static void frames_tell(struct event_body *b, int64_t now, FILE *file)
{
    struct json j;
    if (now - b->frames_ns < SECOND_NS)
        return;
    b->frames_ns = now;
    for (size_t n = event_frames_look(&b->frames, b->web, now), i = 0; i < n; i++) {
        const struct feed_figures *f = &b->frames.figures[i];
        if (f->last.camera.present)
            control_board_follow(b->web->controls, f->name, &f->last.camera);
        event_begin(file, "frames", &j);
        event_frames_write(&b->frames, i, &j);
        event_end(file, &j);
    }
}

/* The events that are due, into b->text; their size. */
static size_t events_write(struct event_body *b)
{
    int64_t now = monotonic_ns();
    struct watched_daemon d;
    size_t size = 0;
    FILE *file = open_memstream(&b->text, &size);
    if (!file)
        return 0;
    daemon_watch_state(b->web->watch, &d);
    daemon_tell(b, &d, file);
    sources_tell(b, &d, file);
    controls_tell(b, file);
    frames_tell(b, now, file);
    if (ftell(file) == 0 && now - b->spoken_ns > SILENCE_NS)
        fputs(":\n\n", file);
    if (fclose(file) != 0)
        return 0;
    if (size)
        b->spoken_ns = now;
    return size;
}

static enum http_more body_next(void *state, struct http_piece pieces[HTTP_PIECES])
{
    struct event_body *b = state;
    if (b->told)
        daemon_watch_wait(b->web->watch, b->source_change, HTTP_PATIENCE_MS / 2);
    free(b->text);
    b->text = NULL;
    size_t size = events_write(b);
    pieces[0] = (struct http_piece){b->text, size};
    return size ? HTTP_PIECE : HTTP_NOTHING;
}

static void body_free(void *state)
{
    struct event_body *b = state;
    event_frames_free(&b->frames);
    free(b->text);
    free(b);
}

enum MHD_Result api_events_get(struct http_request *r)
{
    struct event_body *b = calloc(1, sizeof(*b));
    if (!b)
        return http_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "free some memory", "no memory");
    b->web = r->web;
    b->control_change = control_board_newest(r->web->controls);
    b->spoken_ns = monotonic_ns();
    return http_reply_body(r, "text/event-stream", &(struct http_body){body_next, body_free, b});
}
