/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All keys of the configuration, for programs that write manuals.
 */
#ifndef PELTON_SETTINGS_LIST_H
#define PELTON_SETTINGS_LIST_H

#include <stdio.h>

/* Lines of key, kind, preset, range and meaning, with tabs between. */
void settings_list(FILE *to);

#endif
