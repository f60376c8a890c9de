/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What systemd wants to know: see service.h.
 */
#include "daemon/broker/service.h"

#include <stdlib.h>
#include <unistd.h>

static void on_watchdog(uv_timer_t *timer)
{
    service_notify("WATCHDOG=1");
}

/* sd_watchdog_enabled(3): twice in the time that systemd allows. */
void service_watchdog(uv_timer_t *timer)
{
    const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t ms = period ? strtoull(period, NULL, 10) / 2000 : 0;
    if (ms > 0 && (!pid || atoi(pid) == (int)getpid()))
        uv_timer_start(timer, on_watchdog, ms, ms);
}
