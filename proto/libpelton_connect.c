/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Connecting to a daemon, starting a private one, and closing.
 *
 * The happy path is socket, Hello, Welcome. The failure modes are: no socket, refused, not
 * permitted, no program to start, the daemon ends before its Welcome, no answer in time. A private
 * daemon exits when our end of the socketpair closes. pelton_close waits for it, and kills it after
 * two seconds.
 */
#include "proto/libpelton_sizes.h"
#include "proto/libpelton_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PRIVATE_FD = 3, GRACE_MS = 2000, MAX_ARGS = 64 };

extern char **environ;

static struct pelton *connection_create(int fd)
{
    struct pelton *conn = calloc(1, sizeof(*conn));
    if (!conn)
        return NULL;
    conn->fd = fd;
    conn->child_fd = -1;
    conn->heard_ms = pelton_now_ms();
    frame_reader_init(&conn->reader);
    frame_writer_init(&conn->writer);
    return conn;
}

static int handshake(struct pelton *conn, int64_t deadline_ms)
{
    Pelton__Hello hello = PELTON__HELLO__INIT;
    char client[64];
    hello.proto_min = WIRE_PROTO_MIN;
    hello.proto_max = WIRE_PROTO_MAX;
    snprintf(client, sizeof(client), "%.32s, libpelton " PELTON_VERSION,
             program_invocation_short_name);
    hello.client = client;
    int rc = pelton_send(conn, WIRE_HELLO, 0, 0, &hello.base, NULL, 0);
    while (rc >= 0 && !conn->welcomed) {
        rc = pelton_pump(conn, deadline_ms);
        if (rc == 0) {
            return pelton_die(conn, PELTON_ERR_TIMEOUT, "",
                              "the daemon did not welcome us in time");
        }
    }
    return rc < 0 ? rc : conn->dead;
}

/* ---- a daemon that runs already ---- */

static int connect_failed(const char *path, int error)
{
    char hint[256];
    switch (error) {
    case ENOENT:
        return pelton_fail(NULL, PELTON_ERR_NO_DAEMON,
                           "start it: systemctl start peltond, or run peltond",
                           "%s: no daemon listens there", path);
    case ECONNREFUSED:
        return pelton_fail(NULL, PELTON_ERR_NO_DAEMON, "the daemon has ended; start it again",
                           "%s: connection refused", path);
    case EACCES:
    case EPERM:
        socket_access_hint(path, hint, sizeof(hint));
        return pelton_fail(NULL, PELTON_ERR_PERMISSION, hint, "%s: %s", path, strerror(error));
    default:
        return pelton_fail(NULL, PELTON_ERR_NO_DAEMON, "", "%s: %s", path, strerror(error));
    }
}

/* With a full backlog a non-blocking connect fails with EAGAIN, and poll cannot wait for it. */
static int connect_until(int fd, const struct sockaddr_un *address, int64_t deadline_ms)
{
    while (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
        if (errno != EAGAIN && errno != EINTR)
            return errno;
        if (pelton_now_ms() >= deadline_ms)
            return ETIMEDOUT;
        poll(NULL, 0, 5);
    }
    return 0;
}

int pelton_connect(const char *path, int timeout_ms, struct pelton **out)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char found[SOCKET_PATH];
    const char *name = path ? path : socket_named();
    if (!name) {
        socket_default(found);
        name = found;
    }
    if (strlen(name) >= sizeof(address.sun_path)) {
        return pelton_fail(NULL, PELTON_ERR_USAGE, "", "the socket's path is longer than %zu bytes",
                           sizeof(address.sun_path) - 1);
    }
    memcpy(address.sun_path, name, strlen(name) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return pelton_fail(NULL, PELTON_ERR_OTHER, "", "socket: %s", strerror(errno));
    int error = connect_until(fd, &address, deadline);
    if (error) {
        close(fd);
        return error == ETIMEDOUT ? pelton_fail(NULL, PELTON_ERR_TIMEOUT, "",
                                                "%s: the daemon takes no connections", name)
                                  : connect_failed(name, error);
    }
    struct pelton *conn = connection_create(fd);
    if (!conn) {
        close(fd);
        return pelton_fail(NULL, PELTON_ERR_NOMEM, "", "out of memory");
    }
    memcpy(conn->socket, address.sun_path, sizeof(address.sun_path));
    int rc = handshake(conn, deadline);
    if (rc < 0) {
        pelton_fail_with(NULL, &conn->failure);
        pelton_close(conn);
        return rc;
    }
    *out = conn;
    return PELTON_OK;
}

const char *pelton_socket(const struct pelton *conn)
{
    return conn->socket[0] ? conn->socket : NULL;
}

/* ---- a private daemon ---- */

/* peltond beside the calling program; otherwise only the name, which is looked up in PATH. */
static const char *find_program(char *buffer, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", buffer, size - 1);
    if (n > 0) {
        buffer[n] = 0;
        char *slash = strrchr(buffer, '/');
        if (slash && (size_t)(slash - buffer) + sizeof("/peltond") <= size) {
            strcpy(slash, "/peltond");
            if (access(buffer, X_OK) == 0)
                return buffer;
        }
    }
    return "peltond";
}

