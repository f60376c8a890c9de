/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The core of libpelton: one socket. It sends frames, and hands each received frame to the question
 * or stream that it belongs to.
 *
 * The happy path is pelton_send, then pelton_pump until the answer has come. The failure modes are:
 * the deadline passes. The daemon closes or falls silent: a ping goes out after 5 s without a byte,
 * and PELTON_ERR_GONE follows after 15 s. The daemon breaks the protocol (PELTON_ERR_PROTOCOL).
 * After the last two the connection is dead, and every call repeats the reason.
 */
#include "proto/libpelton_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PING_MS = 5000,
    DEAD_MS = 15000,
    FLOOD_MS = 500, /* a caller is at most this late while messages keep coming */
    /* Adjustments move both clocks. A difference as large as this comes from a wall clock that was
     * set. */
    STEP_NS = 1000000
};

static _Thread_local struct pelton_failure thread_failure;

const struct pelton_failure *pelton_failure(const struct pelton *conn)
{
    return conn ? &conn->failure : &thread_failure;
}

static void failure_set(struct pelton_failure *f, int code, const char *hint, const char *cause,
                        va_list args)
{
    f->code = code;
    vsnprintf(f->cause, sizeof(f->cause), cause, args);
    wire_copy(f->hint, sizeof(f->hint), hint);
}

int pelton_fail(struct pelton *conn, int code, const char *hint, const char *cause, ...)
{
    va_list args;
    va_start(args, cause);
    failure_set(conn ? &conn->failure : &thread_failure, code, hint, cause, args);
    va_end(args);
    return code;
}

int pelton_fail_with(struct pelton *conn, const struct pelton_failure *failure)
{
    *(conn ? &conn->failure : &thread_failure) = *failure;
    return failure->code;
}

int pelton_die(struct pelton *conn, int code, const char *hint, const char *cause, ...)
{
    if (!conn->dead) {
        va_list args;
        va_start(args, cause);
        failure_set(&conn->death, code, hint, cause, args);
        va_end(args);
        conn->dead = code;
    }
    return pelton_fail_with(conn, &conn->death);
}

int64_t pelton_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t pelton_deadline(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : pelton_now_ms() + timeout_ms;
}

/* ---- out ---- */

/* Returns 1: everything is sent; 0: not yet. After a send error the socket may still hold the
 * daemon's reason, so pelton_pump reads it first. */
static int conn_flush(struct pelton *conn)
{
    int rc = conn->broken ? 1 : frame_writer_flush(&conn->writer, conn->fd);
    conn->broken |= rc < 0;
    return rc < 0 ? 1 : rc;
}

int pelton_send(struct pelton *conn, unsigned type, uint32_t request_id, uint32_t object_id,
                const ProtobufCMessage *body, const int *fds, unsigned n_fds)
{
    if (conn->dead)
        return pelton_fail_with(conn, &conn->death);
    struct frame_header h = {
        .type = (uint16_t)type, .request_id = request_id, .object_id = object_id};
    int rc = frame_writer_put(&conn->writer, &h, body, fds, n_fds);
    if (rc == FRAME_ERR_TOO_LONG)
        return pelton_fail(conn, PELTON_ERR_USAGE, "", "an argument is too long for a message");
    if (rc == FRAME_ERR_NOMEM) {
        return pelton_fail(conn, PELTON_ERR_NOMEM, "",
                           "no memory or descriptor left to send a message");
    }
    if (rc < 0)
        return pelton_die(conn, PELTON_ERR_GONE, "", "the daemon does not read any more");
    conn_flush(conn); /* the next pump sends the rest */
    return PELTON_OK;
}

/* ---- in ---- */

static void conn_take_clocks(struct pelton *conn, const Pelton__Welcome *m)
{
    struct wall_clock own, daemons = {m->monotonic_ns, m->realtime_ns};
    wall_clock_read(&own);
    conn->wall_known = m->realtime_ns != 0;
    conn->wall_ns = wall_clock_offset(&daemons);
    conn->wall_own_ns = wall_clock_offset(&own);
}

int64_t pelton_wall_ns(struct pelton *conn, int64_t monotonic_ns)
{
    struct wall_clock own;
    if (!conn->wall_known || monotonic_ns == 0)
        return 0;
    if (wall_clock_read(&own)) {
        int64_t step = wall_clock_offset(&own) - conn->wall_own_ns;
        if (step > STEP_NS || step < -STEP_NS) {
            conn->wall_ns = (int64_t)((uint64_t)conn->wall_ns + (uint64_t)step);
            conn->wall_own_ns += step;
        }
    }
    return (int64_t)((uint64_t)monotonic_ns + (uint64_t)conn->wall_ns);
}

