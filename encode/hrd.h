/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The hypothetical decoder's buffer of a stream with a bit rate (Annex C): rates in the VUI, and
 * the SEI messages that tell when its pictures leave the buffer. One schedule, for NAL units.
 */
#ifndef PELTON_ENCODE_HRD_H
#define PELTON_ENCODE_HRD_H

#include "codec/h264_sei.h"
#include "encode/header_writer.h"
#include "encode/rate_control.h"

struct hrd {
    bool present;
    struct hrd_rates rates;
    uint64_t bit_rate, buffer; /* as the VUI tells them: bits a second, bits */
    uint32_t since_period;     /* pictures since the last one with a buffering period */
};

/* A bit rate and a buffer that the VUI can tell are multiples of these. */
enum { HRD_RATE_STEP = 64, HRD_BUFFER_STEP = 16 };

/* Of a rate control that has begun; fills in the VUI. There is none without a bit rate, or where
 * the VUI has no time between pictures. */
void hrd_begin(struct hrd *h, const struct rate_control *rate, struct h264_vui *vui);
/* The SEI messages of the next picture (sei_writer.h). key: with a buffering period. clock: where
 * the VUI has pic_struct; NULL: none. Nothing without a rate and pic_struct. */
void hrd_write(const struct hrd *h, const struct rate_control *rate, const struct h264_vui *vui,
               bool key, const struct h264_clock_timestamp *clock, struct bit_writer *unit);
/* That picture is out. */
void hrd_done(struct hrd *h, bool key);

#endif
