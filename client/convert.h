/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Conversion of pixel formats in the client, for formats that the daemon does not deliver.
 */
#ifndef CLIENT_CONVERT_H
#define CLIENT_CONVERT_H

#include "client/exit_code.h"

#include <libavutil/frame.h>
#include <stdbool.h>

struct convert;

/* Converts a frame. *out belongs to *c and lives until the next call. *c is made on first use, and
 * again when the frame's format changes. */
int convert_frame(struct convert **c, const AVFrame *in, enum AVPixelFormat format,
                  const AVFrame **out, struct failure *f);
void convert_free(struct convert *c); /* NULL allowed */

#endif
