/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams of the broker: frames from the worker to the one subscriber, slots back.
 *
 * The happy path is info, format, frame…, end, each passed on as it comes. The failure modes are:
 * the subscriber is slow (latest and fifo drop here, lossless keeps the worker's slots and so holds
 * up its own source only), it lies about slots (ignored), the worker does (it is killed), the
 * worker dies (recovery.c queues the stream again; frames that had been announced stay valid). The
 * end is told when no announced frame waits any more.
 */
#include "daemon/broker/broker.h"

#include "daemon/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIFO_DEFAULT = 4,
    /* slots besides those that wait: on their way here, and in the subscriber's hands */
    FIFO_SPARE = 6,
    RESERVE = 4 /* slots that stay free for the frames on their way, so that new ones displace old
                   ones and not the reverse */
};

struct stream *stream_create(struct client *c, const struct frame *f, ProtobufCMessage *body)
{
    struct stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->broker = c->broker;
    s->client = c;
    s->id = ++c->broker->last_stream;
    s->object_id = f->h.object_id;
    s->open_request = f->h.request_id;
    s->probe = f->h.type == WIRE_PROBE;
    s->body = body;
    s->open = s->probe ? ((Pelton__Probe *)body)->source : (Pelton__Open *)body;
    s->own_blur = s->open->n_blur;
    s->fd = -1;
    s->tail = &s->head;
    s->credit = s->open->policy == PELTON_LOSSLESS ? UINT64_MAX : 0;
    *c->broker->streams_tail = s;
    c->broker->streams_tail = &s->next;
    c->broker->n_streams++;
    return s;
}

const char *stream_name(const struct stream *s)
{
    return s->open->name[0] ? s->open->name : s->open->uri[0] ? s->open->uri : "input";
}

static void stream_unlink(struct stream *s)
{
    struct broker *b = s->broker;
    struct stream **link = &b->streams;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    if (!*link)
        b->streams_tail = link;
    b->n_streams--;
}

void stream_keep_drops(struct stream *s)
{
    s->dropped_base[0] += s->dropped_last[0];
    s->dropped_base[1] += s->dropped_last[1];
    s->dropped_last[0] = s->dropped_last[1] = 0;
}

void stream_withdraw(struct stream *s)
{
    if (s->state == STREAM_OPEN && worker_running(s->worker))
        channel_send(&s->worker->ch, WIRE_CLOSE, 0, s->wid, NULL, NULL, 0);
    if (s->worker && s->worker->trial == s)
        s->worker->trial = NULL;
}

void stream_free(struct stream *s)
{
    struct broker *b = s->broker;
    stream_withdraw(s);
    named_leave(s, NULL);
    asks_forget(b, NULL, s);
    stream_unlink(s);
    while (s->head) {
        struct pending_frame *next = s->head->next;
        free(s->head);
        s->head = next;
    }
    while (s->pools) {
        struct broker_pool *older = s->pools->next;
        broker_pool_free(s->pools);
        s->pools = older;
    }
    if (s->fd >= 0)
        close(s->fd);
    wire_free(s->body);
    free(s);
}

struct stream *stream_find(struct broker *b, const struct client *c, uint32_t object_id)
{
    for (struct stream *s = b->streams; s; s = s->next)
        if (s->client == c && s->object_id == object_id)
            return s;
    return NULL;
}

struct stream *stream_find_wid(struct worker *w, uint32_t wid)
{
    for (struct stream *s = w->broker->streams; s; s = s->next)
        if (s->state == STREAM_OPEN && s->worker == w && s->wid == wid)
            return s;
    return NULL;
}

/* ---- slots ---- */

static void pools_trim(struct stream *s)
{
    for (struct broker_pool **link = s->pools ? &s->pools->next : &s->pools; *link;) {
        struct broker_pool *p = *link;
        if (p->held > 0) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        broker_pool_free(p);
    }
}

