/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The process that starts workers: see spawner.h.
 *
 * The happy path is a request with a descriptor, a fork whose parent is the broker, exec, the pid
 * as the answer. The failure modes are: no process or no program (its errno is the answer), the
 * broker ends (so does the spawner), and the spawner is gone (the question fails).
 */
#include "daemon/broker/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { WORKER_FD = 3, SOCKET_FD = 3, ARGS = 2 * SETTINGS_MAX_VALUES + 18, ANSWER_S = 30 };

/* Messages with one descriptor. */
static bool request_send(int socket, const struct spawn_request *request, int fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec bytes = {(void *)request, sizeof(*request)};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    ssize_t n;
    do
        n = sendmsg(socket, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*request);
}

/* -1: the broker has ended, or asks nonsense. */
static int request_receive(int socket, struct spawn_request *out)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec bytes = {out, sizeof(*out)};
    struct msghdr m = {.msg_iov = &bytes,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    ssize_t n;
    int fd = -1;
    do
        n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n == (ssize_t)sizeof(*out) ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    out->device[SPAWNER_DEVICE - 1] = 0;
    return fd;
}

static void build_arguments(const struct settings *o, const struct spawn_request *r,
                            const char *parent, char *argv[ARGS])
{
    unsigned n = 0;
    argv[n++] = "peltond";
    argv[n++] = "--worker-fd";
    argv[n++] = "3";
    argv[n++] = "--parent";
    argv[n++] = (char *)parent;
    argv[n++] = "--log-level";
    argv[n++] = (char *)o->process.log_name;
    for (unsigned i = 0; i < o->text.n_values; i++) {
        argv[n++] = "-c";
        argv[n++] = (char *)o->text.values[i];
    }
    if (r->device[0]) {
        argv[n++] = "--device";
        argv[n++] = (char *)r->device;
    }
    argv[n] = NULL;
}

/* As a shell leaves them. */
static void signals_reset(void)
{
    sigset_t none;
    for (int i = 1; i < 32; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void worker_become(char *const *argv, int fd, int errors)
{
    signals_reset();
    if (dup2(fd, WORKER_FD) >= 0)
        execv("/proc/self/exe", argv);
    int error = errno;
    if (write(errors, &error, sizeof(error)) < 0)
        _exit(126);
    _exit(127);
}

/* The end of the pipe says that the program runs. */
static pid_t worker_fork(char *const *argv, int fd)
{
    int errors[2], error = 0;
    if (pipe2(errors, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        worker_become(argv, fd, errors[1]);
    if (pid < 0)
        pid = -errno;
    close(errors[1]);
    if (pid > 0 && read(errors[0], &error, sizeof(error)) == (ssize_t)sizeof(error))
        pid = -error; /* the broker's loop fetches the child like any other */
    close(errors[0]);
    return pid;
}

static void driver_caches_off(void)
{
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
    setenv("__GL_SHADER_DISK_CACHE", "0", 1);
}

static void spawner_run(const struct settings *settings, const char *parent)
{
    struct spawn_request request;
    int fd;
    while ((fd = request_receive(SOCKET_FD, &request)) >= 0) {
        char *argv[ARGS];
        build_arguments(settings, &request, parent, argv);
        if (request.no_caches)
            driver_caches_off();
        pid_t pid = worker_fork(argv, fd);
        close(fd);
        if (send(SOCKET_FD, &pid, sizeof(pid), MSG_NOSIGNAL) < 0)
            return;
    }
}

/* The client's terminal and systemd speak to the broker. Nothing else of it stays open. */
static void spawner_settle(int socket)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    if (socket != SOCKET_FD)
        dup3(socket, SOCKET_FD, O_CLOEXEC);
    if (syscall(SYS_close_range, SOCKET_FD + 1, ~0U, 0) < 0)
        for (int fd = SOCKET_FD + 1; fd < 1024; fd++)
            close(fd);
}

int spawner_start(const struct settings *settings)
{
    int pair[2];
    char parent[16], name[16];
    const struct timeval limit = {.tv_sec = ANSWER_S};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    snprintf(parent, sizeof(parent), "%d", (int)getpid());
    prctl(PR_GET_NAME, name);
    prctl(PR_SET_NAME, "pelton-spawner"); /* it has its name from the first moment */
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        spawner_settle(pair[1]);
        spawner_run(settings, parent);
        _exit(0);
    }
    int error = errno;
    prctl(PR_SET_NAME, name);
    close(pair[1]);
    if (pid < 0)
        close(pair[0]);
    errno = error;
    return pid < 0 ? -1 : pair[0];
}

pid_t spawner_ask(int spawner, const struct spawn_request *request, int fd)
{
    pid_t pid;
    ssize_t n;
    if (!request_send(spawner, request, fd))
        return -errno;
    do
        n = recv(spawner, &pid, sizeof(pid), 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(pid) ? pid : n < 0 ? -errno : -EPIPE;
}
