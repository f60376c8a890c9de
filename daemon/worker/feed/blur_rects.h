/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rectangles of a picture that leave blurred.
 */
#ifndef PELTON_WORKER_BLUR_H
#define PELTON_WORKER_BLUR_H

#include "daemon/worker/feed/feed.h"
#include "gpu/h264/recon.h"

/* Rectangle i of params in a picture of this size, which it touches where blur_outside is false. */
struct pelton_rect blur_scaled(const struct pelton_open_params *params, uint32_t i, uint32_t width,
                               uint32_t height);
/* With one line where a rectangle does not touch a picture of that size. */
bool blur_outside(const struct pelton_open_params *params, uint32_t width, uint32_t height,
                  char why[128]);

/* Before the first frame of a pool. fields: its frames are single fields. The rectangles mean the
 * first size that frames have, unless params say another; format says it on. False, with one line:
 * a rectangle does not touch that size, so nothing may leave. */
bool blur_admit(struct pelton_open_params *params, struct feed_format *format, bool fields,
                char why[128]);
/* Fills d->blur from the other members of d. */
void blur_delivery(const struct pelton_open_params *params, struct recon_delivery *d);

#endif
