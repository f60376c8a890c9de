/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inside libpelton: the connection. It sends questions, and hands each message that arrives to the
 * question or the stream that waits for it.
 */
#ifndef LIBPELTON_CONN_H
#define LIBPELTON_CONN_H

#include "proto/socket_path.h"
#include "proto/stream_table.h"
#include "proto/wall_clock.h"
#include "proto/wire.h"

#include <sys/types.h>

struct pelton_source_change {
    struct pelton_source_change *next;
    struct pelton_source source;
    uint32_t n_controls, reserved;
    struct pelton_control controls[]; /* where a client has set some */
};

/* A question that is not answered yet. libpelton_conn.c copies the answer here. */
struct pelton_request {
    uint32_t id;
    bool done;
    ProtobufCMessage *answer; /* NULL where failure.code is set */
    unsigned type;
    struct pelton_failure failure;
};

struct pelton {
    int fd;
    char socket[SOCKET_PATH]; /* empty: a private daemon */
    pid_t child;              /* the private daemon, or 0 */
    int child_fd;             /* its pidfd, or -1 */
    struct frame_reader reader;
    struct frame_writer writer;
    uint32_t last_request, last_object;
    int64_t heard_ms, pinged_ms;
    bool welcomed, device_known, broken /* nothing can be sent any more */;
    struct pelton_device device;
    struct pelton_request *request; /* the one in flight, or NULL */
    struct pelton_stream *streams;  /* all, newest first */
    struct stream_table by_id;
    struct pelton_source_change *changes, **changes_tail; /* changes_tail NULL: nothing came yet */
    unsigned n_changes;
    struct pelton_source_change *told; /* that pelton_sources_next gave last */
    bool wall_known;
    /* From the daemon's monotonic clock to the wall clock. wall_own_ns is the same of this process,
     * when it was compared last. */
    int64_t wall_ns, wall_own_ns;
    int dead; /* 0, or the code that every later call returns */
    struct pelton_failure failure, death;
};

/* Sets the connection's failure (conn NULL: the thread's) and returns code. hint may be NULL. */
int pelton_fail(struct pelton *conn, int code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));
int pelton_fail_with(struct pelton *conn, const struct pelton_failure *failure);
/* Ends the connection for good. Later calls repeat the reason. */
int pelton_die(struct pelton *conn, int code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));

/* The wall clock at a time of the daemon's monotonic clock; 0: unknown. */
int64_t pelton_wall_ns(struct pelton *conn, int64_t monotonic_ns);

int64_t pelton_now_ms(void);
int64_t pelton_deadline(int timeout_ms); /* INT64_MAX for -1 */

int pelton_send(struct pelton *conn, unsigned type, uint32_t request_id, uint32_t object_id,
                const ProtobufCMessage *body, const int *fds, unsigned n_fds);
/* Waits until a message was handed on (1) or the deadline passed (0). Negative: failure is set. */
int pelton_pump(struct pelton *conn, int64_t deadline_ms);
/* Sends a question and waits for an answer of type `want`. The caller frees it by wire_free. */
int pelton_ask(struct pelton *conn, unsigned type, uint32_t object_id, const ProtobufCMessage *body,
               const int *fds, unsigned n_fds, unsigned want, int64_t deadline_ms,
               ProtobufCMessage **out);

/* ---- named sources (libpelton_sources.c) ---- */

/* Negative: the connection is dead. */
int pelton_source_event(struct pelton *conn, const Pelton__SourceEvent *m);
void pelton_changes_free(struct pelton *conn);

#endif
