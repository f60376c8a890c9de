/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Options of the programs that damage streams, and their streams.
 */
#include "tests/damage/mutate_command.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_JOBS = 64 };

void *mutate_shared(size_t count, size_t size)
{
    void *at = mmap(NULL, count * size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

bool mutate_wanted(const struct mutate_options *opt, uint64_t number)
{
    return opt->kind == MUTATION_KINDS || opt->kind == number % MUTATION_KINDS;
}

uint64_t mutate_wanted_count(const struct mutate_options *opt)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < opt->count; i++)
        n += mutate_wanted(opt, opt->from + i);
    return n;
}

static bool kind_named(unsigned *kind, const char *name)
{
    for (unsigned k = 0; k < MUTATION_KINDS; k++)
        if (strcmp(name, mutation_names[k]) == 0) {
            *kind = k;
            return true;
        }
    return false;
}

static bool option_set(struct mutate_options *o, int c)
{
    uint64_t value = optarg ? strtoull(optarg, NULL, 10) : 0;
    if (c == 's')
        o->seed = value;
    else if (c == 'n')
        o->count = value;
    else if (c == 'f')
        o->from = value;
    else if (c == 'j')
        o->jobs = (unsigned)value;
    else if (c == 'm')
        o->macroblocks = (unsigned)value;
    else if (c == 't')
        o->end = time(NULL) + (time_t)value;
    else if (c == 'w')
        o->write = optarg;
    else if (c == 'p')
        o->socket = optarg;
    else if (c == 'r')
        o->reference = optarg;
    else if (c == 'v')
        o->verbose = true;
    else
        return c == 'k' && kind_named(&o->kind, optarg);
    return true;
}

static bool parse(struct mutate_options *o, int argc, char **argv)
{
    static const struct option names[] = {
        {"seed", 1, NULL, 's'},        {"count", 1, NULL, 'n'},   {"from", 1, NULL, 'f'},
        {"jobs", 1, NULL, 'j'},        {"socket", 1, NULL, 'p'},  {"reference", 1, NULL, 'r'},
        {"macroblocks", 1, NULL, 'm'}, {"seconds", 1, NULL, 't'}, {"write", 1, NULL, 'w'},
        {"kind", 1, NULL, 'k'},        {"verbose", 0, NULL, 'v'}, {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;)
        if (!option_set(o, c))
            return false;
    return optind < argc && o->jobs >= 1 && o->jobs <= MOST_JOBS && !o->socket == !o->reference;
}

int mutate_command(struct mutate_options *opt, struct sources *sources, const char *usage, int argc,
                   char **argv)
{
    if (!parse(opt, argc, argv)) {
        fprintf(stderr, "usage: %s", usage);
        return 2;
    }
    if (!sources_read(sources, argv + optind, argc - optind, opt->macroblocks, opt->jobs)) {
        printf("FAILED: no stream to damage\n");
        return 1;
    }
    return 0;
}
