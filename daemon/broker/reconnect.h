/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources that come back.
 */
#ifndef PELTON_RECONNECT_H
#define PELTON_RECONNECT_H

#include "daemon/broker/stream_state.h"

/* Streams whose session is over are ended, or wait to be opened again. */
void reconnect_over(struct broker *b, uint64_t now_ms);
/* Streams that have waited long enough are queued. */
void reconnect_due(struct broker *b, uint64_t now_ms);

#endif
