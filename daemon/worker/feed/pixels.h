/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pixel formats of frames, by FFmpeg's names, and which of them the decoder makes of a stream.
 */
#ifndef PELTON_PIXELS_H
#define PELTON_PIXELS_H

#include "daemon/worker/feed/feed.h"
#include "gpu/h264/recon.h"

#include <stdbool.h>
#include <stdint.h>

struct h264_sps;

struct pixels {
    char name[16];            /* FFmpeg's */
    enum recon_format planes; /* their number and size */
    uint8_t depth; /* 8: samples of one byte; 9..14: of two, little endian, in the low bits */
    bool rgb;      /* planes are G, B, R */
};

/* Planes of one frame; fills pix_fmt, planes, offsets, strides, sizes and slot_size. */
void pixels_layout(const struct pixels *pixels, uint32_t width, uint32_t height,
                   struct feed_format *format);

/* False: the name is none that a decoder could give out. */
bool pixels_by_name(const char *name, struct pixels *out);
/* The stream's own format. A depth without a name in FFmpeg (11, 13), and luma and chroma of
 * different depths, take the name of the next larger depth, samples as they are. */
void pixels_of(const struct h264_sps *sps, struct pixels *out);
/* What leaves of a stream for a wish (NULL: its own format), and in which form the frame store is
 * to deliver it: luma alone where chroma planes are wished for of 4:0:0, they stay grey. False: the
 * wish cannot be met without a conversion. */
bool pixels_choose(const char *wish, const struct h264_sps *sps, struct pixels *out,
                   enum recon_format *delivered);

#endif
