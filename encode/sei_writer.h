/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SEI messages (7.3.2.3, D.1), from the structures that codec/ reads them into. A unit is the
 * sei_message()s of a NAL unit one after another, empty at first.
 */
#ifndef PELTON_ENCODE_SEI_WRITER_H
#define PELTON_ENCODE_SEI_WRITER_H

#include "codec/h264_params.h"
#include "codec/h264_sei.h"
#include "encode/bit_writer.h"

/* sei_message() of a payload as it was read: captions and all that needs no parameter sets */
void sei_bytes(struct bit_writer *unit, uint32_t type, const uint8_t *bytes, size_t size);
/* The same of bits, which are filled up to a byte; payload is empty afterwards. */
void sei_payload(struct bit_writer *unit, uint32_t type, struct bit_writer *payload);
/* Those of another unit after these; that one stays as it is. */
void sei_append(struct bit_writer *unit, const struct bit_writer *other);
/* The NAL unit of the messages to out, with start code; unit is empty afterwards. Nothing where it
 * has none. */
void sei_end(struct bit_writer *unit, struct bit_writer *out);

/* Payloads. The VUI says which elements are there. */
void sei_buffering_period(const struct h264_vui *vui, const struct h264_buffering_period *period,
                          struct bit_writer *payload);
void sei_pic_timing(const struct h264_vui *vui, const struct h264_pic_timing *timing,
                    struct bit_writer *payload);
void sei_recovery_point(const struct h264_recovery_point *point, struct bit_writer *payload);
void sei_frame_packing(const struct h264_frame_packing *packing, struct bit_writer *payload);
void sei_display_orientation(const struct h264_display_orientation *orientation,
                             struct bit_writer *payload);
void sei_mastering_display(const struct h264_mastering_display *display,
                           struct bit_writer *payload);
void sei_content_light(const struct h264_content_light *light, struct bit_writer *payload);

#endif
