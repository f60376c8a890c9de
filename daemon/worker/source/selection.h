/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which pictures of a stream are decoded, where not all are wanted.
 *
 * Step 1 runs over all pictures, so that frames keep their numbers, times and flags. Then each
 * picture waits here, in decoding order, until it is known whether a wanted frame needs it. A frame
 * is chosen when its turn in output order comes. Whatever it refers to is needed too. A picture
 * that nobody wants and nobody can refer to any more is left out. Thread: that of the source.
 */
#ifndef PELTON_SELECTION_H
#define PELTON_SELECTION_H

#include "daemon/worker/source/chosen.h"
#include "proto/frame_spacing.h"

#include <stdbool.h>
#include <stdint.h>

struct AVPacket;
struct delivery;
struct h264_picture;
struct output;
struct packet_times;
struct stream;

/* A picture, or the packet that libavcodec is to get after the pictures before it. */
struct waiting_unit {
    struct h264_picture *pic; /* a reference */
    struct AVPacket *packet;
    int64_t tag;
};

struct selection {
    bool active;  /* pictures wait here; else they go on at once */
    bool chooses; /* by output order; else by decoding order alone */
    struct frame_spacing spacing;
    struct chosen chosen;
    struct waiting_unit *queue; /* a ring */
    uint32_t capacity, first, count;
    struct output *outputs; /* of frames whose pictures wait, in output order */
    struct output **outputs_tail;
    int64_t left_tag; /* of the last picture that was left out, and no reference; -1: none */
};

/* When the source is open. */
void selection_open(struct stream *st);
void selection_close(struct stream *st);
/* A picture from step 1, in decoding order. Takes its reference. */
void selection_add(struct stream *st, struct h264_picture *pic);
/* The access unit in st->packet, for libavcodec. */
void selection_packet(struct stream *st);
/* The frame's turn in output order has come. Whether it is given out. */
bool selection_wants(struct stream *st, struct h264_picture *pic, const struct packet_times *t);
/* The frame is not given out for another reason. */
void selection_unwanted(struct h264_picture *pic);
/* The picture waits still: its window does not know it. */
bool selection_waits(const struct h264_picture *pic);
/* A frame that was chosen goes on as soon as its picture does. */
void selection_output(struct stream *st, struct delivery *out);
/* Whatever is decided goes on. last: nothing else comes, so the rest is left out. */
void selection_advance(struct stream *st, bool last);

#endif
