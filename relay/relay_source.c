/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A source that is followed: see relay_source.h. The states are: no connection; a connection; a
 * stream that opens; a stream with frames. Each failure leads back to one of the first two, or out.
 */
#include "relay/relay_source.h"

#include "client/ui.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_MS = 2000, PAUSE_MS = 500, PATIENCE_MS = 1500 };

struct relay_source {
    const char *socket, *name;
    char uri[300];
    const char *pix_fmt;
    uint32_t width, height;
    struct pelton *conn;
    struct pelton_stream *stream;
    bool open;        /* the stream has been opened */
    int64_t begun_ns; /* of the opening */
    char told[512];   /* the last trouble; empty: none since the last frame */
};

struct relay_source *relay_source_new(const char *socket, const char *name)
{
    struct relay_source *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->socket = socket;
    s->name = name;
    bool address = strstr(name, "://") || strncmp(name, "source:", 7) == 0;
    snprintf(s->uri, sizeof(s->uri), "%s%s", address ? "" : "source:", name);
    return s;
}

void relay_source_rest(struct relay_source *s)
{
    pelton_stream_close(s->stream);
    s->stream = NULL;
    s->open = false;
}

static void relay_source_part(struct relay_source *s)
{
    relay_source_rest(s);
    pelton_close(s->conn);
    s->conn = NULL;
}

void relay_source_free(struct relay_source *s)
{
    if (!s)
        return;
    relay_source_part(s);
    free(s);
}

void relay_source_wish(struct relay_source *s, const char *pix_fmt, uint32_t width, uint32_t height)
{
    bool same =
        s->pix_fmt && !strcmp(s->pix_fmt, pix_fmt) && s->width == width && s->height == height;
    s->pix_fmt = pix_fmt;
    s->width = width;
    s->height = height;
    if (!same)
        relay_source_rest(s);
}

/* Each trouble is told once, until frames come again. */
static void relay_source_tell(struct relay_source *s, const char *cause)
{
    if (!strcmp(s->told, cause))
        return;
    snprintf(s->told, sizeof(s->told), "%s", cause);
    ui_log(LOG_WARNING, "%s; waiting", plain_name(cause));
}

static bool relay_mends_itself(int error)
{
    return error == PELTON_ERR_NO_DAEMON || error == PELTON_ERR_GONE ||
           error == PELTON_ERR_TIMEOUT || error == PELTON_ERR_PROTOCOL ||
           error == PELTON_ERR_WORKER_LOST || error == PELTON_ERR_GPU_LOST ||
           error == PELTON_ERR_LIMIT;
}

/* 0 where time may mend it, after a pause; else -1 with the failure. */
static int relay_source_lost(struct relay_source *s, int error, int timeout_ms, struct failure *f)
{
    if (!relay_mends_itself(error)) {
        fail_pelton(f, s->conn, s->name);
        return -1;
    }
    relay_source_tell(s, pelton_failure(s->conn)->cause);
    relay_source_part(s);
    poll(NULL, 0, timeout_ms < PAUSE_MS ? timeout_ms : PAUSE_MS);
    return 0;
}

/* The reason of a source that is waited for, once it takes a while. */
static void relay_source_tell_waiting(struct relay_source *s)
{
    const char *why = pelton_waiting(s->stream);
    char text[512];
    if (!why || now_ns() - s->begun_ns <= PATIENCE_MS * 1000000LL)
        return;
    snprintf(text, sizeof(text), "%s: %s", s->name, plain_name(why));
    relay_source_tell(s, text);
}

static int relay_source_open(struct relay_source *s)
{
    struct pelton_open_params params;
    pelton_open_params_init(&params);
    params.uri = s->uri;
    params.name = s->name;
    params.pix_fmt = s->pix_fmt;
    params.policy = PELTON_LATEST;
    params.realtime = true; /* files, too, are watched */
    params.output.width = s->width;
    params.output.height = s->height;
    s->open = false;
    s->begun_ns = now_ns();
    return pelton_open_start(s->conn, &params, &s->stream);
}

/* Goes one state on. 0, or an error of libpelton. */
static int relay_source_advance(struct relay_source *s, int timeout_ms)
{
    if (!s->conn)
        return pelton_connect(s->socket, CONNECT_MS, &s->conn);
    if (!s->stream)
        return relay_source_open(s);
    int rc = pelton_open_wait(s->stream, timeout_ms, NULL);
    s->open = rc >= 0;
    if (rc == PELTON_ERR_TIMEOUT)
        relay_source_tell_waiting(s);
    return rc == PELTON_ERR_TIMEOUT ? 0 : rc;
}

static int relay_source_take(struct relay_source *s, int timeout_ms, struct pelton_frame *out,
                             struct failure *f)
{
    int rc = pelton_next(s->stream, timeout_ms, out);
    if (rc > 0) {
        s->begun_ns = now_ns();
        if (s->told[0])
            ui_log(LOG_INFO, "%s: frames come", s->name);
        s->told[0] = 0;
    } else if (rc == 0) {
        fail_with(f, X_SUCCESS, "", "%s: the source has ended", s->name);
        return -1;
    } else if (rc == PELTON_ERR_TIMEOUT) {
        relay_source_tell_waiting(s);
        return 0;
    }
    return rc < 0 ? relay_source_lost(s, rc, timeout_ms, f) : rc;
}

int relay_source_next(struct relay_source *s, int timeout_ms, struct pelton_frame *out,
                      struct failure *f)
{
    for (int step = 0; step < 4 && !s->open; step++) {
        bool last = s->stream;
        int rc = relay_source_advance(s, timeout_ms);
        if (rc < 0)
            return relay_source_lost(s, rc, timeout_ms, f);
        if (last && !s->open)
            return 0;
    }
    return s->open ? relay_source_take(s, timeout_ms, out, f) : 0;
}

void relay_source_release(struct relay_source *s, const struct pelton_frame *frame)
{
    if (s->stream)
        pelton_release(s->stream, frame);
}
