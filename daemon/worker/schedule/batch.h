/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Choosing batches; used by the GPU thread, with the lock held.
 */
#ifndef PELTON_SCHEDULER_H
#define PELTON_SCHEDULER_H

#include "daemon/worker/engine_internal.h"
#include "daemon/worker/feed/format.h"

#include <stdio.h>

/* one runs, the next two's records are copied up; what becomes ready meanwhile makes the one after
 * them wider */
#define BATCHES_IN_FLIGHT 3
/* Batches of a store that may be in flight: one less on a software device, and where a live
 * stream's picture would have to wait behind them. */
uint32_t scheduler_batches(const struct engine *e);

/* Pictures for the next batch of st, perhaps none; they are SUBMITTED and have slots. NULL: enough
 * is in flight. */
struct batch *scheduler_collect(struct engine *e, struct store *st);
/* Adds the frames whose turn has come; pictures of b count as submitted. */
void scheduler_deliveries(struct engine *e, struct batch *b);
/* What a failed picture becomes: a copy of its first reference's samples, else grey. */
void copy_instead(const struct job *job, struct recon_picture *out);
/* Back to the store's spare batches. */
void batch_put(struct batch *b);

#endif
