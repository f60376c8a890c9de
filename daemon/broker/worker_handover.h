/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Queued streams and questions are handed to workers, which are started where needed.
 */
#ifndef PELTON_WORKER_HANDOVER_H
#define PELTON_WORKER_HANDOVER_H

#include "daemon/broker/broker.h"

void worker_handover(struct broker *b, uint64_t now_ms);
/* Starts the workers that the first stream will need. */
void workers_warm_up(struct broker *b, uint64_t now_ms);

#endif
