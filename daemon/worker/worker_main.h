/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entry of the worker process.
 */
#ifndef PELTON_WORKER_MAIN_H
#define PELTON_WORKER_MAIN_H

#include "daemon/settings.h"

/* An exit code. argv: that of main. In programs without the worker it becomes the one that has it
 * (worker_program.c). */
int worker_process(const struct settings *settings, char **argv);

#endif
