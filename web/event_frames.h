/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The figures of the event `frames`: one object for each source that the gateway reads now.
 *
 * Thread: one has all of an event_frames.
 */
#ifndef PELTON_EVENT_FRAMES_H
#define PELTON_EVENT_FRAMES_H

#include "proto/json.h"
#include "web/daemon_watch.h"
#include "web/web_feed.h"

struct web;
struct event_mark;

struct event_frames {
    struct feed_figures *figures; /* of the sources that are read now */
    struct event_mark *marks;     /* the last look at each source */
    size_t n_marks;
    struct pelton_stream_status *streams; /* of the daemon */
    size_t n_streams;
    int64_t now_ns;
};

/* Looks at all sources. The number of those that are read now. */
size_t event_frames_look(struct event_frames *e, struct web *web, int64_t now_ns);
/* The members of source i of the last look, into an object that is open. */
void event_frames_write(struct event_frames *e, size_t i, struct json *j);
void event_frames_free(struct event_frames *e);

#endif
