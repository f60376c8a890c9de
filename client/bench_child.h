/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Another program that runs for comparison. Its standard output is read here.
 */
#ifndef CLIENT_BENCH_CHILD_H
#define CLIENT_BENCH_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct child {
    pid_t pid;
    FILE *out;
};

bool child_start(const char *const *command, struct child *out);
/* Returns the exit status, or 128 + signal. end_it: kill it, its output is no longer needed. */
int child_wait(struct child *c, bool end_it);

#endif
