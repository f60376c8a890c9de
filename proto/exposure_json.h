/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The light in a camera's frame as JSON.
 */
#ifndef PELTON_EXPOSURE_JSON_H
#define PELTON_EXPOSURE_JSON_H

#include "proto/json.h"
#include "proto/pelton.h"

/* "searching", "converged", "locked" */
const char *exposure_state(const struct pelton_frame *frame);
/* The object "exposure". frame is of a camera. */
void exposure_json(struct json *j, const struct pelton_frame *frame);

#endif
