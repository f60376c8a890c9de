/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Waits between attempts: 0.5 s, 1 s, ... 30 s, each shortened at random by up to a half. Pure
 * arithmetic on a caller's random number.
 */
#ifndef PELTON_BACKOFF_H
#define PELTON_BACKOFF_H

#include <stdint.h>

enum { BACKOFF_FIRST_MS = 500, BACKOFF_LAST_MS = 30000 };

/* All zero: the next wait is the first one. */
struct backoff {
    uint64_t wait_ms;
};

/* Returns how long to wait now, in ms. */
uint64_t backoff_next(struct backoff *b, uint64_t random);
void backoff_reset(struct backoff *b);

#endif
