/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where daemons listen and clients look: $PELTON_SOCKET, the user's own socket
 * ($XDG_RUNTIME_DIR/pelton.sock), the system's.
 */
#ifndef SOCKET_PATH_H
#define SOCKET_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define SOCKET_SYSTEM "/run/pelton/pelton.sock"

enum { SOCKET_PATH = 108 }; /* of sockaddr_un */

/* $PELTON_SOCKET; NULL: not set, or empty. */
const char *socket_named(void);
/* False: XDG_RUNTIME_DIR is not set, not absolute, or too long. */
bool socket_of_user(char out[SOCKET_PATH]);
/* Which one answers a client that names none: $PELTON_SOCKET, the user's where there is one, the
 * system's. */
void socket_default(char out[SOCKET_PATH]);
/* Why this user may not connect, as a line to type: after EACCES. */
void socket_access_hint(const char *path, char *out, size_t size);

#endif
