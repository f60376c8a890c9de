/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame of libpelton as a buffer of GStreamer: the daemon's memory, read-only and without a copy,
 * and the description of it.
 */
#ifndef PELTON_FRAME_BUFFER_H
#define PELTON_FRAME_BUFFER_H

#include "gstreamer/reader_link.h"

#include <gst/video/video.h>

/* All formats, as the caps of a pad template have them. */
#define FRAME_FORMATS                                                                              \
    "{ I420, NV12, Y42B, Y444, GRAY8, I420_10LE, I422_10LE, Y444_10LE, I420_12LE, I422_12LE, "     \
    "Y444_12LE, GBR, GBR_10LE, GBR_12LE, RGB, BGR, RGBA, BGRA, RGBx, BGRx }"

/* GStreamer's name for FFmpeg's name of a pixel format, and back. UNKNOWN, NULL: there is none. */
GstVideoFormat frame_format(const char *pix_fmt);
const char *frame_pix_fmt(GstVideoFormat format);
/* The nearest pixel format that GStreamer has a name for; pix_fmt itself where it has one. */
const char *frame_nearest_pix_fmt(const char *pix_fmt);

/* Format, size, colour, aspect ratio of a sample and interlacing of the frame. False: GStreamer has
 * no name for its format. wanted: of two names for one format, this one (RGBA and RGBx). Frame rate
 * 0: variable. */
bool frame_video_info(const struct pelton_frame *frame, GstVideoFormat wanted,
                      struct pelton_rational rate, GstVideoInfo *info);

/* Takes the frame over: it goes back with the buffer. The samples are copied where too many buffers
 * are held, or where the receiver knows no strides but info's own (plain). Time stamps are the
 * caller's. NULL: no memory, and the frame has gone back. */
GstBuffer *frame_buffer(struct stream_link *stream, const struct pelton_frame *frame,
                        const GstVideoInfo *info, bool plain);

#endif
