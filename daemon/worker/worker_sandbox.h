/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker's sandbox. Drivers make calls of many kinds, so dangerous ones are refused by a list.
 * Files are written in the cache, in /dev and in /proc/self alone.
 */
#ifndef PELTON_WORKER_SANDBOX_H
#define PELTON_WORKER_SANDBOX_H

#include "daemon/settings.h"

/* The first step, before there are threads. Where NVIDIA's driver has to make its device nodes,
 * which takes a program of root, it waits for the second one: false. */
uint32_t worker_sandbox_begin(const struct settings *settings);
/* The second step, when the device is open: no program is run any more. begun: of the first. */
uint32_t worker_sandbox_close(const struct settings *settings, uint32_t begun);

#endif
