/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Restart policy: see restart.h.
 */
#include "daemon/broker/restart.h"

#include <string.h>

bool restart_possible(struct restart_policy *p, uint64_t now_ms)
{
    unsigned old = 0;
    while (old < p->count && now_ms - p->times_ms[old] >= p->window_ms)
        old++;
    p->count -= old;
    memmove(p->times_ms, p->times_ms + old, p->count * sizeof(*p->times_ms));
    return p->count < p->limit && p->count < RESTART_MAX;
}

bool restart_allowed(struct restart_policy *p, uint64_t now_ms)
{
    if (!restart_possible(p, now_ms))
        return false;
    p->times_ms[p->count++] = now_ms;
    return true;
}
