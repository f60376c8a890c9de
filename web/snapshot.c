/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /streams/NAME/snapshot.jpg, .png: one frame. With after=now it was captured after the request
 * came.
 */
#include "daemon/monotonic.h"
#include "web/handlers.h"
#include "web/http_reply.h"
#include "web/snapshot_png.h"
#include "web/stream_request.h"
#include "web/web.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL: answered. */
static struct web_frame *frame_get(struct http_request *r, struct stream_request *q,
                                   int64_t since_ns, enum MHD_Result *result)
{
    const struct pelton_failure why = {.code = PELTON_ERR_NOMEM, .cause = "no memory"};
    struct feed_reader *reader = feed_open(r->web->feed, &q->key);
    if (!reader) {
        *result = stream_fail(r, &why);
        return NULL;
    }
    struct web_frame *frame = stream_first_frame(r, reader, since_ns, result);
    feed_close(reader);
    return frame;
}

static enum MHD_Result picture_reply(struct http_request *r, const char *type,
                                     const struct web_frame *frame, const void *bytes, size_t size)
{
    char sequence[32];
    snprintf(sequence, sizeof(sequence), "%llu", (unsigned long long)frame->info.sequence);
    return http_reply_with(r, MHD_HTTP_OK, type, bytes, size, "X-Sequence", sequence);
}

enum MHD_Result snapshot_jpg_get(struct http_request *r)
{
    struct stream_request q;
    enum MHD_Result result;
    int64_t now = monotonic_ns();
    if (!stream_request_read(r, &q, &result))
        return result;
    q.key.kind = FEED_JPEG;
    q.key.lossless = q.key.file;
    struct web_frame *frame = frame_get(r, &q, q.query.after_now ? now : 0, &result);
    if (frame)
        result = picture_reply(r, "image/jpeg", frame, frame->bytes, frame->size);
    feed_drop(frame);
    return result;
}

enum MHD_Result snapshot_png_get(struct http_request *r)
{
    struct stream_request q;
    struct pelton_failure why = {.code = PELTON_ERR_NOMEM, .cause = "no memory"};
    enum MHD_Result result;
    int64_t now = monotonic_ns();
    if (!stream_request_read(r, &q, &result))
        return result;
    q.key.lossless = q.key.file;
    snprintf(q.key.pix_fmt, sizeof(q.key.pix_fmt), "rgb24");
    struct web_frame *frame = frame_get(r, &q, q.query.after_now ? now : 0, &result);
    size_t size = 0;
    uint8_t *png = frame ? snapshot_png(frame, &size) : NULL;
    if (png)
        result = picture_reply(r, "image/png", frame, png, size);
    else if (frame)
        result = stream_fail(r, &why);
    free(png);
    feed_drop(frame);
    return result;
}
