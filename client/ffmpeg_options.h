/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Options of the ffmpeg command that people type out of habit.
 */
#ifndef CLIENT_FFMPEG_OPTIONS_H
#define CLIENT_FFMPEG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct ffmpeg_option {
    const char *name;
    bool arg;
    /* values that change nothing here, separated by spaces; NULL: every value */
    const char *harmless;
    const char *hint; /* says how to get its effect; NULL: the option changes nothing here */
};

/* The option with this name (length bytes), or NULL. */
const struct ffmpeg_option *ffmpeg_option_find(const char *name, size_t length);
/* False: pelton cannot follow it, and the hint says who can. value: its argument, or NULL. */
bool ffmpeg_option_ignored(const struct ffmpeg_option *option, const char *value);

#endif
