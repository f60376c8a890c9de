/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Two clocks read together: one reading of the wall clock between two of the monotonic clock.
 */
#include "proto/wall_clock.h"

#include <time.h>

enum { TRIES = 8, APART_NS = 100000 };

static int64_t clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool wall_clock_read(struct wall_clock *out)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < TRIES && best > APART_NS; i++) {
        int64_t before = clock_read(CLOCK_MONOTONIC);
        int64_t wall = clock_read(CLOCK_REALTIME);
        int64_t apart = clock_read(CLOCK_MONOTONIC) - before;
        if (apart < best) {
            best = apart;
            *out = (struct wall_clock){before + apart / 2, wall};
        }
    }
    return best <= APART_NS;
}

int64_t wall_clock_offset(const struct wall_clock *c)
{
    return (int64_t)((uint64_t)c->realtime_ns - (uint64_t)c->monotonic_ns);
}
