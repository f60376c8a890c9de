/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Log lines: see log.h.
 */
#include "daemon/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOG_KINDS = 128 };

static uint64_t log_lines;
static _Atomic uint64_t left_out;
static const char *log_role = "peltond";
static int log_threshold = LOG_LEVEL_NOTICE;

void log_init(const char *role, int level)
{
    log_role = role;
    log_threshold = level;
}

void log_limit(uint64_t lines)
{
    log_lines = lines;
}

uint64_t log_left_out(void)
{
    return atomic_load(&left_out);
}

/* The kind of a line is its format. Two kinds that share a place share its lines, too. */
struct log_kind {
    int64_t second;
    uint64_t lines;
};

static int64_t second_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* False: the line is left out. *before: so many were left out before it. */
static bool log_admits(const char *format, uint64_t *before)
{
    static struct log_kind kinds[LOG_KINDS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int64_t now = second_now();
    *before = 0;
    pthread_mutex_lock(&lock);
    struct log_kind *k = &kinds[((uintptr_t)format >> 3) % LOG_KINDS];
    if (k->second != now) {
        *before = k->lines > log_lines ? k->lines - log_lines : 0;
        *k = (struct log_kind){.second = now};
    }
    bool admitted = k->lines++ < log_lines;
    pthread_mutex_unlock(&lock);
    if (!admitted)
        atomic_fetch_add(&left_out, 1);
    return admitted;
}

static void log_write(int level, const char *format, va_list args)
{
    static const char *const journal[] = {"<3>", "<4>", "<5>", "<6>", "<7>"};
    char line[1024];
    int head = snprintf(line, sizeof(line),
                        "%s%s: ", getenv("JOURNAL_STREAM") ? journal[level] : "", log_role);
    vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, args);
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    size_t n = strlen(line);
    line[n] = '\n';
    if (write(STDERR_FILENO, line, n + 1) < 0)
        return; /* nowhere left to say so */
}

static void log_formatted(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void log_formatted(int level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_write(level, format, args);
    va_end(args);
}

void log_line(int level, const char *format, ...)
{
    uint64_t before = 0;
    if (level > log_threshold || level < 0 || level > LOG_LEVEL_DEBUG)
        return;
    if (level <= LOG_LEVEL_NOTICE && log_lines && !log_admits(format, &before))
        return;
    if (before)
        log_formatted(level, "%llu lines like the next one were left out",
                      (unsigned long long)before);
    va_list args;
    va_start(args, format);
    log_write(level, format, args);
    va_end(args);
}
