/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Turns and mirrors pictures as they are to be shown (enum pelton_orientation).
 */
#ifndef CLIENT_TURN_H
#define CLIENT_TURN_H

#include "client/convert.h"
#include "client/exit_code.h"

#include <libavutil/frame.h>
#include <stdint.h>

struct turn {
    AVFrame *frame;          /* the turned picture */
    struct convert *convert; /* to a format that can be turned */
};

/* *out becomes the turned picture, in *t until the next call; or `in` where orientation leaves it.
 * Formats whose chroma has unequal steps (4:2:2) become 4:4:4 where rows become columns. Returns an
 * exit code. */
int turn_frame(struct turn *t, const AVFrame *in, uint32_t orientation, const AVFrame **out,
               struct failure *f);
void turn_clear(struct turn *t);

#endif
