/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams of a connection: open, frames, statistics, close.
 *
 * The happy path is Open -> OpenReply, FormatChanged, FrameReady…, Eos. The failure modes are: Open
 * is answered by an Error; the stream ends with a failure, which pelton_next gives after the frames
 * that came before it; the daemon speaks of slots or epochs that do not exist
 * (PELTON_ERR_PROTOCOL); the connection ends, and frames already received can still be taken.
 * PELTON_LATEST and PELTON_FIFO ask for each frame with a Credit, so that the newest is chosen when
 * it is wanted.
 */
#include "proto/libpelton_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- messages of a stream ---- */

/* Pools older than the newest that nobody reads from any more. */
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

static struct pelton_pool *pool_find(struct pelton_stream *s, uint32_t epoch)
{
    for (struct pelton_pool *pool = s->pools; pool; pool = pool->next)
        if (pool->epoch == epoch)
            return pool;
    return NULL;
}

static int take_format(struct pelton_stream *s, struct frame *f, const Pelton__FormatChanged *m)
{
    int fd = frame_take_fd(f, 0);
    struct pelton_pool *pool = NULL;
    int rc = pool_find(s, m->epoch) ? PELTON_ERR_PROTOCOL : pelton_pool_map(m, fd, &pool);
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

static int take_side(struct pelton_stream *s, const Pelton__FrameReady *m,
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

static void drop_side(struct pelton_side **link)
{
    struct pelton_side *side = *link;
    *link = side->next;
    free(side->data);
    free(side);
}

static int take_frame(struct pelton_stream *s, const Pelton__FrameReady *m)
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
        int rc = take_side(s, m, &q->frame);
        if (rc < 0) {
            free(q);
            return pelton_die(s->conn, rc, "", "the side data of a frame cannot be read");
        }
    }
    pool->users++;
    s->credit_out = false;
    *s->tail = q;
    s->tail = &q->next;
    return PELTON_OK;
}

static void take_end(struct pelton_stream *s, const Pelton__Eos *m)
{
    s->ended = true;
    wire_failure_to(m->failure, &s->end);
    wire_stats_to(m->stats, &s->totals);
}

static void take_state(struct pelton_stream *s, const Pelton__SourceState *m)
{
    bool absent = m->state == PELTON__SOURCE_STATE__STATE__RESTARTING;
    wire_copy(s->waiting, sizeof(s->waiting),
              !absent       ? ""
              : m->cause[0] ? m->cause
                            : "the source is not there");
}

const char *pelton_waiting(const struct pelton_stream *s)
{
    return s->waiting[0] ? s->waiting : NULL;
}

int pelton_stream_message(struct pelton_stream *s, struct frame *f, const ProtobufCMessage *body)
{
    if (s->ended)
        return PELTON_OK;
    switch (f->h.type) {
    case WIRE_FORMAT_CHANGED:
        return take_format(s, f, (const Pelton__FormatChanged *)body);
    case WIRE_FRAME_READY:
        return take_frame(s, (const Pelton__FrameReady *)body);
    case WIRE_EOS:
        take_end(s, (const Pelton__Eos *)body);
        return PELTON_OK;
    case WIRE_SOURCE_STATE:
        take_state(s, (const Pelton__SourceState *)body);
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
    } else {
        return pelton_die(s->conn, PELTON_ERR_PROTOCOL, "", "the daemon answered with a %s",
                          wire_type_name(f->h.type));
    }
    return PELTON_OK;
}

/* ---- open and close ---- */

/* Out of range would be lost in the message's unsigned fields. */
static bool params_valid(const struct pelton_open_params *p)
{
    return p && (p->uri ? p->uri[0] != 0 : p->fd >= 0) && (int)p->policy >= 0 &&
           p->policy <= PELTON_FIFO && (int)p->transport >= 0 && p->transport <= PELTON_READBACK &&
           p->on_error >= 0 && p->on_error <= 3 && (int)p->side_data >= 0 &&
           p->n_blur <= PELTON_MAX_BLURS && p->side_data <= PELTON_SIDE_ALL && (int)p->views >= 0 &&
           p->views <= PELTON_VIEWS_BOTH && p->part <= p->parts && p->parts <= PELTON_MAX_DEVICES;
}

