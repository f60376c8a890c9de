/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Help on standard output, in lines of at most 80 columns, from the table of options.
 */
#ifndef PELTON_OPTION_HELP_H
#define PELTON_OPTION_HELP_H

#include "proto/option_line.h"

/* Prints words from column `at` on. Further lines are indented; a newline ends a paragraph. */
void help_wrapped(const char *text, int indent, int at);
/* Prints a name and its meaning in two columns. */
void help_pair(const char *name, const char *meaning);
/* Prints an option with its first sentence, or with the whole text. */
void help_row(const struct option_row *row, bool whole);

#endif
