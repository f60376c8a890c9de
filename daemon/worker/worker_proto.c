/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages of the broker to calls of session.h, and back.
 *
 * The happy path is Open -> session_open -> on_info, on_format, on_frame…, on_end, each sent on as
 * one message. The failure modes are: the engine cannot be created (the stream ends with the reason
 * and the device's log line), the session fails (on_end carries cause and hint, which go on
 * unchanged), the broker is gone (everything is closed, then the process ends; an alarm sees to
 * it). The end is the engine closed, which has all sessions ended, and the channel closed.
 */
#include "daemon/worker/worker_proto.h"

#include "daemon/worker/camera/camera_host.h"
#include "daemon/worker/camera/v4l2.h"
#include "daemon/channel.h"
#include "daemon/log.h"
#include "daemon/worker/session.h"
#include "proto/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { END_SECONDS = 3, TOTALS_MS = 1000 };

struct worker_stream {
    struct worker_stream *next;
    struct worker_proto *worker;
    uint32_t wid;
    bool probe;
    struct session *session;      /* either */
    struct camera_reader *camera; /* or */
};

struct worker_proto {
    uv_loop_t loop;
    const struct settings *settings;
    struct channel ch;
    const char *device;    /* the one of this process, once it was looked for; NULL: the default */
    unsigned threads;      /* of the engine */
    char uuid[64];         /* where device is one of all */
    struct engine *engine; /* NULL: not needed yet */
    struct camera_host *cameras; /* NULL: none was asked for yet */
    struct worker_stream *streams;
    uv_timer_t totals; /* runs while there are streams */
    bool ending;
    char complaint[256]; /* the engine's last error line */
};

/* ---- session to broker ---- */

static void send_on(struct worker_stream *ws, unsigned type, const ProtobufCMessage *body)
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
    send_on(ws, WIRE_PROBE_REPLY, &m.base);
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
        send_on(ws, WIRE_OPEN_REPLY, &m.base);
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
    uint8_t *side = f->side ? wire_side_pack(f->side, &m.side_data.len) : NULL;
    m.side_data.data = side;
    m.side_data.len = side ? m.side_data.len : 0;
    Pelton__Camera camera;
    if (f->camera) {
        wire_camera_from(f->camera, &camera);
        m.camera = &camera;
    }
    send_on(ctx, WIRE_FRAME_READY, &m.base);
    free(side);
}

static void send_end(struct worker_stream *ws, const struct pelton_failure *failure,
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
    send_on(ws, WIRE_EOS, &m.base);
}

static void stream_free(struct worker_stream *ws)
{
    struct worker_stream **link = &ws->worker->streams;
    while (*link != ws)
        link = &(*link)->next;
    *link = ws->next;
    free(ws);
}

static void on_end(void *ctx, const struct pelton_failure *failure,
                   const struct pelton_stats *stats)
{
    send_end(ctx, failure, stats);
    stream_free(ctx);
}

static void on_state(void *ctx, bool running, const char *cause)
{
    struct worker_stream *ws = ctx;
    Pelton__SourceState m = PELTON__SOURCE_STATE__INIT;
    m.state =
        running ? PELTON__SOURCE_STATE__STATE__RUNNING : PELTON__SOURCE_STATE__STATE__RESTARTING;
    m.cause = (char *)cause;
    log_line(LOG_LEVEL_WARNING, "camera: %s", running ? "opened again" : cause);
    send_on(ws, WIRE_SOURCE_STATE, &m.base);
}

static const struct feed_callbacks session_callbacks = {.on_info = on_info,
                                                        .on_format = on_format,
                                                        .on_frame = on_frame_ready,
                                                        .on_state = on_state,
                                                        .on_end = on_end};

/* ---- the engine ---- */

static void engine_log(void *ctx, int level, const char *line)
{
    struct worker_proto *w = ctx;
    if (level == LOG_LEVEL_ERROR)
        wire_copy(w->complaint, sizeof(w->complaint), line);
    log_line(level, "%s", line);
}

static void device_message(const struct gpu_device_info *in, Pelton__Device *out)
{
    pelton__device__init(out);
    out->name = (char *)in->name;
    out->uuid = (char *)in->uuid;
    out->driver = (char *)in->driver;
    out->software = in->software;
    out->usable = in->usable;
    out->missing = (char *)in->missing;
}

