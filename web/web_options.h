/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of pelton-web: its command line, and its configuration file with the same names as
 * keys. The command line goes before the file.
 */
#ifndef PELTON_WEB_OPTIONS_H
#define PELTON_WEB_OPTIONS_H

#include "proto/option_line.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEB_NAMES = 16, WEB_TEXTS = 64 };

struct web_limits {
    uint64_t connections, connections_per_address;
    uint64_t requests_per_second; /* of one address */
    uint64_t header_bytes, body_bytes;
    uint64_t header_ms, idle_ms, stall_ms;
};

struct web_options {
    const char *socket; /* of the daemon; NULL: as libpelton chooses */
    const char *listen; /* ADDRESS:PORT */
    const char *names[WEB_NAMES];
    unsigned n_names;
    const char *certificate, *key, *tokens; /* files, or names of credentials; NULL: none */
    struct web_limits limits;
    const char *log_name;
    int log_level;
    bool sandbox, check, help, version;
    char *owned[WEB_TEXTS]; /* texts of the file */
    unsigned n_owned;
};

/* 0, or -1 with the fault. The caller ends *out by web_options_free, also after a fault. */
int web_options_parse(int argc, char **argv, struct web_options *out, struct option_fault *fault);
void web_options_usage(void);
void web_options_free(struct web_options *o);

#endif
