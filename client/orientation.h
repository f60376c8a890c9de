/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How pictures are to be turned when they are shown: by the stream's display orientation messages
 * (D.1.27, D.2.27), else by the container's display matrix.
 */
#ifndef CLIENT_ORIENTATION_H
#define CLIENT_ORIENTATION_H

#include "proto/pelton.h"

/* The message that holds; all zero before the first frame. */
struct orientation {
    uint32_t told; /* enum pelton_orientation; 0: no message holds */
};

/* The orientation of the next frame in output order. A message holds for its frame alone
 * (repetition_period 0), or until another one or an IDR picture comes. Angles that are no quarter
 * turn count as the nearest one. */
uint32_t orientation_of(struct orientation *o, const struct pelton_frame *frame);

#endif
