/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pixel format conversion in the client, for formats that the daemon does not deliver.
 */
#ifndef CLIENT_CONVERT_H
#define CLIENT_CONVERT_H

#include "client/exit_code.h"

#include <libavutil/frame.h>
#include <stdbool.h>

struct convert;

/* *out belongs to *c (made on first use, made again where the frame's format changes) and lives
 * until the next call. */
int convert_frame(struct convert **c, const AVFrame *in, enum AVPixelFormat format,
                  const AVFrame **out, struct failure *f);
void convert_free(struct convert *c); /* NULL allowed */

#endif
