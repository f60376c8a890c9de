/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The listening socket, our own or systemd's, and sd_notify.
 *
 * The happy path is bind with the mode and group of the configuration, accept. The failure modes
 * are: the folder is missing or not ours, another daemon listens there (a socket file that nobody
 * answers is replaced), no descriptors left (accepting pauses until the next tick).
 */
#include "daemon/broker/broker.h"

#include "daemon/log.h"

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
    LISTEN_FDS_START = 3
};

static bool set_address(struct sockaddr_un *address, const char *path)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof(address->sun_path)) {
        log_line(LOG_LEVEL_ERROR, "%s: the path is longer than %zu bytes", path,
                 sizeof(address->sun_path) - 1);
        return false;
    }
    memcpy(address->sun_path, path, strlen(path) + 1);
    return true;
}

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
        return false;
    }
    *out = g->gr_gid;
    return true;
}

static int bind_and_listen(struct broker *b, const char *path)
{
    struct sockaddr_un address;
    gid_t group;
    if (!set_address(&address, path))
        return EXIT_OTHER;
    if (!find_group(b->settings, &group))
        return EXIT_CONFIG;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        log_line(LOG_LEVEL_ERROR, "socket: %s", strerror(errno));
        return EXIT_OTHER;
    }
    if (is_stale(&address))
        unlink(path);
    mode_t mask = umask(0777 & ~b->settings->listen.mode); /* from the first moment */
    int rc = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    int error = errno;
    umask(mask);
    if (rc == 0 && group != (gid_t)-1 && chown(path, (uid_t)-1, group) < 0) {
        log_line(LOG_LEVEL_ERROR, "%s: group %s: %s", path, b->settings->listen.group,
                 strerror(errno));
        unlink(path);
        close(fd);
        return EXIT_PERMISSION;
    }
    if (rc < 0 || listen(fd, BACKLOG) < 0) {
        error = rc < 0 ? error : errno;
        const char *cause = error != EADDRINUSE ? strerror(error)
                            : is_socket(path)   ? "another daemon listens there"
                                                : "is there and no socket";
        log_line(LOG_LEVEL_ERROR, "%s: %s", path, cause);
        close(fd);
        return error == EACCES || error == EPERM ? EXIT_PERMISSION : EXIT_OTHER;
    }
    wire_copy(b->socket_path, sizeof(b->socket_path), path);
    b->listen_fd = fd;
    return 0;
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

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct broker *b = poll->data;
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(b->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            client_accept(b, fd, false);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            log_line(LOG_LEVEL_ERROR, "accept: %s", strerror(errno));
            uv_poll_stop(poll); /* broker_tick's timer starts it again */
            b->listening = false;
            broker_tick(b);
        }
        return;
    }
}

void listener_resume(struct broker *b)
{
    if (b->listen_fd >= 0 && !b->listening && !b->closing)
        b->listening = uv_poll_start(&b->listener, UV_READABLE, on_connection) == 0;
}

int listener_open(struct broker *b)
{
    const char *env = getenv("PELTON_SOCKET");
    const char *path = b->settings->listen.path ? b->settings->listen.path
                       : env && env[0]          ? env
                                                : "/run/pelton/pelton.sock";
    b->listen_fd = inherited_socket();
    int rc = b->listen_fd >= 0 ? 0 : bind_and_listen(b, path);
    if (rc != 0)
        return rc;
    if (uv_poll_init(&b->loop, &b->listener, b->listen_fd) < 0) {
        log_line(LOG_LEVEL_ERROR, "the socket cannot be watched");
        close(b->listen_fd);
        b->listen_fd = -1;
        return EXIT_OTHER;
    }
    b->listener.data = b;
    listener_resume(b);
    log_line(LOG_LEVEL_INFO, "listening on %s",
             b->socket_path[0] ? b->socket_path : "systemd's socket");
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct broker *b = handle->data;
    close(b->listen_fd);
    b->listen_fd = -1;
    broker_try_finish(b);
}

void listener_close(struct broker *b)
{
    if (b->listen_fd >= 0) {
        if (b->socket_path[0])
            unlink(b->socket_path);
        uv_close((uv_handle_t *)&b->listener, on_closed);
    }
}

void service_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    if (!path || (path[0] != '/' && path[0] != '@') || !set_address(&address, path))
        return;
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
