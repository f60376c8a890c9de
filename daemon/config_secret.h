/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the configuration takes from outside of its file: passwords, and the environment.
 */
#ifndef PELTON_CONFIG_SECRET_H
#define PELTON_CONFIG_SECRET_H

#include "daemon/config.h"

#include <stddef.h>

enum { SECRET_SIZE = 512 };

/* The first line of a file. A name without a folder is one of systemd's credentials, if there is
 * such a one; otherwise it is relative to folder (NULL: the present one). 0, or -1 with the reason.
 */
int secret_read(const char *folder, const char *name, char out[SECRET_SIZE], char why[CONFIG_WHY]);
/* Copies text with ${NAME} replaced by the environment's value, and $$ by $. 0, or -1 with the
 * reason. */
int environment_expand(const char *text, char *out, size_t size, char why[CONFIG_WHY]);

#endif
