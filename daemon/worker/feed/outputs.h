/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames that leave in another size, format, layout or type than they are decoded in: from the
 * reader's wish to a conversion and the planes of its output.
 */
#ifndef PELTON_OUTPUTS_H
#define PELTON_OUTPUTS_H

#include "daemon/worker/feed/pixels.h"

#define OUTPUT_WHY 160

/* A name of FFmpeg that only a conversion of YUV gives. */
bool output_is_rgb(const char *pix_fmt);
/* The wish of a reader, of pictures in `own`. pix_fmt NULL: the stream's own. False: why[] says in
 * one line what cannot be made. */
bool output_wish(const char *pix_fmt, const struct pelton_output *output, const struct pixels *own,
                 struct conversion_wish *out, char why[OUTPUT_WHY]);
/* Planes, sizes and names of format->wish, which is settled; and the aspect of its pixels. */
void output_format(const struct pelton_output *output, struct feed_format *format);

#endif
