/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Barriers that tests leave out, one site at a time, to see whether a test notices
 * (tests/gpu/barriers.py). PELTON_DROP_BARRIER names it. A site is a place, a stage, the resources,
 * and the barrier that follows. Thread: any.
 */
#ifndef PELTON_GPU_BARRIER_DROP_H
#define PELTON_GPU_BARRIER_DROP_H

#include "gpu/engine/barrier.h"
#include "gpu/engine/vk.h"

struct gpu_barrier_drop;

/* site: of those that "list" prints at level 1, each once; NULL: none is left out. */
int gpu_barrier_drop_open(struct gpu *g, const char *site);
void gpu_barrier_drop_close(struct gpu *g);

#endif
