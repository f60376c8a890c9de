/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a client may open, and opening it again for the next worker.
 */
#ifndef PELTON_OPENED_SOURCE_H
#define PELTON_OPENED_SOURCE_H

#include "daemon/broker/stream_state.h"

/* Whether this client may open that; the stream keeps what is needed to open it again. 0, or a
 * code with the failure filled. */
int source_admit(struct broker_stream *s, struct frame *f, uint64_t now_ms,
                 struct pelton_failure *failure);
/* The descriptor to send to a worker, at the position where the source starts. *owned: close it
 * after sending. -1: none. */
int source_descriptor(struct broker_stream *s, bool *owned);
/* The descriptor has been sent. */
void source_sent(struct broker_stream *s);
/* The named source has another address now. Negative, with the failure: the stream cannot follow.
 */
int source_move(struct broker_stream *s, const struct named_source *n,
                struct pelton_failure *failure);
/* Whether the configuration as it is now lets it have access units, if it has them. */
int source_still_gives_units(struct broker_stream *s, struct pelton_failure *failure);

#endif
