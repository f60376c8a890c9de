/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame rate and durations of raw H.264, which has no container to tell them. Versions of
 * libavformat guess differently: some count fields, and some give a frame a millionth of a second.
 * Here each version comes to the same rate and the same durations.
 */
#ifndef PELTON_BYTE_STREAM_H
#define PELTON_BYTE_STREAM_H

#include "daemon/worker/source/file_source.h"

/* Once the stream is chosen. It does nothing in containers. Returns 0 or an AVERROR. */
int byte_stream_open(struct source *src);
/* Sets the packet's duration. It does nothing in containers. */
void byte_stream_packet(struct source *src, AVPacket *packet);
/* Whether the ffmpeg tool of this version adds up the durations of the frames. */
bool byte_stream_counts(const struct source *src);
void byte_stream_close(struct source *src);

#endif
