/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The video streams of a container: the one that is decoded, how its pictures are turned, and
 * whether it is encrypted.
 *
 * Thread: the stream thread of one session.
 */
#ifndef PELTON_VIDEO_STREAMS_H
#define PELTON_VIDEO_STREAMS_H

#include "proto/pelton.h"

#include <libavformat/avformat.h>

/* Index of the wanted video stream: 1 is the first. 0: as the ffmpeg tool chooses. -1: none. */
int video_streams_choose(const AVFormatContext *format, uint32_t wanted);
uint32_t video_streams_count(const AVFormatContext *format);
/* All of them, at most PELTON_MAX_VIDEOS, into *info, and the number of audio streams. */
void video_streams_list(const AVFormatContext *format, const AVStream *chosen,
                        struct pelton_info *info);
/* By the container's display matrix, as the ffmpeg tool turns; other angles than quarter turns: 0.
 */
enum pelton_orientation video_stream_orientation(const AVStream *stream);
/* True: its container says that it is encrypted. scheme: a name, as in "SAMPLE-AES". */
bool video_stream_encryption(const AVFormatContext *format, const AVStream *stream,
                             char scheme[16]);
/* The same of a packet, by its scheme in MP4: "cenc", "cbcs". */
bool video_packet_encryption(const AVPacket *packet, char scheme[16]);

#endif