/* The slot is free here; the worker wants to know where it is the one that wrote it. */
static void tell_release(struct stream *s, const struct broker_pool *p, uint32_t slot,
                         uint32_t generation)
{
    if (s->state != STREAM_OPEN || p->wid != s->wid || !worker_running(s->worker))
        return;
    Pelton__Release m = PELTON__RELEASE__INIT;
    m.epoch = p->worker_epoch;
    m.slot = slot;
    m.generation = generation;
    channel_send(&s->worker->ch, WIRE_RELEASE, 0, s->wid, &m.base, NULL, 0);
}

void stream_release(struct stream *s, const Pelton__Release *m)
{
    for (struct broker_pool *p = s->pools; p; p = p->next) {
        if (p->epoch == m->epoch) {
            if (broker_pool_release(p, m->slot, m->generation, SLOT_CLIENT)) {
                tell_release(s, p, m->slot, m->generation);
                pools_trim(s);
            }
            return;
        }
    }
}

static struct pending_frame *pending_pop(struct stream *s)
{
    struct pending_frame *f = s->head;
    s->head = f->next;
    if (!s->head)
        s->tail = &s->head;
    s->n_pending--;
    return f;
}

/* Frames that wait for a subscriber that asks for each. */
static uint32_t most_waiting(const struct stream *s)
{
    return s->open->policy == PELTON_LATEST ? 1 : s->open->depth ? s->open->depth : FIFO_DEFAULT;
}

uint32_t stream_pool_depth(const struct stream *s)
{
    return s->open->policy == PELTON_FIFO ? most_waiting(s) + FIFO_SPARE : s->open->depth;
}

/* Whether the oldest waiting frame has to go: there are more than wanted, or the worker would have
 * to drop a newer one. */
static bool must_drop(const struct stream *s, const struct broker_pool *p)
{
    uint32_t room = p->n_slots - p->held;
    if (s->credit > 0 || s->n_pending == 0)
        return false;
    return s->n_pending > most_waiting(s) || room == 0 || (room < RESERVE && s->n_pending > 1);
}

static void drop_oldest(struct stream *s)
{
    struct pending_frame *f = pending_pop(s);
    s->dropped_client++;
    if (broker_pool_release(f->pool, f->msg.slot, f->msg.generation, SLOT_PENDING))
        tell_release(s, f->pool, f->msg.slot, f->msg.generation);
    free(f);
}

/* ---- to the client ---- */

/* The worker's, and what happened here. */
static void fill_stats(const struct stream *s, Pelton__StatsReply *out)
{
    wire_stats_from(&s->totals, out);
    out->dropped += s->dropped_client;
    out->worker_restarts = s->restarts;
}

static void send_end(struct stream *s)
{
    struct client *c = s->client;
    s->eos_sent = true;
    if (s->probe && s->replied)
        return; /* the reply was its end */
    if (!s->replied) {
        s->replied = true;
        client_error(c, s->open_request, s->object_id, &s->end,
                     s->end.code == PELTON_ERR_WORKER_LOST);
        return;
    }
    Pelton__Eos m = PELTON__EOS__INIT;
    Pelton__Failure failure;
    Pelton__StatsReply stats;
    if (s->end.code) {
        wire_failure_from(&s->end, &failure);
        m.failure = &failure;
    }
    fill_stats(s, &stats);
    m.stats = &stats;
    channel_send(&c->ch, WIRE_EOS, 0, s->object_id, &m.base, NULL, 0);
}

static void stream_flush(struct stream *s)
{
    while (s->head && s->credit > 0) {
        struct pending_frame *f = pending_pop(s);
        broker_pool_send(f->pool, f->msg.slot);
        f->msg.dropped_client = s->dropped_client;
        s->sent++;
        s->age_ns = monotonic_ns() - f->msg.received_ns;
        channel_send(&s->client->ch, WIRE_FRAME_READY, 0, s->object_id, &f->msg.base, NULL, 0);
        free(f);
        if (s->credit != UINT64_MAX)
            s->credit--;
    }
    if (!s->head && s->state == STREAM_ENDED && !s->eos_sent)
        send_end(s);
}

