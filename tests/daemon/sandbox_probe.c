/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A look from inside of a process of peltond, for sandbox.py: a library that LD_PRELOAD puts there.
 * At SIGUSR2 it makes system calls and writes "NAME ERRNO" for each into PELTON_PROBE/PID; the last
 * line is "end 0". Calls get arguments that are wrong, so that one that is not refused does
 * nothing.
 *
 * PELTON_PROBE/allowed names the calls that the broker's loop may make; it makes all others.
 * PELTON_PROBE/refused names the calls that a worker may not make; it makes those. With
 * PELTON_PROBE_FREE neither makes any of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 512, HIGH_FD = 100 };

static int report = -1;
static bool named[2][CALLS]; /* allowed, refused */
static char *call_names[CALLS];
static char folder[200];

static void line(const char *name, long result)
{
    char text[160];
    int n = snprintf(text, sizeof(text), "%s %d\n", name, result < 0 ? errno : 0);
    if (write(report, text, (size_t)n) < 0)
        _exit(99);
}

static void list_read(const char *name, bool found[CALLS])
{
    char path[256], word[64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%63s", word) == 1) {
        int number = seccomp_syscall_resolve_name(word);
        if (number >= 0 && number < CALLS)
            found[number] = true;
    }
    if (f)
        fclose(f);
}

/* One that forks after all ends its copy. */
static void call_make(int number)
{
    pid_t self = getpid();
    long result = syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
    int error = errno;
    if (getpid() != self)
        _exit(0);
    errno = error;
    line(call_names[number], result);
}

static void try_file(const char *name, const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    line(name, fd);
    if (fd >= 0)
        close(fd);
}

static void try_folder(const char *name, const char *in)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/pelton-probe-%d", in, (int)getpid());
    try_file(name, path, O_WRONLY | O_CREAT);
    unlink(path);
}

static void try_files(void)
{
    char path[256];
    try_file("write-etc", "/etc/hostname", O_WRONLY);
    try_file("write-null", "/dev/null", O_WRONLY);
    try_file("write-own-name", "/proc/self/comm", O_WRONLY);
    try_file("read", "/etc/hostname", O_RDONLY);
    try_folder("make-tmp", "/tmp");
    try_folder("make-shm", "/dev/shm");
    snprintf(path, sizeof(path), "%s/cache", folder);
    try_folder("make-cache", path);
    snprintf(path, sizeof(path), "%s/other", folder);
    line("remove-other", unlink(path));
}

static void try_socket(const char *name, int family, int type)
{
    int fd = socket(family, type | SOCK_CLOEXEC, 0);
    line(name, fd);
    if (fd >= 0)
        close(fd);
}

static void try_tcp(void)
{
    struct sockaddr_storage any = {.ss_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    line("bind-tcp", fd < 0 ? fd : bind(fd, (struct sockaddr *)&any, 16));
    if (fd >= 0)
        close(fd);
}

static void try_others(void)
{
    char *none[] = {NULL};
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    line("clone-user", pid);
    line("run", execve("/nonexistent", none, none));
    line("ioctl-type", ioctl(report, TIOCSTI, ""));
    line("signal-parent", kill(getppid(), 0));
    try_socket("socket-unix", AF_UNIX, SOCK_STREAM);
    try_socket("socket-inet", AF_INET, SOCK_DGRAM);
    try_socket("socket-packet", AF_PACKET, SOCK_RAW);
    try_socket("socket-alg", 38, SOCK_SEQPACKET);
    try_tcp();
}

static void on_signal(int signum)
{
    char name[16];
    prctl(PR_GET_NAME, name);
    bool worker = strcmp(name, "pelton-worker") == 0;
    for (int i = 0; i < CALLS && !getenv("PELTON_PROBE_FREE"); i++)
        if (call_names[i] && (worker ? named[1][i] : !named[0][i]))
            call_make(i);
    try_files();
    try_others();
    errno = 0;
    line("end", 0);
}

__attribute__((constructor)) static void probe_prepare(void)
{
    char path[256];
    const char *given = getenv("PELTON_PROBE");
    if (!given)
        return;
    snprintf(folder, sizeof(folder), "%s", given);
    list_read("allowed", named[0]);
    list_read("refused", named[1]);
    for (int i = 0; i < CALLS; i++)
        call_names[i] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);
    snprintf(path, sizeof(path), "%s/%d", folder, (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    report = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    close(fd);
    signal(SIGUSR2, on_signal);
}
