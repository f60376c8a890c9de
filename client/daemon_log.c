/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A sealed memfd takes the first lines of the log. A daemon that logs for days fills no memory:
 * writes beyond the size fail, and it goes on.
 */
#include "client/daemon_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOG_SIZE = 1 << 16 };

int daemon_log_open(void)
{
    int fd = memfd_create("pelton-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, LOG_SIZE) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

/* Cuts the last line off a text. */
static char *last_line(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = 0;
    char *newline = strrchr(text, '\n');
    if (!newline)
        return text;
    *newline = 0;
    return newline + 1;
}

int daemon_log_cause(int fd, struct failure *f)
{
    static char text[LOG_SIZE + 1];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, LOG_SIZE, 0);
    text[n > 0 ? n : 0] = 0;
    char *line = last_line(text), *hint = strncmp(line, "hint: ", 6) == 0 ? line + 6 : NULL;
    if (hint && line > text)
        line = last_line(text);
    if (strncmp(line, "peltond: ", 9) == 0)
        line += 9;
    if (!line[0])
        return 0;
    if (hint)
        return fail_with(f, X_USAGE, hint, "%s", line);
    return fail_with(f, X_NO_DAEMON, "-loglevel verbose shows the daemon's whole log",
                     "the private daemon ended at once: %s", line);
}
