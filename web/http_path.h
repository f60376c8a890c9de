/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Texts of a request's first line. Pure. Thread: any.
 */
#ifndef PELTON_HTTP_PATH_H
#define PELTON_HTTP_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Decodes %XX strictly. False: a broken escape, a control character or a byte 0, or no room. */
bool http_text_decode(const char *text, char *out, size_t size);
/* The same for a path. False also where it has no leading slash, an empty part, or a part that is
 * "." or "..", before or after decoding, or an encoded slash or backslash. */
bool http_path_decode(const char *text, char *out, size_t size);

/* The host of a Host header without its port, in lower case, without brackets. False: malformed. */
bool http_host_split(const char *header, char *out, size_t size);

#endif
