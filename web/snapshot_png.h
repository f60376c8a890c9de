/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame of rgb24 as a PNG file, by libavcodec.
 */
#ifndef PELTON_SNAPSHOT_PNG_H
#define PELTON_SNAPSHOT_PNG_H

#include "web/web_feed.h"

/* The caller frees the bytes by free(). NULL: no memory. */
uint8_t *snapshot_png(const struct web_frame *frame, size_t *size);

#endif
