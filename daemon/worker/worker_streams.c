/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages of the broker to sessions and cameras: open, close, release, statistics, controls.
 *
 * The failure mode is a stream that cannot be set up. It ends at once, with the reason.
 */
#include "daemon/worker/worker_internal.h"

#include "codec/h264_sei.h"
#include "daemon/log.h"
#include "daemon/quota.h"
#include "daemon/stretch_table.h"
#include "daemon/worker/camera/v4l2.h"
#include "daemon/worker/encoding/camera_encodings.h"
#include "daemon/worker/open_address.h"
#include "proto/start_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TOTALS_MS = 1000, REST_TICKS = 10 };

/* ---- totals ---- */

void worker_send_totals(const struct worker_stream *ws, uint32_t request_id)
{
    struct pelton_stats stats = {0};
    Pelton__StatsReply m;
    if (ws->camera)
        camera_stats(ws->camera, &stats);
    else if (ws->transcoding)
        transcoding_stats(ws->transcoding, &stats);
    else
        session_stats(ws->session, &stats);
    wire_stats_from(&stats, &m);
    channel_send(&ws->worker->ch, WIRE_STATS_REPLY, request_id, ws->wid, &m.base, NULL, 0);
}

_Static_assert((int)QUOTA_SEI_BYTES == (int)H264_SEI_MAX_BYTES &&
                   (int)QUOTA_SLICES_PER_MB == (int)H264_SLICES_PER_MB,
               "the table of quotas says what step 1 enforces");

/* bytes: that were told before */
static void usage_fill(const struct encoding_usage *usage, uint64_t *bytes, uint64_t ms,
                       Pelton__EncoderUsage *out)
{
    const struct pelton_encoder_usage told = {.pictures = usage->pictures,
                                              .missed = usage->missed,
                                              .bytes = usage->bytes,
                                              .bit_rate =
                                                  ms ? (usage->bytes - *bytes) * 8000 / ms : 0,
                                              .gpu = usage->gpu};
    *bytes = usage->bytes;
    wire_encoder_from(&told, out);
}

/* Of cameras, of streams to H.264, and to JPEG */
static void usages_fill(struct worker_proto *w, Pelton__EncoderUsage out[3])
{
    struct encoding_usage usage[3] = {{0}};
    uint64_t now = uv_now(&w->loop), ms = now - w->encoded_ms;
    if (w->encodings)
        camera_encodings_usage(w->encodings, &usage[0]);
    if (w->transcodings)
        transcodings_usage(w->transcodings, &usage[1], &usage[2]);
    for (int i = 0; i < 3; i++)
        usage_fill(&usage[i], &w->encoded[i], ms, &out[i]);
    w->encoded_ms = now;
}

bool worker_send_held(struct worker_proto *w)
{
    struct pelton_stats stats = {0};
    struct quota_counts counts = {0};
    struct live_usage live = {0};
    Pelton__StatsReply m;
    Pelton__EncoderUsage usages[3];
    uint64_t sum = 0, refused[H264_LIMITS];
    if (w->engine) {
        engine_memory(w->engine, &stats);
        engine_refused(w->engine, refused);
        counts.refused[QUOTA_UNIT] = refused[H264_LIMIT_UNIT];
        counts.refused[QUOTA_NAL] = refused[H264_LIMIT_NAL];
        counts.refused[QUOTA_SEI] = refused[H264_LIMIT_SEI];
        counts.refused[QUOTA_PICTURE] = refused[H264_LIMIT_PICTURE];
        counts.refused[QUOTA_SLICES] = refused[H264_LIMIT_SLICES];
        engine_live(w->engine, &live);
        counts.refused[QUOTA_KEPT] = live.refused;
    }
    counts.refused[QUOTA_LOG_LINES] = log_left_out();
    for (int i = 0; i < PELTON_MEMORY_MOST; i++)
        sum += stats.worker_gpu[i] + stats.worker_host[i];
    wire_stats_from(&stats, &m);
    m.refused = counts.refused;
    m.n_refused = QUOTAS;
    m.sandbox = w->sandbox;
    m.kept_units = live.most;
    usages_fill(w, usages);
    m.encoder = &usages[0];
    m.transcoder = &usages[1];
    m.jpegs = &usages[2];
    channel_send(&w->ch, WIRE_STATS_REPLY, 0, 0, &m.base, NULL, 0);
    bool same = sum == w->memory_sent;
    w->memory_sent = sum;
    return same;
}

