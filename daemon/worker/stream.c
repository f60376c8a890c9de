/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stream thread of a session: packets in, step 1, pictures into the look-ahead window, frames into the output queue.
 *
 * The happy path is open, then read - feed - drain until the end of the source, flush, end. It waits in one place,
 * wait_for_room, until the window has room: that is how back-pressure reaches the source. The failure modes are those of
 * source.h, an unsupported syntax element (what came before it is still decoded and delivered), and stop at any moment.
 */
#include "daemon/camera/params.h"
#include "daemon/worker/engine_internal.h"
#include "daemon/worker/field_order.h"
#include "daemon/worker/pixels.h"
#include "daemon/worker/format.h"
#include "daemon/worker/part.h"
#include "daemon/worker/second_view.h"
#include "daemon/worker/side_data.h"
#include "daemon/worker/source_camera.h"
#include "daemon/worker/timestamps.h"

#include <libavcodec/avcodec.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_UNITS 250      /* access units that a probe for side data reads, */
#define PROBE_NS   NS_PER_S /* and how long it waits for them */
#define INFO_UNITS 300 /* access units after which information is given even though no slice was seen */

struct stream {
    struct session *session;
    struct engine *engine;
    struct source source;
    struct source_watcher watcher;
    bool source_opened;
    struct h264_stream *codec;
    struct timestamps times;
    AVPacket *packet;
    struct h264_picture *held;    /* an output picture that has not come out in decoding order yet */
    int64_t tag;                  /* of the last access unit */
    struct second_view second;
    struct part part;
    uint64_t sequence;            /* of the next frame */
    uint64_t frames;              /* of the base view, given out or given before */
    int64_t loop_offset;          /* added to time stamps */
    int64_t loop_begin, loop_end; /* first time stamp and largest end of a frame, without it */
    uint64_t loops;
    int64_t start_pts, end_pts; /* frames outside are not given out */
    bool discontinuity;
    bool field_open;        /* a first field whose second one may come is counted by timestamps when that is known */
    int64_t field_tag;
    bool interlaced;        /* the last frame given out was */
    bool half_ticks;        /* fields leave apart, so the time base given out is half the container's */
    bool enough; /* duration or max_frames are reached */
    bool failed; /* the session's failure is set, or the stream is unsupported */
    bool unsupported;
    int64_t pace_start_ns, pace_start_us;
    uint64_t pictures;
    struct pelton_info info;
    struct side_probe probe;
    int64_t probe_start_ns;
    struct h264_diag diag;
    double cpu;
};

static void fail(struct stream *st, int code, const char *cause, const char *hint)
{
    uv_mutex_lock(&st->engine->lock);
    session_fail(st->session, code, cause, hint);
    uv_mutex_unlock(&st->engine->lock);
    st->failed = true;
}

static bool stopped(struct stream *st)
{
    return atomic_load(&st->session->stop);
}

/* ---- information ---- */

/* Twice as many pictures of half the height: times count in half units. */
static void info_of_fields(struct stream *st)
{
    struct pelton_info *info = &st->info;
    info->height /= 2;
    if (st->half_ticks || info->time_base.den > INT32_MAX / 2 || info->frame_rate.num > INT32_MAX / 2 ||
        info->avg_frame_rate.num > INT32_MAX / 2)
        return;
    st->half_ticks = true;
    info->time_base.den *= 2;
    info->frame_rate.num *= 2;
    info->avg_frame_rate.num *= 2;
    info->start_pts *= info->start_pts != INT64_MIN ? 2 : 1;
    info->frames *= info->frames > 0 ? 2 : 1;
}

static void info_from_sps(struct stream *st)
{
    const struct h264_sps *sps = h264_stream_sps(st->codec);
    if (!sps)
        return;
    struct pelton_info *info = &st->info;
    info->coded_width = sps->mb_width * 16u;
    info->coded_height = sps->mb_height * 16u;
    info->width = info->coded_width - sps->crop_left - sps->crop_right;
    info->height = info->coded_height - sps->crop_top - sps->crop_bottom;
    info->level = sps->level_idc;
    struct pixels pixels;
    pixels_of(sps, &pixels);
    snprintf(info->pix_fmt, sizeof info->pix_fmt, "%s", pixels.name);
    if (st->session->params.fields && !sps->frame_mbs_only_flag)
        info_of_fields(st);
    if (info->sar.num == 0 && sps->vui_present && sps->vui.sar_width)
        info->sar = (struct pelton_rational){sps->vui.sar_width, sps->vui.sar_height};
    info->colour = format_colour(st->session, sps);
    info->vui = side_vui(sps);
}

