/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The listening socket: see listener.h.
 *
 * The happy path is bind with the mode and group of the configuration, accept. The failure modes
 * are: the folder is not ours, another daemon listens there, or no descriptors are left.
 * A socket file that nobody answers is replaced. Without descriptors accepting pauses until the
 * next tick, and the log says so once a minute at most.
 */
#include "daemon/broker/listener.h"

#include "daemon/broker/broker_client.h"
#include "daemon/broker/listen_path.h"
#include "daemon/log.h"
#include "proto/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    EXIT_OTHER = 1,
    EXIT_CONFIG = 2,
    EXIT_PERMISSION = 9,
    BACKLOG = 128,
    ACCEPTS = 16,
    LISTEN_FDS_START = 3,
    SHORT_MS = 60000 /* a shortage of descriptors is named once in this time */
};

static bool is_socket(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* True where the file is a socket that nobody listens on. */
static bool is_stale(const struct sockaddr_un *address)
{
    if (!is_socket(address->sun_path))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
                   errno == ECONNREFUSED;
    close(fd);
    return refused;
}

/* The group of the configuration; -1: the daemon's own. False: there is none of this name. */
static bool find_group(const struct settings *o, gid_t *out)
{
    *out = (gid_t)-1;
    if (!o->listen.group)
        return true;
    const struct group *g = getgrnam(o->listen.group);
    if (!g) {
        log_line(LOG_LEVEL_ERROR, "listen.unix.group: %s: there is no such group", o->listen.group);
        log_line(LOG_LEVEL_ERROR, "hint: packages make the group pelton; without this key the "
                                  "socket has the group of the daemon");
        return false;
    }
    *out = g->gr_gid;
    return true;
}

/* A service without capabilities may give a file to none but its own groups, and the filter of its
 * unit has no chown. The file mostly has the right group from the start. */
static int give_group(const char *path, gid_t group)
{
    struct stat st;
    if (group == (gid_t)-1 || (lstat(path, &st) == 0 && st.st_gid == group))
        return 0;
    return chown(path, (uid_t)-1, group);
}

static int listen_refused(const char *path, int error)
{
    bool taken = error == EADDRINUSE && is_socket(path);
    const char *cause = taken                 ? "another daemon listens there"
                        : error == EADDRINUSE ? "is there and no socket"
                                              : strerror(error);
    log_line(LOG_LEVEL_ERROR, "%s: %s", path, cause);
    if (taken)
        log_line(LOG_LEVEL_ERROR,
                 "hint: pelton stop --socket %s ends it; --socket names another place", path);
    if (error == EACCES || error == EPERM || error == EROFS)
        listen_path_hint();
    return error == EACCES || error == EPERM ? EXIT_PERMISSION : EXIT_OTHER;
}

static int bind_and_listen(struct listener *l, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    gid_t group;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (!find_group(l->broker->settings, &group))
        return EXIT_CONFIG;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        log_line(LOG_LEVEL_ERROR, "socket: %s", strerror(errno));
        return EXIT_OTHER;
    }
    if (is_stale(&address))
        unlink(path);
    mode_t mask = umask(0777 & ~l->broker->settings->listen.mode); /* from the first moment */
    int rc = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    int error = errno;
    umask(mask);
    if (rc == 0 && give_group(path, group) < 0) {
        log_line(LOG_LEVEL_ERROR, "%s: group %s: %s", path, l->broker->settings->listen.group,
                 strerror(errno));
        unlink(path);
        close(fd);
        return EXIT_PERMISSION;
    }
    if (rc < 0 || listen(fd, BACKLOG) < 0) {
        error = rc < 0 ? error : errno;
        close(fd);
        return listen_refused(path, error);
    }
    wire_copy(l->path, sizeof(l->path), path);
    l->fd = fd;
    return 0;
}

static int listen_at_path(struct listener *l)
{
    char path[SOCKET_PATH];
    int rc = listen_path_choose(l->broker->settings, path);
    rc = rc ? rc : listen_folder_create(path);
    return rc ? rc : bind_and_listen(l, path);
}

/* sd_listen_fds(3): one socket, for this very process. */
static int inherited_socket(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (!pid || !count || atoi(pid) != (int)getpid() || atoi(count) != 1)
        return -1;
    fcntl(LISTEN_FDS_START, F_SETFD, FD_CLOEXEC);
    return LISTEN_FDS_START;
}

/* Descriptors may come and go many times a second. */
static void accept_pause(struct listener *l, int error)
{
    uint64_t now_ms = uv_now(&l->broker->loop);
    if (!l->short_ms || now_ms - l->short_ms >= SHORT_MS) {
        log_line(LOG_LEVEL_ERROR, "accept: %s; new clients wait", strerror(error));
        l->short_ms = now_ms;
        l->short_open = true;
    }
    uv_poll_stop(&l->poll);
    l->accepting = false;
    broker_changed(l->broker);
}

static void accept_done(struct listener *l)
{
    if (l->short_open)
        log_line(LOG_LEVEL_NOTICE, "new clients are accepted again");
    l->short_open = false;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            accept_done(l);
            client_accept(l->broker, fd, false);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            accept_pause(l, errno);
        return;
    }
}

void listener_resume(struct listener *l)
{
    if (l->fd >= 0 && !l->accepting && !l->broker->closing)
        l->accepting = uv_poll_start(&l->poll, UV_READABLE, on_connection) == 0;
}

void listener_init(struct listener *l, struct broker *b)
{
    l->broker = b;
    l->fd = -1;
}

int listener_open(struct listener *l)
{
    l->fd = inherited_socket();
    int rc = l->fd >= 0 ? 0 : listen_at_path(l);
    if (rc != 0)
        return rc;
    if (uv_poll_init(&l->broker->loop, &l->poll, l->fd) < 0) {
        log_line(LOG_LEVEL_ERROR, "the socket cannot be watched");
        close(l->fd);
        l->fd = -1;
        return EXIT_OTHER;
    }
    l->poll.data = l;
    listener_resume(l);
    log_line(LOG_LEVEL_NOTICE, "listening on %s", l->path[0] ? l->path : "systemd's socket");
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;
    close(l->fd);
    l->fd = -1;
    broker_changed(l->broker);
}

void listener_close(struct listener *l)
{
    if (l->fd >= 0) {
        if (l->path[0])
            unlink(l->path);
        uv_close((uv_handle_t *)&l->poll, on_closed);
    }
}
