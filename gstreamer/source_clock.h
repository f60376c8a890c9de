/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Time stamps of peltonsrc.
 *
 * Of files: the frames' own, from the file's start. Of live sources: the running time of the
 * pipeline at the capture. Capture times jitter, and with B pictures they are out of order. So the
 * frames' own times are used, moved by a slowly corrected offset.
 */
#ifndef PELTON_SOURCE_CLOCK_H
#define PELTON_SOURCE_CLOCK_H

#include "proto/pelton.h"

#include <gst/video/video.h>

struct source_clock {
    int64_t start_us;    /* where the file is read from */
    int64_t first_ns;    /* the file's own time of its start */
    int64_t position_ns; /* of the last frame, from the file's start */
    int64_t offset_ns;   /* live: running time minus own time */
    bool anchored;       /* offset_ns is known */
    uint64_t latency_ns; /* live: the longest way of a frame so far; object lock */
};

/* A stream was opened at start_us. */
void source_clock_begin(struct source_clock *clock, const struct pelton_info *info);
/* The frame's time stamp; NONE: it has none. Live, it posts a message where the latency grew. */
GstClockTime source_clock_time(struct source_clock *clock, GstElement *element,
                               const struct pelton_frame *frame, bool live);
GstClockTime source_clock_duration(const struct pelton_frame *frame, const GstVideoInfo *info);
GstClockTime source_clock_latency(const struct source_clock *clock);
/* Where reading goes on after the last frame, microseconds. */
int64_t source_clock_position_us(const struct source_clock *clock);

#endif
