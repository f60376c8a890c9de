/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Keys of the configuration in the environment: PELTON_CONFIG_THREADS is threads,
 * PELTON_CONFIG_DEBUG_BATCH is debug.batch.
 */
#ifndef PELTON_SETTINGS_ENVIRONMENT_H
#define PELTON_SETTINGS_ENVIRONMENT_H

#include <stddef.h>

enum { ENVIRONMENT_NAME = 64 };

/* The variable of a key. */
void environment_name(const char *key, char out[ENVIRONMENT_NAME]);
/* NULL: not set. */
const char *environment_value(const char *key);
/* Logs a warning for each PELTON_CONFIG_ variable that sets nothing. */
void environment_check(void);

#endif
