/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames from the worker to the one subscriber, and slots back: see stream_delivery.h.
 *
 * The happy path is format, frame, frame ..., each passed on as it comes. The failure modes are:
 * - The subscriber is slow. Latest and fifo drop frames here; lossless keeps the worker's slots and
 *   so holds up its own source only.
 * - The subscriber names slots that it does not hold. That is ignored.
 * - The worker announces slots that are not free. It is killed.
 * - The worker dies. Frames that were announced stay valid.
 */
#include "daemon/broker/stream_delivery.h"

#include "daemon/broker/client_link.h"
#include "daemon/broker/named.h"
#include "daemon/broker/placeholder.h"
#include "daemon/broker/reader_pool.h"
#include "daemon/broker/worker_link.h"
#include "daemon/monotonic.h"
#include "daemon/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIFO_DEFAULT = 4,
    /* slots besides those that wait: on their way here, and in the subscriber's hands */
    FIFO_SPARE = 6,
    UNITS_SPARE = 2, /* the same of access units, which the worker drops */
    /* slots that stay free for frames on their way, so that new frames displace old ones */
    RESERVE = 4
};

struct pending_frame {
    struct pending_frame *next;
    struct reader_pool *pool;
    Pelton__FrameReady msg;
    Pelton__Camera camera; /* where msg has them */
    Pelton__Exposure exposure;
    struct pelton_exposure light; /* has the numbers of exposure */
    int64_t trace[PELTON_TRACE_POINTS];
    uint8_t side[]; /* its side data */
};

void delivery_init(struct stream_delivery *d, bool lossless)
{
    d->tail = &d->head;
    d->credit = lossless ? UINT64_MAX : 0;
}

void delivery_free(struct stream_delivery *d)
{
    while (d->head) {
        struct pending_frame *next = d->head->next;
        free(d->head);
        d->head = next;
    }
    free(d->format);
    while (d->pools) {
        struct reader_pool *older = d->pools->next;
        reader_pool_free(d->pools);
        d->pools = older;
    }
}

void delivery_keep_drops(struct stream_delivery *d)
{
    for (int i = 0; i < 3; i++) {
        d->dropped_base[i] += d->dropped_last[i];
        d->dropped_last[i] = 0;
    }
}

bool delivery_stands_still(const struct stream_delivery *d)
{
    return d->present && d->present->held == d->present->n_slots;
}

bool delivery_all_returned(const struct stream_delivery *d)
{
    const struct reader_pool *p = d->pools;
    while (p && !p->held)
        p = p->next;
    return !p;
}

/* ---- slots ---- */

/* Frees older pools of which nobody holds a slot. */
static void pools_trim(struct stream_delivery *d)
{
    for (struct reader_pool **link = d->pools ? &d->pools->next : &d->pools; *link;) {
        struct reader_pool *p = *link;
        if (p->held > 0 || p == d->present) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        reader_pool_free(p);
    }
}

/* Frees a slot. The worker is told if it is the one that wrote it. */
static bool slot_release(struct broker_stream *s, struct reader_pool *p, uint32_t slot,
                         uint32_t generation, enum slot_state from)
{
    if (!reader_pool_holds(p, slot, generation, from))
        return false;
    if (last_frame_keeps(&s->delivery.last, p, slot, generation, from))
        return true;
    reader_pool_release(p, slot, generation, from);
    if (s->state == STREAM_OPEN && p->wid == s->wid) {
        Pelton__Release m = PELTON__RELEASE__INIT;
        m.epoch = p->worker_epoch;
        m.slot = slot;
        m.generation = generation;
        worker_send_soon(s->worker, WIRE_RELEASE, s->wid, &m.base);
    }
    return true;
}

/* The slot of the one before goes, unless somebody else has it. pool NULL: there is none now. */
static void last_replace(struct broker_stream *s, struct reader_pool *pool, uint32_t slot,
                         uint32_t generation)
{
    struct last_frame before = s->delivery.last;
    s->delivery.last = (struct last_frame){.pool = pool, .slot = slot, .generation = generation};
    if (before.pool && before.given_back)
        slot_release(s, before.pool, before.slot, before.generation, before.state);
    pools_trim(&s->delivery);
}

void delivery_hide(struct broker_stream *s)
{
    last_replace(s, NULL, 0, 0);
    s->delivery.repaint = true;
}

void delivery_release(struct broker_stream *s, const Pelton__Release *m)
{
    struct reader_pool *p = s->delivery.pools;
    while (p && p->epoch != m->epoch)
        p = p->next;
    bool done = p && slot_release(s, p, m->slot, m->generation, SLOT_CLIENT);
    /* a pool from before placeholders has another epoch now */
    for (struct reader_pool *q = p ? NULL : s->delivery.pools; q && !done; q = q->next)
        done = q->worker_epoch && slot_release(s, q, m->slot, m->generation, SLOT_CLIENT);
    if (done && s->state == STREAM_RESTING)
        broker_changed(s->broker);
    if (done)
        pools_trim(&s->delivery);
}

