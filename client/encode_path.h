/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names of the outputs of pelton encode.
 */
#ifndef CLIENT_ENCODE_PATH_H
#define CLIENT_ENCODE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The output of an input: "%s" in path becomes the input's name without folders and extension.
 * False: there is no room in out. */
bool encode_output_path(const char *path, const char *input, char *out, size_t size);

#endif