void stream_credit(struct stream *s, uint32_t count)
{
    if (s->credit != UINT64_MAX) {
        s->credit = s->credit + count > UINT32_MAX ? UINT32_MAX : s->credit + count;
        stream_flush(s);
    }
}

void stream_state(struct stream *s, Pelton__SourceState__State state, const char *cause)
{
    Pelton__SourceState m = PELTON__SOURCE_STATE__INIT;
    m.state = state;
    m.cause = (char *)cause;
    if (!s->probe)
        channel_send(&s->client->ch, WIRE_SOURCE_STATE, 0, s->object_id, &m.base, NULL, 0);
}

void stream_send_stats(struct stream *s, uint32_t client_request)
{
    Pelton__StatsReply m;
    fill_stats(s, &m);
    channel_send(&s->client->ch, WIRE_STATS_REPLY, client_request, s->object_id, &m.base, NULL, 0);
}

/* ---- from the worker ---- */

void stream_info(struct stream *s, const Pelton__Info *info)
{
    named_info(s, info);
    if (s->replied) {
        stream_state(s, PELTON__SOURCE_STATE__STATE__RUNNING, "");
        return; /* of a source that was opened again */
    }
    s->replied = true;
    if (s->probe) {
        Pelton__ProbeReply m = PELTON__PROBE_REPLY__INIT;
        m.info = (Pelton__Info *)info;
        channel_send(&s->client->ch, WIRE_PROBE_REPLY, s->open_request, s->object_id, &m.base, NULL,
                     0);
    } else {
        Pelton__OpenReply m = PELTON__OPEN_REPLY__INIT;
        m.info = (Pelton__Info *)info;
        channel_send(&s->client->ch, WIRE_OPEN_REPLY, s->open_request, s->object_id, &m.base, NULL,
                     0);
    }
}

/* Each format of each worker is an epoch of its own for the client. */
bool stream_format(struct stream *s, Pelton__FormatChanged *m, int memfd)
{
    struct broker_pool *p = broker_pool_create(m, s->wid, s->last_epoch + 1, memfd);
    if (!p)
        return false;
    /* the next worker may begin at a picture of another size */
    if (s->open->n_blur && !s->open->blur_width) {
        s->open->blur_width = m->blur_width;
        s->open->blur_height = m->blur_height;
    }
    s->tick_s =
        m->time_base && m->time_base->den > 0 ? (double)m->time_base->num / m->time_base->den : 0;
    wire_copy(s->pix_fmt, sizeof(s->pix_fmt), m->pix_fmt);
    s->width = m->width;
    s->height = m->height;
    s->last_epoch++;
    p->next = s->pools;
    s->pools = p;
    pools_trim(s);
    m->epoch = p->epoch;
    channel_send(&s->client->ch, WIRE_FORMAT_CHANGED, 0, s->object_id, &m->base, &p->memfd,
                 p->memfd >= 0);
    return true;
}

static struct broker_pool *pool_of_worker(struct stream *s, uint32_t worker_epoch)
{
    for (struct broker_pool *p = s->pools; p; p = p->next)
        if (p->wid == s->wid && p->worker_epoch == worker_epoch)
            return p;
    return NULL;
}