/* Pictures of a probe are looked at, not decoded. */
static void drain_probe(struct stream *st)
{
    struct h264_picture *pic;
    while ((pic = h264_stream_next_decode(st->codec)))
        h264_picture_unref(pic);
    while ((pic = h264_stream_next_output(st->codec))) {
        if (!st->session->info_ready)
            side_probe_add(&st->probe, pic);
        h264_picture_unref(pic);
    }
}

/* Enough of a probed stream was seen for what was asked. */
static bool probed(const struct stream *st)
{
    return !st->session->params.side_data || st->tag >= PROBE_UNITS || now_ns() - st->probe_start_ns > PROBE_NS;
}

static void give_info(struct stream *st, bool supported, const char *element, const char *what)
{
    struct session *s = st->session;
    if (st->codec)
        info_from_sps(st);
    if (s->probe_only && !s->info_ready) {
        if (st->codec) {
            h264_stream_flush(st->codec);
            drain_probe(st);
        }
        side_probe_end(&st->probe);
    }
    st->info.supported = supported;
    snprintf(st->info.unsupported_element, sizeof st->info.unsupported_element, "%s", element);
    snprintf(st->info.unsupported_what, sizeof st->info.unsupported_what, "%s", what);
    uv_mutex_lock(&st->engine->lock);
    bool first = !s->info_ready;
    if (first) {
        s->info = st->info;
        s->probe_sei = st->probe.out;
        s->info_ready = true;
    }
    uv_mutex_unlock(&st->engine->lock);
    if (first)
        engine_notify(st->engine);
}

static void stop_unsupported(struct stream *st)
{
    char cause[256];
    const char *element = st->diag.element ? st->diag.element : "stream",
               *what = st->diag.what ? st->diag.what : "not supported";
    snprintf(cause, sizeof cause, "%.100s: %.50s %lld: %.80s", st->session->name, element, (long long)st->diag.value, what);
    give_info(st, false, element, what);
    st->unsupported = true;
    st->failed = true;
    if (!st->session->probe_only)
        fail(st, PELTON_ERR_UNSUPPORTED, cause, "FFmpeg may decode it; pelton probe shows what the stream uses");
}

/* ---- output ---- */

static void set_last(struct session *s)
{
    struct output *last = s->outputs;
    while (last && last->next)
        last = last->next;
    if (last)
        last->frame.flags |= PELTON_FRAME_LAST;
}

static bool wanted(struct stream *st, const struct packet_times *t)
{
    const struct session *s = st->session;
    if (st->enough || t->discard || (t->pts != TIMESTAMPS_NONE && st->start_pts != TIMESTAMPS_NONE && t->pts < st->start_pts))
        return false;
    if (t->pts != TIMESTAMPS_NONE && st->end_pts != TIMESTAMPS_NONE && t->pts + st->loop_offset >= st->end_pts) {
        st->enough = true;
        return false;
    }
    st->frames++;
    if (s->params.max_frames && st->frames >= s->params.max_frames)
        st->enough = true;
    return true;
}

/* Decoding may start there with nothing missing in output order from there on. */
static bool is_entry(const struct h264_recovery_point *r)
{
    return r->present && r->recovery_frame_cnt == 0;
}

static uint32_t frame_flags(struct stream *st, const struct h264_picture *pic, bool second)
{
    uint32_t flags = second ? 0 : pic->idr || is_entry(&pic->recovery) ? PELTON_FRAME_KEY : 0;
    if (st->discontinuity)
        flags |= PELTON_FRAME_DISCONT;
    st->discontinuity = false;
    return flags;
}

/* In the time base that is given out; fields: of one field of two. */
static int64_t given_time(const struct stream *st, int64_t ts)
{
    return ts == TIMESTAMPS_NONE ? ts : (ts + st->loop_offset) * (st->half_ticks ? 2 : 1);
}

