/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Access units for one request: see encoded_source.h. The failure modes are a daemon or source that
 * is not there, a source without H.264 or with blurred rectangles, and no unit in time.
 */
#include "web/encoded_source.h"

#include "daemon/monotonic.h"
#include "muxer/unit_muxer.h"
#include "web/api_sources.h"
#include "web/http_connections.h"
#include "web/http_reply.h"
#include "web/web.h"

#include <stdio.h>
#include <string.h>

enum { CONNECT_MS = 3000, FIRST_MS = 15000 };

static bool request_waits(const struct http_request *r, int64_t end_ns)
{
    return monotonic_ns() < end_ns && !r->web->stopping && !http_connection_gone(r->connection);
}

static int stream_start(struct encoded_source *s, const struct http_request *r, bool lossless)
{
    char uri[HTTP_NAME + 8];
    struct pelton_open_params params;
    snprintf(uri, sizeof(uri), "source:%s", r->name);
    pelton_open_params_init(&params);
    params.uri = uri;
    params.encoded = true;
    params.policy = lossless ? PELTON_LOSSLESS : PELTON_LATEST;
    return pelton_open_start(s->conn, &params, &s->stream);
}

int encoded_source_open(struct encoded_source *s, const struct http_request *r, bool lossless)
{
    int64_t end_ns = monotonic_ns() + (int64_t)FIRST_MS * 1000000;
    int rc = pelton_connect(r->web->options.socket, CONNECT_MS, &s->conn);
    s->counter = rc < 0 ? NULL : feed_counter_new(r->web->feed, r->name);
    rc = rc < 0 ? rc : s->counter ? stream_start(s, r, lossless) : PELTON_ERR_NOMEM;
    if (rc < 0)
        return rc;
    do
        rc = pelton_open_wait(s->stream, HTTP_PATIENCE_MS, &s->info);
    while (rc == PELTON_ERR_TIMEOUT && request_waits(r, end_ns));
    if (rc < 0)
        return rc;
    do
        rc = pelton_next(s->stream, HTTP_PATIENCE_MS, &s->first);
    while (rc == PELTON_ERR_TIMEOUT && request_waits(r, end_ns));
    s->has_first = rc > 0;
    return rc < 0 ? rc : s->has_first ? 0 : PELTON_ERR_INPUT;
}

int encoded_source_next(struct encoded_source *s, int timeout_ms, struct pelton_frame *out)
{
    if (!s->has_first)
        return pelton_next(s->stream, timeout_ms, out);
    s->has_first = false;
    *out = s->first;
    return 1;
}

void encoded_source_close(struct encoded_source *s)
{
    feed_counter_free(s->counter);
    pelton_stream_close(s->stream);
    pelton_close(s->conn);
}

bool unit_mime(const struct pelton_frame *unit, char out[64])
{
    char codec[16];
    if (!unit_codec_string(unit, codec))
        return false;
    snprintf(out, 64, "video/mp4; codecs=\"%s\"", codec);
    return true;
}

bool source_mime(struct http_request *r, const struct pelton_source *source, char out[64])
{
    struct encoded_source s = {.conn = NULL};
    struct feed_figures known;
    bool found = feed_figures_of(r->web->feed, source->name, &known) && known.mime[0] &&
                 known.mime_ns > source->since_ns;
    if (found)
        memcpy(out, known.mime, sizeof(known.mime));
    if (found || source->state != PELTON_SOURCE_RUNNING || source_is_camera(source))
        return found;
    if (encoded_source_open(&s, r, false) == 0 && unit_mime(&s.first, out)) {
        feed_counter_add(s.counter, &s.first, out);
        found = true;
    }
    encoded_source_close(&s);
    return found;
}
