/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A request for frames: see stream_request.h.
 */
#include "web/stream_request.h"

#include "daemon/monotonic.h"
#include "web/api_sources.h"
#include "web/http_connections.h"
#include "web/http_reply.h"
#include "web/web.h"

#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_MS = 15000 };

struct query_reader {
    struct stream_query *query;
    char why[QUERY_WHY];
};

static enum MHD_Result on_parameter(void *cls, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct query_reader *q = cls;
    return stream_query_set(q->query, name, value, q->why) ? MHD_YES : MHD_NO;
}

static bool pix_fmt_fits(const char *name)
{
    enum AVPixelFormat format = av_get_pix_fmt(name);
    return !name[0] || (format != AV_PIX_FMT_NONE && sws_isSupportedOutput(format) > 0);
}

static bool query_read(struct http_request *r, struct stream_query *out, enum MHD_Result *result)
{
    struct query_reader q = {.query = out};
    stream_query_preset(out);
    MHD_get_connection_values(r->mhd, MHD_GET_ARGUMENT_KIND, on_parameter, &q);
    if (!q.why[0] && !pix_fmt_fits(out->pix_fmt))
        snprintf(q.why, sizeof(q.why), "pix_fmt=%s: no such pixel format", out->pix_fmt);
    if (!q.why[0])
        return true;
    *result =
        http_fail(r, MHD_HTTP_BAD_REQUEST,
                  "parameters are size, fps, quality, frames, pix_fmt, policy, after", "%s", q.why);
    return false;
}

bool stream_request_read(struct http_request *r, struct stream_request *out,
                         enum MHD_Result *result)
{
    if (!query_read(r, &out->query, result) || !source_named(r, &out->source, result))
        return false;
    const struct stream_query *q = &out->query;
    struct feed_key *k = &out->key;
    *k = (struct feed_key){.width = q->width,
                           .height = q->height,
                           .quality = q->quality,
                           .fps = q->fps,
                           .scaled = !source_is_camera(&out->source.source),
                           .file = source_is_file(&out->source.source)};
    k->lossless = q->lossless || (k->file && !q->latest);
    k->file = k->file && k->lossless;
    snprintf(k->source, sizeof(k->source), "%s", out->source.source.name);
    memcpy(k->pix_fmt, q->pix_fmt, sizeof(k->pix_fmt));
    return true;
}

enum MHD_Result stream_fail(struct http_request *r, const struct pelton_failure *why)
{
    static const struct {
        int code;
        unsigned status;
    } statuses[] = {
        {PELTON_ERR_USAGE, MHD_HTTP_BAD_REQUEST},
        {PELTON_ERR_INPUT, MHD_HTTP_NOT_FOUND},
        {PELTON_ERR_NOT_FOUND, MHD_HTTP_NOT_FOUND},
        {PELTON_ERR_PERMISSION, MHD_HTTP_FORBIDDEN},
        {PELTON_ERR_UNSUPPORTED, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE},
        {PELTON_ERR_TIMEOUT, MHD_HTTP_GATEWAY_TIMEOUT},
        {PELTON_ERR_LIMIT, MHD_HTTP_SERVICE_UNAVAILABLE},
        {PELTON_ERR_GONE, MHD_HTTP_SERVICE_UNAVAILABLE},
        {PELTON_ERR_NO_DAEMON, MHD_HTTP_SERVICE_UNAVAILABLE},
    };
    unsigned status = MHD_HTTP_BAD_GATEWAY;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
        if (statuses[i].code == why->code)
            status = statuses[i].status;
    return http_fail(r, status, why->hint[0] ? why->hint : "/api/v1/sources tells its state", "%s",
                     why->cause);
}

struct web_frame *stream_first_frame(struct http_request *r, struct feed_reader *reader,
                                     int64_t since_ns, enum MHD_Result *result)
{
    struct pelton_failure why = {.code = PELTON_ERR_INPUT, .cause = "the source has no frame"};
    int64_t end = monotonic_ns() + (int64_t)FIRST_MS * 1000000;
    enum feed_news news = FEED_NOTHING;
    struct web_frame *found = NULL;
    http_connection_waits(r->connection);
    while (!found && news == FEED_NOTHING && monotonic_ns() < end && !r->web->stopping &&
           !http_connection_gone(r->connection)) {
        struct web_frame *frame;
        news = feed_next(reader, HTTP_PATIENCE_MS, &frame, &why);
        if (news != FEED_FRAME)
            continue;
        news = FEED_NOTHING;
        if (frame->info.received_ns >= since_ns)
            found = frame;
        else
            feed_drop(frame);
    }
    http_connection_sends(r->connection);
    if (found)
        return found;
    if (news == FEED_NOTHING) {
        why.code = PELTON_ERR_TIMEOUT;
        feed_waits(reader, why.cause);
        if (!why.cause[0])
            snprintf(why.cause, sizeof(why.cause), "no frame within %d s", FIRST_MS / 1000);
    }
    *result = stream_fail(r, &why);
    return NULL;
}
