/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The frames of a file that a reader has named, and the making of the file's index. Thread: that of
 * the source.
 */
#ifndef PELTON_CHOSEN_H
#define PELTON_CHOSEN_H

#include "daemon/worker/source/file_index.h"

#include <libavcodec/packet.h>

struct h264_picture;
struct packet_times;
struct pelton_open_params;

/* Packets between step 1 and the output of their frames. */
enum { CHOSEN_PLACES = 64 };

/* Where a packet lies. */
struct packet_place {
    struct index_key key; /* number is not known yet */
    int64_t tag;
    bool sets;     /* it has parameter sets of its own */
    bool complete; /* decoding may start here */
};

struct chosen {
    bool active;
    uint64_t *list; /* numbers of frames, in the order that they are wanted in */
    uint64_t count, next;
    uint64_t jumped; /* next, at the last jump */
    struct file_index *index;
    struct index_maker *maker; /* while the index is made; else NULL */
    bool primed;               /* the stream's packet is the first one after a jump */
};

/* 0, or enum pelton_error. */
int chosen_open(struct chosen *c, const struct pelton_open_params *params);
void chosen_close(struct chosen *c);
/* The list by the index; origin and tick: of the stream's time base. False: *past is no frame of
 * the file. */
bool chosen_resolve(struct chosen *c, const struct pelton_open_params *params, double tick,
                    uint64_t *past);

static inline bool chosen_remains(const struct chosen *c)
{
    return c->active && c->next < c->count;
}

/* How often the frame `number` is wanted next: 0 where another frame is. */
uint32_t chosen_copies(const struct chosen *c, uint64_t number);
/* The key to go on from, where frame `number` would come next; NULL: reading on is as good. */
const struct index_key *chosen_jump(const struct chosen *c, uint64_t number);

/* ---- the index, while step 1 runs over the file ---- */

/* False: no memory. length_size: of NAL units, 0 with start codes. */
bool chosen_make(struct chosen *c, uint64_t identity, unsigned length_size, bool sets_ahead);
void chosen_note_packet(struct chosen *c, const AVPacket *packet, int64_t tag);
void chosen_note_picture(struct chosen *c, const struct h264_picture *pic);
/* Frame `number` of the file is output. */
void chosen_note_frame(struct chosen *c, const struct h264_picture *pic, uint64_t number,
                       int64_t pts);
/* The file is at its end. False: no memory. */
bool chosen_made(struct chosen *c);

/* The place of a packet. */
void packet_place_of(const AVPacket *packet, struct index_key *out);

#endif
