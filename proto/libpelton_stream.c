/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream of the daemon: open, frames, statistics, close.
 *
 * The happy path is Open, OpenReply, FormatChanged, FrameReady many times, Eos. The failure modes:
 * the daemon answers Open with an Error. The stream ends with a failure, which comes after the
 * frames that were sent before it. The daemon names a slot or an epoch that does not exist
 * (PELTON_ERR_PROTOCOL). The connection ends; frames already received can still be read.
 *
 * PELTON_LATEST and PELTON_FIFO ask for each frame with a Credit, so the daemon chooses the newest
 * frame at that moment.
 */
#include "proto/libpelton_stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- messages of a stream ---- */

/* Unmaps pools that are older than the newest and have no readers. */
static void pools_trim(struct pelton_stream *s)
{
    for (struct pelton_pool **link = s->pools ? &s->pools->next : &s->pools; *link;) {
        struct pelton_pool *pool = *link;
        if (pool->users > 0) {
            link = &pool->next;
            continue;
        }
        *link = pool->next;
        pelton_pool_unmap(pool);
    }
}

static struct pelton_pool *pool_find(const struct pelton_stream *s, uint32_t epoch)
{
    for (struct pelton_pool *pool = s->pools; pool; pool = pool->next)
        if (pool->epoch == epoch)
            return pool;
    return NULL;
}

static int stream_on_format(struct pelton_stream *s, struct frame *f,
                            const Pelton__FormatChanged *m)
{
    int fd = frame_take_fd(f, 0);
    struct pelton_pool *pool = NULL;
    int rc = pool_find(s, m->epoch) ? PELTON_ERR_PROTOCOL : pelton_pool_map(m, fd, s->kind, &pool);
    if (fd >= 0)
        close(fd);
    if (rc == PELTON_ERR_PROTOCOL) {
        return pelton_die(s->conn, rc, "",
                          "the daemon announced a frame format whose numbers or seals are wrong");
    }
    if (rc < 0)
        return pelton_die(s->conn, rc, "", "the frames' memory cannot be mapped");
    pool->next = s->pools;
    s->pools = pool;
    pools_trim(s);
    return PELTON_OK;
}

static int stream_keep_side(struct pelton_stream *s, const Pelton__FrameReady *m,
                            struct pelton_frame *frame)
{
    struct pelton_side_data *data;
    struct pelton_side *side = malloc(sizeof(*side));
    if (!side)
        return PELTON_ERR_NOMEM;
    int rc = wire_side_unpack(m->side_data.data, m->side_data.len, &data);
    if (rc < 0) {
        free(side);
        return rc;
    }
    *side = (struct pelton_side){s->sides, m->epoch, m->slot, m->generation, data};
    s->sides = side;
    frame->side = data;
    return 0;
}

static void side_drop(struct pelton_side **link)
{
    struct pelton_side *side = *link;
    *link = side->next;
    free(side->data);
    free(side);
}

static int stream_on_frame(struct pelton_stream *s, const Pelton__FrameReady *m)
{
    struct pelton_queued *q = calloc(1, sizeof(*q));
    if (!q)
        return pelton_die(s->conn, PELTON_ERR_NOMEM, "", "out of memory");
    struct pelton_pool *pool = pool_find(s, m->epoch);
    if (!pool || !pelton_pool_frame(pool, m, &q->frame)) {
        free(q);
        return pelton_die(s->conn, PELTON_ERR_PROTOCOL, "",
                          "the daemon sent a frame in a slot that does not exist");
    }
    if (m->side_data.len) {
        int rc = stream_keep_side(s, m, &q->frame);
        if (rc < 0) {
            free(q);
            return pelton_die(s->conn, rc, "", "the side data of a frame cannot be read");
        }
    }
    q->frame.realtime_ns = pelton_wall_ns(s->conn, m->received_ns);
    pool->users++;
    s->credit_out = false;
    *s->tail = q;
    s->tail = &q->next;
    return PELTON_OK;
}

static void stream_on_end(struct pelton_stream *s, const Pelton__Eos *m)
{
    s->ended = true;
    wire_failure_to(m->failure, &s->end);
    wire_stats_to(m->stats, &s->totals);
}

static void stream_on_state(struct pelton_stream *s, const Pelton__SourceState *m)
{
    bool absent = m->state == PELTON__SOURCE_STATE__STATE__RESTARTING;
    wire_copy(s->waiting, sizeof(s->waiting),
              !absent       ? ""
              : m->cause[0] ? m->cause
                            : "the source is not there");
}

