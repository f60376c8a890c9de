/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The light in a camera's frame as text.
 */
#ifndef PELTON_CLIENT_EXPOSURE_REPORT_H
#define PELTON_CLIENT_EXPOSURE_REPORT_H

#include "proto/pelton.h"

/* The histogram as one line of 64 bars, with a mark at the target below. frame is of a camera. */
void exposure_print(const struct pelton_frame *frame);

#endif
