/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams that need no worker for now: they do not count as open. An ended one waits for its Close.
 * One that rests has given its place to another: its reader holds every slot, so no frame could
 * come anyway. When a slot comes back it is opened again where it was, with a new epoch.
 */
#ifndef PELTON_RESTING_H
#define PELTON_RESTING_H

#include "daemon/broker/broker.h"

struct pelton_failure;

/* Streams that count as open. */
unsigned resting_places_used(const struct broker *b);
/* A place for one more stream. If none is free, a file whose reader holds every slot for the
 * longest time gives its own up. False, counted as refused: none does. */
bool resting_make_room(struct broker *b);
/* Why a stream is refused then. */
void resting_refuse(const struct broker *b, struct pelton_failure *out);
/* Of broker_step: where a device has no memory for a stream, another one of it rests. Those whose
 * readers have given slots back get places, as far as there are any. */
void resting_step(struct broker *b);

#endif
