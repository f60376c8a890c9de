/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether the index of an MP4 and its parameter sets tell all of a stream. libavformat decodes a
 * picture otherwise, which takes 20 ms before the first access unit.
 */
#ifndef PELTON_MP4_PARAMETERS_H
#define PELTON_MP4_PARAMETERS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

/* Before avformat_find_stream_info. True: that needs no decoder, and video_delay is what a decoder
 * would find. */
bool mp4_tells_all(const AVFormatContext *format);

#endif
