/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A contact sheet: frames at even distances over a stream, as tiles of one picture, each with its
 * time.
 */
#ifndef CLIENT_CONTACT_SHEET_H
#define CLIENT_CONTACT_SHEET_H

#include "client/exit_code.h"

#include <libavutil/frame.h>
#include <stdint.h>

struct contact_sheet;

/* These return exit codes. */
int contact_sheet_open(uint32_t columns, uint32_t rows, struct contact_sheet **out,
                       struct failure *f);
/* Considers a frame, at a time in seconds. Frames come in order; how many is not known before. */
int contact_sheet_frame(struct contact_sheet *s, const AVFrame *frame, double seconds,
                        struct failure *f);
/* Draws the tiles. *out belongs to s; NULL: no frame came. */
int contact_sheet_draw(struct contact_sheet *s, const AVFrame **out, struct failure *f);
void contact_sheet_close(struct contact_sheet *s); /* NULL allowed */

#endif
