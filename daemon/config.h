/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration file, in YAML. It has the keys of -c at the top, `listen: {unix: {path}}`, and
 * `sources`. Each source has a name and a uri. A camera also has the settings of
 * camera/camera_params.h, with nested keys or dotted ones; a list is a value with commas. A network
 * source also has user and password, or password_file: a path, or the name of one of systemd's
 * credentials. Any source may have `blur: [[x, y, width, height], ...]`. ${NAME} in a value stands
 * for a variable of the environment, $$ for $.
 */
#ifndef PELTON_CONFIG_H
#define PELTON_CONFIG_H

enum { CONFIG_WHY = 256 };

struct configured_source;

/* Takes one scalar of the top level; 0, or -1 with the reason. */
typedef int (*config_value_fn)(void *ctx, const char *key, const char *value, char why[CONFIG_WHY]);

/* Reads the file and adds its sources to *sources. They are NULL and 0 at first; the caller frees
 * them with config_sources_free. 0, or -1 with "FILE:LINE:COLUMN: reason". */
int config_read(const char *path, config_value_fn value, void *ctx,
                struct configured_source **sources, unsigned *n_sources, char why[CONFIG_WHY]);

#endif
