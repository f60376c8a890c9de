/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What systemd wants to know: see service.h.
 */
#include "daemon/broker/service.h"

#include "daemon/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void service_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(address.sun_path))
        return;
    memset(&address, 0, sizeof(address));
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path, strlen(path) + 1);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                   length) < 0) {
            log_line(LOG_LEVEL_WARNING, "notify: %s", strerror(errno));
        }
        close(fd);
    }
}

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
