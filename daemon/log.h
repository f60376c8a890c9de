/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The daemon's log: one line each on stderr, with systemd's level prefix where stderr is the
 * journal. Bytes that are not printable ASCII or UTF-8 are shown as '?'. So a client's name
 * cannot forge lines or steer a terminal.
 */
#ifndef PELTON_LOG_H
#define PELTON_LOG_H

#include <stdint.h>

enum log_level {
    LOG_LEVEL_QUIET = -1,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_NOTICE, /* said unless less is asked for: where it listens */
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
};

/* Of warnings and the like, so many lines with one format are written in a second; 0: all. The rest
 * is counted, and told before the next one. */
void log_limit(uint64_t lines);
uint64_t log_left_out(void);                /* since the start */
void log_init(const char *role, int level); /* role: static string in front of each line */
void log_line(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
