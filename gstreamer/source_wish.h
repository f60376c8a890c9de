/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the elements behind peltonsrc want otherwise than the source gives it. The daemon makes it.
 */
#ifndef PELTON_SOURCE_WISH_H
#define PELTON_SOURCE_WISH_H

#include "proto/pelton.h"

#include <gst/video/video.h>

/* All zero: frames as they come. */
struct source_wish {
    GstVideoFormat format; /* UNKNOWN (0): the source's own */
    uint32_t width, height;
    struct pelton_rational rate; /* fewer frames a second */
};

/* The wish that makes frames like own acceptable behind pad. False: none does. */
bool source_wish_find(GstPad *pad, const GstVideoInfo *own, struct source_wish *wish);
void source_wish_apply(const struct source_wish *wish, struct pelton_open_params *params);

#endif
