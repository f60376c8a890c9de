/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See unit_muxer.h. The failure modes are a container that cannot hold the stream, a reader of the
 * bytes that is gone, and no memory.
 */
#include "muxer/unit_muxer.h"

#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 16, LATENCY_US = 1000000 };

struct unit_muxer {
    struct unit_muxer_params params;
    AVFormatContext *mux;
    AVPacket *packet;
    uint8_t *sets;
    uint32_t sets_size, nal_length;
    AVRational time_base; /* of the units */
    int64_t offset;       /* added to the units' time stamps, in time_base */
    int64_t next_dts;     /* in time_base, with the offset */
    bool header;          /* it is written */
};

/* FFmpeg 7 made the bytes const. */
#if LIBAVFORMAT_VERSION_MAJOR >= 61
static int muxer_write(void *opaque, const uint8_t *data, int size)
#else
static int muxer_write(void *opaque, uint8_t *data, int size)
#endif
{
    const struct unit_muxer *m = opaque;
    return m->params.write(m->params.ctx, data, (size_t)size) ? size : AVERROR(EIO);
}

static int64_t muxer_seek(void *opaque, int64_t offset, int whence)
{
    const struct unit_muxer *m = opaque;
    int64_t at =
        whence == AVSEEK_SIZE ? -1 : m->params.seek(m->params.ctx, offset, whence & ~AVSEEK_FORCE);
    return at < 0 ? AVERROR(ENOSYS) : at;
}

static int muxer_stopped(void *opaque)
{
    const struct unit_muxer *m = opaque;
    return m->params.stopped && m->params.stopped(m->params.ctx);
}

static AVRational rational(struct pelton_rational r)
{
    return r.num > 0 && r.den > 0 ? (AVRational){r.num, r.den} : (AVRational){0, 1};
}

static int stream_describe(struct unit_muxer *m, const struct pelton_frame *first)
{
    AVStream *st = avformat_new_stream(m->mux, NULL);
    if (!st)
        return AVERROR(ENOMEM);
    AVCodecParameters *p = st->codecpar;
    p->codec_type = AVMEDIA_TYPE_VIDEO;
    p->codec_id = AV_CODEC_ID_H264;
    p->width = (int)first->width;
    p->height = (int)first->height;
    p->sample_aspect_ratio = st->sample_aspect_ratio = rational(first->sar);
    p->video_delay = first->vui.reorder_frames;
    st->time_base = m->time_base;
    st->avg_frame_rate = rational(m->params.rate);
    if (!m->sets_size)
        return 0;
    p->extradata = av_mallocz(m->sets_size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!p->extradata)
        return AVERROR(ENOMEM);
    memcpy(p->extradata, m->sets, m->sets_size);
    p->extradata_size = (int)m->sets_size;
    return 0;
}

static int io_open(struct unit_muxer *m)
{
    m->mux->interrupt_callback = (AVIOInterruptCB){muxer_stopped, m};
    if (m->params.address)
        return 0;
    uint8_t *buffer = av_malloc(BUFFER);
    m->mux->pb = buffer ? avio_alloc_context(buffer, BUFFER, 1, m, NULL, muxer_write,
                                             m->params.seek ? muxer_seek : NULL)
                        : NULL;
    if (!m->mux->pb) {
        av_free(buffer);
        return AVERROR(ENOMEM);
    }
    m->mux->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_FLUSH_PACKETS;
    return 0;
}

static int header_write(struct unit_muxer *m)
{
    AVDictionary *options = NULL;
    if (!strcmp(m->params.format, "mp4")) {
        /* What is written can be played, wherever it breaks off. */
        av_dict_set(&options, "movflags",
                    m->params.each_unit ? "empty_moov+default_base_moof+frag_discont+frag_custom"
                                        : "empty_moov+default_base_moof+frag_discont+frag_keyframe",
                    0);
        av_dict_set_int(&options, "frag_duration", m->params.each_unit ? 0 : LATENCY_US, 0);
        /* An initialization segment that follows another one goes on at its time, not at 0. */
        av_dict_set_int(&options, "use_editlist", 0, 0);
        m->mux->avoid_negative_ts = AVFMT_AVOID_NEG_TS_MAKE_NON_NEGATIVE;
    }
    if (!strcmp(m->params.format, "rtsp"))
        av_dict_set(&options, "rtsp_transport", "tcp", 0);
    if (!strcmp(m->params.format, "matroska") &&
        !m->params.seek) /* nobody goes back to write sizes */
        av_dict_set(&options, "live", "1", 0);
    int rc = avformat_write_header(m->mux, &options);
    av_dict_free(&options);
    m->header = rc >= 0;
    if (rc >= 0 && m->mux->pb)
        avio_flush(m->mux->pb);
    return rc < 0 ? rc : 0;
}

static int64_t decoding_time(const struct pelton_frame *unit)
{
    return unit->dts != INT64_MIN ? unit->dts : unit->pts;
}

static int muxer_open(struct unit_muxer *m, const struct pelton_frame *first)
{
    m->sets = first->parameter_sets_size ? malloc(first->parameter_sets_size) : NULL;
    m->packet = av_packet_alloc();
    if (!m->packet || (first->parameter_sets_size && !m->sets))
        return AVERROR(ENOMEM);
    if (m->sets)
        memcpy(m->sets, first->parameter_sets, first->parameter_sets_size);
    m->sets_size = first->parameter_sets_size;
    m->nal_length = first->nal_length;
    m->time_base = rational(first->time_base);
    if (!m->time_base.num)
        m->time_base = (AVRational){1, 90000};
    m->next_dts = av_rescale_q(m->params.start_us, AV_TIME_BASE_Q, m->time_base);
    int64_t begin = decoding_time(first);
    m->offset = begin == INT64_MIN ? 0 : m->next_dts - begin;
    int rc = avformat_alloc_output_context2(&m->mux, NULL, m->params.format, m->params.address);
    rc = rc < 0 ? rc : io_open(m);
    rc = rc < 0 ? rc : stream_describe(m, first);
    return rc < 0 ? rc : header_write(m);
}

