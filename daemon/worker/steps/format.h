/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The format of a picture's frames.
 */
#ifndef PELTON_FORMAT_H
#define PELTON_FORMAT_H

#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/feed/outputs.h"

/* Of a picture with this SPS; source says who told. */
struct pelton_colour format_colour(const struct session *s, const struct h264_sps *sps);
/* All of *out but epoch, slots and memory, of frames with this SPS. With the lock. False: the
 * session's pixel format or size cannot be made of it, and why. */
bool format_of(const struct session *s, const struct h264_sps *sps, bool second_view,
               struct feed_format *out, enum recon_format *delivered, char why[OUTPUT_WHY]);
/* Same epoch? */
bool format_equal(const struct feed_format *a, const struct feed_format *b);

#endif
