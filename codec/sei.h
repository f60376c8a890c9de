/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Collects the SEI messages that stand before a picture.
 */
#ifndef PELTON_CODEC_SEI_H
#define PELTON_CODEC_SEI_H

#include "codec/h264_sei.h"

/* Messages since the last picture; zero-initialised. */
struct h264_sei_inbox {
    uint32_t count, left_out;
    uint32_t over_limit; /* of those left out, since the caller has cleared it */
    struct {
        uint32_t type, at, size;
    } messages[H264_SEI_MAX_MESSAGES];
    uint8_t *bytes;
    uint32_t bytes_size, bytes_capacity;
};

/* sei_rbsp() (7.3.2.3) from its NAL unit header byte on. What comes before an error is kept. */
int h264_sei_collect(struct h264_sei_inbox *inbox, const uint8_t *rbsp, size_t size);
/* The first message of this type. False: there is none. *out is valid until the next call for this
 * inbox. */
bool h264_sei_peek(const struct h264_sei_inbox *inbox, uint32_t type, struct h264_sei_message *out);
/* Hands the messages over and empties the inbox. *out NULL: there were none. On H264_ERR_NOMEM they
 * are lost. */
int h264_sei_take(struct h264_sei_inbox *inbox, struct h264_sei **out);
void h264_sei_clear(struct h264_sei_inbox *inbox);      /* keeps its memory */
void h264_sei_inbox_free(struct h264_sei_inbox *inbox); /* the memory of its members */
void h264_sei_free(struct h264_sei *sei);               /* with next; NULL allowed */

#endif
