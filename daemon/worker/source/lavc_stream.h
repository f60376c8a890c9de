/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream that libavcodec decodes. Step 1 goes on as for the device: its pictures tell what
 * leaves, in which order and with which times. libavcodec gives the samples, and the stream thread
 * copies them into the pool.
 *
 * Thread: the stream thread, without the lock.
 */
#ifndef PELTON_LAVC_STREAM_H
#define PELTON_LAVC_STREAM_H

#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/steps/delivery.h"

#include <libavcodec/avcodec.h>

struct lavc_stream;

/* For the packets that par describes. 0 or enum pelton_error. */
int lavc_stream_create(struct session *s, const AVCodecParameters *par, struct lavc_stream **out);
/* Frames that wait are forgotten. NULL is allowed. */
void lavc_stream_free(struct lavc_stream *l);

/* A picture begins that libavcodec cannot decode, or not to the bit, and decoding may go on
 * elsewhere from it on. NULL, or the reason in words. */
const char *lavc_refuses(const struct lavc_stream *l, const struct h264_picture *pic);
/* The next picture in decoding order; takes its reference. 0 or enum pelton_error. */
int lavc_admit(struct lavc_stream *l, struct h264_picture *pic);
/* Whether lavc_admit took it. */
bool lavc_has(const struct h264_picture *pic);
/* Of such a picture's frame: its fields' picture order counts. */
const int32_t *lavc_poc(const struct h264_picture *pic);

/* The access unit, once its pictures are admitted. */
void lavc_send(struct lavc_stream *l, const AVPacket *packet, int64_t tag);
/* The next frame in output order. */
void lavc_output(struct lavc_stream *l, struct delivery *out);
/* Frames whose samples are there leave; waits for room in the pool. */
void lavc_deliver(struct lavc_stream *l);
/* The source is at its end, or begins again: all samples come now. */
void lavc_flush(struct lavc_stream *l);
/* After the source's last frame. last: it gets PELTON_FRAME_LAST, if its number is the last of
 * `frames`; 0: always. */
void lavc_finish(struct lavc_stream *l, bool last, uint64_t frames);
#endif
