/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What follows from changes of state.
 */
#ifndef PELTON_BROKER_STEP_H
#define PELTON_BROKER_STEP_H

#include "daemon/broker/broker.h"

/* Called once per turn of the loop where broker_changed was called, and at each tick. */
void broker_step(struct broker *b, uint64_t now_ms);

#endif
