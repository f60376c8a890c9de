/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See live_input.h. Times of a camera's container are microseconds.
 */
#include "daemon/worker/source/live_input.h"

#include "camera/camera_params.h"
#include "daemon/worker/clock.h"
#include "daemon/worker/source/byte_stream.h"

#include <libavcodec/avcodec.h>
#include <libavutil/mem.h>
#include <string.h>

/* ---- the container ---- */

static bool stream_copy(AVFormatContext *to, const AVStream *from)
{
    AVStream *st = avformat_new_stream(to, NULL);
    if (!st || avcodec_parameters_copy(st->codecpar, from->codecpar) < 0)
        return false;
#if LIBAVFORMAT_VERSION_INT < AV_VERSION_INT(60, 15, 100)
    for (int i = 0; i < from->nb_side_data; i++) {
        const AVPacketSideData *side = &from->side_data[i];
        uint8_t *data = av_stream_new_side_data(st, side->type, side->size);
        if (!data)
            return false;
        memcpy(data, side->data, side->size);
    }
#endif
    st->id = from->id;
    st->time_base = from->time_base;
    st->start_time = from->start_time;
    st->duration = from->duration;
    st->nb_frames = from->nb_frames;
    st->disposition = from->disposition;
    st->sample_aspect_ratio = from->sample_aspect_ratio;
    st->r_frame_rate = from->r_frame_rate;
    st->avg_frame_rate = from->avg_frame_rate;
    return true;
}

bool live_shape_copy(const struct live_shape *from, struct live_shape *out)
{
    AVFormatContext *f = avformat_alloc_context();
    bool good = f != NULL;
    for (unsigned i = 0; good && i < from->format->nb_streams; i++)
        good = stream_copy(f, from->format->streams[i]);
    if (!good) {
        avformat_free_context(f);
        *out = (struct live_shape){0};
        return false;
    }
    f->iformat = from->format->iformat;
    f->start_time = from->format->start_time;
    f->duration = from->format->duration;
    f->bit_rate = from->format->bit_rate;
    *out = *from;
    out->format = f;
    return true;
}

void live_shape_free(struct live_shape *shape)
{
    avformat_free_context(shape->format);
    shape->format = NULL;
}

void live_shape_update(struct live_shape *shape, const AVPacket *packet)
{
    AVCodecParameters *par = shape->format->streams[shape->chosen]->codecpar;
    size_t size;
    const uint8_t *told = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
    uint8_t *copy = told && size && size < INT32_MAX / 2
                        ? av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE)
                        : NULL;
    if (!copy)
        return;
    memcpy(copy, told, size);
    av_freep(&par->extradata);
    par->extradata = copy;
    par->extradata_size = (int)size;
}

/* ---- a camera ---- */

static bool camera_describe(uint32_t width, uint32_t height, AVRational rate,
                            struct live_shape *out)
{
    AVFormatContext *f = avformat_alloc_context();
    AVStream *st = f ? avformat_new_stream(f, NULL) : NULL;
    if (!st) {
        avformat_free_context(f);
        return false;
    }
    f->start_time = f->duration = AV_NOPTS_VALUE;
    st->codecpar->codec_type = AVMEDIA_TYPE_VIDEO;
    st->codecpar->codec_id = AV_CODEC_ID_H264;
    st->codecpar->width = (int)width;
    st->codecpar->height = (int)height;
    st->time_base = (AVRational){1, 1000000};
    st->r_frame_rate = st->avg_frame_rate = rate;
    *out = (struct live_shape){.format = f};
    return true;
}

static int camera_next(struct live_input *in, AVPacket *unit, struct live_news *news,
                       struct pelton_failure *failure)
{
    struct v4l2_news from = {0};
    int rc = v4l2_stream_next(in->camera, unit, &from, failure);
    switch (rc) {
    case V4L2_UNIT:
        news->received_ns = unit->pts * 1000;
        news->lost = from.lost;
        return LIVE_UNIT;
    case V4L2_STATE:
        news->running = from.running;
        memcpy(news->cause, from.cause, sizeof(news->cause));
        return LIVE_STATE;
    case V4L2_OPEN:
        if (camera_describe(from.width, from.height, av_d2q(from.fps, 100000), &news->shape))
            return LIVE_OPEN;
        *failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = "out of memory"};
        return failure->code;
    default:
        return rc < 0 ? rc : LIVE_NONE;
    }
}

