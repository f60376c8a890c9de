/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether an output can be written, asked before a daemon and a device are opened.
 */
#ifndef CLIENT_OUTPUT_CHECK_H
#define CLIENT_OUTPUT_CHECK_H

#include "client/output.h"

#include <sys/stat.h>

/* Whether a path is this regular file. */
bool output_is_file(const struct stat *file, const char *path);
/* Something exists there that is no file of its own: a device, a named pipe, standard output by
 * its name. It is written in place. */
bool output_is_special(const char *path);
/* Creates and changes nothing. A file that exists is asked for here: *overwrite then becomes
 * OVERWRITE_YES. Returns an exit code. */
int output_check_path(const char *path, enum overwrite *overwrite, struct failure *f);
/* The same for frames: `single` says that one comes at most. Refuses pixels on a terminal. */
int output_check(const struct output_format *format, const char *path, bool single,
                 enum overwrite *overwrite, struct failure *f);

#endif
