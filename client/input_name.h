/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names of inputs as messages and reports show them: addresses without their password.
 */
#ifndef CLIENT_INPUT_NAME_H
#define CLIENT_INPUT_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* True: it begins with scheme://, as in RFC 3986. */
bool input_is_url(const char *name);
/* The name to show: *** stands for the password of an address. Returns name where there is none to
 * hide, else buffer; a name that is too long is cut. strlen(name) + 4 bytes are always enough. */
const char *input_shown_name(const char *name, char *buffer, size_t size);

#endif
