/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The spawner starts workers for the broker, whose sandbox lets it start nothing, and whose
 * children would inherit it. It is a copy of the broker from before the sandbox. It takes the name
 * of a device and a flag, and nothing else. Workers are children of the broker.
 */
#ifndef PELTON_SPAWNER_H
#define PELTON_SPAWNER_H

#include "daemon/settings.h"

#include <sys/types.h>

enum { SPAWNER_DEVICE = 256 };

struct spawn_request {
    char device[SPAWNER_DEVICE]; /* "": by the settings */
    bool no_caches;              /* this worker's driver and later ones map no files */
};

/* Its socket, or -1 with errno. It ends with the socket, or with this process. The caller has one
 * thread. */
int spawner_start(const struct settings *settings);
/* Starts a worker whose channel is fd. Its pid, or a negative errno. */
pid_t spawner_ask(int spawner, const struct spawn_request *request, int fd);

#endif
