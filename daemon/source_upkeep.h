/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How the daemon keeps a source of the configuration: open without readers, and what readers see
 * while it is down.
 */
#ifndef PELTON_SOURCE_UPKEEP_H
#define PELTON_SOURCE_UPKEEP_H

#include "daemon/picture_file.h"
#include "daemon/source_scheme.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum source_placeholder { PLACEHOLDER_NONE, PLACEHOLDER_GRAY, PLACEHOLDER_LAST, PLACEHOLDER_FILE };

struct source_upkeep {
    bool always_on;
    uint64_t close_after_ms;       /* after its last reader; 0: at once */
    enum source_placeholder shown; /* while it is down */
    struct still_picture *picture; /* PLACEHOLDER_FILE; a reference */
    char *picture_file;            /* as written; NULL: none */
};

struct upkeep_key {
    const char *name, *line; /* line: for --list-keys, behind the name */
};

extern const struct upkeep_key upkeep_keys[]; /* its end: name NULL */
bool upkeep_knows(const char *key);
/* folder: where the picture lies, as picture_read. 0, or -1 with the reason. */
int upkeep_set(struct source_upkeep *u, const char *folder, const char *key, const char *value,
               char why[CONFIG_WHY]);
/* Whether this kind of source may be kept like that. On failure *key is the one at fault. */
int upkeep_check(const struct source_upkeep *u, enum source_kind kind, const char **key,
                 char why[CONFIG_WHY]);
/* False: out of memory, and *out has no picture. */
bool upkeep_copy(const struct source_upkeep *from, struct source_upkeep *out);
void upkeep_clear(struct source_upkeep *u);
void upkeep_swap(struct source_upkeep *a, struct source_upkeep *b);
bool upkeep_same(const struct source_upkeep *a, const struct source_upkeep *b);
/* The keys that are set, each with ", " before it. */
void upkeep_print(const struct source_upkeep *u, FILE *to);

#endif
