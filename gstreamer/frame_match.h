/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which access unit a decoded frame came from. A byte stream has no time stamps, so each access
 * unit gets a user data SEI message (D.1.7) with its number, which comes back with the frame.
 */
#ifndef PELTON_FRAME_MATCH_H
#define PELTON_FRAME_MATCH_H

#include "proto/pelton.h"

#include <glib.h>

/* Writes the unit (NAL units with start codes) with its number to out. Access unit delimiters of
 * the unit are left out. */
void frame_match_mark(GByteArray *out, const guint8 *unit, gsize size, guint32 number);
/* The same without a number: the unit goes on with the one before. */
void frame_match_copy(GByteArray *out, const guint8 *unit, gsize size);
/* Writes an access unit delimiter, so that a reader knows at once that a unit is complete. */
void frame_match_delimit(GByteArray *out);

/* The numbers that came with a frame: two of a frame coded as two fields. Returns their count, at
 * most most. */
guint frame_match_numbers(const struct pelton_side_data *side, guint32 *numbers, guint most);

#endif
