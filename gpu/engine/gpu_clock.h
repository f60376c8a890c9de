/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The clock of gpu/: what batches and steps take.
 */
#ifndef PELTON_GPU_CLOCK_H
#define PELTON_GPU_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t gpu_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What began at *since is over, the next thing begins. */
static inline void gpu_clock_add(double *seconds, int64_t *since)
{
    const int64_t now = gpu_clock_ns();
    *seconds += 1e-9 * (double)(now - *since);
    *since = now;
}

#endif
