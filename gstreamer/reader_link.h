/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A connection of an element to a daemon, and a stream on it, for several threads. A connection of
 * libpelton serves one thread at a time, but buffers die in any thread and their frames go back
 * there. So a lock stands before each call, and nobody waits for frames with it.
 *
 * A buffer reads memory of its stream, so the stream is closed when its last buffer is gone.
 *
 * Life cycle: daemon_link_open -> stream_link_open ... stream_link_unref -> daemon_link_unref, in
 * any order: a stream holds its daemon, a buffer its stream.
 */
#ifndef PELTON_READER_LINK_H
#define PELTON_READER_LINK_H

#include "proto/pelton.h"

#include <gst/gst.h>

struct daemon_link;
struct stream_link;

/* The daemon at socket (NULL: the user's or the system's). Where none runs and alone is true: a
 * private one. NULL: a message with cause and hint is posted on the element's bus. */
struct daemon_link *daemon_link_open(GstElement *element, const char *socket, bool alone);
void daemon_link_unref(struct daemon_link *daemon); /* NULL is allowed */

/* A subscription. NULL: a message is posted. */
struct stream_link *stream_link_open(GstElement *element, struct daemon_link *daemon,
                                     const struct pelton_open_params *params);
struct stream_link *stream_link_ref(struct stream_link *stream);
void stream_link_unref(struct stream_link *stream); /* NULL is allowed */

/* Ends all waits for this daemon's streams, at once and until it is called with false. Any thread.
 */
void daemon_link_flush(struct daemon_link *daemon, bool flushing);

/* As pelton_next without an end of patience: 1 a frame, 0 the end, or an error. PELTON_ERR_TIMEOUT:
 * daemon_link_flush. */
int stream_link_next(struct stream_link *stream, struct pelton_frame *frame);
void stream_link_release(struct stream_link *stream, const struct pelton_frame *frame);
/* After the first frame: what the daemon knows of the source. 0 or an error. */
int stream_link_info(struct stream_link *stream, struct pelton_info *info);
/* Posts the last failure of the stream on the bus. */
void stream_link_complain(struct stream_link *stream, GstElement *element);

/* Frames of a stream that buffers may hold. Further ones are copied, so that no program that keeps
 * many buffers stops the stream. */
enum { STREAM_LINK_POOL = 16, STREAM_LINK_HELD = 12 };
/* False: as many are held. Each true needs a stream_link_return. */
bool stream_link_lend(struct stream_link *stream);
void stream_link_return(struct stream_link *stream);

#endif