static bool enqueue(struct stream *s, struct broker_pool *p, const Pelton__FrameReady *m)
{
    struct pending_frame *f = calloc(1, sizeof(*f) + m->side_data.len);
    if (!f)
        return false;
    f->pool = p;
    f->msg = *m;
    f->msg.side_data.data = f->side;
    f->msg.trace_ns = f->trace;
    f->msg.n_trace_ns = m->n_trace_ns < PELTON_TRACE_POINTS ? m->n_trace_ns : PELTON_TRACE_POINTS;
    for (size_t i = 0; i < f->msg.n_trace_ns; i++)
        f->trace[i] = m->trace_ns[i];
    if (m->camera) {
        f->camera = *m->camera;
        f->camera.base.n_unknown_fields = 0;
        f->camera.base.unknown_fields = NULL;
        f->msg.camera = &f->camera;
    }
    if (m->side_data.len)
        memcpy(f->side, m->side_data.data, m->side_data.len);
    f->msg.base.n_unknown_fields = 0;
    f->msg.base.unknown_fields = NULL;
    f->msg.epoch = p->epoch;
    f->msg.flags |= s->discont ? PELTON_FRAME_DISCONT : 0;
    f->msg.dropped_source += s->dropped_base[0];
    f->msg.dropped_decoder += s->dropped_base[1];
    s->discont = false;
    s->dropped_last[0] = m->dropped_source;
    s->dropped_last[1] = m->dropped_decoder;
    *s->tail = f;
    s->tail = &f->next;
    s->n_pending++;
    return true;
}

/* Whether max_fps leaves this frame out. A frame may come a quarter of the period early, so that
 * uneven times do not cost every second one; what is due grows by whole periods, so that the mean
 * is kept. The second view goes with the first. */
static bool left_out(struct stream *s, const Pelton__FrameReady *m)
{
    double period = s->open->max_fps > 0 ? 1 / s->open->max_fps : 0,
           now = (double)m->pts * s->tick_s;
    if (period == 0 || m->pts == INT64_MIN || !(s->tick_s > 0))
        return false;
    if (m->view == 1)
        return s->left_out;
    /* the first, or times have jumped */
    bool far = !s->timed || now < s->due_s - 2 * period || now > s->due_s + period;
    s->left_out = !far && now < s->due_s - period / 4;
    if (!s->left_out) {
        s->due_s = (far ? now : s->due_s) + period;
        s->timed = true;
    }
    return s->left_out;
}

bool stream_frame(struct stream *s, const Pelton__FrameReady *from_worker)
{
    Pelton__FrameReady shifted = *from_worker, *m = &shifted;
    shifted.sequence += s->sequence_base;
    struct broker_pool *p = pool_of_worker(s, m->epoch);
    if (!p || !broker_pool_take(p, m->slot, m->generation)) {
        log_line(LOG_LEVEL_ERROR, "%s: a frame in a slot that is not free", stream_name(s));
        return false;
    }
    bool old = m->sequence < s->next_sequence; /* the client has it from an earlier worker */
    if (old || left_out(s, m)) {
        s->next_sequence = old ? s->next_sequence : m->sequence + 1;
        broker_pool_release(p, m->slot, m->generation, SLOT_PENDING);
        tell_release(s, p, m->slot, m->generation);
        return true;
    }
    if (!enqueue(s, p, m))
        return false;
    s->next_sequence = m->sequence + 1;
    while (must_drop(s, p))
        drop_oldest(s);
    stream_flush(s);
    recovery_progress(s);
    return true;
}

void stream_end(struct stream *s, const struct pelton_failure *failure)
{
    if (s->state == STREAM_ENDED)
        return;
    s->state = STREAM_ENDED;
    s->end = *failure;
    bool refused = !s->replied;
    named_leave(s, failure);
    asks_stream_ended(s);
    stream_flush(s);
    recovery_progress(s);
    if (s->eos_sent && (s->probe || refused))
        stream_free(s); /* the client knows it as never opened */
}

void stream_fail(struct stream *s, int code, const char *hint, const char *cause, ...)
{
    struct pelton_failure failure = {.code = code};
    va_list args;
    va_start(args, cause);
    vsnprintf(failure.cause, sizeof(failure.cause), cause, args);
    va_end(args);
    wire_copy(failure.hint, sizeof(failure.hint), hint);
    log_line(LOG_LEVEL_WARNING, "%s", failure.cause);
    stream_end(s, &failure);
}
