/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A packet lasts as many field times as libavcodec's parser counts in its first slice header and in
 * its picture timing message. The parser gets whole packets, so it reads no further than the first
 * slice header.
 */
#include "daemon/worker/source/byte_stream.h"

#include <libavcodec/avcodec.h>
#include <libavutil/mathematics.h>
#include <string.h>

#define IS_FFMPEG_6_1 (LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 0))

static bool is_rate(AVRational r)
{
    return r.num > 0 && r.den > 0;
}

/* As the stream says, or the demuxer's default. From FFmpeg 6.1 on r_frame_rate counts fields or
 * ticks, and the codec's parameters have the stream's rate. */
static void choose_rate(AVStream *stream)
{
#if IS_FFMPEG_6_1
    AVRational told = stream->codecpar->framerate;
    AVRational rate = is_rate(told) ? told : stream->avg_frame_rate;
    if (is_rate(rate))
        stream->r_frame_rate = stream->avg_frame_rate = rate;
#else
    (void)stream;
#endif
}

int byte_stream_open(struct source *src)
{
    if (strcmp(src->format->iformat->name, "h264") || !is_rate(src->stream->time_base))
        return 0;
    choose_rate(src->stream);
    src->parser = av_parser_init(AV_CODEC_ID_H264);
    src->parser_context = avcodec_alloc_context3(NULL);
    if (!src->parser || !src->parser_context)
        return AVERROR(ENOMEM);
    src->parser->flags |= PARSER_FLAG_COMPLETE_FRAMES;
    return 0;
}

void byte_stream_packet(struct source *src, AVPacket *packet)
{
    uint8_t *data = NULL;
    int size = 0;
    AVRational rate = src->stream->r_frame_rate;
    if (!src->parser_context || !is_rate(rate))
        return;
    av_parser_parse2(src->parser, src->parser_context, &data, &size, packet->data, packet->size,
                     AV_NOPTS_VALUE, AV_NOPTS_VALUE, packet->pos);
    int fields = src->parser->repeat_pict + 1;
    AVRational field = av_mul_q(av_inv_q(rate), (AVRational){1, 2});
    packet->duration = av_rescale_q(fields, field, src->stream->time_base);
}

bool byte_stream_counts(const struct source *src)
{
    return src->counted || (IS_FFMPEG_6_1 && src->parser_context != NULL);
}

void byte_stream_close(struct source *src)
{
    av_parser_close(src->parser);
    avcodec_free_context(&src->parser_context);
    src->parser = NULL;
}
