/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cameras that give H.264: each is read by one thread, for any number of subscribers, the decoding
 * sessions of its readers. A camera is known by its address; it is opened by its first subscriber
 * and closed with the last.
 *
 * Access units are Annex B as the device gives them, a buffer each. A subscriber's first one is a
 * key picture with its parameter sets, also where the device has sent those only once; one that is
 * too slow loses what waits for it, counted, up to the next key picture. A device that is lost, or
 * absent and may be waited for, is opened again as other cameras are.
 */
#ifndef PELTON_CAMERA_V4L2_STREAM_H
#define PELTON_CAMERA_V4L2_STREAM_H

#include "proto/pelton.h"

#include <libavcodec/packet.h>
#include <stdatomic.h>

struct v4l2_streams; /* all of a process */
struct v4l2_subscription;

struct v4l2_streams *v4l2_streams_create(void);   /* NULL: out of memory */
void v4l2_streams_free(struct v4l2_streams *all); /* after the last subscription; NULL allowed */

enum { V4L2_STOPPED, V4L2_UNIT, V4L2_OPEN, V4L2_STATE };
struct v4l2_news {
    bool running; /* V4L2_STATE: the device is there again; else why it is not: */
    char cause[256];
    uint32_t width, height; /* V4L2_OPEN */
    double fps;
    uint64_t dropped; /* V4L2_UNIT: units that this subscriber has not seen, so far */
};

/* name: for messages, with the failure. */
int v4l2_subscribe(struct v4l2_streams *all, const char *uri, struct v4l2_subscription **out,
                   struct pelton_failure *failure);
/* Waits for what comes next: V4L2_OPEN once, then units (*unit filled, captured at pts microseconds
 * of CLOCK_MONOTONIC) and changes of state; V4L2_STOPPED soon after *stop is set; negative with the
 * failure when it has ended. One thread per subscription. */
int v4l2_stream_next(struct v4l2_subscription *s, const atomic_bool *stop, AVPacket *unit,
                     struct v4l2_news *news, struct pelton_failure *failure);
void v4l2_unsubscribe(struct v4l2_subscription *s); /* NULL allowed */

#endif
