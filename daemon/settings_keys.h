/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of keys. A key has the same name and the same meaning on the command line (-c
 * KEY=VALUE), in the configuration file and in the environment (PELTON_CONFIG_KEY).
 */
#ifndef PELTON_SETTINGS_KEYS_H
#define PELTON_SETTINGS_KEYS_H

#include "daemon/settings.h"

#include <stddef.h>

enum { KEY_WHY = 200 };

size_t settings_key_count(void);
const char *settings_key_name(size_t key);
void settings_keys_preset(struct settings *s);
/* Sets one key from "KEY=VALUE". A text value borrows arg. 0, or -1 with one line in error. */
int settings_key_set(const char *arg, struct settings *s, char error[KEY_WHY]);
bool settings_key_differs(size_t key, const struct settings *a, const struct settings *b);
/* Prints each key with its meaning. */
void settings_keys_usage(void);
/* Lines of key, kind, preset, range and meaning, with tabs between. */
void settings_keys_list(FILE *to);
void settings_keys_print(const struct settings *s, FILE *to);

#endif
