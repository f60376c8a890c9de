/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stream thread of a session: packets in, step 1, pictures into the look-ahead window, frames
 * into the output queue.
 *
 * The happy path is open, then read - feed - drain until the end of the source, flush, end. It
 * waits in one place, stream_wait_for_room, until the window has room: that is how back-pressure
 * reaches the source. The failure modes are those of file_source.h, an unsupported syntax element
 * (pictures before it are still decoded and delivered), and stop at any moment.
 */
#include "camera/camera_params.h"
#include "codec/parameter_sets.h"
#include "codec/h264_stream.h"
#include "daemon/worker/feed/outputs.h"
#include "daemon/worker/source/byte_stream.h"
#include "daemon/worker/source/live_units.h"
#include "daemon/worker/source/stream_internal.h"
#include "daemon/worker/source/thread_frames.h"
#include "proto/start_trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* access units after which information is given even though no slice was seen */
#define INFO_UNITS 300

static void stream_warn(struct stream *st, enum pelton_warnings warning)
{
    engine_lock(st->engine);
    st->session->stats.warnings |= warning;
    engine_unlock(st->engine);
}

/* Of the last sequence parameter set. Its pictures are as they should be. */
static void warn_of_vui(struct stream *st)
{
    const struct h264_sps *sps = st->codec ? h264_stream_sps(st->codec) : NULL;
    if (sps && sps->vui_broken)
        stream_warn(st, PELTON_WARN_VUI);
}

/* ---- input ---- */

/* With params.realtime packets are taken at the rate of their decoding times. A live source has its
 * own. */
static void pace(struct stream *st, const AVPacket *packet)
{
    struct session *s = st->session;
    int64_t ts = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
    if (!s->params.realtime || st->source.live)
        return;
    int64_t us = ts != AV_NOPTS_VALUE ? av_rescale_q(ts + st->loop_offset,
                                                     st->source.stream->time_base, AV_TIME_BASE_Q)
                                      : av_rescale_q(st->tag * st->times.default_duration,
                                                     st->source.stream->time_base, AV_TIME_BASE_Q);
    if (st->pace_start_ns == 0) {
        st->pace_start_ns = now_ns();
        st->pace_start_us = us;
    }
    int64_t due = st->pace_start_ns + (us - st->pace_start_us) * 1000;
    engine_lock(st->engine);
    for (int64_t left = due - now_ns(); left > 0 && !stream_stopped(st); left = due - now_ns())
        uv_cond_timedwait(&s->room, &st->engine->lock, (uint64_t)left);
    engine_unlock(st->engine);
}

/* Answers a negative result of step 1. */
static void feed_failed(struct stream *st, int error)
{
    char cause[256];
    if (error == H264_ERR_UNSUPPORTED) {
        stream_stop_unsupported(st);
        return;
    }
    if (error == H264_ERR_NOMEM) {
        stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
        return;
    }
    if (st->session->params.on_error == PELTON_ON_ERROR_FAIL && !st->session->probe_only) {
        snprintf(cause, sizeof(cause), "%.100s: damaged stream: %.50s %lld: %.60s",
                 st->session->name, st->diag.element ? st->diag.element : "data",
                 (long long)st->diag.value, st->diag.what ? st->diag.what : h264_error_text(error));
        stream_report_failure(st, PELTON_ERR_DECODE, cause,
                              "--on-error show or drop goes on after damage");
    }
}

static void feed(struct stream *st)
{
    struct session *s = st->session;
    int err = stream_parse(st);
    if (err == H264_ERR_NOMEM || (err < 0 && !stream_gives_units(st)))
        feed_failed(st, err);
    bool too_large = stream_count_refused(st);
    if (stream_gives_units(st))
        units_feed(st, too_large);
    else if (st->selection.active)
        selection_packet(st);
    else if (!too_large)
        stream_lavc_feed(st, st->packet, st->tag);
    struct h264_stats stats;
    h264_stream_stats(st->codec, &stats);
    if (!st->failed && (stats.slices || st->tag > INFO_UNITS) &&
        (!s->probe_only || stream_probed(st)))
        stream_give_info(st, true, "", "");
}

