/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From the text of an option to its value in struct client_options.
 */
#ifndef CLIENT_OPTION_VALUES_H
#define CLIENT_OPTION_VALUES_H

#include "client/option_table.h"

/* Sets the value of one option. value: the text of its argument; NULL where it has none. Returns 0,
 * or X_USAGE with the failure. */
int option_apply(const struct option_row *row, const char *value, struct client_options *o,
                 struct failure *f);

#endif
