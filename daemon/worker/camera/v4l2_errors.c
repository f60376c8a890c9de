/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls of V4L2 drivers, and their errors in words. A device that another process or another
 * source has is busy; the process is named where /proc shows it.
 */
#include "daemon/worker/camera/v4l2.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int v4l2_ioctl(int fd, unsigned long request, void *argument)
{
    int rc;
    do {
        rc = ioctl(fd, request, argument);
    } while (rc < 0 && errno == EINTR);
    return rc;
}

/* ---- failures ---- */

static void name_process(int pid, char *out, size_t size)
{
    char path[64], name[64] = "?";
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    FILE *comm = fopen(path, "re");
    if (comm && fgets(name, sizeof(name), comm))
        name[strcspn(name, "\n")] = 0;
    if (comm)
        fclose(comm);
    snprintf(out, size, "%s (pid %d)", name, pid);
}

/* How often. */
static int has_open(int pid, const char *real)
{
    char folder[64], target[PATH_MAX];
    int found = 0;
    snprintf(folder, sizeof(folder), "/proc/%d/fd", pid);
    DIR *files = opendir(folder);
    for (struct dirent *f; files && (f = readdir(files)) != NULL;) {
        ssize_t n = readlinkat(dirfd(files), f->d_name, target, sizeof(target) - 1);
        found += n > 0 && (size_t)n == strlen(real) && !memcmp(target, real, (size_t)n);
    }
    if (files)
        closedir(files);
    return found;
}

/* Another descriptor of this process has it. */
static bool is_held_here(const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) && has_open(getpid(), real) > 1;
}

/* The other process that has the device open. False: none is to be seen. */
static bool find_holder(const char *path, char *out, size_t size)
{
    char real[PATH_MAX];
    DIR *processes = realpath(path, real) ? opendir("/proc") : NULL;
    bool found = false;
    for (struct dirent *p; processes && !found && (p = readdir(processes)) != NULL;) {
        int pid = atoi(p->d_name);
        found = pid > 0 && pid != (int)getpid() && has_open(pid, real) > 0;
        if (found)
            name_process(pid, out, size);
    }
    if (processes)
        closedir(processes);
    return found;
}

int v4l2_device_fail(const struct v4l2_device *d, struct pelton_failure *failure, int code,
                     const char *cause, const char *hint)
{
    *failure = (struct pelton_failure){.code = code};
    snprintf(failure->cause, sizeof(failure->cause), "%.80s: %.170s", d->path, cause);
    snprintf(failure->hint, sizeof(failure->hint), "%s", hint);
    return code;
}

static int device_fail_busy(const struct v4l2_device *d, struct pelton_failure *failure)
{
    char cause[200], holder[100];
    if (is_held_here(d->path))
        return v4l2_device_fail(d, failure, PELTON_ERR_BUSY,
                                "the device is busy: another source has it, under another address "
                                "or with other settings",
                                "sources of one address with the same settings share a camera");
    bool known = find_holder(d->path, holder, sizeof(holder));
    snprintf(cause, sizeof(cause), "the device is busy, held by %s",
             known ? holder : "a process of another user");
    return v4l2_device_fail(d, failure, PELTON_ERR_BUSY, cause,
                            "a capture device serves one program: end the other one");
}

int v4l2_device_fail_errno(const struct v4l2_device *d, struct pelton_failure *failure,
                           const char *what)
{
    char cause[200];
    int error = errno;
    if (error == EBUSY)
        return device_fail_busy(d, failure);
    if (error == ENODEV || error == EIO || error == ENXIO)
        return v4l2_device_fail(d, failure, PELTON_ERR_UNPLUGGED, "the device is gone (unplugged?)",
                                "it is opened again when it is there");
    if (error == ENOENT)
        return v4l2_device_fail(d, failure, PELTON_ERR_NOT_FOUND, "no such device",
                                "ls /dev/v4l/by-id");
    if (error == EACCES || error == EPERM)
        return v4l2_device_fail(d, failure, PELTON_ERR_PERMISSION, strerror(error),
                                "the daemon's user has to be in the group video");
    if (error == ENOTTY)
        return v4l2_device_fail(d, failure, PELTON_ERR_INPUT, "not a video capture device", "");
    if (error == EPIPE)
        return v4l2_device_fail(d, failure, PELTON_ERR_INPUT,
                                "its pipe is not connected, or two pads of it disagree",
                                "media=on connects it; media-ctl -p shows the graph");
    snprintf(cause, sizeof(cause), "%s: %s", what, strerror(error));
    return v4l2_device_fail(d, failure, PELTON_ERR_INPUT, cause, "");
}
