/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker's side of its channel to the broker, and its life.
 *
 * The happy path is Open -> session_open or camera_open -> on_info, on_format, on_frame, on_end,
 * each sent on as one message. The failure modes are: the device cannot be opened (the stream ends
 * with the reason), a session fails (on_end carries cause and hint), and the broker is gone.
 *
 * At the end the process leaves: logs and compiled pipelines are written, the channel is closed,
 * and the kernel frees the rest. To free memory, queues and the device one by one takes a driver
 * half a second, which the user would wait for. Cameras are closed one by one, since devices
 * remember; so is everything for the validation layer, and where builds look for leaks. An alarm
 * sees to the end.
 */
#include "daemon/worker/worker_internal.h"

#include "daemon/log.h"
#include "daemon/worker/worker_sandbox.h"
#include "proto/start_trace.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { END_SECONDS = 3 };

static void on_engine_closed(struct worker_proto *w)
{
    channel_close(&w->ch);
}

static bool worker_closes(const struct worker_proto *w)
{
#ifdef PELTON_CHECKS
    return true;
#else
    return w->cameras || w->settings->engine.validation;
#endif
}

/* The broker waits for the end of the channel alone. */
static void worker_leave(const struct worker_proto *w)
{
    if (w->engine)
        engine_leave(w->engine);
    if (w->gpu)
        gpu_leave(w->gpu);
    start_trace("leaves");
    shutdown(w->settings->process.worker_fd, SHUT_RDWR);
    _exit(0);
}

static void worker_end(struct worker_proto *w)
{
    if (w->ending)
        return;
    w->ending = true;
    start_trace("shuts down");
    alarm(END_SECONDS); /* whatever a driver does meanwhile */
    if (!worker_closes(w))
        worker_leave(w);
    uv_close((uv_handle_t *)&w->totals, NULL);
    worker_close_engine(w, on_engine_closed);
}

static void worker_dispatch(struct worker_proto *w, struct frame *f, ProtobufCMessage *body)
{
    struct worker_stream *ws = w->streams;
    while (ws && ws->wid != f->h.object_id)
        ws = ws->next;
    switch (f->h.type) {
    case WIRE_OPEN:
        worker_open_stream(w, f, (const Pelton__Open *)body);
        break;
    case WIRE_PROBE:
        worker_open_stream(w, f, ((const Pelton__Probe *)body)->source);
        break;
    case WIRE_DEVICES:
        worker_answer_devices(w, f, (const Pelton__Devices *)body);
        break;
    case WIRE_STATS:
        if (ws)
            worker_send_totals(ws, f->h.request_id);
        break;
    case WIRE_CONTROLS:
        worker_answer_controls(w, ws, f, (const Pelton__Controls *)body);
        break;
    case WIRE_CORES:
        if (w->engine)
            engine_share_cores(w->engine, ((const Pelton__Cores *)body)->workers);
        break;
    case WIRE_PING:
        channel_send(&w->ch, WIRE_PONG, f->h.request_id, 0, NULL, NULL, 0);
        break;
    case WIRE_SHUTDOWN:
        worker_end(w);
        break;
    case WIRE_CLOSE:
        worker_close_stream(w, ws, f->h.object_id, (const Pelton__Close *)body);
        break;
    case WIRE_RELEASE:
        if (ws)
            worker_release_slot(ws, (const Pelton__Release *)body);
        break;
    default:
        break;
    }
}

static void on_frame(struct channel *ch, struct frame *f)
{
    struct worker_proto *w = ch->ctx;
    ProtobufCMessage *body = wire_unpack(f);
    if (!body && wire_type_body(f->h.type)) {
        log_line(LOG_LEVEL_ERROR, "no memory for a message"); /* the broker starts another worker */
        worker_end(w);
    }
    if (body && !w->ending)
        worker_dispatch(w, f, body);
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
    uint32_t sandbox = worker_sandbox_begin(settings);
    if (!w || uv_loop_init(&w->loop) < 0) {
        free(w);
        return 1;
    }
    w->settings = settings;
    w->sandbox = sandbox;
    int rc = channel_open(&w->ch, &w->loop, settings->process.worker_fd, &callbacks, w);
    if (rc == 0) {
        uv_timer_init(&w->loop, &w->totals);
        w->totals.data = w;
        worker_warm_up(w);
        uv_run(&w->loop, UV_RUN_DEFAULT);
    }
    start_trace("the engine is closed");
    gpu_close(w->gpu); /* everything on it was freed by the loop */
    start_trace("the device is closed");
    uv_loop_close(&w->loop);
    free(w);
    return rc == 0 ? 0 : 1;
}
