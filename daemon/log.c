/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Log lines: see log.h.
 */
#include "daemon/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *log_role = "peltond";
static int log_threshold = LOG_LEVEL_NOTICE;

void log_init(const char *role, int level)
{
    log_role = role;
    log_threshold = level;
}

void log_line(int level, const char *format, ...)
{
    static const char *const journal[] = {"<3>", "<4>", "<5>", "<6>", "<7>"};
    if (level > log_threshold || level < 0 || level > LOG_LEVEL_DEBUG)
        return;
    char line[1024];
    int head = snprintf(line, sizeof(line),
                        "%s%s: ", getenv("JOURNAL_STREAM") ? journal[level] : "", log_role);
    va_list args;
    va_start(args, format);
    vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, args);
    va_end(args);
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    size_t n = strlen(line);
    line[n] = '\n';
    if (write(STDERR_FILENO, line, n + 1) < 0)
        return; /* nowhere left to say so */
}