static struct pending_frame *pending_pop(struct stream_delivery *d)
{
    struct pending_frame *f = d->head;
    d->head = f->next;
    if (!d->head)
        d->tail = &d->head;
    d->n_pending--;
    return f;
}

/* Frames that wait for a subscriber that asks for each. */
static uint32_t most_waiting(const Pelton__Open *o)
{
    return o->policy == PELTON_LATEST ? 1 : o->depth ? o->depth : FIFO_DEFAULT;
}

uint32_t delivery_pool_depth(const struct broker_stream *s)
{
    const Pelton__Open *o = s->source.open;
    uint32_t spare = o->encoded ? UNITS_SPARE : FIFO_SPARE;
    uint32_t kept = placeholder_is_last(s);
    return o->policy == PELTON_FIFO ? most_waiting(o) + spare + kept
           : o->depth               ? o->depth + kept
                                    : 0;
}

/* Whether the oldest waiting frame has to go: there are more than wanted, or the worker would have
 * to drop a newer one. Access units before the last one can be left out where that is a key picture
 * alone, and the worker drops them where the pool is full. */
static bool must_drop(const struct broker_stream *s, const struct reader_pool *p)
{
    const struct stream_delivery *d = &s->delivery;
    uint32_t room = p->n_slots - p->held;
    if (d->credit > 0 || d->n_pending == 0)
        return false;
    if (s->source.open->encoded)
        return s->source.open->policy == PELTON_LATEST && d->last_key && d->n_pending > 1;
    return d->n_pending > most_waiting(s->source.open) || room == 0 ||
           (room < RESERVE && d->n_pending > 1);
}

static void drop_oldest(struct broker_stream *s)
{
    struct pending_frame *f = pending_pop(&s->delivery);
    s->delivery.dropped_client++;
    slot_release(s, f->pool, f->msg.slot, f->msg.generation, SLOT_PENDING);
    free(f);
}

void delivery_forget(struct broker_stream *s)
{
    delivery_hide(s);
    while (s->delivery.head)
        drop_oldest(s);
}

/* ---- to the client ---- */

static void pending_send(struct broker_stream *s, struct pending_frame *f)
{
    struct stream_delivery *d = &s->delivery;
    reader_pool_send(f->pool, f->msg.slot);
    f->msg.dropped_client += d->dropped_client;
    d->sent++;
    d->sent_ns = monotonic_ns();
    d->age_ns = d->sent_ns - f->msg.received_ns;
    client_send(s->client, WIRE_FRAME_READY, 0, s->object_id, &f->msg.base);
}

static void pending_flush(struct broker_stream *s)
{
    struct stream_delivery *d = &s->delivery;
    while (d->head && d->credit > 0) {
        struct pending_frame *f = pending_pop(d);
        pending_send(s, f);
        free(f);
        if (d->credit != UINT64_MAX)
            d->credit--;
    }
    if (s->state == STREAM_ENDED)
        broker_changed(s->broker); /* Eos may be due */
}

void delivery_credit(struct broker_stream *s, uint32_t count)
{
    struct stream_delivery *d = &s->delivery;
    if (d->credit != UINT64_MAX) {
        d->credit = d->credit + count > UINT32_MAX ? UINT32_MAX : d->credit + count;
        pending_flush(s);
    }
}

/* ---- from the worker ---- */

/* A format as bytes, to be announced again; without the numbers of its pool, which are: */
struct packed_format {
    uint32_t slots;
    uint64_t memfd_size;
    size_t size;
    uint8_t bytes[];
};

static void format_keep(struct broker_stream *s, const Pelton__FormatChanged *from)
{
    Pelton__FormatChanged plain = *from, *m = &plain;
    const struct named_source *n = s->source.named;
    struct stream_delivery *d = &s->delivery;
    free(d->format);
    d->format = NULL;
    if (!n || m->device || !m->memfd_size)
        return;
    m->epoch = m->slots = 0;
    m->memfd_size = 0;
    size_t size = pelton__format_changed__get_packed_size(m);
    d->format = malloc(sizeof(*d->format) + size);
    if (!d->format)
        return;
    d->format->slots = from->slots;
    d->format->memfd_size = from->memfd_size;
    d->format->size = pelton__format_changed__pack(m, d->format->bytes);
}

static Pelton__FormatChanged *format_again(const struct stream_delivery *d)
{
    Pelton__FormatChanged *m =
        pelton__format_changed__unpack(NULL, d->format->size, d->format->bytes);
    if (m) {
        m->slots = d->format->slots;
        m->memfd_size = d->format->memfd_size;
    }
    return m;
}