/* One frame for the reader, or one field of it (structure), unless an earlier worker gave it out. */
static void emit_part(struct stream *st, struct h264_picture *pic, const struct packet_times *t, uint8_t structure, bool second,
                      enum pelton_field_order order)
{
    struct session *s = st->session;
    uint64_t sequence = st->sequence++;
    struct output *out = sequence >= s->resume_sequence ? calloc(1, sizeof *out) : NULL;
    if (sequence >= s->resume_sequence && !out)
        fail(st, PELTON_ERR_NOMEM, "out of memory", "");
    if (!out)
        return;
    int64_t duration = t->duration * (st->half_ticks ? 2 : 1), part = structure == REC_FRAME ? duration : duration / 2;
    int64_t pts = given_time(st, t->pts);
    out->pic = h264_picture_ref(pic);
    out->structure = structure;
    out->frame = (struct session_frame){.sequence = sequence,
                                        .view = pic->view,
                                        .pts = second && pts != TIMESTAMPS_NONE ? pts + part : pts,
                                        .dts = given_time(st, t->dts),
                                        .duration = part,
                                        .received_ns = t->received_ns,
                                        .dropped_source = st->source.dropped,
                                        .flags = frame_flags(st, pic, second),
                                        .field_order = structure == REC_FRAME ? order
                                                       : structure == REC_TOP ? PELTON_TOP_FIELD
                                                                              : PELTON_BOTTOM_FIELD,
                                        .side = second ? NULL : side_data_of(pic, s->params.side_data)};
    uv_mutex_lock(&st->engine->lock);
    *s->outputs_tail = out;
    s->outputs_tail = &out->next;
    engine_wake_gpu(st->engine);
    uv_mutex_unlock(&st->engine->lock);
}

/* A frame that another session gives out: it counts here, too. Takes the reference of pic. */
static void leave_out(struct stream *st, struct h264_picture *pic)
{
    st->sequence++;
    st->discontinuity = false;
    field_order(pic, pic->poc, &st->interlaced); /* what the next frame is may depend on it */
    h264_picture_unref(pic);
}

/* With params.fields frames of sequences that may be interlaced (frame_mbs_only_flag 0) leave as their fields, the first one
 * first; of a single field only that. Takes the reference of pic. */
static void emit(struct stream *st, struct h264_picture *pic, const struct packet_times *t)
{
    if (part_left_out(pic)) {
        leave_out(st, pic);
        return;
    }
    const struct job *job = pic->user;
    int32_t poc[2] = {job->frame.poc[0], job->frame.poc[1]}; /* written by this thread only */
    bool view_interlaced = st->interlaced;
    enum pelton_field_order order = field_order(pic, poc, pic->view ? &view_interlaced : &st->interlaced);
    if (!st->session->params.fields || pic->sps->frame_mbs_only_flag) {
        emit_part(st, pic, t, REC_FRAME, false, order);
    } else {
        bool single = frame_is_single_field(job);
        uint8_t first = single ? pic->structure : poc[0] <= poc[1] ? REC_TOP : REC_BOTTOM;
        emit_part(st, pic, t, first, false, order);
        if (!single)
            emit_part(st, pic, t, REC_FRAME - first, true, order);
    }
    h264_picture_unref(pic);
}

/* No second field came. */
static void close_field(struct stream *st)
{
    if (st->field_open)
        timestamps_decoded(&st->times, st->field_tag, true);
    st->field_open = false;
}

/* A frame of the second view; last: its base frame does not come any more. Takes the reference of pic. */
static void output_second(struct stream *st, struct h264_picture *pic, bool last)
{
    static const struct packet_times unknown = {.pts = TIMESTAMPS_NONE, .dts = TIMESTAMPS_NONE};
    const struct second_view_base *base = second_view_base(&st->second, pic->tag);
    if (base && !base->keep)
        h264_picture_unref(pic);
    else if (base)
        emit(st, pic, &base->times);
    else if (last || !second_view_hold(&st->second, pic))
        emit(st, pic, &unknown);
}

