/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Waits between attempts: 0.5 s, 1 s, ... 30 s, each shortened at random by up to a half. Pure
 * arithmetic on a caller's random number. Network sources and cameras wait like this.
 */
#ifndef PELTON_BACKOFF_H
#define PELTON_BACKOFF_H

#include <stdint.h>

enum {
    BACKOFF_FIRST_MS = 500,
    BACKOFF_LAST_MS = 30000,
    BACKOFF_HEALTHY_MS = 10000 /* after so long without a failure the caller resets it */
};

/* All zero: the next wait is the first one. */
struct backoff {
    uint64_t wait_ms;
};

static inline void backoff_reset(struct backoff *b)
{
    b->wait_ms = 0;
}

/* Returns how long to wait now, in ms. random may be a clock: its bits are spread here. */
static inline uint64_t backoff_next(struct backoff *b, uint64_t random)
{
    uint64_t wait = b->wait_ms ? b->wait_ms : BACKOFF_FIRST_MS;
    uint64_t spread = (random ^ random >> 29) * 0x9e3779b97f4a7c15u >> 32;
    b->wait_ms = wait * 2 > BACKOFF_LAST_MS ? BACKOFF_LAST_MS : wait * 2;
    return wait / 2 + spread % (wait / 2 + 1);
}

#endif