/* The newest pool, and its epoch, for the client. */
static void pool_announce(struct broker_stream *s, struct reader_pool *p, Pelton__FormatChanged *m)
{
    struct stream_delivery *d = &s->delivery;
    p->epoch = m->epoch = ++d->last_epoch;
    p->next = d->pools;
    d->pools = p;
    pools_trim(d);
    client_send_fd(s->client, WIRE_FORMAT_CHANGED, s->object_id, &m->base, p->memfd);
}

/* Each format of each worker is an epoch of its own for the client. */
bool delivery_format(struct broker_stream *s, Pelton__FormatChanged *m, int memfd)
{
    struct stream_delivery *d = &s->delivery;
    if ((m->device && s->source.open->transport != PELTON_DEVICE) ||
        (m->encoded != NULL) != (s->source.open->encoded != 0)) {
        if (memfd >= 0)
            close(memfd);
        return false;
    }
    struct reader_pool *p = reader_pool_create(m, s->wid, memfd);
    if (!p)
        return false;
    /* the next worker may begin at a picture of another size */
    Pelton__Open *o = s->source.open;
    if (o->n_blur && !o->blur_width) {
        o->blur_width = m->blur_width;
        o->blur_height = m->blur_height;
    }
    bool timed = m->time_base && m->time_base->den > 0;
    d->tick_s = timed ? (double)m->time_base->num / m->time_base->den : 0;
    wire_copy(d->pix_fmt, sizeof(d->pix_fmt), m->pix_fmt);
    d->width = m->width;
    d->height = m->height;
    format_keep(s, m);
    d->present = p;
    pool_announce(s, p, m);
    return true;
}

static struct reader_pool *pool_of_worker(struct broker_stream *s, uint32_t worker_epoch)
{
    for (struct reader_pool *p = s->delivery.pools; p; p = p->next)
        if (p->wid == s->wid && p->worker_epoch == worker_epoch)
            return p;
    return NULL;
}

/* A copy that outlives the message. NULL: out of memory. */
static struct pending_frame *pending_create(struct reader_pool *p, const Pelton__FrameReady *m)
{
    struct pending_frame *f = calloc(1, sizeof(*f) + m->side_data.len);
    if (!f)
        return NULL;
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
    if (m->exposure) {
        wire_exposure_to(m->exposure, &f->light);
        wire_exposure_from(&f->light, &f->exposure);
        f->msg.exposure = &f->exposure;
    }
    if (m->side_data.len)
        memcpy(f->side, m->side_data.data, m->side_data.len);
    f->msg.base.n_unknown_fields = 0;
    f->msg.base.unknown_fields = NULL;
    f->msg.epoch = p->epoch;
    return f;
}

static bool pending_push(struct stream_delivery *d, struct reader_pool *p,
                         const Pelton__FrameReady *m)
{
    struct pending_frame *f = pending_create(p, m);
    if (!f)
        return false;
    f->msg.flags |= d->discont ? PELTON_FRAME_DISCONT : 0;
    f->msg.dropped_source += d->dropped_base[0];
    f->msg.dropped_decoder += d->dropped_base[1];
    f->msg.dropped_client += d->dropped_base[2];
    d->last_key = m->flags & PELTON_FRAME_KEY;
    d->discont = false;
    d->dropped_last[0] = m->dropped_source;
    d->dropped_last[1] = m->dropped_decoder;
    d->dropped_last[2] = m->dropped_client;
    *d->tail = f;
    d->tail = &f->next;
    d->n_pending++;
    return true;
}

/* Whether max_fps leaves this frame out. The second view goes with the first. */
static bool left_out(struct broker_stream *s, const Pelton__FrameReady *m)
{
    struct stream_delivery *d = &s->delivery;
    double fps = s->source.open->max_fps;
    if (!(fps > 0) || m->pts == INT64_MIN || !(d->tick_s > 0))
        return false;
    if (m->view != 1)
        d->left_out = frame_spacing_leaves_out(&d->spacing, fps, (double)m->pts * d->tick_s);
    return d->left_out;
}

/* ---- while the source is down ---- */