static struct pelton_stream *stream_create(struct pelton *conn,
                                           const struct pelton_open_params *params)
{
    struct pelton_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->conn = conn;
    s->id = ++conn->last_object;
    s->policy = params->policy;
    s->tail = &s->head;
    s->next = conn->streams;
    conn->streams = s;
    return s;
}

void pelton_stream_free(struct pelton_stream *s)
{
    struct pelton_stream **link = &s->conn->streams;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    while (s->head) {
        struct pelton_queued *next = s->head->next;
        free(s->head);
        s->head = next;
    }
    while (s->sides)
        drop_side(&s->sides);
    while (s->pools) {
        struct pelton_pool *older = s->pools->next;
        pelton_pool_unmap(s->pools);
        s->pools = older;
    }
    pelton_share_free(s->share);
    free(s);
}

void pelton_stream_close(struct pelton_stream *s)
{
    if (!s)
        return;
    if (s->share) {
        pelton_share_close(s->share);
    } else if (!s->conn->dead) {
        struct pelton_failure before = s->conn->failure;
        pelton_send(s->conn, WIRE_CLOSE, 0, s->id, NULL, NULL, 0);
        s->conn->failure = before; /* closing tells nothing new */
    }
    pelton_stream_free(s);
}

/* After a reply that says "not supported" the reason follows as the stream's end. */
static int await_refusal(struct pelton_stream *s, int64_t deadline)
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

static int share_start(struct pelton_stream *s, const struct pelton_open_params *params)
{
    s->replied = true; /* nothing is asked under its number */
    return pelton_share_start(s->conn, params, &s->share);
}

static int send_open(struct pelton_stream *s, const struct pelton_open_params *params)
{
    Pelton__Open open;
    wire_open_from(params, &open);
    s->open_request = ++s->conn->last_request;
    return pelton_send(s->conn, WIRE_OPEN, s->open_request, s->id, &open.base, &params->fd,
                       params->uri ? 0 : 1);
}

int pelton_open_start(struct pelton *conn, const struct pelton_open_params *params,
                      struct pelton_stream **out)
{
    if (!params_valid(params)) {
        return pelton_fail(conn, PELTON_ERR_USAGE, "",
                           "neither a URI nor a descriptor, or an option out of range");
    }
    struct pelton_stream *s = stream_create(conn, params);
    if (!s)
        return pelton_fail(conn, PELTON_ERR_NOMEM, "", "out of memory");
    int rc = pelton_share_wanted(params) ? share_start(s, params) : send_open(s, params);
    if (rc < 0) {
        pelton_stream_free(s);
        return rc;
    }
    *out = s;
    return PELTON_OK;
}

int pelton_open_wait(struct pelton_stream *s, int timeout_ms, struct pelton_info *info)
{
    if (s->share)
        return pelton_share_wait(s->share, timeout_ms, info);
    int64_t deadline = pelton_deadline(timeout_ms);
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
    if (info)
        *info = s->info;
    return s->info.supported ? PELTON_OK : await_refusal(s, deadline);
}

int pelton_open(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                struct pelton_info *info, struct pelton_stream **out)
{
    struct pelton_stream *s;
    int rc = pelton_open_start(conn, params, &s);
    if (rc < 0)
        return rc;
    rc = pelton_open_wait(s, timeout_ms, info);
    if (rc < 0) {
        pelton_stream_close(s);
        return rc;
    }
    *out = s;
    return PELTON_OK;
}

static int sei_to(const Pelton__Info *info, struct pelton_probe_sei *out)
{
    struct pelton_probe_sei sei = {0};
    if (info && info->side_data.len) {
        int rc = wire_side_unpack(info->side_data.data, info->side_data.len, &sei.first);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; info && i < info->n_sei && i < PELTON_MAX_SEI_TYPES; i++) {
        sei.type[sei.types].type = info->sei[i]->type;
        sei.type[sei.types++].count = info->sei[i]->count;
    }
    sei.pictures = info ? info->probed : 0;
    *out = sei;
    return 0;
}

