/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The clock of all time stamps: CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef PELTON_MONOTONIC_H
#define PELTON_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

#endif
