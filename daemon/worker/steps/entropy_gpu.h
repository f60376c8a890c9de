/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU, the worker's side. schedule/split.h decides which pictures it gets.
 */
#ifndef PELTON_ENTROPY_GPU_H
#define PELTON_ENTROPY_GPU_H

#include "daemon/worker/engine/engine.h"

/* No thread if the setting or the device is against it. 0 or enum pelton_error. */
int entropy_gpu_start(struct engine *e);
/* Joins the thread, after threads.stopping is set, it was signalled and the device's thread has
 * ended. */
void entropy_gpu_stop(struct engine *e);
/* The process is about to end: its sums are logged. With the lock. */
void entropy_gpu_leave(struct engine *e);

#endif
