/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the daemon listens: the path of the settings, $PELTON_SOCKET, the system's where this
 * process may write there, the user's own.
 */
#ifndef PELTON_LISTEN_PATH_H
#define PELTON_LISTEN_PATH_H

#include "daemon/settings.h"
#include "proto/socket_path.h"

/* 0, or an exit code with the reason logged. */
int listen_path_choose(const struct settings *settings, char out[SOCKET_PATH]);
/* Makes the folders of the path that are missing. */
int listen_folder_create(const char *path);
/* Says where else a daemon without rights may listen. */
void listen_path_hint(void);

#endif
