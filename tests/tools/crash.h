/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A test program that crashes once in a thousand runs says where. addr2line -e PROGRAM tells the
 * line of each offset.
 */
#ifndef PELTON_TESTS_CRASH_H
#define PELTON_TESTS_CRASH_H

#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define CRASH_FRAMES 64

/* The default action follows. */
static inline void crash_trace(int signal)
{
    void *frames[CRASH_FRAMES];
    static const char text[] = "crash: the thread's calls\n";
    if (write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
        backtrace_symbols_fd(frames, backtrace(frames, CRASH_FRAMES), STDERR_FILENO);
    raise(signal);
}

/* Sanitizers print more by themselves. */
static inline void crash_trace_enable(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    struct sigaction action = {.sa_handler = crash_trace, .sa_flags = (int)SA_RESETHAND};
    void *frame;
    backtrace(&frame, 1); /* loads what it needs now: not in the handler */
    for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaction(signals[i], &action, NULL);
#endif
}

#endif