int unit_muxer_new(const struct unit_muxer_params *params, const struct pelton_frame *first,
                   struct unit_muxer **out)
{
    struct unit_muxer *m = calloc(1, sizeof(*m));
    if (!m)
        return AVERROR(ENOMEM);
    m->params = *params;
    int rc = muxer_open(m, first);
    if (rc < 0) {
        unit_muxer_free(m);
        return rc;
    }
    *out = m;
    return 0;
}

bool unit_muxer_fits(const struct unit_muxer *m, const struct pelton_frame *unit)
{
    return m->nal_length == unit->nal_length && m->sets_size == unit->parameter_sets_size &&
           (!m->sets_size || !memcmp(m->sets, unit->parameter_sets, m->sets_size)) &&
           (!unit->time_base.num || !av_cmp_q(m->time_base, rational(unit->time_base)));
}

int64_t unit_muxer_next_us(const struct unit_muxer *m)
{
    return av_rescale_q(m->next_dts, m->time_base, AV_TIME_BASE_Q);
}

/* Duration of a unit in time_base; at least 1. */
static int64_t unit_duration(const struct unit_muxer *m, const struct pelton_frame *unit)
{
    AVRational rate = rational(m->params.rate);
    int64_t duration = unit->duration;
    if (duration <= 0 && rate.num)
        duration = av_rescale_q(1, av_inv_q(rate), m->time_base);
    return duration > 0 ? duration : 1;
}

/* Decoding times of a muxer grow. Where those of the source are another clock's, as after a new
 * connection, they go on from the last one. */
static void packet_time(struct unit_muxer *m, const struct pelton_frame *unit)
{
    int64_t at = decoding_time(unit), duration = unit_duration(m, unit);
    int64_t second = av_rescale_q(1, (AVRational){1, 1}, m->time_base);
    if (at == INT64_MIN)
        at = m->next_dts - m->offset;
    bool jumps = (unit->flags & PELTON_FRAME_DISCONT) || at + m->offset < m->next_dts - second;
    if (jumps)
        m->offset = m->next_dts - at;
    int64_t dts = at + m->offset;
    dts = dts < m->next_dts - duration + 1 ? m->next_dts - duration + 1 : dts;
    int64_t pts = unit->pts != INT64_MIN ? unit->pts + m->offset : dts;
    AVRational to = m->mux->streams[0]->time_base;
    m->packet->dts = av_rescale_q(dts, m->time_base, to);
    m->packet->pts = av_rescale_q(pts < dts ? dts : pts, m->time_base, to);
    m->packet->duration = av_rescale_q(duration, m->time_base, to);
    m->next_dts = dts + duration;
}

int unit_muxer_add(struct unit_muxer *m, const struct pelton_frame *unit)
{
    AVPacket *p = m->packet;
    packet_time(m, unit);
    p->stream_index = 0;
    p->flags = unit->flags & PELTON_FRAME_KEY ? AV_PKT_FLAG_KEY : 0;
    /* a muxer may look behind the end: the bytes are copied to where there is room */
    int64_t pts = p->pts, dts = p->dts, duration = p->duration;
    int flags = p->flags, rc = av_new_packet(p, (int)unit->plane_width[0]);
    if (rc < 0)
        return rc;
    memcpy(p->data, unit->data[0], unit->plane_width[0]);
    p->pts = pts;
    p->dts = dts;
    p->duration = duration;
    p->flags = flags;
    rc = av_write_frame(m->mux, p);
    av_packet_unref(p);
    /* else a fragment is written when the next unit comes */
    if (rc >= 0 && m->params.each_unit && !strcmp(m->params.format, "mp4"))
        rc = av_write_frame(m->mux, NULL);
    if (rc >= 0 && m->mux->pb) {
        avio_flush(m->mux->pb);
        rc = m->mux->pb->error;
    }
    return rc < 0 ? rc : 0;
}

int unit_muxer_end(struct unit_muxer *m)
{
    int rc = m->header ? av_write_trailer(m->mux) : 0;
    m->header = false;
    if (m->mux->pb && rc >= 0) {
        avio_flush(m->mux->pb);
        rc = m->mux->pb->error;
    }
    return rc < 0 ? rc : 0;
}

void unit_muxer_free(struct unit_muxer *m)
{
    if (!m)
        return;
    if (m->mux && m->mux->pb && !m->params.address) {
        av_freep(&m->mux->pb->buffer);
        avio_context_free(&m->mux->pb);
    }
    if (m->mux && m->params.address && m->header)
        av_write_trailer(m->mux); /* closes the connection */
    avformat_free_context(m->mux);
    av_packet_free(&m->packet);
    free(m->sets);
    free(m);
}

bool unit_codec_string(const struct pelton_frame *unit, char out[16])
{
    const uint8_t *s = unit->parameter_sets;
    uint32_t size = unit->parameter_sets_size, at = 1;
    if (!unit->nal_length) /* behind the start code and the header of the SPS */
        for (at = 4;
             at < size && ((s[at - 1] & 31) != 7 || s[at - 2] != 1 || s[at - 3] || s[at - 4]);)
            at++;
    if (size < 4 || at > size - 3)
        return false;
    snprintf(out, 16, "avc1.%02x%02x%02x", s[at], s[at + 1], s[at + 2]);
    return true;
}
