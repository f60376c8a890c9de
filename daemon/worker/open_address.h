/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The address of an Open with its settings, or with user and password, as cameras and libavformat
 * take it. It stays inside the worker.
 */
#ifndef PELTON_OPEN_ADDRESS_H
#define PELTON_OPEN_ADDRESS_H

#include "proto/wire.h"

/* The caller frees it. NULL: no memory, or it becomes too long. */
char *open_address(const Pelton__Open *m);

#endif
