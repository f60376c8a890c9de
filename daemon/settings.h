/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The settings of peltond: its command line, its environment and its configuration file. Broker and
 * worker read the same ones, because the broker passes its -c values on to its workers.
 */
#ifndef PELTON_SETTINGS_H
#define PELTON_SETTINGS_H

#include "daemon/source_rights.h"
#include "proto/option_line.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SETTINGS_MAX_VALUES = 64 };

struct configured_source;

struct settings_process {
    int private_fd; /* -1: a daemon for all */
    int worker_fd;  /* -1: the broker */
    int parent;     /* for the worker: pid of the broker */
    int log_level;
    const char *log_name; /* as typed */
    bool check, print, list, help, version;
};

struct settings_listen {
    const char *path;  /* NULL: by environment and rights (listen_path.h) */
    const char *group; /* NULL: the group of the daemon */
    unsigned mode;     /* of the socket's file */
};

/* What was typed. It is kept to start workers and to read everything again. */
struct settings_text {
    /* the -c values; the command line of a worker may have one more than that of its broker */
    const char *values[SETTINGS_MAX_VALUES + 1];
    unsigned n_values;
    const char *overrides[SETTINGS_MAX_VALUES]; /* -c sources.NAME.KEY=VALUE */
    unsigned n_overrides;
    char *owned[SETTINGS_MAX_VALUES]; /* values that came from a file or the environment */
    unsigned n_owned;
    int argc;
    char **argv;
};

struct settings_engine {
    const char *device;
    uint64_t threads, lookahead;
    uint64_t entropy;                            /* enum engine_entropy */
    uint64_t entropy_memory;                     /* MiB */
    uint64_t expected;                           /* MiB of video; 0: unknown */
    uint64_t memory, memory_device, memory_host; /* MiB: both, or each */
    bool gpu_motion, libavcodec, tune, live_clocks, warm_up, validation, timestamps, gpu_debug;
};

/* Access units of cameras that give samples. */
struct settings_encoding {
    uint64_t width, height; /* most; 0: by who encodes */
    uint64_t quality;       /* as pelton encode -crf */
    uint64_t bit_rate;      /* kbit/s; 0: without limit */
    uint64_t key_ms;
};

/* Keys that begin with "debug.": only tests and measurements use them. */
struct settings_debug {
    const char *tune_force, *split;
    uint64_t batch, wavefront, arena, encoder, shuffle_seed, delay_seed, idle_ms, share_kib;
    uint64_t share_ms;
    bool bare;
};

struct settings_limits {
    uint64_t clients, clients_per_uid, streams, resting;
    uint64_t restarts, restart_window_ms;
    uint64_t access_unit, nal_unit, picture; /* bytes, bytes, macroblocks */
    uint64_t kept_units;                     /* bytes */
    uint64_t stream_memory, stream_device;   /* KiB of frames */
    uint64_t client_memory, client_device;   /* of all streams of a client */
    uint64_t log_lines;                      /* a second */
    const char *allow_paths;                 /* folders, separated by ':' */
    bool sandbox;
};

struct settings_timing {
    uint64_t hello_ms, ping_ms, dead_ms, worker_dead_ms;
};

struct settings {
    struct settings_process process;
    struct settings_listen listen;
    struct settings_text text;
    struct settings_engine engine;
    struct settings_encoding encoding;
    struct settings_debug debug;
    struct settings_limits limits;
    struct settings_timing timing;
    struct source_rights rights;       /* of sources that have no rules of their own */
    struct configured_source *sources; /* config_source.h */
    unsigned n_sources;
};

/* 0, or -1 with the fault. */
int settings_parse(int argc, char **argv, struct settings *out, struct option_fault *fault);
/* Reads arguments, environment and files again. *sources receives the sources that result, and the
 * caller frees them with config_sources_free. note names the other keys that have changed; they
 * take effect after a restart only. 0, or -1 with one line in error. */
int settings_reread(const struct settings *s, struct configured_source **sources,
                    unsigned *n_sources, char note[256], char error[256]);
/* Prints the options and the keys of the configuration. */
void settings_usage(void);
/* As a configuration file, without passwords. */
void settings_print(const struct settings *s, FILE *to);
void settings_free(struct settings *s);

#endif
