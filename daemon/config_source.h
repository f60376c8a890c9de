/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sources that the configuration names.
 */
#ifndef PELTON_CONFIG_SOURCE_H
#define PELTON_CONFIG_SOURCE_H

#include "daemon/config.h"
#include "proto/pelton.h"

struct configured_source {
    char name[64];
    char *uri;       /* settings of cameras included */
    uint32_t n_blur; /* rectangles that are hidden from every reader */
    struct pelton_rect blur[PELTON_MAX_BLURS];
};

/* Takes "sources.NAME.KEY=VALUE" of the command line: a setting of a camera that the file names, or
 * the uri of a new source. 0, or -1 with the reason. */
int config_override(const char *text, struct configured_source **sources, unsigned *n_sources,
                    char why[CONFIG_WHY]);
void config_sources_free(struct configured_source *sources, unsigned n);
/* Copies an address without its password. */
void config_redact(const char *uri, char *out, size_t size);

#endif