int pelton_probe_sei(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                     struct pelton_info *info, struct pelton_probe_sei *sei)
{
    if (!params_valid(params)) {
        return pelton_fail(conn, PELTON_ERR_USAGE, "",
                           "neither a URI nor a descriptor, or an option out of range");
    }
    Pelton__Open open;
    Pelton__Probe probe = PELTON__PROBE__INIT;
    wire_open_from(params, &open);
    probe.source = &open;
    ProtobufCMessage *body;
    int rc = pelton_ask(conn, WIRE_PROBE, ++conn->last_object, &probe.base, &params->fd,
                        params->uri ? 0 : 1, WIRE_PROBE_REPLY, pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__Info *reply = ((const Pelton__ProbeReply *)body)->info;
    rc = sei ? sei_to(reply, sei) : 0;
    if (rc == 0)
        wire_info_to(reply, info);
    wire_free(body);
    return rc < 0 ? pelton_fail(conn, rc, "", "the daemon's answer cannot be read") : PELTON_OK;
}

int pelton_probe(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                 struct pelton_info *info)
{
    return pelton_probe_sei(conn, params, timeout_ms, info, NULL);
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

static int ask_for_frame(struct pelton_stream *s)
{
    if (s->policy == PELTON_LOSSLESS || s->credit_out)
        return PELTON_OK;
    Pelton__Credit credit = PELTON__CREDIT__INIT;
    credit.count = 1;
    s->credit_out = true;
    return pelton_send(s->conn, WIRE_CREDIT, 0, s->id, &credit.base, NULL, 0);
}

int pelton_next(struct pelton_stream *s, int timeout_ms, struct pelton_frame *out)
{
    if (s->share)
        return pelton_share_next(s->conn, s->share, timeout_ms, out);
    int64_t deadline = pelton_deadline(timeout_ms);
    for (;;) {
        if (s->head) {
            pelton_stream_take(s, out);
            return 1;
        }
        if (s->ended)
            return s->end.code ? pelton_fail_with(s->conn, &s->end) : 0;
        int rc = s->conn->dead ? 0 : ask_for_frame(s);
        rc = rc < 0 ? rc : pelton_pump(s->conn, deadline);
        if (rc == 0)
            return pelton_fail(s->conn, PELTON_ERR_TIMEOUT, "", "no frame in time");
        if (rc < 0 && !s->head && !s->ended) /* what came before the end is still given */
            return rc;
    }
}

void pelton_release(struct pelton_stream *s, const struct pelton_frame *frame)
{
    if (s->share) {
        pelton_share_release(s->share, frame);
        return;
    }
    struct pelton_pool *pool = pool_find(s, frame->epoch);
    if (!pool || pool->users == 0)
        return;
    pool->users--;
    for (struct pelton_side **link = &s->sides; *link;) {
        const struct pelton_side *side = *link;
        if (side->epoch == frame->epoch && side->slot == frame->slot &&
            side->generation == frame->generation) {
            drop_side(link);
        } else {
            link = &(*link)->next;
        }
    }
    Pelton__Release release = PELTON__RELEASE__INIT;
    release.epoch = frame->epoch;
    release.slot = frame->slot;
    release.generation = frame->generation;
    if (!s->conn->dead)
        pelton_send(s->conn, WIRE_RELEASE, 0, s->id, &release.base, NULL, 0);
    pools_trim(s);
}

int pelton_stats(struct pelton_stream *s, int timeout_ms, struct pelton_stats *out)
{
    if (s->share)
        return pelton_share_stats(s->share, timeout_ms, out);
    if (s->ended) {
        *out = s->totals;
        return PELTON_OK;
    }
    ProtobufCMessage *body;
    int rc = pelton_ask(s->conn, WIRE_STATS, s->id, NULL, NULL, 0, WIRE_STATS_REPLY,
                        pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    wire_stats_to((const Pelton__StatsReply *)body, out);
    wire_free(body);
    return PELTON_OK;
}
