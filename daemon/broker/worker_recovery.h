/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes of streams whose worker has died.
 */
#ifndef PELTON_WORKER_RECOVERY_H
#define PELTON_WORKER_RECOVERY_H

#include "daemon/broker/broker.h"

/* It can be opened again where it was. */
bool recovery_can_resume(const struct broker_stream *s);
/* Forgives streams that have passed the place where a worker died, and ends trials. */
void recovery_progress(struct broker *b, uint64_t now_ms);
/* Judges the streams of workers that are gone. */
void recovery_deaths(struct broker *b, uint64_t now_ms);

#endif
