/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Splitting an access unit into NAL units.
 */
#ifndef PELTON_CODEC_NAL_H
#define PELTON_CODEC_NAL_H

#include "codec/internal.h"

struct h264_nal_iter {
    const uint8_t *data;
    size_t size, pos;
    unsigned length_size; /* bytes of the length before each NAL unit; 0: Annex B */
    bool truncated; /* a length reached past the end; the rest was given as the last NAL unit */
};

void h264_nal_iter_init(struct h264_nal_iter *it, const uint8_t *data, size_t size,
                        unsigned length_size);
/* The next NAL unit of at least one byte, without start code and trailing zero bytes. False at the
 * end; every call consumes. */
bool h264_nal_next(struct h264_nal_iter *it, const uint8_t **nal, size_t *size);

/* An RBSP in memory that grows as needed; zero-initialised. */
struct h264_rbsp {
    uint8_t *bytes;
    size_t capacity;
};

/* A NAL unit without its emulation prevention bytes. H264_ERR_NOMEM: the content is as before. */
int h264_rbsp_unescape(struct h264_rbsp *rbsp, const uint8_t *nal, size_t size, size_t *rbsp_size);

#endif
