/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pools of streams that have ended. Some are kept for the next stream of the same reader, as one
 * that reads clips opens hundreds a second. No other reader gets them: the former one may still
 * have them mapped. A thread of their own frees the others: the driver takes 1 to 10 ms to unpin
 * one, and nobody waits for that.
 */
#ifndef PELTON_POOL_ENDS_H
#define PELTON_POOL_ENDS_H

#include "daemon/worker/engine/engine.h"
#include "daemon/worker/feed/subscription.h"

/* Those of a session. Nothing writes into them any more. With the lock. */
void pools_leave(struct engine *e, struct subscription *sub);
/* One that was kept and serves such frames; NULL: there is none. With the lock. */
struct pool *pools_take_kept(struct engine *e, uint64_t reader, const struct pool_params *params);
/* Those that were kept for long are freed, now_ns INT64_MAX: all. True: some are left. With the
 * lock. */
bool pools_tend(struct engine *e, int64_t now);
/* Frees one of those that have been left, if there are more than `kept`. With the lock, dropped
 * meanwhile. False: there was none. */
bool pools_free_one(struct engine *e, uint32_t kept);
void pools_thread_main(void *engine);

#endif
