/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See record_file.h. The failure modes are those of the file system, a full disk first. A file that
 * is not complete keeps its ".part"; it can be played as far as it goes. A recorder locks its part:
 * so the next one knows those that were left, and takes them in as segments.
 *
 * Names are times, and the oldest names go first. So a clock that goes back must not make names
 * that are older than the last one. Names of more than a day ahead come of a clock that was wrong:
 * they count as the oldest.
 */
#include "client/record_file.h"

#include "client/output_check.h"
#include "client/ui.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- names ---- */

#define STAMP "00000000T000000.000Z" /* digits and letters of a segment's name */
#define PART  ".part"
enum { DAY_MS = 86400000, NAME_TRIES = 1000 };

/* The part of the path before its extension. */
static int stem_length(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return (int)(dot ? dot - path : (long)strlen(path));
}

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Never before the last one. */
static int64_t stamp_next(struct record_files *r)
{
    int64_t now = wall_ms(), back = r->last_ms - now;
    if (back > 1000 && back < DAY_MS && !r->told)
        ui_log(LOG_WARNING, "the clock is %.0f s behind the last segment: names go on from there",
               (double)back / 1000);
    r->told |= back > 1000 && back < DAY_MS;
    r->last_ms = back >= 0 && back < DAY_MS ? r->last_ms + 1 : now;
    return r->last_ms;
}