static void send_current_device(struct worker_proto *w, uint32_t request_id)
{
    Pelton__DevicesReply m = PELTON__DEVICES_REPLY__INIT;
    Pelton__Device device, *list[] = {&device};
    device_message(engine_device(w->engine), &device);
    device.entropy_pictures = engine_entropy_pictures(w->engine);
    m.n_devices = 1;
    m.devices = list;
    channel_send(&w->ch, WIRE_DEVICES_REPLY, request_id, 0, &m.base, NULL, 0);
}

/* For "all" the first usable GPU, with its share of the cores: the broker starts a worker for each
 * of the others, by its UUID. On a machine without any, what auto takes. */
static void device_find(struct worker_proto *w)
{
    struct gpu_device_info *infos = NULL;
    size_t count = 0;
    unsigned n = 0;
    w->device = w->settings->engine.device;
    w->threads = (unsigned)w->settings->engine.threads;
    if (!w->device || strcmp(w->device, "all") != 0)
        return;
    w->device = NULL;
    if (gpu_list(&infos, &count) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (infos[i].usable && !infos[i].software && n++ == 0) {
            wire_copy(w->uuid, sizeof(w->uuid), infos[i].uuid);
            w->device = w->uuid;
        }
    }
    free(infos);
    if (n > 1)
        w->threads = ((w->threads ? w->threads : uv_available_parallelism()) + n - 1) / n;
}

static int engine_need(struct worker_proto *w, struct pelton_failure *failure)
{
    const struct settings *o = w->settings;
    if (w->engine)
        return PELTON_OK;
    device_find(w);
    const struct engine_params params = {
        .device = w->device,
        .threads = w->threads,
        .lookahead = (unsigned)o->engine.lookahead,
        .batch = (unsigned)o->debug.batch,
        .arena = (uint8_t)o->debug.arena,
        .wavefront = (uint8_t)o->debug.wavefront,
        .entropy = (enum engine_entropy)o->engine.entropy,
        .entropy_memory = o->engine.entropy_memory << 20,
        .cpu_motion = !o->engine.gpu_motion,
        .let_clocks_fall = !o->engine.live_clocks,
        .no_tune = !o->engine.tune,
        .tune_force = o->debug.tune_force,
        .shuffle_seed = o->debug.shuffle_seed,
        .validation = o->engine.validation,
        .timestamps = o->engine.timestamps,
        .gpu_debug = o->engine.gpu_debug,
        .log = engine_log,
        .log_ctx = w,
    };
    w->complaint[0] = 0;
    int rc = engine_create(&w->loop, &params, &w->engine);
    if (rc < 0) {
        failure->code = rc;
        wire_copy(failure->cause, sizeof(failure->cause),
                  w->complaint[0] ? w->complaint : "the decoder cannot be set up");
        wire_copy(failure->hint, sizeof(failure->hint),
                  rc == PELTON_ERR_NO_DEVICE ? "run pelton doctor, or use --device cpu" : "");
        return rc;
    }
    send_current_device(w, 0);
    return PELTON_OK;
}

static int cameras_need(struct worker_proto *w, struct pelton_failure *failure)
{
    const struct camera_host_params params = {
        .device = w->device,
        .validation = w->settings->engine.validation,
        .gpu_debug = w->settings->engine.gpu_debug,
        .log = engine_log,
        .log_ctx = w,
    };
    if (w->cameras)
        return PELTON_OK;
    int rc = camera_host_create(&w->loop, &params, &w->cameras);
    if (rc < 0) {
        failure->code = rc;
        wire_copy(failure->cause, sizeof(failure->cause),
                  w->complaint[0] ? w->complaint : "frames of cameras cannot be developed here");
    }
    return rc;
}

/* ---- broker to session ---- */

static int session_start(struct worker_stream *ws, const Pelton__Open *m, int fd,
                         struct pelton_failure *failure)
{
    struct worker_proto *w = ws->worker;
    struct pelton_open_params p;
    struct wire_stretch stretch;
    int rc = wire_open_to(m, &p, &stretch);
    if (rc == 0)
        rc = engine_need(w, failure);
    if (rc == 0 && camera_address(p.uri) && !v4l2_stream_wanted(p.uri)) {
        rc = cameras_need(w, failure);
        if (rc == 0) {
            rc = camera_open(w->cameras, w->engine, &p, m->resume_sequence, ws->probe,
                             &session_callbacks, ws, &ws->camera, failure);
        }
    } else if (rc == 0) {
        p.fd = fd;
        rc = session_open(w->engine, &p, stretch, m->resume_sequence, ws->probe, &session_callbacks,
                          ws, &ws->session);
    }
    if (rc < 0 && fd >= 0)
        close(fd); /* the session's only where it was opened */
    return rc;
}

