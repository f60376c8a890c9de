/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker is another program than the broker, so that the broker loads neither demuxers nor
 * codecs. This stands in peltond for worker_main.c, and its process becomes that program. It lies
 * beside peltond in a build tree, and where PELTON_WORKER_PLACE says from an installed peltond.
 */
#include "daemon/worker/worker_main.h"

#include "daemon/log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKER_PROGRAM "peltond-worker"

/* Whatever the link says behind the last slash: an upgrade may have removed the file. */
static bool own_folder(char folder[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[n > 0 ? n : 0] = 0;
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    return slash != NULL;
}

int worker_process(const struct settings *settings, char **argv)
{
    static const char *const places[] = {WORKER_PROGRAM, PELTON_WORKER_PLACE "/" WORKER_PROGRAM};
    char folder[PATH_MAX], path[2 * PATH_MAX] = WORKER_PROGRAM;
    int error = own_folder(folder) ? ENOENT : errno;
    for (unsigned i = 0; i < 2 && error == ENOENT; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, places[i]);
        execv(path, argv);
        error = errno;
    }
    log_line(LOG_LEVEL_ERROR, "%s: %s (install pelton completely)", path, strerror(error));
    return 1;
}
