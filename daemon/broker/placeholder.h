/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames for readers of a source that is down: a picture of the last format, marked by
 * PELTON_FRAME_PLACEHOLDER. They come in an epoch of their own, the
 * first half a second after the loss, then one a second.
 */
#ifndef PELTON_PLACEHOLDER_H
#define PELTON_PLACEHOLDER_H

#include "daemon/broker/stream_state.h"
#include "daemon/picture_file.h"

enum { PLACEHOLDER_FIRST_MS = 500, PLACEHOLDER_PERIOD_MS = 1000, PLACEHOLDER_SLOTS = 2 };

/* Makes and announces those that are due. A part of broker_step. */
void placeholders_step(struct broker *b, uint64_t now_ms);
/* Its reader gets its own last frame, which is to be kept. */
bool placeholder_is_last(const struct broker_stream *s);
/* The memory of such an epoch: slots of the same frame, sealed. m: the source's format with the
 * slots wanted. picture, last: what it shows; NULL: grey. -1: no memory. */
int placeholder_memory(const Pelton__FormatChanged *m, const struct still_picture *picture,
                       const struct last_frame *last);

#endif