int pelton_stream_message(struct pelton_stream *s, struct frame *f, const ProtobufCMessage *body)
{
    if (s->ended)
        return PELTON_OK;
    switch (f->h.type) {
    case WIRE_FORMAT_CHANGED:
        return stream_on_format(s, f, (const Pelton__FormatChanged *)body);
    case WIRE_FRAME_READY:
        return stream_on_frame(s, (const Pelton__FrameReady *)body);
    case WIRE_EOS:
        stream_on_end(s, (const Pelton__Eos *)body);
        return PELTON_OK;
    case WIRE_SOURCE_STATE:
        stream_on_state(s, (const Pelton__SourceState *)body);
        return PELTON_OK;
    default:
        return PELTON_OK; /* what newer daemons tell */
    }
}

int pelton_stream_opened(struct pelton_stream *s, const struct frame *f,
                         const ProtobufCMessage *body, const struct pelton_failure *refusal)
{
    s->replied = true;
    if (refusal->code) {
        s->refused = s->ended = true;
        s->end = *refusal;
    } else if (f->h.type == WIRE_OPEN_REPLY) {
        wire_info_to(((const Pelton__OpenReply *)body)->info, &s->info);
        s->joint = ((const Pelton__OpenReply *)body)->joint;
    } else {
        return pelton_die(s->conn, PELTON_ERR_PROTOCOL, "", "the daemon answered with a %s",
                          wire_type_name(f->h.type));
    }
    return PELTON_OK;
}

/* ---- open and close ---- */

struct pelton_stream *pelton_stream_create(struct pelton *conn,
                                           const struct pelton_open_params *params)
{
    struct pelton_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->conn = conn;
    s->id = ++conn->last_object;
    s->policy = params->policy;
    s->kind = params->encoded                            ? POOL_UNITS
              : params->bench.transport == PELTON_DEVICE ? POOL_DEVICE
                                                         : POOL_FRAMES;
    s->tail = &s->head;
    if (stream_table_add(&conn->by_id, s->id, s) < 0) {
        free(s);
        return NULL;
    }
    s->next = conn->streams;
    s->link = &conn->streams;
    if (s->next)
        s->next->link = &s->next;
    conn->streams = s;
    return s;
}

void pelton_stream_free(struct pelton_stream *s)
{
    stream_table_remove(&s->conn->by_id, s->id);
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    while (s->head) {
        struct pelton_queued *next = s->head->next;
        free(s->head);
        s->head = next;
    }
    while (s->sides)
        side_drop(&s->sides);
    while (s->pools) {
        struct pelton_pool *older = s->pools->next;
        pelton_pool_unmap(s->pools);
        s->pools = older;
    }
    free(s->share);
    free(s);
}

void pelton_stream_end(struct pelton_stream *s)
{
    if (!s->conn->dead) {
        struct pelton_failure before = s->conn->failure;
        pelton_send(s->conn, WIRE_CLOSE, 0, s->id, NULL, NULL, 0);
        s->conn->failure = before; /* closing tells nothing new */
    }
    pelton_stream_free(s);
}

/* The reply said "not supported": waits for the reason, which comes as the stream's end. */
static int stream_await_refusal(struct pelton_stream *s, int64_t deadline)
{
    while (!s->ended) {
        int rc = pelton_pump(s->conn, deadline);
        if (rc <= 0) {
            return rc < 0 ? rc
                          : pelton_fail(s->conn, PELTON_ERR_TIMEOUT, "",
                                        "no answer from the daemon in time");
        }
    }
    if (s->end.code)
        return pelton_fail_with(s->conn, &s->end);
    return pelton_fail(s->conn, PELTON_ERR_UNSUPPORTED, "", "%s: %s", s->info.unsupported_element,
                       s->info.unsupported_what);
}

int pelton_stream_start(struct pelton *conn, const struct pelton_open_params *params,
                        struct wire_stretch stretch, struct pelton_stream **out)
{
    struct pelton_stream *s = pelton_stream_create(conn, params);
    if (!s)
        return pelton_fail(conn, PELTON_ERR_NOMEM, "", "out of memory");
    Pelton__Open open;
    Pelton__Encoding encode;
    wire_open_from(params, stretch, &open);
    wire_encoding_from(&params->encode, &encode);
    open.encode = params->encode.wanted ? &encode : NULL;
    s->open_request = ++conn->last_request;
    int rc = pelton_send(conn, WIRE_OPEN, s->open_request, s->id, &open.base, &params->fd,
                         params->uri ? 0 : 1);
    if (rc < 0) {
        pelton_stream_free(s);
        return rc;
    }
    *out = s;
    return PELTON_OK;
}

int pelton_stream_wait(struct pelton_stream *s, int64_t deadline, const struct pelton_info **info)
{
    int rc = 1;
    while (!s->replied && (rc = pelton_pump(s->conn, deadline)) > 0) {
    }
    if (!s->replied) {
        return rc < 0
                   ? rc
                   : pelton_fail(s->conn, PELTON_ERR_TIMEOUT, "", "%s",
                                 s->waiting[0] ? s->waiting : "no answer from the daemon in time");
    }
    if (s->refused)
        return pelton_fail_with(s->conn, &s->end);
    *info = &s->info;
    return s->info.supported ? PELTON_OK : stream_await_refusal(s, deadline);
}

