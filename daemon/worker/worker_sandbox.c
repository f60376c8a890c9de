/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker's sandbox: see worker_sandbox.h.
 *
 * Landlock holds for threads that are made later. So it comes first, before the driver has threads.
 * Cameras run in the worker: their devices lie in /dev and their descriptions in /sys.
 */
#include "daemon/worker/worker_sandbox.h"

#include "daemon/log.h"
#include "daemon/sandbox.h"
#include "gpu/engine/cache_file.h"
#include "proto/pelton.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* tests/daemon/sandbox.py reads these lists, and makes each call from inside. */
static const char *const refused_calls[] = {
    /* other processes */
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    /* the kernel */
    "kexec_load", "kexec_file_load", "reboot", "init_module", "finit_module", "delete_module",
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "syslog", "lookup_dcookie", "iopl", "ioperm", "modify_ldt", "personality",
    /* file systems and namespaces */
    "mount", "umount2", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "pivot_root", "chroot", "setns", "unshare", "open_by_handle_at",
    "name_to_handle_at", "mknod", "mknodat", "fanotify_init", "swapon", "swapoff", "acct",
    "quotactl", "quotactl_fd", "nfsservctl", "vhangup",
    /* keys, users, clocks, names */
    "add_key", "request_key", "keyctl", "setuid", "setgid", "setreuid", "setregid", "setresuid",
    "setresgid", "setgroups", "setfsuid", "setfsgid", "capset", "settimeofday", "clock_settime",
    "clock_adjtime", "adjtimex", "sethostname", "setdomainname", NULL};

#ifndef PELTON_LIBCAMERA /* its pipelines may be programs */
static const char *const run_calls[] = {"execve", "execveat", NULL};
#endif

enum { NEW_NAMESPACES = 7, FAMILIES = 64 };
static const unsigned long new_namespaces[NEW_NAMESPACES] = {0x00020000 /* mount */,
                                                             0x02000000 /* cgroup */,
                                                             0x04000000 /* uts */,
                                                             0x08000000 /* ipc */,
                                                             0x10000000 /* user */,
                                                             0x20000000 /* pid */,
                                                             0x40000000 /* net */};

/* Unix, IPv4, IPv6, netlink: libcamera hears of devices by it. */
static bool family_known(unsigned family)
{
    return family == 1 || family == 2 || family == 10 || family == 16;
}

static bool calls_lock(bool debug)
{
    struct sandbox_filter *f = sandbox_filter_new(false, debug);
    sandbox_filter_calls(f, refused_calls);
    /* its flags lie in memory, where a filter cannot look; libc then takes clone */
    sandbox_filter_unknown(f, "clone3");
    for (unsigned i = 0; i < NEW_NAMESPACES; i++)
        sandbox_filter_bits(f, "clone", 0, new_namespaces[i]);
    for (unsigned i = 0; i < FAMILIES; i++)
        if (!family_known(i))
            sandbox_filter_value(f, "socket", 0, i);
    sandbox_filter_value(f, "ioctl", 1, TIOCSTI);
    return sandbox_filter_install(f);
}

static const char *environment_folder(const char *name)
{
    const char *path = getenv(name);
    return path && path[0] == '/' ? path : "";
}

static int files_lock(void)
{
    char cache[CACHE_PATH], nvidia[CACHE_PATH] = "";
    const char *home = environment_folder("HOME");
    if (cache_folder(cache, sizeof(cache)))
        mkdir(cache, 0700); /* one that is there stays */
    else
        cache[0] = 0;
    if (home[0])
        snprintf(nvidia, sizeof(nvidia), "%s/.nv", home);
    const unsigned all = SANDBOX_WRITE | SANDBOX_MAKE;
    const struct sandbox_path paths[] = {
        {"/dev", SANDBOX_WRITE},
        {"/dev/shm", all},
        {"/proc/self", SANDBOX_WRITE}, /* names of threads */
        {cache, all},
        {nvidia, all},
        {environment_folder("MESA_SHADER_CACHE_DIR"), all},
        {environment_folder("__GL_SHADER_DISK_CACHE_PATH"), all},
        {"/usr", SANDBOX_RUN},
        {"/bin", SANDBOX_RUN},
        {"/sbin", SANDBOX_RUN},
    };
    return sandbox_paths(paths, sizeof(paths) / sizeof(*paths), SANDBOX_CONNECT, false);
}

/* A program of NVIDIA that belongs to root makes them; without new privileges it could not. */
static bool nodes_lack(void)
{
    return access("/proc/driver/nvidia/version", F_OK) == 0 &&
           (access("/dev/nvidiactl", F_OK) < 0 || access("/dev/nvidia-modeset", F_OK) < 0);
}

static uint32_t worker_lock(bool debug)
{
    int landlock = files_lock();
    return sandbox_tell(calls_lock(debug), landlock);
}

static bool is_debugged(const struct settings *settings)
{
    return settings->process.log_level >= LOG_LEVEL_DEBUG;
}

uint32_t worker_sandbox_begin(const struct settings *settings)
{
    if (!settings->limits.sandbox)
        return PELTON_SANDBOX_OFF;
    return nodes_lack() ? 0 : worker_lock(is_debugged(settings));
}

uint32_t worker_sandbox_close(const struct settings *settings, uint32_t begun)
{
    if (!settings->limits.sandbox)
        return PELTON_SANDBOX_OFF;
    if (!begun)
        begun = worker_lock(is_debugged(settings));
#ifndef PELTON_LIBCAMERA
    struct sandbox_filter *f = sandbox_filter_new(false, is_debugged(settings));
    sandbox_filter_calls(f, run_calls);
    sandbox_filter_install(f);
#endif
    return begun;
}
