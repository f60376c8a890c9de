/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A request for frames: its source, its parameters, and the first frame. Failures are answered with
 * the status that fits them.
 */
#ifndef PELTON_STREAM_REQUEST_H
#define PELTON_STREAM_REQUEST_H

#include "web/daemon_watch.h"
#include "web/web_feed.h"
#include "web/http_query.h"
#include "web/http_request.h"

struct stream_request {
    struct watched_source source;
    struct stream_query query;
    struct feed_key key;
};

/* Reads source and parameters. False: answered. */
bool stream_request_read(struct http_request *r, struct stream_request *out,
                         enum MHD_Result *result);
/* Waits for the first frame that was captured at or after since_ns. NULL: answered. */
struct web_frame *stream_first_frame(struct http_request *r, struct feed_reader *reader,
                                     int64_t since_ns, enum MHD_Result *result);
/* Answers with a failure of libpelton. */
enum MHD_Result stream_fail(struct http_request *r, const struct pelton_failure *why);

#endif