/* A link stays, and the file that it names is replaced. */
static int name_plain(struct record_files *r)
{
    struct stat st;
    char target[PATH_MAX];
    bool link = lstat(r->path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(r->path, target);
    return snprintf(r->name, sizeof(r->name), "%s", link ? target : r->path);
}

static bool name_make(struct record_files *r)
{
    int stem = stem_length(r->path), n;
    struct tm tm;
    char stamp[32];
    if (r->segments) {
        int64_t ms = stamp_next(r);
        time_t seconds = (time_t)(ms / 1000);
        gmtime_r(&seconds, &tm);
        strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
        n = snprintf(r->name, sizeof(r->name), "%.*s-%s.%03dZ%s", stem, r->path, stamp,
                     (int)(ms % 1000), r->path + stem);
    } else if (r->made) { /* the stream has changed, and its file cannot hold that */
        n = snprintf(r->name, sizeof(r->name), "%.*s-%u%s", stem, r->path, r->made + 1,
                     r->path + stem);
    } else {
        n = name_plain(r);
    }
    snprintf(r->part, sizeof(r->part), "%s" PART, r->name);
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

/* Milliseconds since 1970. */
static int64_t stamp_read(const char *text)
{
    struct tm tm = {0};
    int ms = 0;
    sscanf(text, "%4d%2d%2dT%2d%2d%2d.%3d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
           &tm.tm_min, &tm.tm_sec, &ms);
    tm.tm_year -= 1900;
    tm.tm_mon--;
    return (int64_t)timegm(&tm) * 1000 + ms;
}

/* The stamp of a segment of this recording: its name is the stem's, a stamp, the extension, and
 * then `end`. -1: it is none. */
static int64_t segment_stamp(const struct record_files *r, const char *name, const char *end)
{
    const char *slash = strrchr(r->path, '/'), *base = slash ? slash + 1 : r->path;
    int stem = stem_length(base);
    size_t stamp = sizeof(STAMP) - 1, extension = strlen(base + stem);
    bool mine = strlen(name) == (size_t)stem + 1 + stamp + extension + strlen(end) &&
                !strncmp(name, base, (size_t)stem) && name[stem] == '-' &&
                is_stamp(name + stem + 1) &&
                !strncmp(name + stem + 1 + stamp, base + stem, extension) &&
                !strcmp(name + stem + 1 + stamp + extension, end);
    return mine ? stamp_read(name + stem + 1) : -1;
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

struct segment_sum {
    uint32_t kept;
    uint64_t bytes;
};

/* Of segments from the newest on: counts one, or removes it beyond the limits. The newest stays. */
static void segment_judge(const struct record_files *r, int folder, const char *name,
                          struct segment_sum *sum)
{
    struct stat st;
    if (fstatat(folder, name, &st, 0) < 0)
        return;
    bool many = r->keep && sum->kept >= r->keep,
         large = r->max_size && sum->kept && sum->bytes + (uint64_t)st.st_size > r->max_size;
    if (many || large) {
        unlinkat(folder, name, 0);
        return;
    }
    sum->kept++;
    sum->bytes += (uint64_t)st.st_size;
}

/* names: in order. Those that are far ahead come last. */
static void segments_remove(const struct record_files *r, int folder, struct dirent **names, int n)
{
    struct segment_sum sum = {0};
    int64_t ahead = wall_ms() + DAY_MS;
    for (int far = 0; far < 2; far++)
        for (int i = n - 1; i >= 0; i--) {
            int64_t stamp = segment_stamp(r, names[i]->d_name, "");
            if (stamp >= 0 && (stamp > ahead) == far)
                segment_judge(r, folder, names[i]->d_name, &sum);
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

/* A part whose recorder has ended becomes a segment; one without bytes goes. */
static void part_adopt(const struct record_files *r, int folder, const char *part)
{
    char name[256];
    struct stat st;
    int fd = openat(folder, part, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    bool left = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0;
    snprintf(name, sizeof(name), "%.*s", (int)(strlen(part) - strlen(PART)), part);
    if (left && st.st_size == 0)
        unlinkat(folder, part, 0);
    else if (left && renameat2(folder, part, folder, name, RENAME_NOREPLACE) == 0)
        ui_log(LOG_INFO, "%s: its recorder ended in the midst of it", name);
    if (fd >= 0)
        close(fd);
}

static int segments_begin(struct record_files *r, struct failure *f)
{
    struct dirent **names = NULL;
    int folder = folder_open(r), n;
    if (folder < 0 || faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) < 0) {
        int error = errno;
        if (folder >= 0)
            close(folder);
        return fail_errno(f, X_OTHER, error, r->path);
    }
    n = scandirat(folder, ".", &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        int64_t stamp = segment_stamp(r, names[i]->d_name, ""),
                part = segment_stamp(r, names[i]->d_name, PART);
        if (part >= 0)
            part_adopt(r, folder, names[i]->d_name);
        stamp = stamp > part ? stamp : part;
        if (stamp > r->last_ms && stamp <= wall_ms() + DAY_MS)
            r->last_ms = stamp;
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    close(folder);
    return 0;
}

/* A file is asked for, and so is the part that a recorder has left. */
static int file_begin(struct record_files *r, struct failure *f)
{
    struct stat st;
    int rc = output_check_path(r->path, &r->overwrite, f);
    if (!rc && !name_make(r))
        rc = fail_errno(f, X_USAGE, ENAMETOOLONG, r->path);
    return rc || stat(r->part, &st) < 0 || st.st_size == 0
               ? rc
               : output_check_path(r->part, &r->overwrite, f);
}

int record_files_begin(struct record_files *r, struct failure *f)
{
    return r->segments ? segments_begin(r, f) : file_begin(r, f);
}

/* ---- files ---- */

/* No other recorder has it: it is locked, where locks are, and still under its name. */
static bool part_take(int fd, const char *part)
{
    struct stat ours, named;
    return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && fstat(fd, &ours) == 0 &&
           lstat(part, &named) == 0 && ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/* -1: errno, EEXIST where the name is another recorder's. */
static int part_open(const struct record_files *r)
{
    int exclusive = r->segments ? O_EXCL : 0;
    int fd = open(r->part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | exclusive, 0666);
    if (fd < 0)
        return -1;
    bool ours = part_take(fd, r->part);
    bool taken = ours && r->segments && access(r->name, F_OK) == 0;
    int error = !ours || taken ? EEXIST : ftruncate(fd, 0) < 0 ? errno : 0;
    if (!error)
        return fd;
    if (taken)
        unlink(r->part);
    close(fd);
    errno = error;
    return -1;
}

/* Two recorders of a source begin their segments at the same picture, so at the same time. */
int record_files_open(struct record_files *r, struct failure *f)
{
    int fd, tries = 0;
    do {
        if (!name_make(r))
            return fail_errno(f, X_USAGE, ENAMETOOLONG, r->path);
        if (!r->segments && r->made && access(r->name, F_OK) == 0)
            return fail_with(f, X_OTHER, "remove it, or name another output", "%s: the file exists",
                             r->name);
        fd = part_open(r);
    } while (fd < 0 && errno == EEXIST && r->segments && ++tries < NAME_TRIES);
    if (fd < 0 && errno == EEXIST)
        return fail_with(f, X_OTHER, "name another output", "%s: another program writes it",
                         r->part);
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
    bool bytes = lseek(fd, 0, SEEK_END) > 0;
    r->sink.fd = -1;
    if (complete && fsync(fd) < 0 && errno != EINVAL)
        error = errno;
    /* while it is locked: else another recorder could take the part for one that is left */
    if (complete && !error && rename(r->part, r->name) < 0)
        error = errno;
    if (close(fd) < 0 && !error)
        error = errno;
    if (error)
        return fail_errno(f, X_OTHER, error, r->part);
    if (!complete && bytes)
        ui_log(LOG_INFO, "%s has what came until then, and can be played", r->part);
    if (complete && r->segments)
        segments_trim(r);
    return 0;
}
