/* SPDX-License-Identifier: BSD-2-Clause
 *
 * peltond's command line and configuration values: one table, for broker and worker alike (the
 * broker hands its -c values on).
 */
#ifndef PELTON_OPTIONS_H
#define PELTON_OPTIONS_H

#include "proto/pelton.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { OPTIONS_MAX_VALUES = 64 };

struct option_source {
    char name[64];
    char *uri;       /* settings of cameras included */
    uint32_t n_blur; /* what of it nobody gets to see */
    struct pelton_rect blur[PELTON_MAX_BLURS];
};

struct options {
    const char *socket;       /* NULL: $PELTON_SOCKET or the default */
    unsigned socket_mode;     /* of its file */
    const char *socket_group; /* NULL: the daemon's */
    int private_fd;           /* -1: a daemon for all */
    int worker_fd;            /* -1: the broker */
    int parent;               /* pid of the broker, for the worker */
    int log_level;
    const char *log_name; /* as typed */
    bool check, print, help, version;
    /* the -c values as typed; a broker may add one for its workers */
    const char *values[OPTIONS_MAX_VALUES + 1];
    unsigned n_values;
    const char *overrides[OPTIONS_MAX_VALUES]; /* -c sources.NAME.KEY=VALUE as typed */
    unsigned n_overrides;
    char *texts[OPTIONS_MAX_VALUES]; /* of values that came from a file */
    unsigned n_texts;
    struct option_source *sources;
    unsigned n_sources;
    int argc;
    char **argv; /* to read it all again */

    /* engine */
    const char *device, *tune_force;
    uint64_t threads, lookahead, batch, wavefront, arena, entropy /* enum engine_entropy */,
        entropy_memory, shuffle_seed;
    bool validation, timestamps, gpu_debug, tune, live_clocks, gpu_motion;

    /* broker */
    uint64_t workers, clients, clients_per_uid, streams;
    uint64_t hello_ms, ping_ms, dead_ms, worker_dead_ms;
    uint64_t restarts, restart_window_ms;
    const char *allow_paths; /* folders, separated by ':' */
};

/* 0, or -1 with one line in error. */
int options_parse(int argc, char **argv, struct options *out, char error[256]);
/* Reads arguments and files again: the sources that result, options_sources_free them, and in note
 * what else has changed and is not taken over. 0, or -1 with one line in error. */
int options_reread(const struct options *o, struct option_source **sources, unsigned *n_sources,
                   char note[256], char error[256]);
void options_sources_free(struct option_source *sources, unsigned n);
void options_usage(FILE *to);
/* as a configuration file, without passwords */
void options_print(const struct options *o, FILE *to);
void options_free(struct options *o);

#endif
