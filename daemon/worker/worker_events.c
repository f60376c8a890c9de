/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Callbacks of sessions and cameras to messages for the broker, each one message.
 */
#include "daemon/worker/worker_internal.h"

#include "daemon/log.h"
#include "daemon/stretch_table.h"
#include "proto/start_trace.h"

#include <stdlib.h>
#include <string.h>

static void stream_send(struct worker_stream *ws, unsigned type, const ProtobufCMessage *body)
{
    channel_send(&ws->worker->ch, type, 0, ws->wid, body, NULL, 0);
}

static void send_probe(struct worker_stream *ws, Pelton__Info *info,
                       const struct pelton_probe_sei *sei)
{
    Pelton__ProbeReply m = PELTON__PROBE_REPLY__INIT;
    Pelton__SeiCount counts[PELTON_MAX_SEI_TYPES], *list[PELTON_MAX_SEI_TYPES];
    uint8_t *side = sei && sei->first ? wire_side_pack(sei->first, &info->side_data.len) : NULL;
    info->side_data.data = side;
    info->side_data.len = side ? info->side_data.len : 0;
    for (uint32_t i = 0; sei && i < sei->types; i++) {
        pelton__sei_count__init(&counts[i]);
        counts[i].type = sei->type[i].type;
        counts[i].count = sei->type[i].count;
        list[i] = &counts[i];
    }
    info->n_sei = sei ? sei->types : 0;
    info->sei = list;
    info->probed = sei ? sei->pictures : 0;
    m.info = info;
    stream_send(ws, WIRE_PROBE_REPLY, &m.base);
    free(side);
}

static void on_info(void *ctx, const struct pelton_info *info, const struct pelton_probe_sei *sei)
{
    struct worker_stream *ws = ctx;
    struct wire_info w;
    wire_info_from(info, &w);
    if (ws->probe) {
        send_probe(ws, &w.msg, sei);
    } else {
        Pelton__OpenReply m = PELTON__OPEN_REPLY__INIT;
        m.info = &w.msg;
        stream_send(ws, WIRE_OPEN_REPLY, &m.base);
    }
}

static void on_format(void *ctx, const struct feed_format *f)
{
    struct worker_stream *ws = ctx;
    Pelton__FormatChanged m = PELTON__FORMAT_CHANGED__INIT;
    Pelton__Plane planes[4], *list[4];
    Pelton__Rational time_base = PELTON__RATIONAL__INIT, sar = PELTON__RATIONAL__INIT;
    Pelton__Colour colour;
    Pelton__Vui vui;
    m.n_planes = f->planes > 4 ? 4 : f->planes;
    for (size_t i = 0; i < m.n_planes; i++) {
        pelton__plane__init(&planes[i]);
        planes[i].offset = f->plane_offset[i];
        planes[i].stride = f->stride[i];
        planes[i].width = f->plane_width[i];
        planes[i].height = f->plane_height[i];
        list[i] = &planes[i];
    }
    time_base.num = f->time_base.num;
    time_base.den = f->time_base.den;
    sar.num = f->sar.num;
    sar.den = f->sar.den;
    wire_colour_from(&f->colour, &colour);
    wire_vui_from(&f->vui, &vui);
    Pelton__DeviceMemory device;
    if (f->device.handle_type) {
        wire_device_memory_from(&f->device, &device);
        m.device = &device;
    }
    Pelton__Encoded encoded = PELTON__ENCODED__INIT;
    if (f->encoded) {
        encoded.nal_length = f->nal_length;
        encoded.parameter_sets = (ProtobufCBinaryData){f->sets_size, (uint8_t *)f->sets};
        m.encoded = &encoded;
    }
    m.planes = list;
    m.time_base = &time_base;
    m.sar = &sar;
    m.colour = &colour;
    m.vui = f->vui.present ? &vui : NULL;
    m.epoch = f->epoch;
    m.slots = f->slots;
    m.pix_fmt = (char *)f->pix_fmt;
    m.width = f->width;
    m.height = f->height;
    m.slot_size = f->slot_size;
    m.orientation = f->orientation;
    m.layout = f->layout;
    m.type = f->type;
    m.channels = f->channels;
    m.batch = f->batch;
    m.blur_width = f->blur_width;
    m.blur_height = f->blur_height;
    m.memfd_size = f->memfd >= 0 ? f->memfd_size : 0;
    channel_send(&ws->worker->ch, WIRE_FORMAT_CHANGED, 0, ws->wid, &m.base, &f->memfd,
                 f->memfd >= 0);
}

