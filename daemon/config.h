/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration file, YAML: the keys of -c at the top, `listen: {unix: {path}}`, and `sources`,
 * each a name with its uri and, for cameras, the settings of camera/camera_params.h (nested keys or
 * dotted ones; a list is a value with commas). Network sources take user and password, or
 * password_file: a path, or the name of one of systemd's credentials. Any source may have `blur:
 * [[x, y, width, height], ...]`.
 */
#ifndef PELTON_CONFIG_H
#define PELTON_CONFIG_H

#include "daemon/settings.h"

enum { CONFIG_WHY = 256 };

/* Takes one scalar of the top level; 0, or -1 with the reason. */
typedef int (*config_value_fn)(void *ctx, const char *key, const char *value, char why[CONFIG_WHY]);

/* Reads the file; sources are added to *sources (NULL, 0 at first; config_sources_free). 0, or -1
 * with "FILE:LINE:COLUMN: reason". */
int config_read(const char *path, config_value_fn value, void *ctx, struct option_source **sources,
                unsigned *n_sources, char why[CONFIG_WHY]);
/* "sources.NAME.KEY=VALUE" of the command line: a setting of a camera that the file names, or the
 * uri of a new source. The same. */
int config_override(const char *text, struct option_source **sources, unsigned *n_sources,
                    char why[CONFIG_WHY]);
void config_sources_free(struct option_source *sources, unsigned n);
/* An address without its password. */
void config_redact(const char *uri, char *out, size_t size);

#endif
