/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the time goes until the first frame: lines on stderr, from the client, the broker and the
 * worker alike, with milliseconds since the client was started. On with `pelton -loglevel debug`,
 * or with PELTON_TRACE_START=1 in the environment. Programs that are started inherit the variable;
 * then it holds the time of the start, so that all lines have one clock. Thread: any.
 */
#ifndef PELTON_START_TRACE_H
#define PELTON_START_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>

/* First of all in main. role: static string in front of each line. */
void start_trace_init(const char *role);
/* For an option that comes after start_trace_init. */
void start_trace_enable(void);
bool start_trace_on(void);
void start_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Only the first time in this process. */
#define START_TRACE_FIRST(...)                                                                     \
    do {                                                                                           \
        static atomic_flag told_ = ATOMIC_FLAG_INIT;                                               \
        if (start_trace_on() && !atomic_flag_test_and_set(&told_))                                 \
            start_trace(__VA_ARGS__);                                                              \
    } while (0)

#endif
