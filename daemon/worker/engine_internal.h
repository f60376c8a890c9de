/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine and its sessions.
 */
#ifndef PELTON_ENGINE_INTERNAL_H
#define PELTON_ENGINE_INTERNAL_H

#include "daemon/worker/session_internal.h"

#endif
