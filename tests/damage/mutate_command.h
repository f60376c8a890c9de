/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command lines of the programs that damage streams by seed.
 */
#ifndef PELTON_TESTS_MUTATE_COMMAND_H
#define PELTON_TESTS_MUTATE_COMMAND_H

#include "tests/damage/mutate_source.h"

#include <time.h>

struct mutate_options {
    uint64_t seed, from, count;
    unsigned jobs, macroblocks;
    unsigned kind;     /* MUTATION_KINDS: all of them */
    const char *write; /* or NULL, as the next two */
    const char *socket, *reference;
    bool verbose;
    time_t end; /* 0: never */
};

/* Reads options and streams. Returns 0, or the exit code, where the reason is told. */
int mutate_command(struct mutate_options *opt, struct sources *sources, const char *usage, int argc,
                   char **argv);
/* Whether this mutation is of a kind that was asked for. */
bool mutate_wanted(const struct mutate_options *opt, uint64_t number);
uint64_t mutate_wanted_count(const struct mutate_options *opt);
/* Zeroed memory that processes share. NULL: there is none. */
void *mutate_shared(size_t count, size_t size);

#endif