/* As camera_next, of a camera that is encoded here. */
static int encoding_next(struct live_input *in, AVPacket *unit, struct live_news *news,
                         struct pelton_failure *failure)
{
    struct encoding_news from = {0};
    int rc = camera_encoding_next(in->encoding, unit, &from, failure);
    switch (rc) {
    case ENCODING_UNIT:
        news->received_ns = from.captured_ns;
        news->lost = from.missed;
        return LIVE_UNIT;
    case ENCODING_STATE:
        news->running = from.running;
        memcpy(news->cause, from.cause, sizeof(news->cause));
        return LIVE_STATE;
    case ENCODING_OPEN:
        if (camera_describe(from.width, from.height, (AVRational){from.rate.num, from.rate.den},
                            &news->shape))
            return LIVE_OPEN;
        *failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = ": out of memory"};
        return failure->code;
    default:
        return rc < 0 ? rc : rc == ENCODING_END ? LIVE_END : LIVE_NONE;
    }
}

/* ---- an address ---- */

static int address_open(struct live_input *in, const char *uri, uint32_t video,
                        const atomic_bool *stop, struct live_news *news,
                        struct pelton_failure *failure)
{
    in->opened = true;
    int rc = source_open(&in->source, uri, -1, "", video, stop, failure);
    if (!in->source.stream)
        return rc;
    struct live_shape shape = {.format = in->source.format,
                               .chosen = (unsigned)in->source.stream->index,
                               .counted = byte_stream_counts(&in->source),
                               .shows_part = in->source.shows_part};
    if (live_shape_copy(&shape, &news->shape))
        return LIVE_OPEN;
    *failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = ": out of memory"};
    return failure->code;
}

static int address_next(struct live_input *in, AVPacket *unit, struct live_news *news,
                        struct pelton_failure *failure)
{
    int rc = source_read(&in->source, unit, failure);
    news->received_ns = now_ns();
    return rc > 0 ? LIVE_UNIT : rc < 0 ? rc : LIVE_END;
}

/* ---- any of them ---- */

int live_input_create(struct live_input *in, const char *uri, int stop_fd,
                      struct camera_encodings *encodings, const struct pelton_open_params *params,
                      struct pelton_failure *failure)
{
    *in = (struct live_input){.source = {.fd = -1, .own_fd = -1, .size = -1}};
    if (encodings) {
        in->encoding = camera_encoding_start(encodings, uri, params);
        if (in->encoding)
            return 0;
        *failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = ": out of memory"};
        return failure->code;
    }
    return camera_address(uri) ? v4l2_stream_create(uri, stop_fd, &in->camera, failure) : 0;
}

void live_input_close(struct live_input *in)
{
    v4l2_stream_free(in->camera);
    camera_encoding_leave(in->encoding);
    if (in->opened)
        source_close(&in->source);
    *in = (struct live_input){0};
}

int live_input_next(struct live_input *in, const char *uri, uint32_t video, const atomic_bool *stop,
                    AVPacket *unit, struct live_news *news, struct pelton_failure *failure)
{
    *news = (struct live_news){0};
    if (in->camera)
        return camera_next(in, unit, news, failure);
    if (in->encoding)
        return encoding_next(in, unit, news, failure);
    return in->opened ? address_next(in, unit, news, failure)
                      : address_open(in, uri, video, stop, news, failure);
}

void live_input_ask_for_key(struct live_input *in)
{
    if (in->camera)
        v4l2_stream_ask_for_key(in->camera);
    else if (in->encoding)
        camera_encoding_ask_for_key(in->encoding);
}

bool live_input_ends(const struct live_input *in)
{
    const AVFormatContext *f = live_input_is_device(in) ? NULL : in->source.format;
    return f && f->pb && (f->pb->seekable & AVIO_SEEKABLE_NORMAL) && f->duration > 0;
}
