/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What an address leads to, by its scheme.
 */
#ifndef PELTON_SOURCE_SCHEME_H
#define PELTON_SOURCE_SCHEME_H

#include <stdbool.h>
#include <stddef.h>

/* A path without a scheme is a file. */
enum source_kind { SOURCE_FILE, SOURCE_CAMERA, SOURCE_NETWORK };

/* False, with a line that names the scheme: there is no such one. */
bool source_scheme(const char *address, enum source_kind *out, char *why, size_t size);
/* Network sources, which may come back. */
bool source_is_network(const char *address);
/* User and password before the host: their length, without the '@'. 0: there are none. */
size_t source_login_length(const char *address, const char **out);

#endif