/* The broker has them at hand for whoever asks about all streams, and after this process has died.
 * After the last stream they go on until memory has been given back. */
static void on_totals(uv_timer_t *timer)
{
    struct worker_proto *w = timer->data;
    for (const struct worker_stream *ws = w->streams; ws; ws = ws->next)
        if (!ws->probe)
            worker_send_totals(ws, 0);
    bool rests = worker_send_held(w) && !w->streams;
    w->rests = rests ? w->rests + 1 : 0;
    if (w->rests > w->settings->debug.idle_ms / TOTALS_MS + REST_TICKS)
        uv_timer_stop(timer);
}

static void totals_start(struct worker_proto *w)
{
    w->rests = 0;
    if (!uv_is_active((uv_handle_t *)&w->totals))
        uv_timer_start(&w->totals, on_totals, TOTALS_MS, TOTALS_MS);
}

/* ---- open and close ---- */

static int camera_start_reader(struct worker_stream *ws, const Pelton__Open *m,
                               const struct pelton_open_params *p, struct pelton_failure *failure)
{
    struct camera_kept kept = {.n = (uint32_t)m->n_controls};
    int rc = wire_controls_to(m->controls, m->n_controls, kept.list);
    if (rc == 0 && p->bench.transport == PELTON_DEVICE) {
        *failure = (struct pelton_failure){PELTON_ERR_USAGE, "",
                                           "read its frames in host memory (PELTON_SHM)"};
        snprintf(failure->cause, sizeof(failure->cause),
                 "%.120s: a raw camera gives no frames in device memory", m->name);
        return failure->code;
    }
    const struct camera_extra extra = {
        .kept = &kept, .resume_sequence = m->resume_sequence, .probe_only = ws->probe};
    rc = rc ? rc : worker_need_cameras(ws->worker, failure);
    return rc ? rc
              : camera_open(ws->worker->cameras, p, &extra, &worker_callbacks, ws, &ws->camera,
                            failure);
}

/* Bytes as they came show what rectangles hide. */
static int refuse_bytes(const char *name, struct pelton_failure *failure)
{
    *failure = (struct pelton_failure){PELTON_ERR_PERMISSION, "",
                                       "read its frames, in which they are blurred"};
    snprintf(failure->cause, sizeof(failure->cause),
             "%.120s: rectangles of this source are blurred, and its encoded bytes would show them",
             name);
    return failure->code;
}

/* Frames of cameras are encoded to H.264 as the configuration says. */
static int transcoding_start(struct worker_stream *ws, const Pelton__Open *m,
                             const struct pelton_open_params *p, bool camera,
                             struct pelton_failure *failure)
{
    struct camera_kept kept = {.n = (uint32_t)m->n_controls};
    struct frame_wish wish = {
        .session = {.resume_sequence = m->resume_sequence, .shared = m->shared},
        .camera = {.kept = &kept, .resume_sequence = m->resume_sequence}};
    int rc = wire_controls_to(m->controls, m->n_controls, kept.list);
    if (camera && p->encode.codec != PELTON_CODEC_MJPEG) {
        *failure = (struct pelton_failure){.code = PELTON_ERR_UNSUPPORTED};
        snprintf(failure->cause, sizeof(failure->cause),
                 "%.120s: a camera's frames are encoded as the configuration says", m->name);
        return failure->code;
    }
    rc = rc ? rc : worker_need_transcodings(ws->worker, failure);
    rc = rc || !camera ? rc : worker_need_cameras(ws->worker, failure);
    wish.cameras = camera ? ws->worker->cameras : NULL;
    return rc ? rc
              : transcoding_open(ws->worker->transcodings, p, &wish, &worker_callbacks, ws,
                                 &ws->transcoding, failure);
}

static int session_start(struct worker_stream *ws, const Pelton__Open *m,
                         struct pelton_open_params *p, const struct wire_stretch *stretch,
                         bool encodes, struct pelton_failure *failure)
{
    struct session_extra extra = {.stretch = *stretch,
                                  .table = ws->table,
                                  .join_bytes = ws->worker->settings->debug.share_kib << 10,
                                  .resume_sequence = m->resume_sequence,
                                  .probe_only = ws->probe,
                                  .shared = m->shared,
                                  .user = {m->reader, ws->wid}};
    int rc = encodes ? worker_need_cameras(ws->worker, failure) : 0;
    if (rc == 0 && p->encoded && p->n_blur && !encodes && !ws->probe)
        rc = refuse_bytes(m->name, failure);
    extra.encodings = encodes ? ws->worker->encodings : NULL;
    if (rc == 0)
        rc = session_open(ws->worker->engine, p, &extra, &worker_callbacks, ws, &ws->session);
    if (rc == 0)
        ws->table = NULL; /* the session's */
    return rc;
}

