/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Several devices share one file: each session decodes its part of it. A stretch begins with an IDR
 * picture, so nothing in it refers to what came before (7.4.1.2.4); session `index` of `count`
 * decodes every count-th of them and leaves the others out. Step 1 runs over the whole file in
 * each, so that all number the frames alike. Used by the stream thread alone.
 */
#ifndef PELTON_PART_H
#define PELTON_PART_H

#include "codec/h264.h"

struct part {
    uint32_t index, count; /* count 0 or 1: all of it */
    uint64_t stretch;      /* of the last picture */
    bool fresh;            /* the next picture begins one, whatever it is */
};

/* For each picture in decoding order: whether it is another session's. It is marked then, and must
 * not become a job. */
bool part_leaves_out(struct part *p, struct h264_picture *pic);
bool part_left_out(const struct h264_picture *pic); /* whether it was marked */
/* The source begins again (loops). */
void part_restart(struct part *p);

#endif
