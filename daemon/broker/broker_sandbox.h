/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The broker's sandbox: calls by a list, no file written, no program run, no TCP.
 */
#ifndef PELTON_BROKER_SANDBOX_H
#define PELTON_BROKER_SANDBOX_H

#include "daemon/settings.h"

/* socket: the path that the broker removes at its end; NULL or empty: none. Once, when it listens
 * and its spawner (spawner.h) runs. */
uint32_t broker_sandbox(const struct settings *settings, const char *socket);

#endif