static void on_frame_ready(void *ctx, const struct feed_frame *f)
{
    Pelton__FrameReady m = PELTON__FRAME_READY__INIT;
    m.sequence = f->sequence;
    m.number = f->number;
    m.epoch = f->epoch;
    m.slot = f->slot;
    m.generation = f->generation;
    m.view = f->view;
    m.pts = f->pts;
    m.dts = f->dts;
    m.duration = f->duration;
    m.flags = f->flags;
    m.field_order = (uint32_t)f->field_order;
    m.received_ns = f->received_ns;
    m.decoded_ns = f->decoded_ns;
    int64_t trace[PELTON_TRACE_POINTS];
    memcpy(trace, f->trace, sizeof(trace));
    if (trace[PELTON_TRACE_PARSED]) {
        trace[PELTON_TRACE_SENT] = (int64_t)uv_hrtime();
        m.trace_ns = trace;
        m.n_trace_ns = PELTON_TRACE_POINTS;
    }
    m.dropped_source = f->dropped_source;
    m.dropped_decoder = f->dropped_decoder;
    m.dropped_client = f->dropped_client;
    m.bytes = f->bytes;
    uint8_t *side = f->side ? wire_side_pack(f->side, &m.side_data.len) : NULL;
    m.side_data.data = side;
    m.side_data.len = side ? m.side_data.len : 0;
    Pelton__Camera camera;
    Pelton__Exposure exposure;
    if (f->camera) {
        wire_camera_from(&f->camera->settings, &camera);
        wire_exposure_from(&f->camera->exposure, &exposure);
        m.camera = &camera;
        m.exposure = &exposure;
    }
    START_TRACE_FIRST("first frame is told"); /* its reader may write its own line at once */
    stream_send(ctx, WIRE_FRAME_READY, &m.base);
    free(side);
}

void worker_send_end(struct worker_stream *ws, const struct pelton_failure *failure,
                     const struct pelton_stats *stats)
{
    Pelton__Eos m = PELTON__EOS__INIT;
    Pelton__Failure f;
    Pelton__StatsReply s;
    if (failure && failure->code) {
        wire_failure_from(failure, &f);
        m.failure = &f;
    }
    if (stats) {
        wire_stats_from(stats, &s);
        m.stats = &s;
    }
    stream_send(ws, WIRE_EOS, &m.base);
}

void worker_stream_free(struct worker_stream *ws)
{
    struct worker_stream **link = &ws->worker->streams;
    while (*link != ws)
        link = &(*link)->next;
    *link = ws->next;
    stretch_table_unmap(ws->table);
    free(ws);
}

static void on_end(void *ctx, const struct pelton_failure *failure,
                   const struct pelton_stats *stats)
{
    worker_send_end(ctx, failure, stats);
    start_trace("a stream has ended");
    worker_stream_free(ctx);
}

static void on_state(void *ctx, bool running, const char *cause)
{
    struct worker_stream *ws = ctx;
    Pelton__SourceState m = PELTON__SOURCE_STATE__INIT;
    m.state =
        running ? PELTON__SOURCE_STATE__STATE__RUNNING : PELTON__SOURCE_STATE__STATE__RESTARTING;
    m.cause = (char *)cause;
    log_line(LOG_LEVEL_WARNING, "camera: %s", running ? "opened again" : cause);
    stream_send(ws, WIRE_SOURCE_STATE, &m.base);
}

static void on_short(void *ctx)
{
    Pelton__MemoryShort m = PELTON__MEMORY_SHORT__INIT;
    stream_send(ctx, WIRE_MEMORY_SHORT, &m.base);
}

const struct feed_callbacks worker_callbacks = {.on_info = on_info,
                                                .on_format = on_format,
                                                .on_frame = on_frame_ready,
                                                .on_state = on_state,
                                                .on_short = on_short,
                                                .on_end = on_end};

void worker_send_error(struct worker_proto *w, const struct frame *f,
                       const struct pelton_failure *failure)
{
    Pelton__Error e = PELTON__ERROR__INIT;
    e.code = failure->code;
    e.message = (char *)failure->cause;
    e.hint = (char *)failure->hint;
    channel_send(&w->ch, WIRE_ERROR, f->h.request_id, f->h.object_id, &e.base, NULL, 0);
}