/* Takes the reference of pic. */
static void output_picture(struct stream *st, struct h264_picture *pic)
{
    struct packet_times t;
    if (pic->view) {
        output_second(st, pic, false);
        return;
    }
    int64_t tag = pic->tag;
    if (st->session->params.fields)
        give_info(st, true, "", ""); /* decides the time base */
    if (st->field_open && st->field_tag == tag)
        close_field(st);
    timestamps_output(&st->times, tag, &t);
    if (t.pts != TIMESTAMPS_NONE && st->loop_begin == TIMESTAMPS_NONE)
        st->loop_begin = st->loop_end = t.pts;
    if (t.pts != TIMESTAMPS_NONE && t.pts + t.duration > st->loop_end)
        st->loop_end = t.pts + t.duration;
    bool keep = !pic->unrecovered && wanted(st, &t);
    if (keep)
        emit(st, pic, &t);
    else
        h264_picture_unref(pic);
    second_view_note(&st->second, &t, keep);
    while ((pic = second_view_take(&st->second, tag, false)))
        output_second(st, pic, false);
}

/* Streams that do not announce how far they reorder. */
static void note_order(struct stream *st, const struct h264_picture *pic)
{
    const struct h264_slice_header *hdr = pic->slice_count ? &pic->slices[0].hdr : NULL;
    bool reset = false; /* MMCO 5: the counts start again with this picture */
    if (pic->sps->vui_present && pic->sps->vui.bitstream_restriction_flag)
        return;
    for (unsigned i = 0; hdr && i < hdr->mmco_count; i++)
        reset |= hdr->mmco[i].op == 5;
    timestamps_order(&st->times, reset ? 0 : pic->output_poc, pic->has_b_slices, pic->idr || reset);
}

/* A frame is decoded when its second field is. */
static void count_picture(struct stream *st, const struct h264_picture *pic)
{
    if (pic->first_field) {
        timestamps_decoded(&st->times, pic->tag, pic->tag != st->field_tag);
        st->field_open = false;
        return;
    }
    close_field(st);
    note_order(st, pic);
    st->field_open = pic->structure != REC_FRAME;
    st->field_tag = pic->tag;
    if (!st->field_open)
        timestamps_decoded(&st->times, pic->tag, false);
}

static void drain(struct stream *st)
{
    struct session *s = st->session;
    struct h264_picture *pic;
    if (s->probe_only) {
        drain_probe(st);
        return;
    }
    while ((pic = h264_stream_next_decode(st->codec))) {
        if (!pic->non_existing && !pic->view && !pic->plane0)
            count_picture(st, pic);
        if (st->pictures++ == 0) {
            uv_mutex_lock(&st->engine->lock);
            s->picture_bytes = window_picture_bytes(pic->sps, pic->mb_count);
            uv_mutex_unlock(&st->engine->lock);
        }
        if (part_leaves_out(&st->part, pic)) {
            h264_picture_unref(pic);
        } else if (job_create(s, pic)) {
            h264_picture_unref(pic);
            fail(st, PELTON_ERR_NOMEM, "out of memory", "");
        }
    }
    while (st->held || (st->held = h264_stream_next_output(st->codec))) {
        if (!st->held->user)
            break;
        pic = st->held;
        st->held = NULL;
        output_picture(st, pic);
    }
}

/* ---- input ---- */

static void account_cpu(struct stream *st)
{
    double cpu = thread_cpu_seconds();
    st->session->stats.cpu_demux += cpu - st->cpu;
    st->cpu = cpu;
}

static bool has_room(const struct session *s)
{
    const struct engine *e = s->engine;
    return s->window_busy < (s->picture_bytes ? lookahead_for(e, s->picture_bytes, e->session_count) : 1);
}

static void wait_for_room(struct stream *st)
{
    struct session *s = st->session;
    uv_mutex_lock(&st->engine->lock);
    account_cpu(st);
    while (!has_room(s) && !stopped(st)) {
        s->source_waits = true;
        if (st->engine->params.shuffle_seed)
            uv_cond_broadcast(&st->engine->work);
        uv_cond_wait(&s->room, &st->engine->lock);
    }
    s->source_waits = false;
    uv_mutex_unlock(&st->engine->lock);
}

