/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See record_file.h. The failure modes are those of the file system, a full disk first. A file that
 * is not complete keeps its ".part"; it can be played as far as it goes.
 */
#include "client/record_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- names ---- */

#define STAMP "00000000T000000.000Z" /* digits and letters of a segment's name */

/* The part of the path before its extension. */
static int stem_length(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return (int)(dot ? dot - path : (long)strlen(path));
}

static bool name_make(struct record_files *r)
{
    int stem = stem_length(r->path), n;
    struct timespec now;
    struct tm tm;
    char stamp[32];
    if (r->segments) {
        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &tm);
        strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
        n = snprintf(r->name, sizeof(r->name), "%.*s-%s.%03dZ%s", stem, r->path, stamp,
                     (int)(now.tv_nsec / 1000000), r->path + stem);
    } else if (r->made) { /* the stream has changed, and its file cannot hold that */
        n = snprintf(r->name, sizeof(r->name), "%.*s-%u%s", stem, r->path, r->made + 1,
                     r->path + stem);
    } else {
        n = snprintf(r->name, sizeof(r->name), "%s", r->path);
    }
    snprintf(r->part, sizeof(r->part), "%s.part", r->name);
    return n > 0 && (size_t)n < sizeof(r->name);
}

/* ---- segments ---- */

static bool is_stamp(const char *text)
{
    static const char form[] = STAMP;
    for (size_t i = 0; i < sizeof(form) - 1; i++)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    return true;
}

/* A segment of this recording: its name is the stem's, a stamp, the extension. */
static bool is_segment(const struct record_files *r, const char *name)
{
    const char *slash = strrchr(r->path, '/'), *base = slash ? slash + 1 : r->path;
    int stem = stem_length(base);
    size_t stamp = sizeof(STAMP) - 1, length = strlen(name);
    return length == (size_t)stem + 1 + stamp + strlen(base + stem) &&
           !strncmp(name, base, (size_t)stem) && name[stem] == '-' && is_stamp(name + stem + 1) &&
           !strcmp(name + stem + 1 + stamp, base + stem);
}

static int folder_open(const struct record_files *r)
{
    char folder[4096];
    const char *slash = strrchr(r->path, '/');
    int n = snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - r->path) + 1 : 1,
                     slash ? r->path : ".");
    return n > 0 && (size_t)n < sizeof(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                               : -1;
}

/* Removes the oldest segments beyond the limits; the newest always stays. names: in order. */
static void segments_remove(const struct record_files *r, int folder, struct dirent **names, int n)
{
    uint64_t total = 0;
    uint32_t kept = 0;
    for (int i = n - 1; i >= 0; i--) {
        struct stat st;
        if (!is_segment(r, names[i]->d_name) || fstatat(folder, names[i]->d_name, &st, 0) < 0)
            continue;
        bool many = r->keep && kept >= r->keep,
             large = r->max_size && kept && total + (uint64_t)st.st_size > r->max_size;
        if (many || large) {
            unlinkat(folder, names[i]->d_name, 0);
            continue;
        }
        kept++;
        total += (uint64_t)st.st_size;
    }
}

static void segments_trim(const struct record_files *r)
{
    struct dirent **names = NULL;
    int folder = r->keep || r->max_size ? folder_open(r) : -1;
    int n = folder >= 0 ? scandirat(folder, ".", &names, NULL, alphasort) : -1;
    if (n >= 0)
        segments_remove(r, folder, names, n);
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    if (folder >= 0)
        close(folder);
}

/* ---- files ---- */

int record_files_open(struct record_files *r, struct failure *f)
{
    if (!name_make(r))
        return fail_errno(f, X_USAGE, ENAMETOOLONG, r->path);
    if (r->made && access(r->name, F_OK) == 0)
        return fail_with(f, X_OTHER, "remove it, or name another output", "%s: the file exists",
                         r->name);
    int fd = open(r->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return fail_errno(f, X_OTHER, errno, r->part);
    r->sink = (struct sink){.fd = fd};
    r->made++;
    return 0;
}

int record_files_close(struct record_files *r, bool complete, struct failure *f)
{
    if (r->sink.fd < 0)
        return 0;
    int fd = r->sink.fd, error = 0;
    r->sink.fd = -1;
    if (complete && fsync(fd) < 0 && errno != EINVAL)
        error = errno;
    if (close(fd) < 0 && !error)
        error = errno;
    if (complete && !error && rename(r->part, r->name) < 0)
        error = errno;
    if (error)
        return fail_errno(f, X_OTHER, error, r->part);
    if (complete && r->segments)
        segments_trim(r);
    return 0;
}
