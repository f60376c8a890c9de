/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Controls that clients have set on a camera. They go with each Open, so that they last over the
 * end of its readers, a change of size, and the loss of a worker. The worker sets them one after
 * the other when the camera is open, in the order in which they were set.
 */
#ifndef PELTON_KEPT_CONTROLS_H
#define PELTON_KEPT_CONTROLS_H

#include "proto/wire.h"

struct kept_controls {
    uint32_t n;
    struct pelton_control list[PELTON_MAX_CONTROLS];
};

/* set was done; now: the controls afterwards. */
void kept_controls_add(struct kept_controls *k, const Pelton__Controls *set,
                       const Pelton__ControlsReply *now);

#endif
