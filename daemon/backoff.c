/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See backoff.h.
 */
#include "daemon/backoff.h"

/* Spreads the bits, as callers pass clocks and addresses. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u;
    return x >> 32;
}

uint64_t backoff_next(struct backoff *b, uint64_t random)
{
    uint64_t wait = b->wait_ms ? b->wait_ms : BACKOFF_FIRST_MS;
    b->wait_ms = wait * 2 > BACKOFF_LAST_MS ? BACKOFF_LAST_MS : wait * 2;
    return wait / 2 + mix(random) % (wait / 2 + 1);
}

void backoff_reset(struct backoff *b)
{
    b->wait_ms = 0;
}
