/* SPDX-License-Identifier: BSD-2-Clause
 *
 * NAL units: their types, and an access unit split into them.
 */
#ifndef PELTON_CODEC_NAL_H
#define PELTON_CODEC_NAL_H

#include "codec/bits.h"

/* nal_unit_type (Table 7-1) */
enum h264_nal_type {
    H264_NAL_SLICE = 1,
    H264_NAL_PARTITION_A = 2,
    H264_NAL_PARTITION_B = 3,
    H264_NAL_PARTITION_C = 4,
    H264_NAL_IDR = 5,
    H264_NAL_SEI = 6,
    H264_NAL_SPS = 7,
    H264_NAL_PPS = 8,
    H264_NAL_AUD = 9,
    H264_NAL_END_SEQUENCE = 10,
    H264_NAL_END_STREAM = 11,
    H264_NAL_FILLER = 12,
    H264_NAL_SPS_EXTENSION = 13,
    H264_NAL_PREFIX = 14,
    H264_NAL_SUBSET_SPS = 15,
    H264_NAL_AUXILIARY = 19,
    H264_NAL_EXTENSION = 20
};

struct h264_nal_iter {
    const uint8_t *data;
    size_t size, pos;
    unsigned length_size; /* bytes of the length before each NAL unit; 0: Annex B */
    bool truncated; /* a length reached past the end; the rest was given as the last NAL unit */
    bool forbidden; /* Annex B: the last NAL unit has bytes that 7.4.1 forbids */
};

void h264_nal_iter_init(struct h264_nal_iter *it, const uint8_t *data, size_t size,
                        unsigned length_size);
/* The next NAL unit of at least one byte, without start code and trailing zero bytes. False at the
 * end; every call consumes. */
bool h264_nal_next(struct h264_nal_iter *it, const uint8_t **nal, size_t *size);

/* NAL unit to RBSP (7.4.1.1): nal[0 .. size) from the header byte, which is copied too. Drops every
 * emulation_prevention_three_byte and trailing zero bytes, stops before a start code, and writes
 * H264_BITS_PADDING zero bytes after the RBSP: out must have room for size + H264_BITS_PADDING
 * bytes and not overlap nal. Returns the bytes of the RBSP; *consumed, where not NULL, is how many
 * of nal were used. */
size_t h264_unescape(const uint8_t *nal, size_t size, uint8_t *out, size_t *consumed);

/* An RBSP in memory that grows as needed; zero-initialised. */
struct h264_rbsp {
    uint8_t *bytes;
    size_t capacity;
};

/* A NAL unit without its emulation prevention bytes. H264_ERR_NOMEM: the content is as before. */
int h264_rbsp_unescape(struct h264_rbsp *rbsp, const uint8_t *nal, size_t size, size_t *rbsp_size);

#endif
