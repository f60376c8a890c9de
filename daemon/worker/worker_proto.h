/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The protocol side of the worker: messages of the broker to calls of session.h, callbacks to
 * messages.
 */
#ifndef PELTON_WORKER_PROTO_H
#define PELTON_WORKER_PROTO_H

#include "daemon/settings.h"

/* Runs until the broker closes its end or says so; an exit code. */
int worker_run(const struct settings *settings);

#endif
