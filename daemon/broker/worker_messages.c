/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The messages of workers: see worker_messages.h. A worker parses hostile video, so it is believed
 * no more than a client. A message that cannot be right ends it.
 */
#include "daemon/broker/worker_messages.h"

#include "daemon/broker/ask.h"
#include "daemon/broker/broker_stream.h"
#include "daemon/broker/devices.h"
#include "daemon/broker/frame_memory.h"
#include "daemon/broker/named.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/broker/stream_messages.h"
#include "daemon/broker/worker_link.h"

#include "daemon/log.h"

#include <stdio.h>
#include <string.h>

static void on_devices(struct worker_process *w, const struct frame *f, ProtobufCMessage *body)
{
    const Pelton__DevicesReply *m = (const Pelton__DevicesReply *)body;
    if (m->current >= 0 && (size_t)m->current < m->n_devices) {
        w->ready = true;
        devices_opened(w, m->devices[m->current]);
        broker_changed(w->broker); /* it takes its share of the cores */
    }
    if (f->h.request_id && !devices_answer(w, f, body))
        asks_answer(w, f, body);
}

/* What the whole worker holds and has refused since its start. */
static void on_usage(struct worker_process *w, const Pelton__StatsReply *m)
{
    struct worker_usage *u = &w->usage;
    wire_stats_to(m, &u->held);
    u->sandbox = m->sandbox;
    u->kept_units = m->kept_units;
    wire_encoder_to(m->encoder, &u->encoder);
    wire_encoder_to(m->transcoder, &u->transcoder);
    wire_encoder_to(m->jpegs, &u->jpegs);
    u->known = true;
    for (size_t q = 0; q < QUOTAS && q < m->n_refused; q++) {
        uint64_t was = u->quotas.refused[q];
        u->quotas.refused[q] = m->refused[q] > was ? m->refused[q] : was;
        w->broker->quotas.refused[q] += u->quotas.refused[q] - was;
    }
}

/* A device that is lost is lost for this process only: the next one can go on. */
static void on_end(struct worker_process *w, struct broker_stream *s, const Pelton__Eos *m)
{
    struct pelton_failure failure;
    wire_failure_to(m->failure, &failure);
    if (failure.code == PELTON_ERR_GPU_LOST) {
        devices_lost(w, uv_now(&w->broker->loop));
        s->deaths.lost = failure;
        worker_kill(w, "it has lost its device");
        return;
    }
    if (devices_passes_over(w, s, failure.code)) {
        s->worker = NULL;
        stream_enter(s, STREAM_QUEUED);
        return;
    }
    wire_stats_to(m->stats, &s->totals);
    stream_over(s, &failure);
}

static bool on_format(struct broker_stream *s, struct frame *f, Pelton__FormatChanged *m)
{
    struct pelton_failure failure = {0};
    if ((f->h.n_fds > 0) != (m->memfd_size > 0))
        return false;
    if (frame_memory_admits(s, m, &failure))
        return delivery_format(s, m, frame_take_fd(f, 0));
    stream_withdraw(s);
    stream_fail(s, failure.code, failure.hint, "%s", failure.cause);
    return true;
}

/* False: the worker broke the protocol. */
static bool on_stream(struct worker_process *w, struct broker_stream *s, struct frame *f,
                      ProtobufCMessage *body)
{
    switch (f->h.type) {
    case WIRE_OPEN_REPLY: {
        const Pelton__Info *info = ((const Pelton__OpenReply *)body)->info;
        if (info && !s->probe)
            stream_send_info(s, info);
        return info && !s->probe;
    }
    case WIRE_PROBE_REPLY: {
        const Pelton__Info *info = ((const Pelton__ProbeReply *)body)->info;
        if (info && s->probe)
            stream_send_info(s, info);
        return info && s->probe;
    }
    case WIRE_FORMAT_CHANGED:
        return on_format(s, f, (Pelton__FormatChanged *)body);
    case WIRE_STATS_REPLY:
        wire_stats_to((const Pelton__StatsReply *)body, &s->totals);
        return true;
    case WIRE_FRAME_READY:
        return delivery_frame(s, (const Pelton__FrameReady *)body);
    case WIRE_SOURCE_STATE: {
        const Pelton__SourceState *m = (const Pelton__SourceState *)body;
        stream_send_state(s, m->state, m->cause);
        named_state(s, m->state, m->cause);
        return true;
    }
    case WIRE_MEMORY_SHORT:
        s->short_of_memory = w->short_of_memory = true;
        broker_changed(w->broker);
        return true;
    case WIRE_EOS:
        on_end(w, s, (const Pelton__Eos *)body);
        return true;
    default:
        return false;
    }
}

void worker_message(struct worker_process *w, struct frame *f)
{
    if (w->killed)
        return; /* after a message that was lost, frames would be missing */
    ProtobufCMessage *body = wire_unpack(f);
    bool right = body != NULL;
    if (!right || f->h.type == WIRE_PONG) {
        /* its time of arrival was all that counts */
    } else if (f->h.type == WIRE_DEVICES_REPLY) {
        on_devices(w, f, body);
    } else if ((f->h.type == WIRE_STATS_REPLY && f->h.request_id) ||
               f->h.type == WIRE_CONTROLS_REPLY || f->h.type == WIRE_ERROR) {
        if (!devices_answer(w, f, body))
            asks_answer(w, f, body);
    } else if (f->h.type == WIRE_STATS_REPLY && !f->h.object_id) {
        on_usage(w, (const Pelton__StatsReply *)body);
    } else {
        struct broker_stream *s = id_table_find(&w->broker->streams_by_wid, f->h.object_id);
        right = !s || s->worker != w || s->deaths.lost.code || on_stream(w, s, f, body);
    }
    if (!right) {
        log_line(LOG_LEVEL_ERROR, "worker: message %u cannot be right", f->h.type);
        worker_kill(w, "it broke the protocol");
    }
    wire_free(body);
}
