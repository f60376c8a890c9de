/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The states of named sources, as words.
 */
#ifndef CLIENT_SOURCE_STATE_H
#define CLIENT_SOURCE_STATE_H

#include "proto/pelton.h"

const char *source_state_name(enum pelton_source_state state);

#endif
