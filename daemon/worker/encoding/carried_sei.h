/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SEI messages of a decoded frame that stay with it when it is encoded again: captions and all
 * other registered user data, time codes, frame packing, orientation, light of the display.
 */
#ifndef PELTON_CARRIED_SEI_H
#define PELTON_CARRIED_SEI_H

#include "encode/encoder.h"
#include "proto/pelton.h"

struct carried_sei {
    struct bit_writer messages;
    struct h264_clock_timestamp clock;
};

/* Fills in frame->messages and ->clock, which are valid until the next call. side NULL: none.
 * False: no memory. Unregistered user data stay behind: they tell of the encoder before. */
bool carried_sei_set(struct carried_sei *c, const struct pelton_side_data *side,
                     struct encoder_frame *frame);
void carried_sei_clear(struct carried_sei *c);

#endif