/* With params.realtime packets are taken at the rate of their decoding times. */
static void pace(struct stream *st, const AVPacket *packet)
{
    struct session *s = st->session;
    int64_t ts = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
    if (!s->params.realtime)
        return;
    int64_t us = ts != AV_NOPTS_VALUE
                     ? av_rescale_q(ts + st->loop_offset, st->source.stream->time_base, AV_TIME_BASE_Q)
                     : av_rescale_q(st->tag * st->times.default_duration, st->source.stream->time_base, AV_TIME_BASE_Q);
    if (st->pace_start_ns == 0) {
        st->pace_start_ns = now_ns();
        st->pace_start_us = us;
    }
    int64_t due = st->pace_start_ns + (us - st->pace_start_us) * 1000;
    uv_mutex_lock(&st->engine->lock);
    for (int64_t left = due - now_ns(); left > 0 && !stopped(st); left = due - now_ns())
        uv_cond_timedwait(&s->room, &st->engine->lock, (uint64_t)left);
    uv_mutex_unlock(&st->engine->lock);
}

static int64_t or_none(int64_t ts)
{
    return ts == AV_NOPTS_VALUE ? TIMESTAMPS_NONE : ts;
}

/* Answers a negative result of step 1. */
static void feed_failed(struct stream *st, int error)
{
    char cause[256];
    if (error == H264_ERR_UNSUPPORTED) {
        stop_unsupported(st);
        return;
    }
    if (error == H264_ERR_NOMEM) {
        fail(st, PELTON_ERR_NOMEM, "out of memory", "");
        return;
    }
    if (st->session->params.on_error == 2 && !st->session->probe_only) {
        snprintf(cause, sizeof cause, "%.100s: damaged stream: %.50s %lld: %.60s", st->session->name,
                 st->diag.element ? st->diag.element : "data", (long long)st->diag.value,
                 st->diag.what ? st->diag.what : h264_error_text(error));
        fail(st, PELTON_ERR_DECODE, cause, "--on-error show or drop goes on after damage");
    }
}

static void feed(struct stream *st)
{
    struct session *s = st->session;
    const AVPacket *p = st->packet;
    struct packet_times t = {.tag = ++st->tag,
                             .pts = or_none(p->pts),
                             .dts = or_none(p->dts),
                             .duration = p->duration,
                             .discard = (p->flags & AV_PKT_FLAG_DISCARD) != 0,
                             .received_ns = st->source.captured_ns ? st->source.captured_ns : now_ns()};
    timestamps_packet(&st->times, &t);
    int err = h264_stream_feed(st->codec, p->data, (size_t)p->size, st->tag, &st->diag);
    uv_mutex_lock(&st->engine->lock);
    s->stats.access_units++;
    s->stats.bytes_in += (uint64_t)p->size;
    uv_mutex_unlock(&st->engine->lock);
    drain(st);
    if (err < 0)
        feed_failed(st, err);
    err = h264_stream_end_access_unit(st->codec, &st->diag); /* a packet holds all of its pictures */
    drain(st);
    if (err < 0)
        feed_failed(st, err);
    struct h264_stats stats;
    h264_stream_stats(st->codec, &stats);
    if (!st->failed && (stats.slices || st->tag > INFO_UNITS) && (!s->probe_only || probed(st)))
        give_info(st, true, "", "");
}

static void flush(struct stream *st)
{
    h264_stream_flush(st->codec);
    drain(st);
    struct h264_picture *alone;
    while ((alone = second_view_take(&st->second, 0, true)))
        output_second(st, alone, true);
    if (st->held) /* named for output, never completed */
        h264_picture_unref(st->held);
    st->held = NULL;
}

/* What the shaders do; streams that need more are refused by step 1. */
static const struct h264_capabilities capabilities = {
    .chroma_formats = 0xf, .max_bit_depth = {14, 14}, .interlaced = true, .separate_planes = true, .switching = true};

