/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Picture order count (8.2.1).
 */
#ifndef PELTON_CODEC_POC_H
#define PELTON_CODEC_POC_H

#include "codec/h264_params.h"

#include <stdbool.h>

struct h264_poc_state {
    int32_t prev_msb, prev_lsb;     /* type 0: prevPicOrderCntMsb, prevPicOrderCntLsb */
    uint32_t prev_frame_num;        /* types 1, 2 */
    uint32_t prev_frame_num_offset; /* modulo 2^32, like all sums here */
};

/* 8.2.1 for a frame or a field; a field leaves the other member of poc untouched. */
void h264_poc_derive(struct h264_poc_state *state, const struct h264_sps *sps,
                     const struct h264_slice_header *h, int32_t poc[2]);
/* Afterwards, when the picture is complete; poc as after the effect of operation 5. */
void h264_poc_after(struct h264_poc_state *state, const struct h264_sps *sps,
                    const struct h264_slice_header *h, bool reset, const int32_t poc[2]);

#endif
