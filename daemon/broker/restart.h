/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How often a worker may be restarted: `limit` times in any window. Pure arithmetic on a caller's
 * clock.
 */
#ifndef PELTON_RESTART_H
#define PELTON_RESTART_H

#include <stdbool.h>
#include <stdint.h>

enum { RESTART_MAX = 16 };

struct restart_policy {
    uint64_t limit, window_ms;
    uint64_t times_ms[RESTART_MAX]; /* of the last restarts, oldest first */
    unsigned count;
};

/* Fewer than limit lie in the window before now_ms. */
bool restart_possible(struct restart_policy *p, uint64_t now_ms);
/* True, and the restart is counted, where fewer than limit lie in the window before now_ms. */
bool restart_allowed(struct restart_policy *p, uint64_t now_ms);

#endif
