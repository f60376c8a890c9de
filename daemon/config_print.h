/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Texts as the configuration file writes them.
 */
#ifndef PELTON_CONFIG_PRINT_H
#define PELTON_CONFIG_PRINT_H

#include <stdio.h>

/* A value, in quotes. A reader gets the same text: '$' is doubled, and characters that YAML does
 * not take as they are become numbers. */
void config_print_value(const char *value, FILE *to);
/* A key, in quotes where it needs them. */
void config_print_key(const char *key, FILE *to);

#endif
