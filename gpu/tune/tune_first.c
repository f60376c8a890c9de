/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Choices of kernels at the first use of a device.
 *
 * The happy path: nothing is known, the lock is free, the measurement is kept. The failure modes,
 * each with its line in the log: the cache is broken (measured again, where the device would be),
 * another process measures (waited for, then its result is taken), nowhere to keep a result
 * (nothing is measured: it would be at every start), the measurement fails (the preset stays).
 */
#include "gpu/tune/tune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* seconds until the last case begins; the longest takes half a second on an H200 */
#define BUDGET       1.0
#define WAIT_SECONDS 4 /* for another process; software devices take what they take */

struct first {
    struct gpu *g;
    const struct gpu_device_info *info;
    gpu_log_fn log;
    void *log_ctx;
};

static void say(const struct first *t, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(const struct first *t, int level, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    t->log(t->log_ctx, level, line);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void measure(const struct first *t, struct tune *tune)
{
    char path[4096];
    double begin = seconds();
    int err = tune_measure(t->g, BUDGET, tune);
    if (err < 0)
        say(t, 1, "kernels could not be measured (%s): chosen %s", gpu_error_text(err),
            tune_source_text(tune->source[0]));
    else if (tune_save(t->info, tune, path, sizeof(path)) < 0)
        say(t, 1, "%.300s: %s: what was measured is not kept", path, strerror(errno));
    else
        say(t, 1, "kernels of %.200s measured in %.1f s, kept in %.300s", t->info->name,
            seconds() - begin, path);
}

/* A descriptor that holds the lock, or -1: nothing can be kept here, or the other process takes too
 * long. */
static int lock(const struct first *t)
{
    char path[4096];
    struct timespec step = {.tv_nsec = 50 * 1000 * 1000};
    int fd = tune_path(t->info, "lock", path, sizeof(path))
                 ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    if (fd < 0) { /* at every start, as every start could have been faster */
        say(t, 1, "%s",
            "no folder to keep what would be measured ($XDG_CACHE_HOME or ~/.cache): kernels by "
            "kind of device");
        return -1;
    }
    for (int i = 0; i < WAIT_SECONDS * (t->info->software ? 400 : 20); i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        nanosleep(&step, NULL);
    }
    say(t, 1, "%.300s: another process measures for long: not waited for", path);
    close(fd);
    return -1;
}

void tune_first_use(struct gpu *g, bool software, gpu_log_fn log, void *log_ctx, struct tune *out)
{
    const struct first t = {g, gpu_info(g), log, log_ctx};
    char why[TUNE_WHY];
    enum tune_cache state = tune_load(t.info, out, why);
    bool measured = software || !t.info->software;
    bool known =
        state == TUNE_CACHE_GOOD || (state == TUNE_CACHE_NONE && out->source[0] != TUNE_BY_KIND);
    if (state == TUNE_CACHE_OLD || state == TUNE_CACHE_BROKEN)
        say(&t, 1, "%s%s", why, measured ? ": measuring again" : "; pelton tune makes it again");
    if (known || !measured)
        return;
    int fd = lock(&t);
    if (fd < 0)
        return;
    if (tune_load(t.info, out, why) != TUNE_CACHE_GOOD) /* another process may have been faster */
        measure(&t, out);
    close(fd);
}