/* A new state of step 1: at the start and at each loop. */
static int open_codec(struct stream *st)
{
    const AVCodecParameters *par = st->source.stream->codecpar;
    struct h264_stream_params params = {
        .capabilities = &capabilities,
        .allocator = &st->session->account->allocator,
        .late_arrays = true,
        .low_delay_output = st->session->live, /* no frame waits for what it does not need */
        .views = st->session->params.views == PELTON_VIEWS_BOTH ? 2 : 1,
        .any_start = st->session->params.on_error == 3};
    h264_stream_free(st->codec);
    st->codec = NULL;
    if (h264_stream_create(&params, &st->codec)) {
        fail(st, PELTON_ERR_NOMEM, "out of memory", "");
        return -1;
    }
    AVRational rate = st->source.stream->r_frame_rate;
    timestamps_init(&st->times, st->source.stream->time_base, par->video_delay,
                    rate.num ? rate : st->source.stream->avg_frame_rate, st->source.stream->avg_frame_rate);
    if (par->extradata_size <= 0)
        return 0;
    int err = h264_stream_extradata(st->codec, par->extradata, (size_t)par->extradata_size, &st->diag);
    /* Annex B parameter sets come again in the stream, where they are judged. */
    if (err == H264_ERR_UNSUPPORTED && par->extradata[0] == 1) {
        stop_unsupported(st);
        return -1;
    }
    return 0;
}

static bool next_loop(struct stream *st)
{
    const struct session *s = st->session;
    if (!s->params.loop || st->enough || st->failed || st->pictures == 0)
        return false;
    if (s->params.loops && ++st->loops >= s->params.loops)
        return false;
    if (source_rewind(&st->source)) {
        fail(st, PELTON_ERR_INPUT, "the input cannot be read again from its start", "loop needs a file, not a pipe");
        return false;
    }
    if (st->loop_begin != TIMESTAMPS_NONE)
        st->loop_offset += st->loop_end - st->loop_begin;
    st->discontinuity = true;
    part_restart(&st->part);
    return open_codec(st) == 0;
}

static void set_range(struct stream *st)
{
    const struct session *s = st->session;
    const AVStream *av = st->source.stream;
    int64_t start_us = s->params.start_us > 0 ? s->params.start_us : 0;
    int64_t origin = st->source.format->start_time == AV_NOPTS_VALUE ? 0 : st->source.format->start_time;
    st->start_pts = st->end_pts = TIMESTAMPS_NONE;
    if (start_us) {
        st->start_pts = av_rescale_q(start_us + origin, AV_TIME_BASE_Q, av->time_base);
        source_seek(&st->source, start_us); /* where the input cannot seek, frames before the point are decoded and left out */
    }
    if (s->params.duration_us >= 0 && start_us <= INT64_MAX / 2 && s->params.duration_us <= INT64_MAX / 2)
        st->end_pts = av_rescale_q(start_us + origin + s->params.duration_us, AV_TIME_BASE_Q, av->time_base);
}

static bool wants_more(struct stream *st)
{
    return !stopped(st) && !st->enough && !st->failed && !(st->session->probe_only && st->session->info_ready);
}

static void run(struct stream *st)
{
    struct pelton_failure failure = {0};
    while (wants_more(st)) {
        wait_for_room(st);
        int got = stopped(st) ? 0 : source_read(&st->source, st->packet, &failure);
        if (got > 0) {
            pace(st, st->packet);
            feed(st);
            av_packet_unref(st->packet);
            continue;
        }
        if (stopped(st))
            return;
        flush(st);
        if (got < 0)
            fail(st, failure.code, failure.cause, failure.hint);
        else if (!next_loop(st))
            return;
    }
    if ((st->failed || st->session->params.views == PELTON_VIEWS_BOTH) && st->codec)
        flush(st); /* what came before is still wanted, and the other views of what was given out */
}

/* ---- life ---- */

static void on_source_state(void *ctx, bool running, const char *cause)
{
    struct stream *st = ctx;
    struct event *ev = calloc(1, sizeof *ev);
    if (!ev)
        return; /* the next one will be told */
    ev->kind = EVENT_STATE;
    ev->running = running;
    snprintf(ev->cause, sizeof ev->cause, "%s", cause);
    uv_mutex_lock(&st->engine->lock);
    session_post(st->session, ev);
    uv_mutex_unlock(&st->engine->lock);
    engine_notify(st->engine);
}

