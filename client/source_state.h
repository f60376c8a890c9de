/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The states of named sources, as words.
 */
#ifndef CLIENT_SOURCE_STATE_H
#define CLIENT_SOURCE_STATE_H

#include "client/ui.h"
#include "proto/pelton.h"

const char *source_state_name(enum pelton_source_state state);
/* The colour of that word on a terminal. */
enum ui_colour source_state_colour(enum pelton_source_state state);

#endif
