/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames from the worker to the one subscriber, and slots back.
 */
#ifndef PELTON_STREAM_DELIVERY_H
#define PELTON_STREAM_DELIVERY_H

#include "daemon/broker/stream_state.h"

void delivery_init(struct stream_delivery *d, bool lossless);
void delivery_free(struct stream_delivery *d);
/* From the worker; the format's memfd becomes the stream's. False: the worker broke the protocol.
 * Frames leave for the client at once. */
bool delivery_format(struct broker_stream *s, Pelton__FormatChanged *m, int memfd);
bool delivery_frame(struct broker_stream *s, const Pelton__FrameReady *m);
/* A frame in place of one of the source, which is down. */
void delivery_placeholder(struct broker_stream *s);
/* From the client. */
void delivery_release(struct broker_stream *s, const Pelton__Release *m);
void delivery_credit(struct broker_stream *s, uint32_t count);
/* The slots that the worker is asked for; 0: its choice. */
uint32_t delivery_pool_depth(const struct broker_stream *s);
/* The session's drops count from now on; the next session counts from 0. */
void delivery_keep_drops(struct stream_delivery *d);
/* Nothing that the source has sent is shown any more, in placeholders neither. */
void delivery_hide(struct broker_stream *s);
/* Frames that wait do not leave any more. */
void delivery_forget(struct broker_stream *s);
/* The subscriber holds every slot of the newest pool. */
bool delivery_stands_still(const struct stream_delivery *d);
/* Nobody holds a frame of its pools, and none waits. */
bool delivery_all_returned(const struct stream_delivery *d);

#endif
