/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The samples of a placeholder in the format of a reader's frames: grey, or a picture.
 */
#ifndef PELTON_PLACEHOLDER_PAINT_H
#define PELTON_PLACEHOLDER_PAINT_H

#include "daemon/picture_file.h"
#include "proto/wire.h"

/* slot: m->slot_size bytes. */
void placeholder_gray(uint8_t *slot, const Pelton__FormatChanged *m);
/* The whole picture, in its proportions, with black at the sides. False: frames of this format
 * cannot be painted, and nothing was. */
bool placeholder_paint(uint8_t *slot, const Pelton__FormatChanged *m,
                       const struct still_picture *p);

#endif
