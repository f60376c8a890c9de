/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device's time of commands, between two time stamps. For measurements of the device itself.
 */
#ifndef PELTON_TIMED_RUN_H
#define PELTON_TIMED_RUN_H

#include "gpu/engine/work.h"

/* Records commands; queries has room for stamps 0 and 1, which it resets and writes. */
typedef void timed_record(struct gpu *g, VkCommandBuffer commands, VkQueryPool queries, void *ctx);

/* Runs them on the main queue, and waits. GPU_ERR_FEATURE: the queue has no time stamps, or they
 * are equal. */
int gpu_timed_run(struct gpu *g, timed_record *record, void *ctx, double *seconds);

#endif
