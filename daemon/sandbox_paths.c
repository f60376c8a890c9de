/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Files and networks, by Landlock: see sandbox.h. The numbers are those of the kernel's interface;
 * distributions have older headers than kernels.
 */
#include "daemon/sandbox.h"

#include "daemon/log.h"
#include "proto/pelton.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALL_CREATE = 444, CALL_ADD = 445, CALL_RESTRICT = 446, ASK_VERSION = 1, RULE_BELOW = 1 };

/* Rights of files, with the version that knows them. */
enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_REMOVE_DIR = 1 << 4,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE = 0x7f << 6,    /* device, folder, file, socket, FIFO, block device, link */
    FS_REFER = 1 << 13,     /* 2 */
    FS_TRUNCATE = 1 << 14,  /* 3 */
    FS_IOCTL_DEV = 1 << 15, /* 5 */
    FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV
};
enum { NET_BIND = 1, NET_CONNECT = 2 };             /* 4 */
enum { SCOPE_ABSTRACT_UNIX = 1, SCOPE_SIGNAL = 2 }; /* 6 */

struct ruleset {
    uint64_t fs, net, scoped;
};

struct below {
    uint64_t access;
    int32_t fd;
} __attribute__((packed));

static uint64_t known_rights(int version)
{
    return FS_EXECUTE | FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE |
           (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0) |
           (version >= 5 ? FS_IOCTL_DEV : 0);
}

static uint64_t rights_of(unsigned access)
{
    uint64_t make = FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE | FS_REFER;
    return (access & SANDBOX_WRITE ? FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV : 0) |
           (access & SANDBOX_MAKE ? make : 0) | (access & SANDBOX_REMOVE ? FS_REMOVE_FILE : 0) |
           (access & SANDBOX_RUN ? FS_EXECUTE : 0);
}

/* A path that is not there needs no right. */
static bool rule_add(int ruleset, const struct sandbox_path *path, uint64_t known)
{
    struct stat st;
    int fd = open(path->path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return true;
    uint64_t rights = rights_of(path->access) & known;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= FS_OF_FILES;
    const struct below rule = {rights, fd};
    bool good = !rights || syscall(CALL_ADD, ruleset, RULE_BELOW, &rule, 0) == 0;
    close(fd);
    return good;
}

static int ruleset_make(int version, enum sandbox_network network, bool outside)
{
    const struct ruleset attr = {
        .fs = known_rights(version),
        .net = version < 4                 ? 0
               : network == SANDBOX_NO_TCP ? NET_BIND | NET_CONNECT
                                           : NET_BIND,
        .scoped = version >= 6 && !outside ? SCOPE_SIGNAL | SCOPE_ABSTRACT_UNIX : 0};
    return (int)syscall(CALL_CREATE, &attr, sizeof(attr), 0);
}

int sandbox_paths(const struct sandbox_path *paths, size_t n, enum sandbox_network network,
                  bool outside)
{
    int version = (int)syscall(CALL_CREATE, NULL, 0, ASK_VERSION);
    int ruleset = version > 0 ? ruleset_make(version, network, outside) : -1;
    if (ruleset < 0)
        return 0;
    bool good = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    for (size_t i = 0; i < n && good; i++)
        good = rule_add(ruleset, &paths[i], known_rights(version));
    good = good && syscall(CALL_RESTRICT, ruleset, 0) == 0;
    close(ruleset);
    return good ? version : 0;
}

uint32_t sandbox_tell(bool filter, int landlock)
{
    if (filter && landlock)
        log_line(LOG_LEVEL_INFO, "sandbox: seccomp, Landlock %d", landlock);
    else
        log_line(LOG_LEVEL_NOTICE, "sandbox: %s, %s",
                 filter ? "seccomp" : "no seccomp: system calls are not filtered",
                 landlock ? "Landlock" : "no Landlock: files are not locked");
    return (filter ? PELTON_SANDBOX_CALLS : 0) | (landlock ? PELTON_SANDBOX_FILES : 0);
}
