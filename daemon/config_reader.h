/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inside the reader of the configuration file.
 */
#ifndef PELTON_CONFIG_READER_H
#define PELTON_CONFIG_READER_H

#include "daemon/config.h"
#include "daemon/config_source.h"

#include <yaml.h>

enum { CONFIG_DEPTH = 8, CONFIG_KEY = 160, CONFIG_MAX_SETTINGS = 64 };

struct config_setting {
    char key[CONFIG_KEY], value[CONFIG_VALUE];
    yaml_mark_t at;
};

struct config_reader {
    const char *path;
    config_value_fn value;
    void *ctx;
    char *why;
    struct configured_source *sources;
    unsigned n_sources;
    char key[CONFIG_KEY];        /* dotted, of the mapping or scalar to come */
    size_t length[CONFIG_DEPTH]; /* of key, outside each open mapping */
    unsigned depth;
    bool wants_key, empty;      /* empty: the innermost mapping, so far */
    bool document;              /* one has begun */
    char **seen;                /* keys so far, without those of sources that are complete */
    unsigned n_seen, n_outside; /* n_outside: those outside of the source that is being read */
    unsigned lists;             /* open ones; their scalars are collected, commas between */
    char list[CONFIG_VALUE];
    /* of the source that is being read */
    struct config_setting *settings;
    unsigned n_settings;
    bool version;
};

/* Writes "FILE:LINE:COLUMN: reason"; -1. */
int config_refuse(const struct config_reader *r, const yaml_mark_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