static bool next_loop(struct stream *st)
{
    const struct session *s = st->session;
    if (!s->params.loop || st->enough || st->failed || st->pictures == 0)
        return false;
    if (!st->frames && !stream_gives_units(st))
        return false; /* the range has none, and no pass would have one */
    if (s->params.loops && ++st->loops >= s->params.loops)
        return false;
    if (source_rewind(&st->source)) {
        stream_report_failure(st, PELTON_ERR_INPUT, "the input cannot be read again from its start",
                              "loop needs a file, not a pipe");
        return false;
    }
    if (st->loop_begin != TIMESTAMPS_NONE)
        st->loop_offset += st->loop_end - st->loop_begin;
    st->discontinuity = true;
    stretch_restart(&st->stretch);
    return stream_open_codec(st) == 0;
}

static int64_t range_end(const struct stream *st, int64_t from_us)
{
    int64_t duration = st->session->params.duration_us;
    return duration > 0 && from_us <= INT64_MAX / 2 && duration <= INT64_MAX / 2
               ? av_rescale_q(from_us + duration, AV_TIME_BASE_Q, st->source.stream->time_base)
               : TIMESTAMPS_NONE;
}

/* A live source is read from the first packet on that is to be shown. */
static void live_range(struct stream *st)
{
    const AVPacket *p = st->packet;
    int64_t ts = p->pts != AV_NOPTS_VALUE ? p->pts : p->dts;
    if (!st->source.live || st->source.began || p->flags & AV_PKT_FLAG_DISCARD ||
        ts == AV_NOPTS_VALUE)
        return;
    st->source.began = true;
    st->end_pts = range_end(st, av_rescale_q(ts, st->source.stream->time_base, AV_TIME_BASE_Q));
}

static void set_range(struct stream *st)
{
    const struct session *s = st->session;
    const AVStream *av = st->source.stream;
    int64_t start_us = s->params.start_us > 0 ? s->params.start_us : 0;
    int64_t origin =
        st->source.format->start_time == AV_NOPTS_VALUE ? 0 : st->source.format->start_time;
    st->start_pts = st->end_pts = TIMESTAMPS_NONE;
    if (st->source.live)
        return;
    if (start_us) {
        st->start_pts = av_rescale_q(start_us + origin, AV_TIME_BASE_Q, av->time_base);
        /* where the input cannot seek, frames before the point are decoded and left out */
        source_seek(&st->source, start_us);
    }
    if (start_us <= INT64_MAX / 2)
        st->end_pts = range_end(st, start_us + origin);
}

/* A cause begins with the name of the input and a colon. */
static const char *cause_without_name(const struct stream *st, const struct pelton_failure *failure)
{
    size_t length = strlen(st->session->name);
    return failure->cause + (length < 120 ? length + 2 : 0);
}

static bool wants_more(struct stream *st)
{
    return !stream_stopped(st) && !st->enough && !st->failed &&
           !(st->session->probe_only && st->session->sub.info_ready);
}

/* The source was stopped by that, not by its reader. */
static bool store_failed(struct stream *st)
{
    engine_lock(st->engine);
    bool failed = st->session->store_error != 0;
    engine_unlock(st->engine);
    return failed;
}

/* At the end of the file: frames that are wanted lie before it. */
static bool goes_back(struct stream *st)
{
    const struct chosen *c = &st->selection.chosen;
    char cause[256];
    if (!chosen_remains(c) || st->failed || !c->index->frames)
        return false;
    if (c->jumped != c->next && chosen_jump(c, st->sequence))
        return true;
    snprintf(cause, sizeof(cause), "%.120s: the file ends before frame %llu", st->session->name,
             (unsigned long long)c->list[c->next]);
    stream_report_failure(st, PELTON_ERR_INPUT, cause, "it may have been changed meanwhile");
    return false;
}

static void run(struct stream *st)
{
    struct pelton_failure failure = {0};
    while (wants_more(st) && stream_jump(st) && wants_more(st)) {
        stream_wait_for_room(st);
        int got = stream_stopped(st) ? 0 : stream_next_packet(st, &failure);
        if (got > 0) {
            START_TRACE_FIRST("first access unit is read");
            pace(st, st->packet);
            live_range(st);
            feed(st);
            av_packet_unref(st->packet);
            continue;
        }
        if (stream_stopped(st))
            break;
        START_TRACE_FIRST("last access unit was read");
        stream_flush(st);
        warn_of_vui(st);
        if (got < 0 && st->source.cut && st->session->params.on_error != PELTON_ON_ERROR_FAIL) {
            stream_warn(st, PELTON_WARN_TRUNCATED);
            got = 0;
        }
        if (got < 0 && failure.code == PELTON_ERR_UNSUPPORTED)
            stream_give_info(st, false, "codec", cause_without_name(st, &failure));
        if (got < 0)
            stream_report_failure(st, failure.code, failure.cause, failure.hint);
        else if (!next_loop(st) && !goes_back(st))
            return;
    }
    if (st->enough && st->lavc && st->session->lavc)
        lavc_flush(st->lavc); /* its threads have the last frames still */
    /* what came before is still wanted, and the other views of what was given out */
    if ((st->failed || store_failed(st) || st->session->params.views == PELTON_VIEWS_BOTH) &&
        st->codec)
        stream_flush(st);
}

