/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of a tap as a body: parts of JPEG, y4m, and raw video in Matroska or NUT.
 */
#ifndef PELTON_MUX_H
#define PELTON_MUX_H

#include "web/web_feed.h"
#include "web/http_reply.h"

enum mux_kind { MUX_MJPEG, MUX_Y4M, MUX_MKV, MUX_NUT };

struct mux;

/* first tells size and format of all frames. rate: frames a second, 0: unknown. NULL: why says what
 * the body cannot hold. */
struct mux *mux_new(enum mux_kind kind, const struct web_frame *first, struct pelton_rational rate,
                    struct pelton_failure *why);
/* The bytes of one frame, valid until the next call and while the frame is held. False: its size or
 * format has changed, and the body cannot say so. */
bool mux_frame(struct mux *m, const struct web_frame *frame, struct http_piece out[HTTP_PIECES]);
/* The bytes behind the last frame. */
void mux_end(struct mux *m, struct http_piece out[HTTP_PIECES]);
void mux_free(struct mux *m);

#endif
