/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The command lines of pelton-v4l2 and pelton-pipewire, by one table.
 */
#ifndef PELTON_RELAY_OPTIONS_H
#define PELTON_RELAY_OPTIONS_H

#include "client/exit_code.h"
#include "relay/picture_layout.h"

enum relay_program { RELAY_V4L2 = 1, RELAY_PIPEWIRE = 2 };

struct relay_options {
    const char *source, *device;         /* words */
    const char *socket;                  /* NULL: as libpelton chooses */
    const char *node;                    /* its name in PipeWire; NULL: pelton-SOURCE */
    const char *size;                    /* as typed */
    uint32_t width, height;              /* 0: the source's */
    const struct picture_layout *layout; /* NULL: as the device wants */
    uint64_t frames;                     /* end after so many; 0: never */
    int log_level;
    bool help, version;
};

/* An exit code. */
int relay_options_parse(int argc, char **argv, enum relay_program program,
                        struct relay_options *out, struct failure *f);
/* Parses, answers --help and --version, runs, and tells a failure. Returns the exit code. */
int relay_main(int argc, char **argv, enum relay_program program,
               int (*run)(const struct relay_options *, struct failure *));

#endif
