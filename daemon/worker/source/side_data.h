/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SEI messages and usability information in the terms of libpelton.
 */
#ifndef PELTON_WORKER_SIDE_DATA_H
#define PELTON_WORKER_SIDE_DATA_H

#include "proto/pelton.h"

struct h264_picture;
struct h264_sps;

/* What came with pic, as one block for free(). NULL: nothing, or no memory for it. */
struct pelton_side_data *side_data_of(const struct h264_picture *pic,
                                      enum pelton_side_request request);

struct pelton_vui side_vui(const struct h264_sps *sps);

/* For probes: counts the messages of pictures and keeps the first of each kind. Zero-initialised.
 */
struct side_probe {
    struct pelton_probe_sei out;                        /* first is NULL until side_probe_end */
    struct h264_picture *holders[PELTON_MAX_SEI_TYPES]; /* references */
    const struct h264_sei_message *messages[PELTON_MAX_SEI_TYPES];
    int64_t start_ns; /* the source was begun */
};
void side_probe_add(struct side_probe *p, struct h264_picture *pic);
/* Fills out.first, which is the caller's, and drops the references. */
void side_probe_end(struct side_probe *p);

#endif
