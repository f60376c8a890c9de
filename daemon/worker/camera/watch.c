/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See watch.h. Folders come and go with the devices in them (/dev/v4l), so the deepest that there
 * is of each path is watched, and after each event anew. A node is created before its user may open
 * it: its attributes are watched too. Events of other names wake nobody up for more than a
 * comparison, and those of the device at most twenty times a second.
 */
#include "daemon/worker/camera/watch.h"

#include "daemon/worker/clock.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS  (IN_CREATE | IN_ATTRIB | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF)
#define CALM_NS (NS_PER_S / 20)

int64_t watch_backoff(struct backoff *b)
{
    int64_t now = now_ns();
    return now + (int64_t)backoff_next(b, (uint64_t)now) * 1000000;
}

/* What the path leads to: a link's target, which need not be there; else the path itself. */
static void target_of(const char *path, char out[PATH_MAX])
{
    char link[PATH_MAX];
    ssize_t n = readlink(path, link, sizeof(link) - 1);
    const char *slash = strrchr(path, '/');
    snprintf(out, PATH_MAX, "%s", path);
    if (n <= 0)
        return;
    link[n] = 0;
    if (link[0] == '/')
        snprintf(out, PATH_MAX, "%s", link);
    else if (slash && (size_t)(slash - path) + 1 + (size_t)n < PATH_MAX)
        snprintf(out + (slash - path) + 1, PATH_MAX - (size_t)(slash - path) - 1, "%s", link);
}

/* The deepest folder above path that exists. */
static void watch_above(int fd, const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    for (char *slash = strrchr(folder, '/'); slash; slash = strrchr(folder, '/')) {
        slash[slash == folder] = 0;
        if (inotify_add_watch(fd, folder, EVENTS) >= 0 || slash == folder)
            return;
    }
    inotify_add_watch(fd, ".", EVENTS); /* a name without folders */
}

static int watch_open(const char *path, const char *target)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd >= 0) {
        watch_above(fd, path);
        watch_above(fd, target);
    }
    return fd;
}

static bool is_part(const char *name, const char *path)
{
    size_t length = strlen(name);
    for (const char *at = path; at && *at; at = strchr(at, '/')) {
        at += strspn(at, "/");
        if (!strncmp(at, name, length) && (at[length] == '/' || !at[length]))
            return true;
    }
    return false;
}

/* Reads what there is; true where any of it is about a part of these paths. */
static bool drain(int fd, const char *path, const char *target)
{
    _Alignas(struct inotify_event) char buffer[4096];
    bool ours = false;
    for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;)
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *ev = (const void *)(buffer + at);
            ours |= !ev->len || (ev->mask & IN_Q_OVERFLOW) || is_part(ev->name, path) ||
                    is_part(ev->name, target);
            at += (ssize_t)(sizeof(*ev) + ev->len);
        }
    return ours;
}

static int left_ms(int64_t until_ns)
{
    int64_t left = until_ns - now_ns();
    return left <= 0 ? 0 : left > INT_MAX * 1000000ll ? INT_MAX : (int)(left / 1000000 + 1);
}

static bool can_open(const char *path)
{
    return access(path, R_OK | W_OK) == 0;
}

/* Until an event of ours (true), a wake-up or the time. */
static bool wait_event(int fd, int wake_fd, const char *path, const char *target, int64_t until_ns,
                       bool *woken)
{
    while (now_ns() < until_ns) {
        struct pollfd p[2] = {{.fd = wake_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
        poll(p, 2, left_ms(until_ns));
        *woken = p[0].revents != 0;
        if (*woken)
            return false;
        if (p[1].revents && drain(fd, path, target))
            return true;
    }
    return false;
}

bool watch_wait(const char *path, bool absent, int wake_fd, int64_t until_ns)
{
    bool woken = false, there = false;
    while (!woken && !there && now_ns() < until_ns) {
        char target[PATH_MAX];
        target_of(path, target);
        int fd = watch_open(path, target);
        there = absent && can_open(path);
        bool event = !there && wait_event(fd, wake_fd, path, target, until_ns, &woken);
        if (fd >= 0)
            close(fd);
        if (event) {
            struct pollfd p = {.fd = wake_fd, .events = POLLIN};
            woken = poll(&p, 1, (int)(CALM_NS / 1000000)) > 0; /* more events are on their way */
            there = can_open(path);
            absent = true; /* what has happened meanwhile was not watched */
        }
    }
    return there && !woken;
}
