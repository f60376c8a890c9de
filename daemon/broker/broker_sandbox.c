/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The broker's sandbox: see broker_sandbox.h.
 *
 * After its start the broker waits, reads messages, takes clients, opens files that clients or the
 * configuration name, and kills workers. It makes no thread and no process.
 */
#include "daemon/broker/broker_sandbox.h"

#include "daemon/log.h"
#include "daemon/sandbox.h"
#include "proto/pelton.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* tests/daemon/sandbox.py reads this list, and calls all others from inside. */
static const char *const broker_calls[] = {
    /* the loop */
    "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "poll", "ppoll", "read", "readv",
    "pread64", "write", "writev", "close", "close_range", "pipe2", "eventfd2", "fcntl", "dup",
    "dup3", "lseek", "restart_syscall", "rt_sigreturn", "rt_sigaction", "rt_sigprocmask",
    "sigaltstack",
    /* time, memory, threads of libc */
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "brk",
    "mmap", "munmap", "mremap", "mprotect", "madvise", "futex", "rseq", "set_robust_list",
    "sched_yield", "sched_getaffinity", "getrlimit", "getrandom", "getpid", "gettid", "getppid",
    "getuid", "geteuid", "getgid", "getegid", "getgroups", "getcwd", "uname", "sysinfo",
    "getrusage", "exit", "exit_group", "tgkill",
    /* clients, systemd */
    "accept4", "sendmsg", "recvmsg", "sendto", "recvfrom", "connect", "shutdown", "getsockopt",
    "setsockopt", "getsockname", "getpeername",
    /* files to read */
    "openat", "openat2", "open", "newfstatat", "fstat", "stat", "lstat", "statx", "fstatfs",
    "statfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents64", "flock",
    /* its socket and its workers */
    "unlink", "unlinkat", "kill", "wait4", "waitid",
    /* placeholders */
    "memfd_create", NULL};

static const unsigned long broker_requests[] = {FIONBIO, FIOCLEX, FIONREAD, TCGETS};

static bool calls_lock(bool debug)
{
    struct sandbox_filter *f = sandbox_filter_new(true, debug);
    sandbox_filter_calls(f, broker_calls);
    for (size_t i = 0; i < sizeof(broker_requests) / sizeof(*broker_requests); i++)
        sandbox_filter_value(f, "ioctl", 1, broker_requests[i]);
    sandbox_filter_value(f, "socket", 0, AF_UNIX);
    sandbox_filter_value(f, "socketpair", 0, AF_UNIX);
    sandbox_filter_value(f, "prlimit64", 2, 0); /* its limits are asked for, not set */
    return sandbox_filter_install(f);
}

static int files_lock(const char *socket)
{
    char folder[256];
    snprintf(folder, sizeof(folder), "%s", socket ? socket : "");
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    const struct sandbox_path paths[] = {{folder, SANDBOX_REMOVE}};
    return sandbox_paths(paths, slash ? 1 : 0, SANDBOX_NO_TCP, true);
}

uint32_t broker_sandbox(const struct settings *settings, const char *socket)
{
    if (!settings->limits.sandbox)
        return PELTON_SANDBOX_OFF;
    int landlock = files_lock(socket);
    bool debug = settings->process.log_level >= LOG_LEVEL_DEBUG;
    return sandbox_tell(calls_lock(debug), landlock);
}
