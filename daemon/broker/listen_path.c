/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the daemon listens: see listen_path.h. The failure modes are a path that is too long, no
 * folder that may be written, and a folder that cannot be made. Each says the cause, and then the
 * next step.
 */
#include "daemon/broker/listen_path.h"

#include "daemon/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_OTHER = 1, EXIT_CONFIG = 2, EXIT_PERMISSION = 9, FOLDER_MODE = 0755 };

/* The folder of the service, which is there or may be made. */
static bool may_use_system(void)
{
    char folder[SOCKET_PATH] = SOCKET_SYSTEM;
    *strrchr(folder, '/') = 0;
    return geteuid() == 0 || access(folder, W_OK | X_OK) == 0;
}

int listen_path_choose(const struct settings *settings, char out[SOCKET_PATH])
{
    const char *named = settings->listen.path ? settings->listen.path : socket_named();
    if (named && strlen(named) >= SOCKET_PATH) {
        log_line(LOG_LEVEL_ERROR, "%s: the path is longer than %d bytes", named, SOCKET_PATH - 1);
        return EXIT_CONFIG;
    }
    if (named || may_use_system()) {
        snprintf(out, SOCKET_PATH, "%s", named ? named : SOCKET_SYSTEM);
        return 0;
    }
    if (socket_of_user(out))
        return 0;
    log_line(LOG_LEVEL_ERROR, "%s: not for this user, and XDG_RUNTIME_DIR is not set",
             SOCKET_SYSTEM);
    listen_path_hint();
    return EXIT_PERMISSION;
}

void listen_path_hint(void)
{
    char own[SOCKET_PATH];
    log_line(LOG_LEVEL_ERROR, "hint: name a place that this user may write: --socket %s",
             socket_of_user(own) ? own : "/tmp/pelton/pelton.sock");
}

int listen_folder_create(const char *path)
{
    char folder[SOCKET_PATH];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
        if (access(folder, F_OK) == 0 || mkdir(folder, FOLDER_MODE) == 0 || errno == EEXIST)
            continue;
        int error = errno;
        log_line(LOG_LEVEL_ERROR, "%s: the folder %s cannot be made: %s", path, folder,
                 strerror(error));
        listen_path_hint();
        return error == EACCES || error == EPERM || error == EROFS ? EXIT_PERMISSION : EXIT_OTHER;
    }
    return 0;
}
