/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The body of a request that sets controls: an object of JSON, as in
 * {"ExposureTime": 5000, "AeEnable": true, "ColourGains": [1.5, 2]}.
 */
#ifndef PELTON_CONTROL_WISHES_H
#define PELTON_CONTROL_WISHES_H

#include "web/control_board.h"

enum { WISHES_WHY = 160 };

/* Fills in out->control and out->n, at least 1, at most PELTON_MAX_CONTROLS, with finite values.
 * False: *why says it. */
bool control_wishes_read(const char *body, size_t size, struct control_list *out,
                         char why[WISHES_WHY]);

#endif
