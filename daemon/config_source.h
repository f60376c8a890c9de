/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sources that the configuration names, as typed fields: an address without settings, user and
 * password, and what belongs to it.
 */
#ifndef PELTON_CONFIG_SOURCE_H
#define PELTON_CONFIG_SOURCE_H

#include "daemon/config.h"
#include "daemon/source_rights.h"
#include "daemon/source_scheme.h"
#include "daemon/source_upkeep.h"
#include "proto/pelton.h"

#include <stdio.h>

enum { SOURCE_SETTINGS = 64, CONFIG_VALUE = 1024 };

/* A setting of camera/camera_params.h. */
struct source_setting {
    char *key, *value;
};

struct configured_source {
    char name[64];
    enum source_kind kind;
    char *address;
    struct source_setting *settings; /* of a camera */
    unsigned n_settings;
    char *user, *password; /* of a network source; NULL: none */
    char *password_file;   /* as written; NULL: none */
    uint32_t n_blur;       /* rectangles that are hidden from every reader */
    struct pelton_rect blur[PELTON_MAX_BLURS];
    struct source_rights rights;
    struct source_upkeep upkeep;
};

/* Sets one key: of the source, of its upkeep or rights, or a setting of a camera. folder: where
 * password_file and pictures lie, NULL: the present one. 0, or -1 with the reason. */
int source_set(struct configured_source *s, const char *folder, const char *key, const char *value,
               char why[CONFIG_WHY]);
/* What single keys cannot know. On failure *key is the one at fault, or NULL: the whole source. */
int source_check(struct configured_source *s, const char **key, char why[CONFIG_WHY]);
/* The value of a setting; NULL: not set. */
const char *source_setting(const struct configured_source *s, const char *key);
/* All but rights and upkeep, which change without a new opening. */
bool source_same(const struct configured_source *a, const struct configured_source *b);
/* Both are one open camera: the same address with the same settings. */
bool source_shares_camera(const struct configured_source *a, const struct configured_source *b);
/* False: out of memory, and *out is empty. */
bool source_copy(const struct configured_source *from, struct configured_source *out);
void source_clear(struct configured_source *s);
/* As a line of the configuration file, without the password. */
void source_print(const struct configured_source *s, FILE *to);

/* Takes "sources.NAME.KEY=VALUE" of the command line: a key of a source that the file names, or the
 * uri of a new source. 0, or -1 with the reason. */
int config_override(const char *text, struct configured_source **sources, unsigned *n_sources,
                    char why[CONFIG_WHY]);
/* Adds an empty source. NULL, with the reason: the name is taken or too long, no memory. */
struct configured_source *config_source_add(struct configured_source **sources, unsigned *n_sources,
                                            const char *name, char why[CONFIG_WHY]);
void config_sources_free(struct configured_source *sources, unsigned n);
/* Copies an address without its password. */
void config_redact(const char *uri, char *out, size_t size);

#endif