static int conn_on_welcome(struct pelton *conn, const Pelton__Welcome *m)
{
    conn->welcomed = true;
    if (m->proto < WIRE_PROTO_MIN || m->proto > WIRE_PROTO_MAX) {
        return pelton_die(conn, PELTON_ERR_NO_DAEMON,
                          "install the same version of daemon and library",
                          "the daemon speaks protocol %u, this library %d to %d", m->proto,
                          WIRE_PROTO_MIN, WIRE_PROTO_MAX);
    }
    conn_take_clocks(conn, m);
    if (m->device) {
        wire_device_to(m->device, &conn->device);
        conn->device_known = true;
    }
    return PELTON_OK;
}

static void failure_of_error(const Pelton__Error *m, struct pelton_failure *out)
{
    out->code = m->code < 0 ? m->code : PELTON_ERR_OTHER;
    wire_cause(out, m->message);
    wire_copy(out->hint, sizeof(out->hint), m->hint);
}

/* True: the frame answers the question in flight, which then owns the body. */
static bool conn_on_answer(struct pelton *conn, const struct frame *f, ProtobufCMessage *body)
{
    struct pelton_request *r = conn->request;
    if (!r || r->done || f->h.request_id == 0 || f->h.request_id != r->id)
        return false;
    r->done = true;
    r->type = f->h.type;
    if (f->h.type == WIRE_ERROR) {
        failure_of_error((const Pelton__Error *)body, &r->failure);
        return false;
    }
    r->answer = body;
    return true;
}

/* The stream whose Open this message answers, or NULL. */
static struct pelton_stream *stream_opening(struct pelton *conn, uint32_t request_id)
{
    struct pelton_stream *s = request_id ? conn->streams : NULL;
    while (s && (s->replied || s->open_request != request_id))
        s = s->next;
    return s;
}

static int conn_on_opened(struct pelton_stream *s, const struct frame *f,
                          const ProtobufCMessage *body)
{
    struct pelton_failure refusal = {0};
    if (f->h.type == WIRE_ERROR)
        failure_of_error((const Pelton__Error *)body, &refusal);
    return pelton_stream_opened(s, f, body, &refusal);
}

/* An error that answers nothing. Without an object it is about the whole connection. */
static int conn_on_error(struct pelton *conn, const struct frame *f, const Pelton__Error *m)
{
    if (f->h.request_id != 0 || f->h.object_id != 0)
        return PELTON_OK; /* its question was given up or its stream closed meanwhile */
    struct pelton_failure failure;
    failure_of_error(m, &failure);
    return pelton_die(conn, failure.code, failure.hint, "%s", failure.cause);
}

static int conn_dispatch(struct pelton *conn, struct frame *f)
{
    if (!wire_type_body(f->h.type))
        return PELTON_OK; /* a newer daemon's event */
    ProtobufCMessage *body = wire_unpack(f);
    if (!body) {
        return pelton_die(conn, PELTON_ERR_PROTOCOL, "",
                          "the daemon sent a %s that cannot be parsed", wire_type_name(f->h.type));
    }
    if (conn_on_answer(conn, f, body))
        return PELTON_OK;
    int rc = PELTON_OK;
    struct pelton_stream *s;
    if ((s = stream_opening(conn, f->h.request_id)) != NULL) {
        rc = conn_on_opened(s, f, body);
    } else if (f->h.type == WIRE_WELCOME) {
        rc = conn_on_welcome(conn, (const Pelton__Welcome *)body);
    } else if (f->h.type == WIRE_PING) {
        rc = pelton_send(conn, WIRE_PONG, f->h.request_id, 0, NULL, NULL, 0);
    } else if (f->h.type == WIRE_GOODBYE) {
        rc = pelton_die(conn, PELTON_ERR_GONE, "", "the daemon said goodbye: %s",
                        ((const Pelton__Goodbye *)body)->reason);
    } else if (f->h.type == WIRE_ERROR) {
        rc = conn_on_error(conn, f, (const Pelton__Error *)body);
    } else if (f->h.type == WIRE_SOURCE_EVENT) {
        rc = pelton_source_event(conn, (const Pelton__SourceEvent *)body);
    } else if ((s = stream_table_find(&conn->by_id, f->h.object_id)) != NULL) {
        rc = pelton_stream_message(s, f, body);
    }
    wire_free(body);
    return rc;
}

/* Handles all complete frames. Returns their number, or a negative error. */
static int conn_dispatch_all(struct pelton *conn)
{
    int count = 0;
    struct frame f;
    for (;;) {
        int rc = frame_reader_next(&conn->reader, &f);
        if (rc == 0)
            return count;
        if (rc < 0) {
            return pelton_die(conn, PELTON_ERR_PROTOCOL, "", "the daemon broke the protocol: %s",
                              frame_error_text(rc));
        }
        count++;
        rc = conn_dispatch(conn, &f);
        frame_close_fds(&f);
        if (rc < 0)
            return rc;
    }
}

