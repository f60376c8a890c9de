/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the worker says. It parses hostile video, so it is believed no more than a client: a message
 * that cannot be right ends it.
 */
#include "daemon/broker/broker.h"

#include "daemon/log.h"

#include <stdio.h>
#include <string.h>

static void note_device(struct broker *b, const Pelton__Device *m)
{
    wire_device_to(m, &b->device);
    b->device.devices = b->n_workers;
    if (b->n_workers > 1) {
        size_t n = strlen(b->device.name);
        snprintf(b->device.name + n, sizeof(b->device.name) - n, " and %u more", b->n_workers - 1);
    }
    b->device_known = true;
}

static void on_devices(struct worker *w, const struct frame *f, ProtobufCMessage *body)
{
    const Pelton__DevicesReply *m = (const Pelton__DevicesReply *)body;
    if (w == w->broker->workers && m->current >= 0 && (size_t)m->current < m->n_devices)
        note_device(w->broker, m->devices[m->current]);
    if (f->h.request_id && !devices_answer(w, f, body))
        asks_answer(w, f, body);
}

/* The device is lost for this process: the next one can go on. */
static void on_end(struct worker *w, struct stream *s, const Pelton__Eos *m)
{
    struct pelton_failure failure;
    wire_failure_to(m->failure, &failure);
    if (failure.code == PELTON_ERR_GPU_LOST) {
        s->lost = failure;
        worker_kill(w, "it has lost its device");
        return; /* recovery takes the stream up */
    }
    wire_stats_to(m->stats, &s->totals);
    if (!reconnect_later(s, &failure))
        stream_end(s, &failure);
}

/* False: the worker broke the protocol. */
static bool on_stream(struct worker *w, struct stream *s, struct frame *f, ProtobufCMessage *body)
{
    switch (f->h.type) {
    case WIRE_OPEN_REPLY: {
        const Pelton__Info *info = ((const Pelton__OpenReply *)body)->info;
        if (info && !s->probe)
            stream_info(s, info);
        return info && !s->probe;
    }
    case WIRE_PROBE_REPLY: {
        const Pelton__Info *info = ((const Pelton__ProbeReply *)body)->info;
        if (info && s->probe)
            stream_info(s, info);
        return info && s->probe;
    }
    case WIRE_FORMAT_CHANGED: {
        Pelton__FormatChanged *m = (Pelton__FormatChanged *)body;
        int memfd = frame_take_fd(f, 0);
        return (memfd >= 0) == (m->memfd_size > 0) && stream_format(s, m, memfd);
    }
    case WIRE_STATS_REPLY:
        wire_stats_to((const Pelton__StatsReply *)body, &s->totals);
        return true;
    case WIRE_FRAME_READY:
        return stream_frame(s, (const Pelton__FrameReady *)body);
    case WIRE_SOURCE_STATE: {
        const Pelton__SourceState *m = (const Pelton__SourceState *)body;
        stream_state(s, m->state, m->cause);
        named_state(s, m->state, m->cause);
        return true;
    }
    case WIRE_EOS:
        on_end(w, s, (const Pelton__Eos *)body);
        return true;
    default:
        return false;
    }
}

void worker_message(struct worker *w, struct frame *f)
{
    ProtobufCMessage *body = wire_unpack(f);
    bool right = body != NULL;
    if (!right || f->h.type == WIRE_PONG) {
        /* heard_ms has noted it */
    } else if (f->h.type == WIRE_DEVICES_REPLY) {
        on_devices(w, f, body);
    } else if ((f->h.type == WIRE_STATS_REPLY && f->h.request_id) ||
               f->h.type == WIRE_CONTROLS_REPLY || f->h.type == WIRE_ERROR) {
        if (!devices_answer(w, f, body))
            asks_answer(w, f, body);
    } else {
        struct stream *s = stream_find_wid(w, f->h.object_id);
        right = !s || s->lost.code || on_stream(w, s, f, body);
    }
    if (!right) {
        log_line(LOG_LEVEL_ERROR, "worker: message %u cannot be right", f->h.type);
        worker_kill(w, "it broke the protocol");
    }
    wire_free(body);
}
