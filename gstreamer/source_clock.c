/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstreamer/source_clock.h"

#include <time.h>

/* A first guess of the latency, the step in which it grows, and the end of belief: a source that
 * was away is no slow source. */
enum { LATENCY_FIRST_MS = 50, LATENCY_STEP_MS = 10, LATENCY_MOST_MS = 2000 };
/* Own times further away from the capture's have jumped. */
enum { JUMP_MS = 500, CORRECTION = 64 };

static int64_t scaled_ns(int64_t ticks, struct pelton_rational base)
{
    return base.den > 0 ? (int64_t)((__int128)ticks * base.num * GST_SECOND / base.den) : 0;
}

void source_clock_begin(struct source_clock *clock, const struct pelton_info *info)
{
    bool known = info->start_pts != INT64_MIN;
    clock->first_ns = known ? scaled_ns(info->start_pts, info->time_base) : 0;
    clock->position_ns = clock->start_us * 1000;
    clock->anchored = false;
}

static GstClockTime file_time(struct source_clock *clock, const struct pelton_frame *frame)
{
    if (frame->pts == INT64_MIN)
        return GST_CLOCK_TIME_NONE;
    clock->position_ns = MAX(0, scaled_ns(frame->pts, frame->time_base) - clock->first_ns);
    return clock->position_ns;
}

static int64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * GST_SECOND + t.tv_nsec;
}

static void latency_learn(struct source_clock *clock, GstElement *element, int64_t delay_ns)
{
    uint64_t step = LATENCY_STEP_MS * GST_MSECOND;
    uint64_t want = MIN((delay_ns + step - 1) / step * step, LATENCY_MOST_MS * GST_MSECOND);
    GST_OBJECT_LOCK(element);
    bool grew = want > source_clock_latency(clock);
    if (grew)
        clock->latency_ns = want;
    GST_OBJECT_UNLOCK(element);
    if (grew)
        gst_element_post_message(element, gst_message_new_latency(GST_OBJECT(element)));
}

/* The frame's own time on the pipeline's clock, near the time of its capture. */
static int64_t live_place(struct source_clock *clock, const struct pelton_frame *frame,
                          int64_t captured)
{
    if (frame->pts == INT64_MIN)
        return captured;
    int64_t own = scaled_ns(frame->pts, frame->time_base);
    int64_t off = captured - (own + clock->offset_ns);
    bool jumped = frame->flags & PELTON_FRAME_DISCONT || ABS(off) > JUMP_MS * GST_MSECOND;
    if (!clock->anchored || jumped)
        clock->offset_ns = captured - own;
    else
        clock->offset_ns += off / CORRECTION;
    clock->anchored = true;
    return own + clock->offset_ns;
}

static GstClockTime live_time(struct source_clock *clock, GstElement *element,
                              const struct pelton_frame *frame)
{
    GstClock *now_clock = gst_element_get_clock(element);
    if (!now_clock)
        return GST_CLOCK_TIME_NONE;
    int64_t now = gst_clock_get_time(now_clock) - gst_element_get_base_time(element);
    gst_object_unref(now_clock);
    int64_t captured = now - MAX(0, monotonic_ns() - frame->received_ns);
    int64_t time = live_place(clock, frame, captured);
    latency_learn(clock, element, MAX(0, now - time));
    return MAX(0, time);
}

GstClockTime source_clock_time(struct source_clock *clock, GstElement *element,
                               const struct pelton_frame *frame, bool live)
{
    return live ? live_time(clock, element, frame) : file_time(clock, frame);
}

GstClockTime source_clock_duration(const struct pelton_frame *frame, const GstVideoInfo *info)
{
    if (frame->duration > 0)
        return scaled_ns(frame->duration, frame->time_base);
    if (info->fps_n > 0)
        return gst_util_uint64_scale_int(GST_SECOND, info->fps_d, info->fps_n);
    return GST_CLOCK_TIME_NONE;
}

GstClockTime source_clock_latency(const struct source_clock *clock)
{
    return MAX(clock->latency_ns, LATENCY_FIRST_MS * GST_MSECOND);
}

int64_t source_clock_position_us(const struct source_clock *clock)
{
    return clock->position_ns / 1000;
}
