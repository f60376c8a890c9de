/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entry of the worker process.
 */
#ifndef PELTON_WORKER_MAIN_H
#define PELTON_WORKER_MAIN_H

#include "daemon/settings.h"

int worker_process(const struct settings *settings); /* an exit code */

#endif