static int conn_read(struct pelton *conn)
{
    int rc = frame_reader_fill(&conn->reader, conn->fd);
    if (rc == FRAME_ERR_CLOSED) {
        int count = conn_dispatch_all(conn); /* a goodbye may come before the end */
        return count < 0
                   ? count
                   : pelton_die(conn, PELTON_ERR_GONE, "", "the daemon has closed the connection");
    }
    if (rc == FRAME_ERR_NOMEM)
        return pelton_die(conn, PELTON_ERR_NOMEM, "", "out of memory");
    if (rc == FRAME_ERR_NO_FDS)
        return pelton_die(conn, PELTON_ERR_NOMEM, "close some, or raise the limit (ulimit -n)",
                          "this process has too many open files");
    if (rc < 0) {
        return pelton_die(conn, PELTON_ERR_PROTOCOL, "", "the daemon broke the protocol: %s",
                          frame_error_text(rc));
    }
    if (rc > 0)
        conn->heard_ms = pelton_now_ms();
    return conn_dispatch_all(conn);
}

/* Looks for silence: first it sends a ping, later it ends the connection. *again: the time of the
 * next look. */
static int conn_check_silence(struct pelton *conn, int64_t now, int64_t *again)
{
    int64_t since = conn->heard_ms > conn->pinged_ms ? conn->heard_ms : conn->pinged_ms;
    if (conn->pinged_ms > conn->heard_ms && now - conn->pinged_ms >= DEAD_MS - PING_MS) {
        return pelton_die(conn, PELTON_ERR_GONE, "", "the daemon has not answered for %d s",
                          DEAD_MS / 1000);
    }
    if (conn->welcomed && conn->pinged_ms <= conn->heard_ms && now - since >= PING_MS) {
        conn->pinged_ms = now;
        int rc = pelton_send(conn, WIRE_PING, 0, 0, NULL, NULL, 0);
        if (rc < 0)
            return rc;
        since = now;
    }
    *again = since + PING_MS;
    return PELTON_OK;
}

int pelton_pump(struct pelton *conn, int64_t deadline_ms)
{
    if (conn->dead)
        return pelton_fail_with(conn, &conn->death);
    int64_t entered = pelton_now_ms();
    if (conn->heard_ms < entered - DEAD_MS && conn->pinged_ms <= conn->heard_ms)
        conn->heard_ms = entered - PING_MS; /* nobody listened meanwhile, so a ping goes first */
    for (;;) {
        int rc = conn_read(conn);
        if (rc < 0)
            return rc;
        if (rc > 0)
            return deadline_ms < entered && entered - deadline_ms > FLOOD_MS ? 0 : 1;
        if (conn->broken)
            return pelton_die(conn, PELTON_ERR_GONE, "", "the daemon has gone");
        int64_t now = pelton_now_ms(), again = now;
        rc = conn_check_silence(conn, now, &again);
        if (rc < 0)
            return rc;
        /* a caller who polls many streams pays one system call for each */
        if (now >= deadline_ms) {
            conn_flush(conn);
            return 0;
        }
        int64_t until = again < deadline_ms ? again : deadline_ms;
        int wait = until <= now ? 0 : (int)(until - now);
        struct pollfd p = {.fd = conn->fd,
                           .events = (short)(POLLIN | (conn_flush(conn) == 0 ? POLLOUT : 0))};
        if (poll(&p, 1, wait) < 0 && errno != EINTR)
            return pelton_die(conn, PELTON_ERR_GONE, "", "poll: %s", strerror(errno));
    }
}

int pelton_ask(struct pelton *conn, unsigned type, uint32_t object_id, const ProtobufCMessage *body,
               const int *fds, unsigned n_fds, unsigned want, int64_t deadline_ms,
               ProtobufCMessage **out)
{
    struct pelton_request r = {.id = ++conn->last_request};
    int rc = pelton_send(conn, type, r.id, object_id, body, fds, n_fds);
    if (rc < 0)
        return rc;
    conn->request = &r;
    while (!r.done && (rc = pelton_pump(conn, deadline_ms)) > 0) {
    }
    conn->request = NULL;
    if (!r.done) {
        return rc < 0
                   ? rc
                   : pelton_fail(conn, PELTON_ERR_TIMEOUT, "", "no answer from the daemon in time");
    }
    if (r.failure.code)
        return pelton_fail_with(conn, &r.failure);
    if (r.type != want) {
        wire_free(r.answer);
        return pelton_die(conn, PELTON_ERR_PROTOCOL, "", "the daemon answered with a %s",
                          wire_type_name(r.type));
    }
    *out = r.answer;
    return PELTON_OK;
}
