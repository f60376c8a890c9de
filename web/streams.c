/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /streams/NAME.mjpeg, .y4m, .mkv, .nut: frames for as long as their reader wants them. A finite
 * source ends its body regularly. A failure breaks it off, and the log says why.
 */
#include "daemon/log.h"
#include "web/handlers.h"
#include "web/mux.h"
#include "web/stream_request.h"
#include "web/web.h"

#include <stdlib.h>

struct stream_body {
    struct feed_reader *reader;
    struct mux *mux;
    struct web_frame *frame; /* that is being sent, or that was waited for */
    char name[HTTP_NAME];
    uint64_t left; /* frames that the reader wants; 0: no end */
    bool ended, first;
};

static enum http_more body_finish(struct stream_body *b, struct http_piece pieces[HTTP_PIECES])
{
    if (b->ended)
        return HTTP_END;
    b->ended = true;
    mux_end(b->mux, pieces);
    return HTTP_PIECE;
}

static enum http_more frame_send(struct stream_body *b, struct http_piece pieces[HTTP_PIECES])
{
    if (mux_frame(b->mux, b->frame, pieces))
        return HTTP_PIECE;
    log_line(LOG_LEVEL_INFO, "%s: the frames' format has changed; a reader is cut", b->name);
    return HTTP_ABORT;
}

static enum http_more body_next(void *state, struct http_piece pieces[HTTP_PIECES])
{
    struct stream_body *b = state;
    struct pelton_failure why;
    if (b->first) {
        b->first = false;
        return frame_send(b, pieces);
    }
    if (b->ended || (b->left && --b->left == 0))
        return body_finish(b, pieces);
    feed_drop(b->frame);
    b->frame = NULL;
    switch (feed_next(b->reader, HTTP_PATIENCE_MS, &b->frame, &why)) {
    case FEED_FRAME:
        return frame_send(b, pieces);
    case FEED_NOTHING:
        b->left += b->left != 0;
        return HTTP_NOTHING;
    case FEED_END:
        return body_finish(b, pieces);
    case FEED_OVERRUN:
        log_line(LOG_LEVEL_INFO, "%s: a reader is too slow for all frames; it is cut", b->name);
        break;
    case FEED_FAILED:
        log_line(LOG_LEVEL_INFO, "%s: a stream ends: %s", b->name, why.cause);
        break;
    }
    return HTTP_ABORT;
}

static void body_free(void *state)
{
    struct stream_body *b = state;
    feed_drop(b->frame);
    feed_close(b->reader);
    mux_free(b->mux);
    free(b);
}

/* The rate that a container tells. */
static struct pelton_rational rate_of(const struct stream_request *q)
{
    double fps = q->query.fps;
    return fps > 0 ? (struct pelton_rational){(int32_t)(fps * 1000 + 0.5), 1000}
                   : q->source.source.frame_rate;
}

/* NULL: answered. */
static struct stream_body *body_make(struct http_request *r, const struct stream_request *q,
                                     enum mux_kind kind, enum MHD_Result *result)
{
    struct pelton_failure why = {.code = PELTON_ERR_NOMEM, .cause = "no memory"};
    struct stream_body *b = calloc(1, sizeof(*b));
    if (b)
        b->reader = feed_open(r->web->feed, &q->key);
    if (!b || !b->reader) {
        free(b);
        *result = stream_fail(r, &why);
        return NULL;
    }
    memcpy(b->name, r->name, sizeof(b->name));
    b->left = q->query.frames;
    b->first = true;
    b->frame = stream_first_frame(r, b->reader, 0, result);
    b->mux = b->frame ? mux_new(kind, b->frame, rate_of(q), &why) : NULL;
    if (b->mux)
        return b;
    if (b->frame)
        *result = stream_fail(r, &why);
    body_free(b);
    return NULL;
}

static enum MHD_Result stream_get(struct http_request *r, enum mux_kind kind, const char *type)
{
    struct stream_request q;
    enum MHD_Result result;
    if (!stream_request_read(r, &q, &result))
        return result;
    if (r->head)
        return http_reply(r, MHD_HTTP_OK, type, "", 0);
    q.key.kind = kind == MUX_MJPEG ? FEED_JPEG : FEED_RAW;
    struct stream_body *b = body_make(r, &q, kind, &result);
    if (!b)
        return result;
    return http_reply_body(r, type, &(struct http_body){body_next, body_free, b});
}

enum MHD_Result stream_mjpeg_get(struct http_request *r)
{
    return stream_get(r, MUX_MJPEG, "multipart/x-mixed-replace; boundary=pelton");
}

enum MHD_Result stream_y4m_get(struct http_request *r)
{
    return stream_get(r, MUX_Y4M, "video/x-yuv4mpeg");
}

enum MHD_Result stream_mkv_get(struct http_request *r)
{
    return stream_get(r, MUX_MKV, "video/x-matroska");
}

enum MHD_Result stream_nut_get(struct http_request *r)
{
    return stream_get(r, MUX_NUT, "video/x-nut");
}
