/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Random numbers by xorshift64. A seed gives the same numbers everywhere. The state is never 0.
 */
#ifndef PELTON_XORSHIFT_H
#define PELTON_XORSHIFT_H

#include <stdint.h>

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

#endif
