/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Several devices share one file: each session decodes some stretches of it. A table that they
 * share says which (daemon/stretch_table.h). Without a table it is every n-th.
 *
 * A stretch begins with an IDR picture, so nothing in it refers to what came before (7.4.1.2.4).
 * Step 1 runs over the whole file in each session, so that all number the frames alike. Thread:
 * that of the source.
 */
#ifndef PELTON_STRETCH_H
#define PELTON_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

struct h264_picture;

struct stretch {
    uint32_t index, count;       /* count 0 or 1: all of it */
    uint64_t number;             /* of the last picture's stretch */
    bool fresh;                  /* the next picture begins one, whatever it is */
    bool left_out;               /* the present stretch is another session's */
    struct stretch_table *table; /* NULL: none */
    uint64_t join_bytes;         /* with fewer of the file left, this session does not join */
};

void stretch_begin(struct stretch *st);
/* For each picture in decoding order; left: bytes of the source that are not read yet, UINT64_MAX:
 * that is not known. True: it is another session's. It is marked then, and must not enter the
 * window. */
bool stretch_leaves_out(struct stretch *st, struct h264_picture *pic, uint64_t left);
bool stretch_left_out(const struct h264_picture *pic); /* whether it was marked */
void stretch_mark(struct h264_picture *pic);
/* The source begins again (loops). */
void stretch_restart(struct stretch *st);

#endif
