/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A decoder on the CPU: steps 1 to 3 of the codec and the slow reference reconstruction.
 */
#ifndef PELTON_TESTS_REFDEC_H
#define PELTON_TESTS_REFDEC_H

#include "codec/h264.h"
#include "reference/recon_ref.h"

#include <stdio.h>

#define SLOTS 64

/* A frame slot; held while its pictures live: a frame, two fields, or planes of these. */
struct slot {
    struct ref_frame *frame;
    unsigned users;
    bool done, corrupt;   /* corrupt: one of its pictures is damaged */
    int64_t last_tag;     /* of the picture decoded last */
    unsigned sei_printed; /* lists of messages of the frame */
};

struct refdec {
    struct h264_stream *stream;
    struct h264_scratch *scratch;
    struct slot slots[SLOTS];
    struct ref_frame *unfiltered;
    struct h264_picture *waiting[SLOTS]; /* output order, not decoded yet */
    unsigned waiting_count;
    bool parse_alone; /* no samples */
    bool quiet;       /* damage is not told */
    bool failed;      /* our own mistake: refused records, no slot, no memory */
    /* Each picture in decoding order, with its slot: before and after its decode. May be NULL. */
    void (*before)(struct refdec *d, struct h264_picture *pic);
    void (*after)(struct refdec *d, struct h264_picture *pic);
    /* Each frame in output order; pic stands for it. */
    void (*emit)(struct refdec *d, const struct h264_picture *pic);
};

/* d is zero but for flags and functions. False: no memory. */
bool refdec_open(struct refdec *d, unsigned views);
/* All that the stream has ready. last: nothing follows. */
void refdec_drain(struct refdec *d, bool last);
void refdec_close(struct refdec *d); /* half-built is fine */
/* The picture whose slot pic shares: that of the first field, and of plane 0. */
const struct h264_picture *refdec_owner(const struct h264_picture *pic);

#endif