/* ---- totals ---- */

static void send_totals(const struct worker_stream *ws, uint32_t request_id)
{
    struct pelton_stats stats = {0};
    Pelton__StatsReply m;
    if (ws->camera)
        camera_stats(ws->camera, &stats);
    else
        session_stats(ws->session, &stats);
    wire_stats_from(&stats, &m);
    channel_send(&ws->worker->ch, WIRE_STATS_REPLY, request_id, ws->wid, &m.base, NULL, 0);
}

/* The broker has them at hand for whoever asks about all streams, and after this process has died.
 */
static void on_totals(uv_timer_t *timer)
{
    struct worker_proto *w = timer->data;
    for (const struct worker_stream *ws = w->streams; ws; ws = ws->next)
        if (!ws->probe)
            send_totals(ws, 0);
    if (!w->streams)
        uv_timer_stop(timer);
}

static void totals_start(struct worker_proto *w)
{
    if (!uv_is_active((uv_handle_t *)&w->totals))
        uv_timer_start(&w->totals, on_totals, TOTALS_MS, TOTALS_MS);
}

static void on_open(struct worker_proto *w, struct frame *f, const Pelton__Open *m)
{
    struct worker_stream *ws = calloc(1, sizeof(*ws));
    if (!ws) {
        log_line(LOG_LEVEL_ERROR, "out of memory");
        abort(); /* the broker starts another one */
    }
    ws->worker = w;
    ws->wid = f->h.object_id;
    ws->probe = f->h.type == WIRE_PROBE;
    ws->next = w->streams;
    w->streams = ws;
    struct pelton_failure failure = {0};
    int rc = session_start(ws, m, frame_take_fd(f, 0), &failure);
    if (rc < 0) {
        if (!failure.code) {
            failure.code = rc;
            snprintf(failure.cause, sizeof(failure.cause), "%.120s: the stream cannot be set up",
                     m->name);
        }
        send_end(ws, &failure, NULL);
        stream_free(ws);
    } else {
        totals_start(w);
    }
}

static void on_devices(struct worker_proto *w, const struct frame *f, const Pelton__Devices *m)
{
    struct pelton_failure failure = {0};
    if (m->current) {
        if (engine_need(w, &failure) == 0) {
            send_current_device(w, f->h.request_id);
            return;
        }
        Pelton__Error e = PELTON__ERROR__INIT;
        e.code = failure.code;
        e.message = failure.cause;
        e.hint = failure.hint;
        channel_send(&w->ch, WIRE_ERROR, f->h.request_id, 0, &e.base, NULL, 0);
        return;
    }
    struct gpu_device_info *devices = NULL;
    size_t count = 0;
    if (gpu_list(&devices, &count) < 0)
        count = 0; /* no loader, no driver: no devices */
    Pelton__DevicesReply reply = PELTON__DEVICES_REPLY__INIT;
    Pelton__Device bodies[32], *list[32];
    reply.devices = list;
    reply.current = -1;
    for (; reply.n_devices < count && reply.n_devices < 32; reply.n_devices++) {
        size_t i = reply.n_devices;
        device_message(&devices[i], &bodies[i]);
        list[i] = &bodies[i];
        if (w->engine && strcmp(devices[i].uuid, engine_device(w->engine)->uuid) == 0)
            reply.current = (int32_t)i;
    }
    channel_send(&w->ch, WIRE_DEVICES_REPLY, f->h.request_id, 0, &reply.base, NULL, 0);
    free(devices);
}

