/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream of the broker: one open source with its one subscriber, or a probe.
 *
 * QUEUED -> OPEN -> ENDED -> CLOSED is the happy path. OPEN -> OVER -> WAITING -> QUEUED where the
 * source is opened again. OPEN -> QUEUED where the worker has died or the configuration has
 * changed. OPEN -> RESTING -> QUEUED where its reader holds every slot, and another stream needs
 * its place. Each state may become ENDED (with a failure) or CLOSED (by the client).
 */
#ifndef PELTON_STREAM_STATE_H
#define PELTON_STREAM_STATE_H

#include "daemon/backoff.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/last_frame.h"
#include "proto/frame_spacing.h"
#include "proto/wire.h"

#include <sys/types.h>

struct kept_controls;
struct packed_format;

enum stream_state {
    STREAM_QUEUED,  /* waits for its worker, or for one to be chosen */
    STREAM_WAITING, /* its source is opened again at retry_ms */
    STREAM_OPEN,    /* the worker has it under the number wid */
    STREAM_RESTING, /* its place is another's until its reader gives a slot back (resting.c) */
    STREAM_OVER,    /* the worker's session has ended; the next step ends it or opens it again */
    STREAM_ENDED,   /* kept for its totals until the client closes it */
    STREAM_CLOSED   /* its memory goes with the next step */
};

/* What it reads (opened_source.c). */
struct stream_source {
    ProtobufCMessage *body; /* Open or Probe, owned */
    Pelton__Open *open;     /* in body */
    int fd;                 /* -1: by URI, or a pipe that has been handed on */
    bool has_fd;
    bool resumable;                 /* it can be read from its start a second time */
    bool live;                      /* it is opened again when it ends or fails (reconnect.c) */
    size_t own_blur;                /* values of open->blur that the client has asked for */
    off_t start_offset;             /* of fd */
    int table;                      /* of a shared file (shared_file.c), or -1 */
    struct kept_controls *controls; /* of a camera without a name; NULL: none */
    struct named_source *origin;    /* that the address came from, also of a probe; NULL: none */
    struct named_source *named;     /* that it counts as a reader of; NULL: none, or not any more */
};

/* When it is opened again (reconnect.c). */
struct stream_retry {
    uint64_t opened_ms, retry_ms;
    struct backoff backoff;
};

/* Frames to the client (stream_delivery.c). */
struct stream_delivery {
    struct reader_pool *pools;    /* newest first */
    struct reader_pool *present;  /* among them: the worker writes it; NULL: none */
    struct packed_format *format; /* of that one, where placeholders may follow; NULL: none */
    struct last_frame last;       /* where it may be shown (placeholder.c) */
    uint32_t placeholders;        /* since the source was lost */
    bool repaint;                 /* the next placeholder shows something else */
    uint64_t placeholder_ms;      /* when the next placeholder is due */
    int64_t last_pts, last_ns;    /* of the last frame, and when it was received */
    struct pending_frame *head, **tail;
    uint32_t n_pending, last_epoch;
    uint64_t credit; /* UINT64_MAX: lossless */
    uint64_t next_sequence, dropped_client, sent;
    uint64_t sequence_base;       /* of the worker's numbers, which begin anew each time */
    uint64_t moved_base;          /* the same where its address has changed */
    int64_t age_ns;               /* of the last frame when it was sent */
    int64_t sent_ns;              /* when that was */
    double tick_s;                /* of the present format */
    struct frame_spacing spacing; /* by max_fps */
    bool left_out;                /* the base view was */
    bool discont;                 /* the next frame carries DISCONT */
    bool last_key;                /* the last frame that came was a key picture */
    char pix_fmt[16];
    uint32_t width, height;
    /* by the worker: source, decoder, late; of sessions that are over, of the present one */
    uint64_t dropped_base[3], dropped_last[3];
};

/* Workers that died at it (worker_recovery.c). */
struct stream_deaths {
    unsigned strikes;
    bool outlasted; /* the time of its trial, without frames enough */
    uint64_t death_sequence, restarts;
    struct pelton_failure lost; /* code not 0: why its worker had to go */
};

struct broker_stream {
    struct broker_stream *next;
    struct broker *broker;
    struct client *client;
    uint32_t object_id, open_request; /* of the client */
    uint64_t id;                      /* unlike any other's */
    bool probe, replied, eos_sent;
    bool down;            /* its source is lost, and was there before */
    bool short_of_memory; /* it waits for memory of its device */
    unsigned rests;       /* times that it has given its place up */
    enum stream_state state;
    struct worker_process *worker; /* chosen once, when devices are known; NULL before */
    uint32_t wid; /* new for each worker, so that late messages of an old one find nothing */
    struct pelton_failure end;
    struct pelton_stats totals; /* as the worker has said last */

    struct stream_source source;
    struct stream_retry retry;
    struct stream_delivery delivery;
    struct stream_deaths deaths;
};

static inline const char *stream_name(const struct broker_stream *s)
{
    const Pelton__Open *o = s->source.open;
    return o->name[0] ? o->name : o->uri[0] ? o->uri : "input";
}

/* It has a worker's session, or is to get one. */
static inline bool stream_needs_worker(const struct broker_stream *s)
{
    return s->state != STREAM_RESTING && s->state != STREAM_ENDED && s->state != STREAM_CLOSED;
}

/* Whether it is the daemon's own: it keeps a source open (kept_open.c). */
static inline bool stream_is_keeper(const struct broker_stream *s)
{
    return s->client == s->broker->keeper;
}

#endif
