/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 1 of a stream: its state, an access unit, the end.
 */
#include "codec/h264_stream.h"
#include "daemon/worker/source/byte_stream.h"
#include "daemon/worker/source/stream_internal.h"

#include <string.h>

/* What the shaders do; streams that need more are refused by step 1. */
static const struct h264_capabilities capabilities = {.chroma_formats = 0xf,
                                                      .max_bit_depth = {14, 14},
                                                      .interlaced = true,
                                                      .separate_planes = true,
                                                      .switching = true};

/* What step 1 has refused since the last time. True: too many bytes. */
bool stream_count_refused(struct stream *st)
{
    struct h264_stats stats;
    h264_stream_stats(st->codec, &stats);
    bool large = st->refused[H264_LIMIT_UNIT] != stats.refused[H264_LIMIT_UNIT] ||
                 st->refused[H264_LIMIT_NAL] != stats.refused[H264_LIMIT_NAL];
    if (memcmp(st->refused, stats.refused, sizeof(st->refused)) == 0)
        return false;
    engine_lock(st->engine);
    for (int i = 0; i < H264_LIMITS; i++)
        st->engine->refused[i] += stats.refused[i] - st->refused[i];
    engine_unlock(st->engine);
    memcpy(st->refused, stats.refused, sizeof(st->refused));
    return large;
}

int stream_open_codec(struct stream *st)
{
    const AVCodecParameters *par = st->source.stream->codecpar;
    struct h264_stream_params params = {
        .capabilities = &capabilities,
        .allocator = &st->session->account->allocator,
        .limits = st->engine->params.limits,
        .late_arrays = true,
        .low_delay_output = st->session->window.live, /* no frame waits for what it does not need */
        .views = st->session->params.views == PELTON_VIEWS_BOTH ? 2 : 1,
        .container_width = st->source.shows_part ? (uint32_t)par->width : 0,
        .container_height = st->source.shows_part ? (uint32_t)par->height : 0,
        .any_start = st->session->params.on_error == PELTON_ON_ERROR_SHOW_ALL};
    h264_stream_free(st->codec);
    st->codec = NULL;
    memset(st->refused, 0, sizeof(st->refused));
    if (h264_stream_create(&params, &st->codec)) {
        stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
        return -1;
    }
    AVRational rate = st->source.stream->r_frame_rate;
    timestamps_init(&st->times, st->source.stream->time_base, par->video_delay,
                    rate.num ? rate : st->source.stream->avg_frame_rate,
                    st->source.stream->avg_frame_rate);
    st->times.counted = byte_stream_counts(&st->source);
    if (par->extradata_size <= 0)
        return 0;
    int err =
        h264_stream_extradata(st->codec, par->extradata, (size_t)par->extradata_size, &st->diag);
    stream_count_refused(st);
    /* Annex B parameter sets come again in the stream, where they are judged. */
    if (err == H264_ERR_UNSUPPORTED && par->extradata[0] == 1 && !stream_gives_units(st)) {
        stream_stop_unsupported(st);
        return -1;
    }
    return 0;
}

static int64_t or_none(int64_t ts)
{
    return ts == AV_NOPTS_VALUE ? TIMESTAMPS_NONE : ts;
}

int stream_parse(struct stream *st)
{
    const AVPacket *p = st->packet;
    struct packet_times t = {.tag = ++st->tag,
                             .pts = or_none(p->pts),
                             .dts = or_none(p->dts),
                             .duration = p->duration,
                             .discard = (p->flags & AV_PKT_FLAG_DISCARD) != 0,
                             .received_ns =
                                 st->source.captured_ns ? st->source.captured_ns : now_ns()};
    timestamps_packet(&st->times, &t);
    if (st->selection.chosen.maker)
        chosen_note_packet(&st->selection.chosen, p, st->tag);
    int first = h264_stream_feed(st->codec, p->data, (size_t)p->size, st->tag, &st->diag);
    if (!st->selection.chosen.maker) {
        st->read.access_units++;
        st->read.bytes += (uint64_t)p->size;
    }
    stream_drain(st);
    /* a packet holds all of its pictures */
    int last = h264_stream_end_access_unit(st->codec, first < 0 ? NULL : &st->diag);
    stream_drain(st);
    return first < 0 ? first : last;
}

void stream_flush(struct stream *st)
{
    h264_stream_flush(st->codec);
    stream_drain(st);
    selection_advance(st, true);
    if (st->lavc && st->session->lavc)
        lavc_flush(st->lavc);
    struct h264_picture *alone;
    while ((alone = second_view_take(&st->second, 0, true)))
        stream_output_second(st, alone, true);
    if (st->held) /* named for output, never completed */
        h264_picture_unref(st->held);
    st->held = NULL;
}
