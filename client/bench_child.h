/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Another program, run for comparison, its standard output read here.
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
/* exit status, or 128 + signal; end_it: its output is wanted no more */
int child_wait(struct child *c, bool end_it);

#endif
