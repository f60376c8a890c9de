/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inside libpelton: one stream of the daemon, its queue of frames and its pools.
 */
#ifndef LIBPELTON_STREAM_H
#define LIBPELTON_STREAM_H

#include "proto/libpelton_conn.h"
#include "proto/libpelton_pool.h"

struct pelton_queued {
    struct pelton_queued *next;
    struct pelton_frame frame;
};

/* Side data of a frame that is queued or held by the caller. */
struct pelton_side {
    struct pelton_side *next;
    uint32_t epoch, slot, generation;
    struct pelton_side_data *data;
};

struct pelton_stream {
    struct pelton *conn;
    struct pelton_stream *next, **link; /* in the connection's list; link points to this stream */
    uint32_t id;                        /* object_id */
    enum pelton_policy policy;
    enum pelton_pool_kind kind; /* that is wanted */
    uint32_t open_request;
    bool replied, refused, ended, credit_out;
    bool joint;        /* as OpenReply says */
    char waiting[256]; /* why its source is not there; empty: it is */
    struct pelton_info info;
    struct pelton_failure end;  /* code 0: the source has ended */
    struct pelton_stats totals; /* from the end */
    struct pelton_pool *pools;  /* newest first */
    struct pelton_queued *head, **tail;
    struct pelton_side *sides;
    /* not NULL: the caller's handle of several streams; only conn, id and the list are used */
    struct pelton_share *share;
};

/* Makes a stream with a number of its own and adds it to the connection. NULL: out of memory. */
struct pelton_stream *pelton_stream_create(struct pelton *conn,
                                           const struct pelton_open_params *params);
/* Removes it from the connection. */
void pelton_stream_free(struct pelton_stream *s);
/* Creates a stream and sends its Open. */
int pelton_stream_start(struct pelton *conn, const struct pelton_open_params *params,
                        struct wire_stretch stretch, struct pelton_stream **out);
/* Waits for the answer to Open. *info is then the stream's, and stays NULL for a refusal. */
int pelton_stream_wait(struct pelton_stream *s, int64_t deadline, const struct pelton_info **info);
/* As pelton_next, pelton_release and pelton_stats. */
int pelton_stream_next(struct pelton_stream *s, int64_t deadline, struct pelton_frame *out);
/* Waits until a batch stands at the head of the queue: the number of its frames, or as
 * pelton_stream_next without one. */
int pelton_stream_await_batch(struct pelton_stream *s, int64_t deadline);
void pelton_stream_release(struct pelton_stream *s, const struct pelton_frame *frame);
/* False: the frame is not of this stream, or in host memory. */
bool pelton_stream_device(const struct pelton_stream *s, const struct pelton_frame *frame,
                          struct pelton_device_memory *out);
int pelton_stream_stats(struct pelton_stream *s, int64_t deadline, struct pelton_stats *out);
/* Takes the head of its queue, which is not empty. */
void pelton_stream_take(struct pelton_stream *s, struct pelton_frame *out);
/* Sends Close and frees the stream. */
void pelton_stream_end(struct pelton_stream *s);

/* ---- messages, from libpelton_conn.c; negative: the daemon broke the protocol ---- */

int pelton_stream_message(struct pelton_stream *s, struct frame *f, const ProtobufCMessage *body);
/* The answer to its Open: refusal->code is not 0 where it is an Error. */
int pelton_stream_opened(struct pelton_stream *s, const struct frame *f,
                         const ProtobufCMessage *body, const struct pelton_failure *refusal);

#endif
