/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw video in a container: see mux_raw.h. The failure modes are a pixel format that the container
 * has no code for, and no memory.
 */
#include "web/mux_raw.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IO_BUFFER = 64 * 1024 };

struct mux_raw {
    AVFormatContext *mux;
    AVPacket *packet;
    uint8_t *bytes;
    size_t size, room;
    bool full; /* no memory */
    int64_t first_pts, last_pts;
};

/* FFmpeg 7 made the bytes const. */
#if LIBAVFORMAT_VERSION_MAJOR >= 61
static int bytes_gather(void *opaque, const uint8_t *data, int size)
#else
static int bytes_gather(void *opaque, uint8_t *data, int size)
#endif
{
    struct mux_raw *m = opaque;
    size_t need = m->size + (size_t)size;
    if (need > m->room) {
        uint8_t *grown = realloc(m->bytes, need + need / 4);
        if (!grown) {
            m->full = true;
            return AVERROR(ENOMEM);
        }
        m->bytes = grown;
        m->room = need + need / 4;
    }
    memcpy(m->bytes + m->size, data, (size_t)size);
    m->size = need;
    return size;
}

static void stream_describe(AVStream *s, const struct web_frame *f, struct pelton_rational rate)
{
    AVCodecParameters *p = s->codecpar;
    enum AVPixelFormat format = av_get_pix_fmt(f->pix_fmt);
    p->codec_type = AVMEDIA_TYPE_VIDEO;
    p->codec_id = AV_CODEC_ID_RAWVIDEO;
    p->codec_tag = avcodec_pix_fmt_to_codec_tag(format);
    p->format = format;
    p->width = (int)f->width;
    p->height = (int)f->height;
    p->color_primaries = f->colour.primaries ? f->colour.primaries : AVCOL_PRI_UNSPECIFIED;
    p->color_trc = f->colour.transfer ? f->colour.transfer : AVCOL_TRC_UNSPECIFIED;
    p->color_space = f->colour.matrix;
    p->color_range = (int)f->colour.range;
    p->chroma_location = f->colour.siting;
    p->sample_aspect_ratio = (AVRational){f->info.sar.num, f->info.sar.den};
    s->sample_aspect_ratio = p->sample_aspect_ratio;
    s->time_base = (AVRational){1, 1000000};
    if (rate.num > 0 && rate.den > 0)
        s->avg_frame_rate = (AVRational){rate.num, rate.den};
}

static bool muxer_open(struct mux_raw *m, const char *name, const struct web_frame *first,
                       struct pelton_rational rate)
{
    AVDictionary *options = NULL;
    uint8_t *buffer = av_malloc(IO_BUFFER);
    m->packet = av_packet_alloc();
    if (!buffer || !m->packet || avformat_alloc_output_context2(&m->mux, NULL, name, NULL) < 0) {
        av_free(buffer);
        return false;
    }
    m->mux->pb = avio_alloc_context(buffer, IO_BUFFER, 1, m, NULL, bytes_gather, NULL);
    AVStream *s = m->mux->pb ? avformat_new_stream(m->mux, NULL) : NULL;
    if (!s)
        return false;
    m->mux->flags |= AVFMT_FLAG_FLUSH_PACKETS | AVFMT_FLAG_BITEXACT;
    m->mux->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
    stream_describe(s, first, rate);
    av_dict_set(&options, "live", "1", 0); /* of Matroska: no sizes to come later */
    int rc = avformat_write_header(m->mux, &options);
    av_dict_free(&options);
    return rc >= 0;
}

struct mux_raw *mux_raw_new(const char *name, const struct web_frame *first,
                            struct pelton_rational rate, struct pelton_failure *why)
{
    struct mux_raw *m = calloc(1, sizeof(*m));
    if (m && muxer_open(m, name, first, rate)) {
        m->first_pts = INT64_MIN;
        m->last_pts = -1;
        return m;
    }
    mux_raw_free(m);
    why->code = PELTON_ERR_UNSUPPORTED;
    snprintf(why->cause, sizeof(why->cause), "raw %.20s does not go into %.20s", first->pix_fmt,
             name);
    snprintf(why->hint, sizeof(why->hint), "add pix_fmt=yuv420p, or take .y4m");
    return NULL;
}

/* Microseconds from the first frame on; they always grow. */
static int64_t frame_time(struct mux_raw *m, const struct web_frame *f)
{
    AVRational base = {f->info.time_base.num, f->info.time_base.den};
    int64_t us = f->info.received_ns / 1000;
    if (f->info.pts != INT64_MIN && base.num > 0 && base.den > 0)
        us = av_rescale_q(f->info.pts, base, (AVRational){1, 1000000});
    m->first_pts = m->first_pts == INT64_MIN ? us : m->first_pts;
    us -= m->first_pts;
    m->last_pts = us > m->last_pts ? us : m->last_pts + 1;
    return m->last_pts;
}

const uint8_t *mux_raw_frame(struct mux_raw *m, const struct web_frame *frame, size_t *size)
{
    bool header = m->last_pts < 0; /* its bytes are still there, and go first */
    m->size = header ? m->size : 0;
    m->packet->data = (uint8_t *)(uintptr_t)frame->bytes;
    m->packet->size = (int)frame->size;
    m->packet->flags = AV_PKT_FLAG_KEY;
    m->packet->pts = m->packet->dts =
        av_rescale_q(frame_time(m, frame), (AVRational){1, 1000000}, m->mux->streams[0]->time_base);
    if (av_write_frame(m->mux, m->packet) < 0 || m->full)
        return NULL;
    avio_flush(m->mux->pb);
    *size = m->size;
    return m->bytes;
}

const uint8_t *mux_raw_end(struct mux_raw *m, size_t *size)
{
    m->size = 0;
    av_write_trailer(m->mux);
    avio_flush(m->mux->pb);
    *size = m->full ? 0 : m->size;
    return m->bytes;
}

void mux_raw_free(struct mux_raw *m)
{
    if (!m)
        return;
    if (m->mux && m->mux->pb) {
        av_freep(&m->mux->pb->buffer);
        avio_context_free(&m->mux->pb);
    }
    avformat_free_context(m->mux);
    av_packet_free(&m->packet);
    free(m->bytes);
    free(m);
}
