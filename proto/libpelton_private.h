/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inside libpelton: the connection, its streams, their pools.
 */
#ifndef LIBPELTON_PRIVATE_H
#define LIBPELTON_PRIVATE_H

#include "proto/wire.h"

#include <sys/types.h>

/* The mapped memory of one epoch. */
struct pelton_pool {
    struct pelton_pool *next; /* older */
    uint32_t epoch, slots, width, height, planes;
    char pix_fmt[16];
    uint64_t slot_size, plane_offset[4];
    uint32_t stride[4], plane_width[4], plane_height[4];
    struct pelton_rational time_base, sar;
    struct pelton_colour colour;
    struct pelton_vui vui;
    const uint8_t *memory; /* NULL without a pool */
    size_t memory_size;
    uint32_t users; /* frames queued or held by the caller */
};
/* Checks every number and seal, then maps. fd is borrowed, -1 none. PELTON_ERR_PROTOCOL,
 * PELTON_ERR_NOMEM. */
int pelton_pool_map(const Pelton__FormatChanged *m, int fd, struct pelton_pool **out);
void pelton_pool_unmap(struct pelton_pool *pool); /* NULL allowed */
/* False where the slot is not in the pool. */
bool pelton_pool_frame(const struct pelton_pool *pool, const Pelton__FrameReady *m,
                       struct pelton_frame *out);

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
    struct pelton_stream *next;
    uint32_t id; /* object_id */
    enum pelton_policy policy;
    uint32_t open_request;
    bool replied, refused, ended, credit_out;
    char waiting[256]; /* why its source is not there; empty: it is */
    struct pelton_info info;
    struct pelton_failure end;  /* code 0: as it should */
    struct pelton_stats totals; /* from the end */
    struct pelton_pool *pools;  /* newest first */
    struct pelton_queued *head, **tail;
    struct pelton_side *sides;
    /* not NULL: the caller's view of several streams, and nothing else here is used */
    struct pelton_share *share;
};

struct pelton_source_change {
    struct pelton_source_change *next;
    struct pelton_source source;
};

/* A question in flight: the answer is copied here by pelton_dispatch. */
struct pelton_request {
    uint32_t id;
    bool done;
    ProtobufCMessage *answer; /* NULL where failure.code is set */
    unsigned type;
    struct pelton_failure failure;
};

struct pelton {
    int fd;
    pid_t child;  /* the private daemon, or 0 */
    int child_fd; /* its pidfd, or -1 */
    struct frame_reader reader;
    struct frame_writer writer;
    uint32_t last_request, last_object;
    int64_t heard_ms, pinged_ms;
    bool welcomed, device_known, broken /* nothing can be sent any more */;
    struct pelton_device device;
    struct pelton_request *request;
    struct pelton_stream *streams;
    struct pelton_source_change *changes, **changes_tail; /* changes_tail NULL: nothing came yet */
    unsigned n_changes;
    int dead; /* 0, or the code that every later call returns */
    struct pelton_failure failure, death;
};

/* Sets the connection's failure (conn NULL: the thread's) and returns code. hint may be NULL. */
int pelton_fail(struct pelton *conn, int code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));
int pelton_fail_with(struct pelton *conn, const struct pelton_failure *failure);
/* Ends the connection for good, with the reason that later calls repeat. */
int pelton_die(struct pelton *conn, int code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));

int64_t pelton_now_ms(void);
int64_t pelton_deadline(int timeout_ms); /* INT64_MAX for -1 */

int pelton_send(struct pelton *conn, unsigned type, uint32_t request_id, uint32_t object_id,
                const ProtobufCMessage *body, const int *fds, unsigned n_fds);
/* Waits until something was dispatched or the deadline passed: 1, 0 or negative (failure set). */
int pelton_pump(struct pelton *conn, int64_t deadline_ms);
/* Sends a question and waits for the answer of the type wanted; wire_free it. */
int pelton_ask(struct pelton *conn, unsigned type, uint32_t object_id, const ProtobufCMessage *body,
               const int *fds, unsigned n_fds, unsigned want, int64_t deadline_ms,
               ProtobufCMessage **out);
/* negative: the connection is dead */
int pelton_source_event(struct pelton *conn, const Pelton__SourceEvent *m);
void pelton_changes_free(struct pelton *conn);
/* A frame for a stream; negative: the daemon broke the protocol. */
int pelton_stream_message(struct pelton_stream *s, struct frame *f, const ProtobufCMessage *body);
/* The answer to its Open, or another message with that number. The same. */
int pelton_stream_opened(struct pelton_stream *s, const struct frame *f,
                         const ProtobufCMessage *body, const struct pelton_failure *refusal);
void pelton_stream_free(struct pelton_stream *s); /* takes it off the connection's list */
/* the head of its queue, which is there */
void pelton_stream_take(struct pelton_stream *s, struct pelton_frame *out);

/* A file on several devices (libpelton_share.c); the functions of pelton.h call these. */
struct pelton_share;
bool pelton_share_wanted(const struct pelton_open_params *params); /* and possible */
int pelton_share_start(struct pelton *conn, const struct pelton_open_params *params,
                       struct pelton_share **out);
int pelton_share_wait(struct pelton_share *share, int timeout_ms, struct pelton_info *info);
int pelton_share_next(struct pelton *conn, struct pelton_share *share, int timeout_ms,
                      struct pelton_frame *out);
void pelton_share_release(struct pelton_share *share, const struct pelton_frame *frame);
int pelton_share_stats(struct pelton_share *share, int timeout_ms, struct pelton_stats *out);
void pelton_share_close(struct pelton_share *share); /* its streams */
void pelton_share_free(struct pelton_share *share);  /* the rest; NULL allowed */
int pelton_handshake(struct pelton *conn, int64_t deadline_ms);

#endif