static bool format_same(const struct packed_format *a, const struct packed_format *b)
{
    return a && b && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* The memory that another reader of the source has got for the same format. -1: none. */
static int placeholder_of_others(const struct broker_stream *s)
{
    const struct broker_stream *other = s->broker->streams;
    while (other &&
           (other == s || other->source.named != s->source.named || !other->delivery.placeholders ||
            other->delivery.repaint || other->delivery.pools == other->delivery.present ||
            !format_same(other->delivery.format, s->delivery.format)))
        other = other->next;
    return other ? fcntl(other->delivery.pools->memfd, F_DUPFD_CLOEXEC, 0) : -1;
}

static int placeholder_fd(const struct broker_stream *s, const Pelton__FormatChanged *m)
{
    const struct stream_delivery *d = &s->delivery;
    bool last = placeholder_is_last(s) && d->last.pool && d->last.pool == d->present;
    int fd = placeholder_is_last(s) ? -1 : placeholder_of_others(s);
    return fd >= 0 ? fd
                   : placeholder_memory(m, s->source.named->config.upkeep.picture,
                                        last ? &d->last : NULL);
}

static struct reader_pool *placeholder_pool(struct broker_stream *s)
{
    struct stream_delivery *d = &s->delivery;
    if (d->pools != d->present && !d->repaint)
        return d->pools;
    d->repaint = false;
    Pelton__FormatChanged *m = format_again(d);
    struct reader_pool *p = NULL;
    if (m) {
        m->slots = PLACEHOLDER_SLOTS;
        m->memfd_size = m->slots * m->slot_size;
        int fd = placeholder_fd(s, m);
        p = fd < 0 ? NULL : reader_pool_create(m, 0, fd);
        if (p)
            pool_announce(s, p, m);
        pelton__format_changed__free_unpacked(m, NULL);
    }
    return p;
}

/* Sequence numbers go on without a gap, so the numbers of later frames are moved. */
void delivery_placeholder(struct broker_stream *s)
{
    struct stream_delivery *d = &s->delivery;
    if (d->n_pending > 0)
        return; /* the reader has not asked for a frame since */
    struct reader_pool *p = placeholder_pool(s);
    uint32_t slot = 0;
    while (p && slot < p->n_slots && p->slots[slot].state != SLOT_FREE)
        slot++;
    if (!p || slot == p->n_slots)
        return;
    Pelton__FrameReady m = PELTON__FRAME_READY__INIT;
    int64_t now_ns = monotonic_ns();
    double ticks = d->tick_s > 0 ? 1e-9 * (double)(now_ns - d->last_ns) / d->tick_s : 0;
    m.sequence = d->next_sequence;
    m.slot = slot;
    m.generation = p->slots[slot].generation + 1;
    m.pts = d->last_pts == INT64_MIN ? INT64_MIN : d->last_pts + (int64_t)ticks;
    m.dts = INT64_MIN;
    m.flags = PELTON_FRAME_PLACEHOLDER;
    m.received_ns = m.decoded_ns = now_ns;
    m.dropped_source = d->dropped_last[0];
    m.dropped_decoder = d->dropped_last[1];
    reader_pool_take(p, slot, m.generation);
    d->discont |= d->placeholders == 0;
    if (!pending_push(d, p, &m))
        return;
    d->placeholders++;
    d->next_sequence++;
    d->sequence_base++;
    s->deaths.death_sequence++;
    pending_flush(s);
}

/* The source's frames go on, in an epoch of their own again. False: no memory. */
static bool placeholder_over(struct broker_stream *s, struct reader_pool *p)
{
    struct stream_delivery *d = &s->delivery;
    d->placeholders = 0;
    if (d->pools == d->present)
        return true;
    Pelton__FormatChanged *m = format_again(d);
    if (!m)
        return false;
    struct reader_pool **link = &d->pools;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    pool_announce(s, p, m);
    pelton__format_changed__free_unpacked(m, NULL);
    d->discont = true;
    return true;
}

bool delivery_frame(struct broker_stream *s, const Pelton__FrameReady *from_worker)
{
    struct stream_delivery *d = &s->delivery;
    Pelton__FrameReady shifted = *from_worker, *m = &shifted;
    shifted.sequence += d->sequence_base;
    struct reader_pool *p = pool_of_worker(s, m->epoch);
    if (!p || !reader_pool_take(p, m->slot, m->generation)) {
        log_line(LOG_LEVEL_ERROR, "%s: a frame in a slot that is not free", stream_name(s));
        return false;
    }
    bool old = m->sequence < d->next_sequence; /* the client has it from an earlier worker */
    if (old || left_out(s, m)) {
        d->next_sequence = old ? d->next_sequence : m->sequence + 1;
        slot_release(s, p, m->slot, m->generation, SLOT_PENDING);
        return true;
    }
    s->down = s->short_of_memory = false;
    if (!placeholder_over(s, p) || !pending_push(d, p, m))
        return false;
    if (placeholder_is_last(s) && !(m->flags & PELTON_FRAME_CORRUPT) && m->view != 1)
        last_replace(s, p, m->slot, m->generation);
    d->next_sequence = m->sequence + 1;
    d->last_pts = m->pts;
    d->last_ns = m->received_ns;
    while (must_drop(s, p))
        drop_oldest(s);
    pending_flush(s);
    if (s->deaths.strikes || s->worker->trial == s)
        broker_changed(s->broker); /* it may have passed the place of a death */
    return true;
}
