/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An SEI message as a line of text: refdec prints the messages it read, streamgen those it wrote.
 */
#ifndef PELTON_TESTS_SEI_TEXT_H
#define PELTON_TESTS_SEI_TEXT_H

#include "codec/h264_params.h"
#include "codec/h264_sei.h"

#include <stdio.h>

enum sei_user { SEI_USER_OTHER, SEI_USER_CAPTIONS, SEI_USER_FORMAT };

/* One message; of the union the member that belongs to type. */
struct sei_values {
    uint32_t type;
    enum sei_user user; /* of H264_SEI_REGISTERED */
    union {
        struct h264_buffering_period period;
        struct h264_pic_timing timing;
        struct h264_recovery_point recovery;
        struct h264_frame_packing packing;
        struct h264_display_orientation orientation;
        struct h264_mastering_display display;
        struct h264_content_light light;
        uint8_t transfer, active_format;
    };
    /* What has no reader: the payload; of captions the triplets. Borrowed. */
    const uint8_t *bytes;
    uint32_t size;
};

/* From a message, with the codec's readers. Negative where they fail. */
int sei_values_read(const struct h264_sei_message *m, const struct h264_sps *sps,
                    struct sei_values *out);
void sei_values_print(FILE *f, const struct sei_values *v);
/* All of it but bitstream_restriction, which decoding depends on. */
void vui_print(FILE *f, const struct h264_vui *v);

#endif