static int stream_start(struct worker_stream *ws, const Pelton__Open *m, int fd,
                        struct pelton_failure *failure)
{
    struct worker_proto *w = ws->worker;
    struct pelton_open_params p;
    struct wire_stretch stretch;
    int rc = wire_open_to(m, &p, &stretch);
    char *address = rc == 0 && p.uri ? open_address(m) : NULL;
    if (rc == 0 && p.uri && !address)
        rc = PELTON_ERR_USAGE;
    p.uri = address;
    if (rc == 0)
        rc = worker_need_engine(w, failure);
    bool samples = rc == 0 && camera_address(p.uri) && !v4l2_stream_wanted(p.uri),
         encodes = samples && p.encoded && !ws->probe;
    p.fd = rc == 0 ? fd : -1;
    if (rc == 0 && p.encode.wanted && !ws->probe)
        rc = transcoding_start(ws, m, &p, samples, failure);
    else if (samples && !encodes)
        rc = camera_start_reader(ws, m, &p, failure);
    else if (rc == 0)
        rc = session_start(ws, m, &p, &stretch, encodes, failure);
    free(address);
    if (rc < 0 && fd >= 0)
        close(fd); /* the session's only where it was opened */
    return rc;
}

/* Which stretches of a shared file are this stream's. Without it they would be every n-th. */
static int table_take(struct worker_stream *ws, struct frame *f, struct pelton_failure *failure)
{
    int fd = frame_take_fd(f, 1);
    if (fd < 0)
        return 0;
    ws->table = stretch_table_map(fd);
    close(fd);
    if (ws->table)
        return 0;
    failure->code = PELTON_ERR_NOMEM;
    wire_copy(failure->cause, sizeof(failure->cause),
              "the table of a shared file cannot be mapped");
    return failure->code;
}

void worker_open_stream(struct worker_proto *w, struct frame *f, const Pelton__Open *m)
{
    struct worker_stream *ws = calloc(1, sizeof(*ws)),
                         refused = {.worker = w, .wid = f->h.object_id};
    struct pelton_failure failure = {.code = PELTON_ERR_NOMEM, .cause = "out of memory"};
    if (!ws) {
        worker_send_end(&refused, &failure, NULL);
        return;
    }
    START_TRACE_FIRST("first stream is asked for");
    ws->worker = w;
    ws->wid = f->h.object_id;
    ws->probe = f->h.type == WIRE_PROBE;
    ws->next = w->streams;
    w->streams = ws;
    failure = (struct pelton_failure){0};
    int rc = table_take(ws, f, &failure);
    if (rc == 0)
        rc = stream_start(ws, m, frame_take_fd(f, 0), &failure);
    if (rc < 0) {
        if (!failure.code) {
            failure.code = rc;
            snprintf(failure.cause, sizeof(failure.cause), "%.120s: the stream cannot be set up",
                     m->name);
        }
        worker_send_end(ws, &failure, NULL);
        worker_stream_free(ws);
    } else {
        totals_start(w);
    }
}

void worker_close_stream(struct worker_proto *w, struct worker_stream *ws, uint32_t wid,
                         const Pelton__Close *m)
{
    if (ws && ws->camera)
        camera_close(ws->camera);
    else if (ws && ws->transcoding)
        transcoding_close(ws->transcoding);
    else if (ws)
        session_close(ws->session);
    if (w->engine)
        engine_pools_returned(w->engine, wid, m->returned);
}

void worker_release_slot(struct worker_stream *ws, const Pelton__Release *m)
{
    if (ws->camera)
        camera_release(ws->camera, m->epoch, m->slot, m->generation);
    else if (ws->transcoding)
        transcoding_release(ws->transcoding, m->epoch, m->slot, m->generation);
    else
        session_release(ws->session, m->epoch, m->slot, m->generation);
}

void worker_answer_controls(struct worker_proto *w, const struct worker_stream *ws,
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
    worker_send_error(w, f, &failure);
}
