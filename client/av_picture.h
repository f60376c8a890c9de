/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame of libpelton as an AVFrame that borrows its planes, and its MD5.
 */
#ifndef CLIENT_PICTURE_H
#define CLIENT_PICTURE_H

#include "client/exit_code.h"

#include <libavcodec/avcodec.h>
#include <libavutil/frame.h>

/* Fills *out with borrowed planes. They are valid until the frame is released; nothing of *out
 * needs freeing. */
int picture_borrow(const struct pelton_frame *in, AVFrame *out, struct failure *f);

/* The order of fields. FFmpeg 6.1 moved it from two members of AVFrame to flags. */
bool picture_interlaced(const AVFrame *frame);
bool picture_top_first(const AVFrame *frame);
void picture_set_fields(AVFrame *frame, bool interlaced, bool top_first);

/* The pixel formats that an encoder takes, up to AV_PIX_FMT_NONE; NULL if it names none. */
const enum AVPixelFormat *picture_encoder_formats(const AVCodec *codec);

/* The MD5 of the planes without padding, as lower-case hex. */
void picture_md5(const AVFrame *frame, char out[33]);

#endif