/* ---- life ---- */

static void on_source_state(void *ctx, bool running, const char *cause)
{
    struct stream *st = ctx;
    engine_lock(st->engine);
    /* without memory it is told at the next change */
    subscription_post_state(&st->session->sub, running, cause);
    engine_unlock(st->engine);
    engine_notify(st->engine);
}

/* What a reader of a live source cannot wish. */
static bool wants_own_place(const struct session *s)
{
    const struct pelton_open_params *p = &s->params;
    return p->loop || p->start_us > 0 || p->n_wanted || p->n_wanted_us || s->stretch.count > 1;
}

static int source_begin(struct stream *st, struct pelton_failure *failure)
{
    struct session *s = st->session;
    struct live_wish wish = {.uri = s->uri,
                             .video = s->params.video,
                             .lossless = s->params.policy == PELTON_LOSSLESS,
                             .encodings = s->encodings,
                             .params = &s->params};
    st->watcher = (struct source_watcher){on_source_state, st};
    if (s->uri && (camera_address(s->uri) || (s->shared && !wants_own_place(s))))
        return source_live_open(&st->source, st->engine->live, &wish,
                                !wish.lossless && !stream_gives_units(st), s->name, &s->stop,
                                &st->watcher, failure);
    return source_open(&st->source, s->uri, s->fd, s->name, s->params.video, &s->stop, failure);
}

static int stream_open(struct stream *st)
{
    struct session *s = st->session;
    struct pixels pixels;
    struct pelton_failure failure = {0};
    if (s->pix_fmt && !s->params.any_pix_fmt && !pixels_by_name(s->pix_fmt, &pixels) &&
        !output_is_rgb(s->pix_fmt)) {
        char cause[128];
        snprintf(cause, sizeof(cause), "pixel format %.40s is not supported", s->pix_fmt);
        stream_report_failure(
            st, PELTON_ERR_USAGE, cause,
            "rgb24, bgr24, rgba, bgra, gray, nv12 of 8-bit 4:2:0, and the stream's own");
        return -1;
    }
    int err = source_begin(st, &failure);
    st->source_opened = true;
    START_TRACE_FIRST("first source is open");
    if (st->source.live)
        st->sequence = s->resume_sequence; /* a camera does not begin again: the numbers go on */
    if (st->source.stream)
        source_info(&st->source, &st->info);
    if (err == PELTON_ERR_UNSUPPORTED)
        stream_give_info(st, false, "codec", cause_without_name(st, &failure));
    if (err && !(err == PELTON_ERR_UNSUPPORTED && s->probe_only)) {
        stream_report_failure(st, failure.code, failure.cause, failure.hint);
        return -1;
    }
    if (err)
        return -1;
    st->packet = av_packet_alloc();
    if (!st->packet) {
        stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
        return -1;
    }
    engine_lock(st->engine);
    source_colour(&st->source, &s->container_colour, &s->has_container_colour);
    s->container_sar = (struct pelton_rational){st->source.stream->sample_aspect_ratio.num,
                                                st->source.stream->sample_aspect_ratio.den};
    s->orientation = st->info.orientation;
    s->sub.info = st->info; /* formats need the time base */
    window_set_live(&s->window, s->params.realtime || st->source.size < 0);
    s->account->small = s->window.live;
    engine_unlock(st->engine);
    set_range(st);
    if (!s->probe_only && chosen_open(&st->selection.chosen, &s->params)) {
        stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
        return -1;
    }
    if (st->selection.chosen.active)
        st->selection.chosen.next = s->resume_sequence;
    selection_open(st);
    stream_lavc_open(st);
    if (stream_gives_units(st) && !st->failed)
        units_open(st);
    return st->failed ? -1 : stream_open_codec(st);
}

