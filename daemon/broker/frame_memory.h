/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of frames that streams and clients hold: all their pools, in KiB, apart in host and in
 * device memory. Pools are what a reader makes the daemon allocate; what a worker decodes with has
 * the worker's own limits (`memory`).
 */
#ifndef PELTON_FRAME_MEMORY_H
#define PELTON_FRAME_MEMORY_H

#include "daemon/broker/stream_state.h"

/* Whether the stream may have the pool of this format beside those that it has. False: out says
 * why, and it is counted. */
bool frame_memory_admits(struct broker_stream *s, const Pelton__FormatChanged *m,
                         struct pelton_failure *out);
/* The most that a stream, or a client with all its streams, has now. */
uint64_t frame_memory_most(const struct broker *b, enum quota q);

#endif
