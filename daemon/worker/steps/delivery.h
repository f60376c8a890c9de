/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An output of a window on its way to the reader.
 *
 * The source makes it, the device's thread delivers and announces it. The engine's lock guards it.
 */
#ifndef PELTON_DELIVERY_H
#define PELTON_DELIVERY_H

#include "daemon/worker/feed/frame_pool.h"
#include "daemon/worker/schedule/window.h"

#include <stdlib.h>

struct delivery {
    struct output output;    /* first: the schedule's part */
    struct feed_frame frame; /* owns its side data */
    struct pool *pool;       /* once submitted */
};

static inline struct delivery *delivery_of(struct output *out)
{
    return (struct delivery *)out;
}

/* Of one that no window knows. */
static inline void delivery_discard(struct delivery *d)
{
    h264_picture_unref(d->output.pic);
    free(d->frame.side);
    free(d);
}

#endif
