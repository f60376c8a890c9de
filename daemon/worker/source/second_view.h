/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of the second view leave with the times of the base view's frame of the same access unit,
 * and right after it.
 *
 * Thread: the stream thread of one session.
 */
#ifndef PELTON_SECOND_VIEW_H
#define PELTON_SECOND_VIEW_H

#include "daemon/worker/source/timestamps.h"

#include <stdbool.h>
#include <stdint.h>

struct h264_picture;

#define SECOND_VIEW_RING                                                                           \
    64 /* access units between the outputs of both views: more than two DPBs                       \
        */
#define SECOND_VIEW_HELD 32

struct second_view {
    struct second_view_base {
        bool known, keep; /* keep: the base frame was given out */
        struct packet_times times;
    } ring[SECOND_VIEW_RING]; /* by tag */
    /* references: output before their base frame, oldest first */
    struct h264_picture *held[SECOND_VIEW_HELD];
    unsigned held_count;
};

/* The base frame of access unit times->tag is output. */
void second_view_note(struct second_view *v, const struct packet_times *times, bool keep);
/* What was noted for this access unit; NULL: nothing yet. */
const struct second_view_base *second_view_base(const struct second_view *v, int64_t tag);
/* Keeps pic, whose reference it takes, for later. Returns false where there is no room. */
bool second_view_hold(struct second_view *v, struct h264_picture *pic);
/* The oldest that is held of access unit tag (any: of whichever), with its reference; NULL: none.
 */
struct h264_picture *second_view_take(struct second_view *v, int64_t tag, bool any);

#endif
