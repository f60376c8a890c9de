/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See source_camera.h. Everything else sees a container with one stream, whose time base is
 * microseconds.
 */
#include "daemon/worker/source/camera_units.h"

#include "daemon/worker/camera/v4l2_stream.h"

static void tell(const struct source *src, const struct v4l2_news *news)
{
    src->watcher->state(src->watcher->ctx, news->running, news->cause);
}

static int describe(struct source *src, const struct v4l2_news *news)
{
    src->format = avformat_alloc_context();
    src->stream = src->format ? avformat_new_stream(src->format, NULL) : NULL;
    if (!src->stream)
        return PELTON_ERR_NOMEM;
    src->format->start_time = src->format->duration = AV_NOPTS_VALUE;
    src->stream->codecpar->codec_type = AVMEDIA_TYPE_VIDEO;
    src->stream->codecpar->codec_id = AV_CODEC_ID_H264;
    src->stream->codecpar->width = (int)news->width;
    src->stream->codecpar->height = (int)news->height;
    src->stream->time_base = (AVRational){1, 1000000};
    src->stream->r_frame_rate = src->stream->avg_frame_rate = av_d2q(news->fps, 100000);
    return 0;
}

/* V4L2_OPEN or V4L2_UNIT, V4L2_STOPPED, or negative. */
static int next(struct source *src, AVPacket *packet, struct v4l2_news *news,
                struct pelton_failure *failure)
{
    int rc;
    while ((rc = v4l2_stream_next(src->camera, src->stop, packet, news, failure)) == V4L2_STATE)
        tell(src, news);
    return rc;
}

int source_camera_open(struct source *src, struct v4l2_streams *streams, const char *uri,
                       const char *name, const atomic_bool *stop,
                       const struct source_watcher *watcher, struct pelton_failure *failure)
{
    struct v4l2_news news;
    *src = (struct source){.fd = -1,
                           .own_fd = -1,
                           .size = -1,
                           .name = name,
                           .uri = uri,
                           .stop = stop,
                           .watcher = watcher};
    int rc = v4l2_subscribe(streams, uri, &src->camera, failure);
    if (rc < 0)
        return rc;
    rc = next(src, NULL, &news, failure);
    if (rc < 0)
        return rc;
    if (rc == V4L2_OPEN && describe(src, &news) == 0)
        return 0;
    *failure = (struct pelton_failure){.code = PELTON_ERR_INPUT, .cause = "closed while opening"};
    if (rc == V4L2_OPEN)
        *failure = (struct pelton_failure){.code = PELTON_ERR_NOMEM, .cause = "out of memory"};
    return failure->code;
}

int source_camera_read(struct source *src, AVPacket *packet, struct pelton_failure *failure)
{
    struct v4l2_news news = {0};
    int rc = next(src, packet, &news, failure);
    src->captured_ns = rc == V4L2_UNIT ? packet->pts * 1000 : 0;
    src->dropped = rc == V4L2_UNIT ? news.dropped : src->dropped;
    return rc == V4L2_UNIT ? 1 : rc;
}

void source_camera_close(struct source *src)
{
    v4l2_unsubscribe(src->camera);
    avformat_free_context(src->format);
    src->format = NULL;
}