static void on_controls(struct worker_proto *w, const struct worker_stream *ws,
                        const struct frame *f, const Pelton__Controls *m)
{
    struct pelton_failure failure = {PELTON_ERR_USAGE, "no camera", ""};
    struct pelton_control set[CAMERA_CONTROLS], out[CAMERA_CONTROLS];
    uint32_t n = 0;
    if (ws && ws->camera && wire_controls_to(m->set, m->n_set, set) == 0 &&
        camera_controls(ws->camera, set, (uint32_t)m->n_set, out, &n, &failure) == 0) {
        Pelton__ControlsReply reply = PELTON__CONTROLS_REPLY__INIT;
        struct wire_controls controls;
        wire_controls_from(out, n, &controls);
        reply.n_controls = n;
        reply.controls = controls.list;
        channel_send(&w->ch, WIRE_CONTROLS_REPLY, f->h.request_id, f->h.object_id, &reply.base,
                     NULL, 0);
        return;
    }
    Pelton__Error e = PELTON__ERROR__INIT;
    e.code = failure.code;
    e.message = failure.cause;
    e.hint = failure.hint;
    channel_send(&w->ch, WIRE_ERROR, f->h.request_id, f->h.object_id, &e.base, NULL, 0);
}

static void on_engine_closed(void *ctx)
{
    struct worker_proto *w = ctx;
    channel_close(&w->ch);
}

static void engine_end(struct worker_proto *w)
{
    if (w->engine)
        engine_close(w->engine, on_engine_closed, w);
    else
        channel_close(&w->ch);
}

/* The engine decodes the clips of simulated sensors, so it goes last. */
static void on_cameras_closed(void *ctx)
{
    struct worker_proto *w = ctx;
    w->cameras = NULL;
    engine_end(w);
}

static void worker_end(struct worker_proto *w)
{
    if (w->ending)
        return;
    w->ending = true;
    uv_close((uv_handle_t *)&w->totals, NULL);
    alarm(END_SECONDS); /* whatever a driver does meanwhile */
    if (w->cameras)
        camera_host_close(w->cameras, on_cameras_closed, w);
    else
        engine_end(w);
}

static void dispatch(struct worker_proto *w, struct frame *f, ProtobufCMessage *body)
{
    struct worker_stream *ws = w->streams;
    while (ws && ws->wid != f->h.object_id)
        ws = ws->next;
    const Pelton__Release *release = (const Pelton__Release *)body;
    switch (f->h.type) {
    case WIRE_OPEN:
        on_open(w, f, (const Pelton__Open *)body);
        break;
    case WIRE_PROBE:
        on_open(w, f, ((const Pelton__Probe *)body)->source);
        break;
    case WIRE_DEVICES:
        on_devices(w, f, (const Pelton__Devices *)body);
        break;
    case WIRE_STATS:
        if (ws)
            send_totals(ws, f->h.request_id);
        break;
    case WIRE_CONTROLS:
        on_controls(w, ws, f, (const Pelton__Controls *)body);
        break;
    case WIRE_PING:
        channel_send(&w->ch, WIRE_PONG, f->h.request_id, 0, NULL, NULL, 0);
        break;
    case WIRE_SHUTDOWN:
        worker_end(w);
        break;
    case WIRE_CLOSE:
        if (ws && ws->camera)
            camera_close(ws->camera);
        else if (ws)
            session_close(ws->session);
        break;
    case WIRE_RELEASE:
        if (ws && ws->camera)
            camera_release(ws->camera, release->epoch, release->slot, release->generation);
        else if (ws)
            session_release(ws->session, release->epoch, release->slot, release->generation);
        break;
    default:
        break;
    }
}

static void on_frame(struct channel *ch, struct frame *f)
{
    struct worker_proto *w = ch->ctx;
    ProtobufCMessage *body = wire_unpack(f);
    if (body && !w->ending)
        dispatch(w, f, body);
    wire_free(body);
}

static void on_lost(struct channel *ch, int error)
{
    worker_end(ch->ctx);
}

static void on_closed(struct channel *ch)
{
}

int worker_run(const struct settings *settings)
{
    static const struct channel_callbacks callbacks = {on_frame, on_lost, on_closed};
    struct worker_proto *w = calloc(1, sizeof(*w));
    if (!w || uv_loop_init(&w->loop) < 0) {
        free(w);
        return 1;
    }
    w->settings = settings;
    int rc = channel_open(&w->ch, &w->loop, settings->process.worker_fd, &callbacks, w);
    if (rc == 0) {
        uv_timer_init(&w->loop, &w->totals);
        w->totals.data = w;
        uv_run(&w->loop, UV_RUN_DEFAULT);
    }
    uv_loop_close(&w->loop);
    free(w);
    return rc == 0 ? 0 : 1;
}
