/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame of libpelton as an AVFrame that borrows its planes, and as text for JSON and summaries.
 */
#ifndef CLIENT_PICTURE_H
#define CLIENT_PICTURE_H

#include "client/exit_code.h"

#include <libavutil/frame.h>

/* Borrowed: valid until the frame is released; nothing of *out needs freeing. */
int picture_borrow(const struct pelton_frame *in, AVFrame *out, struct failure *f);

/* MD5 of the planes without padding, as lower-case hex. */
void picture_md5(const AVFrame *frame, char out[33]);

#endif
