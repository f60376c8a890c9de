/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Small helpers that the whole worker shares: clocks, a polite spin, a thread that gives way,
 * alignment.
 */
#ifndef PELTON_WORKER_CLOCK_H
#define PELTON_WORKER_CLOCK_H

#include <sched.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ll

/* CLOCK_MONOTONIC, the clock of frames and cameras. */
static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* CPU time of the calling thread. */
static inline double thread_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define SPIN_PAUSES 32 /* one to two microseconds */

/* Leaves the core to its other thread. */
static inline void spin_pause(void)
{
#ifdef __x86_64__
    for (unsigned i = 0; i < SPIN_PAUSES; i++)
        __builtin_ia32_pause();
#endif
}

/* One turn of a loop that waits. It leaves the core to its other thread, then to the scheduler. */
static inline void spin_once(void)
{
    spin_pause();
    sched_yield();
}

/* The calling thread, and those that it makes, leave cores to others: steps of nice(2), which Linux
 * counts for each thread. Nothing depends on it. */
static inline void thread_gives_way(int steps)
{
    int now = nice(steps);
    (void)now;
}

static inline uint64_t align_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

#endif
