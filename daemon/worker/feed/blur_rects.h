/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rectangles of a session that leave blurred.
 */
#ifndef PELTON_WORKER_BLUR_H
#define PELTON_WORKER_BLUR_H

#include "daemon/worker/engine_internal.h"

/* Rectangle i of params in a picture of this size, which it touches where blur_outside is false. */
struct pelton_rect blur_scaled(const struct pelton_open_params *params, uint32_t i, uint32_t width,
                               uint32_t height);
/* With one line where a rectangle does not touch a picture of that size. */
bool blur_outside(const struct pelton_open_params *params, uint32_t width, uint32_t height,
                  char why[128]);

/* Before the first frame of a pool; fields: frames of that format are single fields. The first size
 * that a session has is what its rectangles mean, unless it was told; format says it on. False,
 * with one line, where one of them does not touch it: nothing may leave then. */
bool blur_admit(struct session *s, struct session_format *format, bool fields, char why[128]);
/* Fills d->blur from the other members of d. */
void blur_delivery(const struct session *s, struct recon_delivery *d);

#endif
