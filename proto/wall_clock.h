/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CLOCK_MONOTONIC and CLOCK_REALTIME, read together. The daemon tells its pair in Welcome. The
 * library compares its own pair with that of the handshake, and so sees when the wall clock was
 * set.
 */
#ifndef PELTON_WALL_CLOCK_H
#define PELTON_WALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct wall_clock {
    int64_t monotonic_ns, realtime_ns;
};

/* Reads both within 0.1 ms of each other. False: the thread was interrupted at each of its tries,
 * and *out is the best of them. */
bool wall_clock_read(struct wall_clock *out);
/* realtime_ns - monotonic_ns, for any values. */
int64_t wall_clock_offset(const struct wall_clock *c);

#endif
