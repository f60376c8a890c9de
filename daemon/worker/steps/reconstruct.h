/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Steps 4 and 5: the device's thread, which reconstructs and delivers in batches.
 */
#ifndef PELTON_RECONSTRUCT_H
#define PELTON_RECONSTRUCT_H

#include "daemon/worker/steps/store.h"

void device_thread_main(void *engine);

/* Submits the next batch of st, of which fewer than batches_most are in flight, and completes those
 * that are done. True: there was something. Device's thread, with the lock, dropped meanwhile. */
bool store_submit(struct engine *e, struct store *st);
bool store_complete(struct engine *e, struct store *st);
/* Submits rows of a picture that is not decoded yet. True: there were some. The same. */
bool store_submit_rows(struct engine *e, struct store *st);
/* Adds the frames whose turn has come; the batch's pictures count as submitted. With the lock. */
void submission_deliver(struct engine *e, struct submission *sub);

#endif