/* At most so many frames; 0: unknown. */
static uint64_t frames_at_most(const struct stream *st)
{
    const struct pelton_open_params *p = &st->session->params;
    uint64_t passes = p->loop ? p->loops : 1; /* 0: without end */
    bool known = st->info.frames > 0 && st->info.frames <= UINT32_MAX;
    uint64_t file = known ? passes * (uint64_t)st->info.frames : 0;
    return p->max_frames && (!file || p->max_frames < file) ? p->max_frames : file;
}

/* What the first frame needs besides its access unit takes longer than any later frame. Where the
 * container has told the parameter sets, it is begun before the first access unit is read. Live
 * streams wait for it, as each frame would else come late. */
static void prepare(struct stream *st)
{
    struct session *s = st->session;
    const struct h264_sps *sps = h264_stream_sps(st->codec);
    engine_lock(st->engine);
    s->window.frames = frames_at_most(st);
    engine_unlock(st->engine);
    if (s->lavc || s->probe_only || s->params.fields || !sps)
        return;
    engine_lock(st->engine);
    s->ahead = h264_sps_ref(sps);
    wake_window(&s->window);
    while (s->window.live && s->ahead && !stream_stopped(st))
        engine_wait(st->engine, &s->room, 0);
    engine_unlock(st->engine);
}

static void stream_close(struct stream *st)
{
    struct session *s = st->session;
    if (st->held)
        h264_picture_unref(st->held);
    chosen_close(&st->selection.chosen);
    selection_close(st);
    stream_lavc_close(st);
    units_close(&st->units);
    av_packet_free(&st->packet);
    if (st->source_opened)
        source_close(&st->source);
    double cpu = thread_cpu_seconds();
    engine_lock(st->engine);
    stream_account(st, cpu);
    if (s->probe_only)
        s->window.abort = true;
    stream_set_last(st);
    s->window.source_ended = true;
    if (s->lavc)
        thread_frames_end(s);
    if (st->engine->params.shuffle_seed) /* which waits until the window is full, or the end */
        wake_coders(&st->engine->schedule, UINT32_MAX);
    wake_window(&s->window);
    engine_unlock(st->engine);
    engine_notify(st->engine);
}

/* The reader names the start then. */
static bool starts_behind_end(const struct stream *st)
{
    int64_t start_us = st->session->params.start_us, duration_us = st->info.duration_us;
    return start_us > 0 && duration_us > 0 && start_us >= duration_us;
}

void stream_thread_main(void *session)
{
    struct session *s = session;
    struct stream *st = calloc(1, sizeof(*st));
    pthread_setname_np(pthread_self(), "pelton-stream");
    if (!st) {
        engine_lock(s->engine);
        session_fail(s, PELTON_ERR_NOMEM, "out of memory", "");
        s->window.source_ended = true;
        wake_window(&s->window);
        if (s->lavc)
            thread_frames_end(s);
        engine_unlock(s->engine);
        engine_notify(s->engine);
        return;
    }
    st->session = s;
    st->engine = s->engine;
    st->stretch = (struct stretch){.index = s->stretch.index,
                                   .count = s->stretch.count,
                                   .table = s->table,
                                   .join_bytes = s->join_bytes};
    stretch_begin(&st->stretch);
    st->probe.start_ns = now_ns();
    st->loop_begin = TIMESTAMPS_NONE;
    st->info.start_pts = INT64_MIN;
    st->info.duration_us = st->info.frames = -1;
    if (stream_open(st) == 0) {
        prepare(st);
        if (stream_choose(st))
            run(st);
        if (!st->failed && !stream_stopped(st)) {
            stream_give_info(st, true, "", "");
            if (st->pictures == 0 && !s->probe_only && !starts_behind_end(st)) {
                char cause[256];
                snprintf(cause, sizeof(cause), "%.120s: %s", s->name,
                         !st->tag                 ? "there is no frame in it"
                         : stream_gives_units(st) ? "there is no key picture in it"
                                                  : "no picture in it could be decoded");
                stream_report_failure(
                    st, PELTON_ERR_INPUT, cause,
                    st->tag ? "the stream may lack parameter sets or an IDR picture"
                            : "an init segment has none: cat INIT PARTS > OUT.mp4 joins them");
            }
        }
    }
    stream_close(st);
    free(st);
}