static int build_arguments(const struct pelton_spawn_params *p, const char *program,
                           const char **argv)
{
    unsigned n = 0;
    argv[n++] = program;
    argv[n++] = "--private-fd";
    argv[n++] = "3";
    if (p->device) {
        argv[n++] = "--device";
        argv[n++] = p->device;
    }
    for (const char *const *e = p->extra; e && *e; e++) {
        if (n + 3 > MAX_ARGS)
            return pelton_fail(NULL, PELTON_ERR_USAGE, "", "too many configuration values");
        argv[n++] = "-c";
        argv[n++] = *e;
    }
    argv[n] = NULL;
    return PELTON_OK;
}

/* The child gets the other end of the socketpair as descriptor 3 and its log on 2. It gets nothing
 * of the caller's stdin and stdout. */
static int start_program(const char *program, const char *const *argv, int peer, int log_fd,
                         pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGCHLD);
    sigaddset(&defaults, SIGTERM);
    int error = posix_spawn_file_actions_init(&files);
    if (error)
        return error;
    error = posix_spawnattr_init(&attr);
    if (error) {
        posix_spawn_file_actions_destroy(&files);
        return error;
    }
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    if (log_fd > 0 && log_fd != STDERR_FILENO)
        error = posix_spawn_file_actions_adddup2(&files, log_fd, STDERR_FILENO);
    error = error ? error : posix_spawn_file_actions_adddup2(&files, peer, PRIVATE_FD);
    error = error
                ? error
                : posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    error = error
                ? error
                : posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    error =
        error ? error : posix_spawnp(child, program, &files, &attr, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Our end must not be 0 to 3, in case the caller runs with those closed. The child's file actions
 * would overwrite it. */
static int private_pair(int pair[2])
{
    int raw[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, raw) < 0)
        return errno;
    for (int i = 0; i < 2; i++)
        pair[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, 4);
    int error = pair[0] < 0 || pair[1] < 0 ? errno : 0;
    close(raw[0]);
    close(raw[1]);
    if (error) {
        for (int i = 0; i < 2; i++)
            if (pair[i] >= 0)
                close(pair[i]);
    }
    return error;
}

static int spawn_failed(const char *program, int error)
{
    return pelton_fail(NULL, error == EACCES ? PELTON_ERR_PERMISSION : PELTON_ERR_NO_DAEMON,
                       "install peltond beside this program or in PATH", "%s: %s", program,
                       strerror(error));
}

int pelton_spawn_sized(const struct pelton_spawn_params *params, size_t size, int timeout_ms,
                       struct pelton **out)
{
    struct pelton_spawn_params own = {.log_fd = -1}, *p = &own;
    if (params && !PELTON_TAKE(&own, params, size)) {
        return pelton_fail(NULL, PELTON_ERR_USAGE, "install a libpelton as new as the program",
                           "an option of pelton_spawn is unknown to libpelton " PELTON_VERSION);
    }
    int64_t deadline = pelton_deadline(timeout_ms);
    char beside[4096];
    const char *argv[MAX_ARGS],
        *program = p->program ? p->program : find_program(beside, sizeof(beside));
    int rc = build_arguments(p, program, argv);
    if (rc < 0)
        return rc;
    int pair[2] = {-1, -1};
    int error = private_pair(pair);
    if (error)
        return pelton_fail(NULL, PELTON_ERR_OTHER, "", "socketpair: %s", strerror(error));
    struct pelton *conn = connection_create(pair[0]);
    if (!conn) {
        close(pair[0]);
        close(pair[1]);
        return pelton_fail(NULL, PELTON_ERR_NOMEM, "", "out of memory");
    }
    error = start_program(program, argv, pair[1], p->log_fd, &conn->child);
    close(pair[1]);
    if (error) {
        conn->child = 0;
        pelton_close(conn);
        return spawn_failed(program, error);
    }
    conn->child_fd = (int)syscall(SYS_pidfd_open, conn->child, 0);
    rc = handshake(conn, deadline);
    if (rc < 0) {
        if (rc == PELTON_ERR_GONE) {
            rc = pelton_fail(conn, PELTON_ERR_NO_DAEMON, "its log says why", "%s ended at once",
                             program);
        }
        pelton_fail_with(NULL, &conn->failure);
        pelton_close(conn);
        return rc;
    }
    *out = conn;
    return PELTON_OK;
}

/* ---- parting ---- */

static void reap_child(struct pelton *conn)
{
    if (conn->child <= 0)
        return;
    int64_t deadline = pelton_deadline(GRACE_MS);
    pid_t rc;
    while ((rc = waitpid(conn->child, NULL, WNOHANG)) == 0 && pelton_now_ms() < deadline) {
        struct pollfd p = {.fd = conn->child_fd, .events = POLLIN};
        if (conn->child_fd >= 0)
            poll(&p, 1, (int)(deadline - pelton_now_ms()));
        else
            poll(NULL, 0, 5);
    }
    if (rc == 0) {
        kill(conn->child, SIGKILL);
        waitpid(conn->child, NULL, 0);
    }
}

void pelton_close(struct pelton *conn)
{
    if (!conn)
        return;
    close(conn->fd); /* first: a private daemon ends while pools are unmapped */
    while (conn->streams)
        pelton_stream_free(conn->streams);
    stream_table_free(&conn->by_id);
    pelton_changes_free(conn);
    reap_child(conn);
    if (conn->child_fd >= 0)
        close(conn->child_fd);
    frame_reader_free(&conn->reader);
    frame_writer_free(&conn->writer);
    free(conn);
}
