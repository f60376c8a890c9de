/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Access units of libpelton (pelton_open_params.encoded) into a container, by libavformat's muxers.
 * Nothing is decoded, and the bytes of the pictures stay as they are.
 *
 * Life cycle: new (writes the header) -> add ... -> end -> free. Functions return 0 or an AVERROR.
 * One thread at a time.
 */
#ifndef PELTON_UNIT_MUXER_H
#define PELTON_UNIT_MUXER_H

#include "proto/pelton.h"

struct unit_muxer;

struct unit_muxer_params {
    const char *format;  /* FFmpeg's name: h264, mpegts, mp4, matroska, rtsp */
    const char *address; /* of rtsp, which libavformat opens itself; else NULL */
    /* MP4 is always fragmented. Each unit is a fragment; else there is one a second or key picture.
     */
    bool each_unit;
    struct pelton_rational rate; /* frames a second that the container tells; 0/0: unknown */
    int64_t start_us;            /* the first unit's time stamp becomes this one */
    /* False: nothing more can be written. Not of an address. */
    bool (*write)(void *ctx, const uint8_t *bytes, size_t size);
    /* As lseek, in a file; NULL: bytes only follow each other. */
    int64_t (*seek)(void *ctx, int64_t offset, int whence);
    bool (*stopped)(void *ctx); /* asked while an address waits; may be NULL */
    void *ctx;
};

/* first: a key picture, which unit_muxer_add gets, too. */
int unit_muxer_new(const struct unit_muxer_params *params, const struct pelton_frame *first,
                   struct unit_muxer **out);
/* False: the unit has other parameter sets, so it needs another muxer. */
bool unit_muxer_fits(const struct unit_muxer *m, const struct pelton_frame *unit);
/* Time stamps go on where those of the source jump. */
int unit_muxer_add(struct unit_muxer *m, const struct pelton_frame *unit);
/* Time stamp of the next unit, microseconds: start_us of a muxer that follows. */
int64_t unit_muxer_next_us(const struct unit_muxer *m);
int unit_muxer_end(struct unit_muxer *m);
void unit_muxer_free(struct unit_muxer *m); /* NULL is allowed */

/* As RFC 6381 names the stream: "avc1.64000b". False: the parameter sets do not tell. */
bool unit_codec_string(const struct pelton_frame *unit, char out[16]);

#endif
