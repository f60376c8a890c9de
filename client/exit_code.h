/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Exit codes of the pelton command, and the one failure of a run: one cause, one hint.
 */
#ifndef CLIENT_EXIT_CODE_H
#define CLIENT_EXIT_CODE_H

#include "proto/pelton.h"

enum exit_code {
    X_SUCCESS = 0,
    X_OTHER = 1,
    X_USAGE = 2,
    X_THRESHOLD = 3,
    X_INPUT = 4,
    X_UNSUPPORTED = 5,
    X_DECODE = 6,
    X_NO_DEVICE = 7,
    X_NO_DAEMON = 8,
    X_PERMISSION = 9,
    X_MISMATCH = 10,
    X_TIMEOUT = 11,
    X_SIGINT = 130,
    X_SIGPIPE = 141,
    X_SIGTERM = 143,
};

struct failure {
    int code; /* enum exit_code; 0: none */
    char cause[512];
    char hint[256];
};

/* Records a failure and returns its code. The first failure of a run stays; later ones are its
 * consequences. */
int fail_with(struct failure *f, int code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));

/* Records the last failure of a connection; NULL: of the last connect or spawn. The hint is ours
 * where the library has none. */
int fail_pelton(struct failure *f, const struct pelton *conn, const char *name);

/* Records a failure of the system. Out of space and permissions have hints of their own. A closed
 * pipe is a quiet end: X_SIGPIPE without a cause. */
int fail_errno(struct failure *f, int code, int error, const char *name);

/* A text that begins with the address of a named source ("source:front"), from the name on. */
const char *plain_name(const char *text);

int exit_code_of(int pelton_error);

/* Prints "pelton: CAUSE" and "hint: HINT" on stderr. Prints nothing where code is 0 or the cause is
 * empty (an interrupt, a closed pipe). */
void failure_print(const struct failure *f);
/* The exit codes in words, for help. */
struct exit_meaning {
    int code;
    const char *text;
};
extern const struct exit_meaning exit_meanings[];
extern const unsigned n_exit_meanings;

#endif
