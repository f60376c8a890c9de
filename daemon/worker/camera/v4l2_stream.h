/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A camera that gives H.264: its access units, Annex B as the device gives them, a buffer each. A
 * device that is lost, or absent and may be waited for, is opened again as other cameras are.
 *
 * Thread: one per stream.
 */
#ifndef PELTON_CAMERA_V4L2_STREAM_H
#define PELTON_CAMERA_V4L2_STREAM_H

#include "proto/pelton.h"

#include <libavcodec/packet.h>
#include <stdbool.h>

struct v4l2_stream;

enum { V4L2_NONE, V4L2_UNIT, V4L2_OPEN, V4L2_STATE };
struct v4l2_news {
    bool running; /* V4L2_STATE: the device is there again; else why it is not: */
    char cause[256];
    uint32_t width, height; /* V4L2_OPEN */
    double fps;
    uint64_t lost; /* V4L2_UNIT: units that the device has lost before this one */
};

/* Opens nothing yet. stop_fd ends waits once it is readable; borrowed. */
int v4l2_stream_create(const char *uri, int stop_fd, struct v4l2_stream **out,
                       struct pelton_failure *failure);
void v4l2_stream_free(struct v4l2_stream *s); /* NULL allowed */
/* The next event: V4L2_OPEN once, units (*unit filled, captured at pts microseconds of
 * CLOCK_MONOTONIC) and changes of state. V4L2_NONE: nothing for a tenth of a second. Negative, with
 * the failure: it could not be opened the first time. */
int v4l2_stream_next(struct v4l2_stream *s, AVPacket *unit, struct v4l2_news *news,
                     struct pelton_failure *failure);
/* A picture that decoding can begin with, soon: at most twice a second. */
void v4l2_stream_ask_for_key(struct v4l2_stream *s);

#endif
