/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See start_trace.h.
 *
 * The kernel tells the start of a process in hundredths of a second only. Until main a process does
 * little but compute, so its CPU time at main stands for the time since its start.
 */
#include "proto/start_trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define VARIABLE "PELTON_TRACE_START"

static const char *trace_role = "";
static int64_t main_ns, loading_ns, origin_ns; /* origin_ns 0: off */

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void trace_write(int64_t at_ns, const char *text)
{
    char line[512];
    int n = snprintf(line, sizeof(line), "start %8.1f ms  %-6s  %.400s\n",
                     1e-6 * (double)(at_ns - origin_ns), trace_role, text);
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* nowhere left to say so */
}

static void trace_begin(int64_t origin)
{
    char text[80];
    origin_ns = origin;
    snprintf(text, sizeof(text), "main, after %.1f ms of loading", 1e-6 * (double)loading_ns);
    trace_write(main_ns, text);
}

void start_trace_enable(void)
{
    char value[32];
    if (origin_ns)
        return;
    snprintf(value, sizeof(value), "%" PRId64, main_ns - loading_ns);
    setenv(VARIABLE, value, 1);
    trace_begin(main_ns - loading_ns);
}

/* A value of a few digits is a switch: no system has just been started. */
void start_trace_init(const char *role)
{
    const char *text = getenv(VARIABLE);
    int64_t given = text ? strtoll(text, NULL, 10) : 0;
    trace_role = role;
    main_ns = clock_ns(CLOCK_MONOTONIC);
    loading_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (given > 1000000000 && given < main_ns)
        trace_begin(given);
    else if (given > 0)
        start_trace_enable();
}

bool start_trace_on(void)
{
    return origin_ns != 0;
}

void start_trace(const char *format, ...)
{
    char text[420];
    va_list args;
    if (!origin_ns)
        return;
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    trace_write(now, text);
}