static int stream_open(struct stream *st)
{
    struct session *s = st->session;
    struct pixels pixels;
    struct pelton_failure failure = {0};
    if (s->pix_fmt && !s->params.any_pix_fmt && !pixels_by_name(s->pix_fmt, &pixels)) {
        char cause[128];
        snprintf(cause, sizeof cause, "pixel format %.40s is not supported", s->pix_fmt);
        fail(st, PELTON_ERR_USAGE, cause, "the stream's own format, nv12 of 8-bit 4:2:0, and gray are given out");
        return -1;
    }
    st->watcher = (struct source_watcher){on_source_state, st};
    int err = camera_address(s->uri) ? source_camera_open(&st->source, st->engine->streams, s->uri, s->name, &s->stop, &st->watcher, &failure)
                                     : source_open(&st->source, s->uri, s->fd, s->name, &s->stop, &failure);
    st->source_opened = true;
    if (st->source.camera)
        st->sequence = s->resume_sequence; /* a camera does not begin again: the numbers go on */
    if (st->source.stream)
        source_info(&st->source, &st->info);
    if (err == PELTON_ERR_UNSUPPORTED)
        give_info(st, false, "codec", failure.cause + (strlen(s->name) < 120 ? strlen(s->name) + 2 : 0));
    if (err && !(err == PELTON_ERR_UNSUPPORTED && s->probe_only)) {
        fail(st, failure.code, failure.cause, failure.hint);
        return -1;
    }
    if (err)
        return -1;
    st->packet = av_packet_alloc();
    if (!st->packet) {
        fail(st, PELTON_ERR_NOMEM, "out of memory", "");
        return -1;
    }
    uv_mutex_lock(&st->engine->lock);
    source_colour(&st->source, &s->container_colour, &s->has_container_colour);
    s->container_sar =
        (struct pelton_rational){st->source.stream->sample_aspect_ratio.num, st->source.stream->sample_aspect_ratio.den};
    s->info = st->info; /* formats need the time base */
    s->live = s->params.realtime || st->source.size < 0;
    uv_mutex_unlock(&st->engine->lock);
    set_range(st);
    return open_codec(st);
}

/* What a live stream's first frame needs besides its access unit takes longer than any later frame: where the container has told
 * the parameter sets, it is made before the first access unit is read. */
static void prepare(struct stream *st)
{
    struct session *s = st->session;
    const struct h264_sps *sps = h264_stream_sps(st->codec);
    if (!s->live || s->probe_only || s->params.fields || !sps)
        return;
    uv_mutex_lock(&st->engine->lock);
    s->ahead = sps;
    engine_wake_gpu(st->engine);
    while (s->ahead && !stopped(st))
        uv_cond_wait(&s->room, &st->engine->lock);
    s->ahead = NULL;
    uv_mutex_unlock(&st->engine->lock);
}

static void stream_close(struct stream *st)
{
    struct session *s = st->session;
    if (st->held)
        h264_picture_unref(st->held);
    h264_stream_free(st->codec);
    av_packet_free(&st->packet);
    if (st->source_opened)
        source_close(&st->source);
    uv_mutex_lock(&st->engine->lock);
    account_cpu(st);
    if (s->probe_only)
        s->abort = true;
    set_last(s);
    s->thread_ended = true;
    uv_cond_broadcast(&st->engine->work);
    engine_wake_gpu(st->engine);
    uv_mutex_unlock(&st->engine->lock);
}

void stream_thread_main(void *session)
{
    struct session *s = session;
    struct stream *st = calloc(1, sizeof *st);
    pthread_setname_np(pthread_self(), "pelton-stream");
    if (!st) {
        uv_mutex_lock(&s->engine->lock);
        session_fail(s, PELTON_ERR_NOMEM, "out of memory", "");
        s->thread_ended = true;
        engine_wake_gpu(s->engine);
        uv_mutex_unlock(&s->engine->lock);
        return;
    }
    st->session = s;
    st->engine = s->engine;
    st->part = (struct part){.index = s->params.part, .count = s->params.parts};
    st->probe_start_ns = now_ns();
    st->loop_begin = TIMESTAMPS_NONE;
    st->info.start_pts = INT64_MIN;
    st->info.duration_us = st->info.frames = -1;
    if (stream_open(st) == 0) {
        prepare(st);
        run(st);
        if (!st->failed && !stopped(st)) {
            give_info(st, true, "", "");
            if (st->pictures == 0 && !s->probe_only) {
                char cause[256];
                snprintf(cause, sizeof cause, "%.120s: no picture in it could be decoded", s->name);
                fail(st, PELTON_ERR_INPUT, cause, "the stream may lack parameter sets or an IDR picture");
            }
        }
    }
    stream_close(st);
    free(st);
}
