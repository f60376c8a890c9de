/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Queues of pictures, and the order of output (C.4).
 */
#ifndef PELTON_CODEC_OUTPUT_ORDER_H
#define PELTON_CODEC_OUTPUT_ORDER_H

#include "codec/dpb.h"

/* Pictures in order, each with one reference. */
struct h264_queue {
    struct h264_picture **items;
    size_t head, count, capacity;
};

/* Room for n more pushes. */
int h264_queue_reserve(struct h264_queue *q, size_t n);
/* Takes a new reference. Room must be reserved. */
void h264_queue_push(struct h264_queue *q, struct h264_picture *pic);
struct h264_picture *h264_queue_pop(struct h264_queue *q);
void h264_queue_free(struct h264_queue *q);

/* All waiting pictures leave in order of POC (C.4.4, C.4.5.3). */
void h264_output_flush(struct h264_dpb *dpb, struct h264_queue *out);
/* A frame or a first field enters the DPB, or goes out at once (C.4.5.1, C.4.5.2): e, whose
 * references it takes. Bumps while no buffer is free. */
void h264_output_store(struct h264_dpb *dpb, struct h264_dpb_entry *e, struct h264_queue *out);
/* Pictures beyond `reorder` waiting ones leave. */
void h264_output_trim(struct h264_dpb *dpb, unsigned reorder, struct h264_queue *out);

#endif
