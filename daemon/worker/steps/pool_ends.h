/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pools of readers that are gone. A thread of their own frees them: the driver takes 1 to 10 ms to
 * unpin one, and nobody waits for that.
 */
#ifndef PELTON_POOL_ENDS_H
#define PELTON_POOL_ENDS_H

#include "daemon/worker/engine/engine.h"

/* With the lock. Nothing writes into them any more. */
void pools_leave(struct engine *e, struct pool *pools);
/* Frees one of those that have been left, if there are more than `kept`. With the lock, dropped
 * meanwhile. False: there was none. */
bool pools_free_one(struct engine *e, uint32_t kept);
void pools_thread_main(void *engine);

#endif
