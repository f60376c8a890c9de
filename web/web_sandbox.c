/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sandbox of pelton-web: see web_sandbox.h. It accepts connections, asks the daemon over a
 * socket of Unix, maps frames to read, makes threads, and reads certificates and tokens again. It
 * starts no program, writes no file and connects to no network.
 */
#include "web/web_sandbox.h"

#include "daemon/log.h"
#include "daemon/sandbox.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static const char *const web_calls[] = {
    /* waiting, pipes */
    "poll", "ppoll", "read", "readv", "write", "writev", "close", "pipe2", "eventfd2", "fcntl",
    "dup", "dup3", "lseek", "restart_syscall", "rt_sigreturn", "rt_sigaction", "rt_sigprocmask",
    "rt_sigtimedwait", "sigaltstack",
    /* time, memory, threads of libc */
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "brk",
    "mmap", "munmap", "mremap", "mprotect", "madvise", "futex", "rseq", "set_robust_list",
    "sched_yield", "sched_getaffinity", "getrlimit", "getrandom", "getpid", "gettid", "getuid",
    "geteuid", "getgid", "getegid", "getgroups", "getcwd", "uname", "sysinfo", "getrusage", "exit",
    "exit_group", "tgkill", "membarrier",
    /* readers, the daemon */
    "accept4", "sendmsg", "recvmsg", "sendto", "recvfrom", "connect", "shutdown", "getsockopt",
    "setsockopt", "getsockname", "getpeername",
    /* files to read */
    "openat", "newfstatat", "fstat", "stat", "lstat", "statx", "fstatfs", "access", "faccessat",
    "faccessat2", "readlink", "readlinkat", NULL};

static bool calls_lock(bool debug)
{
    static const unsigned long requests[] = {FIONBIO, FIONREAD, TCGETS};
    struct sandbox_filter *f = sandbox_filter_new(true, debug);
    sandbox_filter_calls(f, web_calls);
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
        sandbox_filter_value(f, "ioctl", 1, requests[i]);
    sandbox_filter_value(f, "socket", 0, AF_UNIX);
    sandbox_filter_value(f, "prlimit64", 2, 0);       /* its limits are asked for, not set */
    sandbox_filter_value(f, "prctl", 0, PR_SET_NAME); /* of threads */
    /* Threads alone. Flags of clone3 lie in memory, where a filter cannot look; libc then takes
     * clone. Under RestrictNamespaces= of systemd it does so in any case. */
    sandbox_filter_bits(f, "clone", 0, CLONE_THREAD);
    sandbox_filter_unknown(f, "clone3");
    return sandbox_filter_install(f);
}

void web_sandbox(const struct web_options *options)
{
    if (!options->sandbox)
        return;
    int landlock = sandbox_paths(NULL, 0, SANDBOX_NO_TCP, true);
    bool debug = options->log_level >= LOG_LEVEL_DEBUG;
    sandbox_tell(calls_lock(debug), landlock);
}
