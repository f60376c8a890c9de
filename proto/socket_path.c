/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where daemons listen and clients look: see socket_path.h.
 */
#include "proto/socket_path.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

const char *socket_named(void)
{
    const char *name = getenv("PELTON_SOCKET");
    return name && name[0] ? name : NULL;
}

bool socket_of_user(char out[SOCKET_PATH])
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    return folder && folder[0] == '/' &&
           snprintf(out, SOCKET_PATH, "%s/pelton.sock", folder) < SOCKET_PATH;
}

/* Whether a daemon of this user answers. A socket that was left behind does not. */
static bool socket_answers(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    bool answers = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
                   (errno != ENOENT && errno != ECONNREFUSED && errno != ENOTDIR);
    close(fd);
    return answers;
}

void socket_default(char out[SOCKET_PATH])
{
    const char *named = socket_named();
    if (named)
        snprintf(out, SOCKET_PATH, "%s", named);
    else if (!socket_of_user(out) || !socket_answers(out))
        snprintf(out, SOCKET_PATH, "%s", SOCKET_SYSTEM);
}

/* What stands in the way: the socket, or its folder where that hides it. */
static bool socket_barrier(const char *path, struct stat *st)
{
    char folder[SOCKET_PATH];
    if (stat(path, st) == 0)
        return true;
    const char *slash = strrchr(path, '/');
    if (errno != EACCES || !slash || slash == path)
        return false;
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    return stat(folder, st) == 0;
}

static bool group_lists(const struct group *g, const char *user)
{
    for (char **member = g->gr_mem; *member; member++)
        if (!strcmp(*member, user))
            return true;
    return false;
}

void socket_access_hint(const char *path, char *out, size_t size)
{
    struct stat st;
    const struct passwd *me = getpwuid(geteuid());
    if (!socket_barrier(path, &st) || !me) {
        snprintf(out, size, "ask the administrator for access to the socket's folder");
        return;
    }
    const struct group *g = getgrgid(st.st_gid);
    if (!(st.st_mode & S_IXGRP) && !(st.st_mode & S_IWGRP))
        snprintf(out, size, "its configuration admits no group: listen: {unix: {mode: 0660}}");
    else if (!g)
        snprintf(out, size, "its group has the number %u and no name: set listen.unix.group",
                 (unsigned)st.st_gid);
    else if (group_lists(g, me->pw_name))
        snprintf(out, size, "%.64s is in the group %.64s from the next login on: log in again",
                 me->pw_name, g->gr_name);
    else
        snprintf(out, size, "sudo usermod -aG %.64s %.64s   (then log in again)", g->gr_name,
                 me->pw_name);
}
