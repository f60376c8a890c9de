/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /streams/NAME.h264, .mp4, .ts: the source's H.264 as it came. Nothing is decoded. Each reader has
 * a stream of the daemon, which begins with a key picture. New parameter sets begin a new
 * initialization segment. The type of MP4 names the codec, for MediaSource.
 */
#include "daemon/log.h"
#include "muxer/unit_muxer.h"
#include "web/encoded_source.h"
#include "web/handlers.h"
#include "web/http_reply.h"
#include "web/stream_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit_body {
    struct encoded_source source;
    struct unit_muxer *muxer;
    const char *format;
    bool ended, full;
    uint8_t *bytes; /* of the piece that is sent */
    size_t size, capacity;
    uint64_t left; /* units that the reader wants; 0: no end */
    char name[HTTP_NAME];
};

/* ---- bytes ---- */

static bool piece_write(void *ctx, const uint8_t *bytes, size_t size)
{
    struct unit_body *b = ctx;
    if (size > b->capacity - b->size) {
        size_t more = 2 * (b->size + size);
        uint8_t *grown = more > b->size ? realloc(b->bytes, more) : NULL;
        b->full |= !grown;
        if (!grown)
            return false;
        b->bytes = grown;
        b->capacity = more;
    }
    memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
    return true;
}

static enum http_more piece_send(struct unit_body *b, struct http_piece *out)
{
    *out = (struct http_piece){b->bytes, b->size};
    return b->size ? HTTP_PIECE : HTTP_NOTHING;
}

static int muxer_begin(struct unit_body *b, const struct pelton_frame *unit, int64_t start_us)
{
    struct unit_muxer_params params = {.format = b->format,
                                       .each_unit = true,
                                       .rate = b->source.info.avg_frame_rate,
                                       .start_us = start_us,
                                       .write = piece_write,
                                       .ctx = b};
    return unit_muxer_new(&params, unit, &b->muxer);
}

static int unit_add(struct unit_body *b, const struct pelton_frame *unit)
{
    int rc = 0;
    char mime[64];
    bool other = b->muxer && (unit->flags & PELTON_FRAME_KEY) && !unit_muxer_fits(b->muxer, unit);
    int64_t start_us = b->muxer ? unit_muxer_next_us(b->muxer) : 0;
    if (other) {
        rc = unit_muxer_end(b->muxer);
        unit_muxer_free(b->muxer);
        b->muxer = NULL;
    }
    feed_counter_add(b->source.counter, unit, !b->muxer && unit_mime(unit, mime) ? mime : NULL);
    if (rc >= 0 && !b->muxer)
        rc = muxer_begin(b, unit, start_us);
    return rc < 0 ? rc : unit_muxer_add(b->muxer, unit);
}

/* ---- the body ---- */

static enum http_more body_finish(struct unit_body *b, struct http_piece *out)
{
    if (b->ended)
        return HTTP_END;
    b->ended = true;
    if (b->muxer)
        unit_muxer_end(b->muxer);
    return b->size ? piece_send(b, out) : HTTP_END;
}

static enum http_more body_unit(struct unit_body *b, struct pelton_frame *unit,
                                struct http_piece *out)
{
    int rc = unit_add(b, unit);
    pelton_release(b->source.stream, unit);
    if (rc < 0) {
        log_line(LOG_LEVEL_INFO, "%s: %s cannot hold the stream; a reader is cut", b->name,
                 b->format);
        return HTTP_ABORT;
    }
    if (b->left && --b->left == 0)
        return body_finish(b, out);
    return piece_send(b, out);
}

static enum http_more body_next(void *state, struct http_piece pieces[HTTP_PIECES])
{
    struct unit_body *b = state;
    struct pelton_frame unit;
    b->size = 0;
    if (b->ended)
        return HTTP_END;
    int rc = encoded_source_next(&b->source, HTTP_PATIENCE_MS, &unit);
    if (rc > 0)
        return body_unit(b, &unit, &pieces[0]);
    if (rc == 0)
        return body_finish(b, &pieces[0]);
    if (rc == PELTON_ERR_TIMEOUT)
        return HTTP_NOTHING;
    log_line(LOG_LEVEL_INFO, "%s: a stream ends: %s", b->name,
             pelton_failure(b->source.conn)->cause);
    return HTTP_ABORT;
}

static void body_free(void *state)
{
    struct unit_body *b = state;
    unit_muxer_free(b->muxer);
    encoded_source_close(&b->source);
    free(b->bytes);
    free(b);
}

/* ---- the request ---- */

/* NULL: answered. */
static struct unit_body *body_make(struct http_request *r, const struct stream_request *q,
                                   const char *format, enum MHD_Result *result)
{
    struct pelton_failure why = {.code = PELTON_ERR_NOMEM, .cause = "no memory"};
    struct unit_body *b = calloc(1, sizeof(*b));
    int rc = PELTON_ERR_NOMEM;
    if (b) {
        b->format = format;
        b->left = q->query.frames;
        snprintf(b->name, sizeof(b->name), "%s", r->name);
        rc = encoded_source_open(&b->source, r, q->key.lossless);
        if (rc == 0)
            return b;
        why = *pelton_failure(b->source.conn);
        why.code = rc;
        body_free(b);
    }
    *result = stream_fail(r, &why);
    return NULL;
}

/* Options about pictures have no meaning here. */
static bool request_reads(struct http_request *r, struct stream_request *q, enum MHD_Result *result)
{
    if (!stream_request_read(r, q, result))
        return false;
    if (!q->query.width && !(q->query.fps > 0) && !q->query.pix_fmt[0])
        return true;
    *result = http_fail(r, MHD_HTTP_BAD_REQUEST, "read .mjpeg or .y4m with size, fps and pix_fmt",
                        "the source's H.264 is given as it came");
    return false;
}

static enum MHD_Result units_get(struct http_request *r, const char *format, const char *type)
{
    struct stream_request q;
    enum MHD_Result result;
    char full[64];
    if (!request_reads(r, &q, &result))
        return result;
    struct unit_body *b = body_make(r, &q, format, &result);
    if (!b)
        return result;
    if (strcmp(format, "mp4") != 0 || !unit_mime(&b->source.first, full))
        snprintf(full, sizeof(full), "%s", type);
    if (r->head) {
        body_free(b);
        return http_reply(r, MHD_HTTP_OK, full, "", 0);
    }
    return http_reply_body(r, full, &(struct http_body){body_next, body_free, b});
}

enum MHD_Result stream_h264_get(struct http_request *r)
{
    return units_get(r, "h264", "video/h264");
}

enum MHD_Result stream_mp4_get(struct http_request *r)
{
    return units_get(r, "mp4", "video/mp4");
}

enum MHD_Result stream_ts_get(struct http_request *r)
{
    return units_get(r, "mpegts", "video/mp2t");
}
