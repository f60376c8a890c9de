/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice among streams is ffmpeg's: the largest picture, far ahead one that the container calls
 * its default, and far behind covers and other attached pictures.
 */
#include "daemon/worker/source/video_streams.h"

#include <libavcodec/avcodec.h>
#include <libavutil/display.h>
#include <libavutil/encryption_info.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCORE_DEFAULT  5000000
#define SAMPLE_AES_TAG 0xdb /* stream_type of H.264 in MPEG-TS with SAMPLE-AES */

static bool is_video(const AVStream *stream)
{
    return stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO;
}

uint32_t video_streams_count(const AVFormatContext *format)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < format->nb_streams; i++)
        count += is_video(format->streams[i]);
    return count;
}

static int64_t stream_score(const AVStream *stream)
{
    int64_t pixels = (int64_t)stream->codecpar->width * stream->codecpar->height;
    if (stream->disposition & AV_DISPOSITION_ATTACHED_PIC)
        return 0;
    return 1 + pixels + (stream->disposition & AV_DISPOSITION_DEFAULT ? SCORE_DEFAULT : 0);
}

int video_streams_choose(const AVFormatContext *format, uint32_t wanted)
{
    int64_t best_score = -1;
    int best = -1;
    uint32_t number = 0;
    for (unsigned i = 0; i < format->nb_streams; i++) {
        const AVStream *stream = format->streams[i];
        if (!is_video(stream))
            continue;
        if (++number == wanted)
            return (int)i;
        if (!wanted && stream_score(stream) > best_score) {
            best_score = stream_score(stream);
            best = (int)i;
        }
    }
    return best;
}

static uint32_t video_flags(const AVStream *stream)
{
    return (stream->disposition & AV_DISPOSITION_DEFAULT ? PELTON_VIDEO_DEFAULT : 0) |
           (stream->disposition & AV_DISPOSITION_ATTACHED_PIC ? PELTON_VIDEO_ATTACHED : 0);
}

void video_streams_list(const AVFormatContext *format, const AVStream *chosen,
                        struct pelton_info *info)
{
    info->videos = info->sounds = 0;
    for (unsigned i = 0; i < format->nb_streams; i++)
        info->sounds += format->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    for (unsigned i = 0; i < format->nb_streams && info->videos < PELTON_MAX_VIDEOS; i++) {
        const AVStream *stream = format->streams[i];
        struct pelton_video *video = &info->video[info->videos];
        if (!is_video(stream))
            continue;
        info->videos++;
        snprintf(video->codec, sizeof(video->codec), "%s",
                 avcodec_get_name(stream->codecpar->codec_id));
        video->width = (uint32_t)stream->codecpar->width;
        video->height = (uint32_t)stream->codecpar->height;
        video->flags = video_flags(stream) | (stream == chosen ? PELTON_VIDEO_CHOSEN : 0);
    }
}

/* ---- side data of streams; FFmpeg 6.1 moved it ---- */

static const void *stream_side_data(const AVStream *stream, enum AVPacketSideDataType type,
                                    size_t least)
{
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
    const AVCodecParameters *par = stream->codecpar;
    const AVPacketSideData *side =
        av_packet_side_data_get(par->coded_side_data, par->nb_coded_side_data, type);
    return side && side->size >= least ? side->data : NULL;
#else
    size_t size = 0;
    const uint8_t *data = av_stream_get_side_data(stream, type, &size);
    return size >= least ? data : NULL;
#endif
}

/* ---- orientation ---- */

enum pelton_orientation video_stream_orientation(const AVStream *stream)
{
    const int32_t *m = stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t));
    double angle = m ? -av_display_rotation_get(m) : 0;
    if (!m || isnan(angle))
        return PELTON_UPRIGHT;
    switch (((int)lrint(angle) % 360 + 360) % 360) {
    case 0:
        return m[4] < 0 ? PELTON_UPSIDE_DOWN : PELTON_UPRIGHT;
    case 90:
        return m[3] > 0 ? PELTON_TRANSPOSED : PELTON_TURNED_90;
    case 180:
        return m[0] >= 0 ? PELTON_UPSIDE_DOWN : m[4] >= 0 ? PELTON_MIRRORED : PELTON_TURNED_180;
    case 270:
        return m[3] < 0 ? PELTON_ANTITRANSPOSED : PELTON_TURNED_270;
    default:
        return PELTON_UPRIGHT;
    }
}

/* ---- encryption ---- */

bool video_stream_encryption(const AVFormatContext *format, const AVStream *stream, char scheme[16])
{
    const char *container = format->iformat->name;
    bool is_webm = strstr(container, "webm") != NULL;
    scheme[0] = 0;
    if (is_webm && av_dict_get(stream->metadata, "enc_key_id", NULL, 0))
        snprintf(scheme, 16, "WebM");
    else if (!strcmp(container, "mpegts") && stream->codecpar->codec_tag == SAMPLE_AES_TAG)
        snprintf(scheme, 16, "SAMPLE-AES");
    return scheme[0];
}

bool video_packet_encryption(const AVPacket *packet, char scheme[16])
{
    size_t size = 0;
    const uint8_t *data = av_packet_get_side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO, &size);
    AVEncryptionInfo *info = data ? av_encryption_info_get_side_data(data, size) : NULL;
    if (!data)
        return false;
    snprintf(scheme, 16, "CENC");
    for (int i = 0; info && info->scheme && i < 4; i++) {
        char c = (char)(info->scheme >> (24 - 8 * i));
        scheme[i] = c > ' ' && c < 127 ? c : '?';
    }
    av_encryption_info_free(info);
    return true;
}
