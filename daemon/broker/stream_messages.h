/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Words about a stream to its client: answers, states, totals, the end.
 */
#ifndef PELTON_STREAM_MESSAGES_H
#define PELTON_STREAM_MESSAGES_H

#include "daemon/broker/stream_state.h"

/* Answers Open or Probe; of a source that was opened again it says RUNNING. */
void stream_send_info(struct broker_stream *s, const Pelton__Info *info);
void stream_send_state(struct broker_stream *s, Pelton__SourceState__State state,
                       const char *cause);
void stream_send_stats(struct broker_stream *s, uint32_t client_request);
/* Eos, or the answer to Open. */
void stream_send_end(struct broker_stream *s);

#endif
