/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream of access units of one source, for one request, up to its first key picture.
 *
 * Thread: that of the request.
 */
#ifndef PELTON_ENCODED_SOURCE_H
#define PELTON_ENCODED_SOURCE_H

#include "proto/pelton.h"
#include "web/http_request.h"
#include "web/web_feed.h"

struct encoded_source {
    struct pelton *conn;
    struct pelton_stream *stream;
    struct pelton_info info;
    struct feed_counter *counter;
    struct pelton_frame first; /* while has_first */
    bool has_first;
};

/* *s is zero. Waits for the first unit, and gives up with the request. 0, or a code of libpelton;
 * close in both cases. */
int encoded_source_open(struct encoded_source *s, const struct http_request *r, bool lossless);
/* As pelton_next; the first unit comes once more. The caller releases the unit. */
int encoded_source_next(struct encoded_source *s, int timeout_ms, struct pelton_frame *out);
void encoded_source_close(struct encoded_source *s);

/* The type of MP4 with this unit's parameter sets: video/mp4; codecs="avc1.64001f". False: they do
 * not tell. */
bool unit_mime(const struct pelton_frame *unit, char out[64]);

/* The same of a source, as it was last read; else of its next key picture, where it runs now.
 * False: not known. */
bool source_mime(struct http_request *r, const struct pelton_source *source, char out[64]);

#endif