/* ---- frames ---- */

void pelton_stream_take(struct pelton_stream *s, struct pelton_frame *out)
{
    struct pelton_queued *q = s->head;
    *out = q->frame;
    s->head = q->next;
    if (!s->head)
        s->tail = &s->head;
    free(q);
}

static int stream_ask_frame(struct pelton_stream *s)
{
    if (s->policy == PELTON_LOSSLESS || s->credit_out)
        return PELTON_OK;
    Pelton__Credit credit = PELTON__CREDIT__INIT;
    credit.count = 1;
    s->credit_out = true;
    return pelton_send(s->conn, WIRE_CREDIT, 0, s->id, &credit.base, NULL, 0);
}

/* Waits for a message. 1: one came, or the connection's end is still to be told after the frames
 * that came before it. 0: the stream has ended. */
static int stream_more(struct pelton_stream *s, int64_t deadline)
{
    if (s->ended)
        return s->end.code ? pelton_fail_with(s->conn, &s->end) : 0;
    int rc = s->conn->dead ? 0 : stream_ask_frame(s);
    rc = rc < 0 ? rc : pelton_pump(s->conn, deadline);
    if (rc == 0)
        return pelton_fail(s->conn, PELTON_ERR_TIMEOUT, "", "no frame in time");
    return rc < 0 && !s->ended && !(s->head && s->conn->dead) ? rc : 1;
}

/* Frames at the head of the queue that lie one after another in one batch. *whole: no other frame
 * will belong to them. */
static int stream_run(const struct pelton_stream *s, bool *whole)
{
    const struct pelton_queued *q = s->head;
    uint32_t batch = q && q->frame.tensor.batch ? q->frame.tensor.batch : 1, n = 0;
    *whole = false;
    for (; q && !*whole; q = q->next) {
        const struct pelton_frame *first = &s->head->frame, *f = &q->frame;
        if (n && (f->epoch != first->epoch || f->slot != first->slot + n)) {
            *whole = true;
            break;
        }
        n++;
        *whole = f->slot % batch == batch - 1;
    }
    *whole = n && (*whole || s->ended || s->conn->dead);
    return (int)n;
}

int pelton_stream_await_batch(struct pelton_stream *s, int64_t deadline)
{
    for (;;) {
        bool whole;
        int n = stream_run(s, &whole);
        if (whole)
            return n;
        int rc = stream_more(s, deadline);
        if (rc <= 0)
            return rc;
    }
}

int pelton_stream_next(struct pelton_stream *s, int64_t deadline, struct pelton_frame *out)
{
    while (!s->head) {
        int rc = stream_more(s, deadline);
        if (rc <= 0)
            return rc;
    }
    pelton_stream_take(s, out);
    return 1;
}

void pelton_stream_release(struct pelton_stream *s, const struct pelton_frame *frame)
{
    struct pelton_pool *pool = pool_find(s, frame->epoch);
    if (!pool || pool->users == 0)
        return;
    pool->users--;
    for (struct pelton_side **link = &s->sides; *link;) {
        const struct pelton_side *side = *link;
        if (side->epoch == frame->epoch && side->slot == frame->slot &&
            side->generation == frame->generation)
            side_drop(link);
        else
            link = &(*link)->next;
    }
    Pelton__Release release = PELTON__RELEASE__INIT;
    release.epoch = frame->epoch;
    release.slot = frame->slot;
    release.generation = frame->generation;
    if (!s->conn->dead)
        pelton_send(s->conn, WIRE_RELEASE, 0, s->id, &release.base, NULL, 0);
    pools_trim(s);
}

bool pelton_stream_device(const struct pelton_stream *s, const struct pelton_frame *frame,
                          struct pelton_device_memory *out)
{
    const struct pelton_pool *pool = pool_find(s, frame->epoch);
    return pool && pool->users > 0 && pelton_pool_device(pool, frame->slot, out);
}

int pelton_stream_stats(struct pelton_stream *s, int64_t deadline, struct pelton_stats *out)
{
    if (s->ended) {
        *out = s->totals;
        return PELTON_OK;
    }
    ProtobufCMessage *body;
    int rc =
        pelton_ask(s->conn, WIRE_STATS, s->id, NULL, NULL, 0, WIRE_STATS_REPLY, deadline, &body);
    if (rc < 0)
        return rc;
    wire_stats_to((const Pelton__StatsReply *)body, out);
    wire_free(body);
    return PELTON_OK;
}
