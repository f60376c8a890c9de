/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pictures of a file (raw bytes with start codes), for checkgpu --entropy and --motion.
 */
#ifndef PELTON_CHECKGPU_STREAM_H
#define PELTON_CHECKGPU_STREAM_H

#include "codec/h264.h"
#include "codec/h264_stream.h"

struct check_stream {
    const char *path;
    struct h264_stream_params params;
    /* Each picture in order of decoding; its reference is taken. Not 0 ends the reading. */
    int (*take)(void *user, struct h264_picture *pic);
    void *user;
    const uint32_t *wanted; /* so many more; 0 ends the reading */
};

/* 0, what take returned, or -1 for a file that cannot be read (reported). */
int check_stream_read(const struct check_stream *s);

#endif
