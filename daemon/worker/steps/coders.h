/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The coders: threads of steps 2 and 3.
 */
#ifndef PELTON_CODERS_H
#define PELTON_CODERS_H

#include "daemon/worker/engine/engine.h"

/* Starts threads.cores of them. 0 or enum pelton_error; then some may have started. */
int coders_start(struct engine *e);
/* With the lock: those that rest look whether they still do. */
void coders_recall(struct engine *e);
/* After threads.stopping is set and they were woken. */
void coders_join(struct engine *e);
/* After no thread can wake them any more. */
void coders_free(struct engine *e);

#endif
