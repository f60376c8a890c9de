/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A message to the service manager: see notify.h.
 */
#include "daemon/notify.h"

#include "daemon/log.h"

#include <errno.h>
#include <stddef.h>
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
