/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The drivers' own caches of compiled shaders. Drivers map files of the cache folder. A mapped page
 * that the file system has no room for ends the process by SIGBUS.
 */
#ifndef PELTON_DRIVER_CACHE_H
#define PELTON_DRIVER_CACHE_H

#include <stdbool.h>

/* Turns the caches off where their folder has no room. True: they are off. Before any other thread
 * runs and any driver is loaded. */
bool driver_cache_guard(void);
/* Takes the room of the file that Mesa has mapped, so that it cannot be missing later. False: there
 * is no room. Thread: any. */
bool driver_cache_reserve(void);

#endif
