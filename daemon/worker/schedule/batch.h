/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which pictures and which outputs make the next batch of a store.
 *
 * Thread: that of reconstruction, with the engine's lock.
 */
#ifndef PELTON_BATCH_H
#define PELTON_BATCH_H

#include "daemon/worker/schedule/schedule.h"

/* Samples of a slot that are copied from another one, or become grey. */
struct batch_copy {
    uint32_t slot;
    uint32_t from;     /* slot; BATCH_GREY */
    uint8_t rows;      /* 0: all, or those of REC_TOP, REC_BOTTOM */
    uint8_t rows_from; /* the same, of `from` */
    uint8_t planes;    /* bits; 0: all */
};
#define BATCH_GREY UINT32_MAX

/* Without a picture: the copy. Else what the picture becomes if it is one: the samples of its first
 * reference, else grey. */
struct batch_entry {
    struct picture *picture;
    struct batch_copy copy;
};

struct batch {
    struct slots *slots;
    uint64_t serial;
    uint32_t count, width;
    struct batch_entry *entries; /* [width] */
    /* as it was chosen: READY pictures, those of them that wait for another one, free slots;
     * whether the next one found no slot */
    uint32_t ready, blocked, free_slots;
    bool short_of_slots;
};

/* Batches of a store that may be in flight: one less on a software device, and if a LIVE picture
 * would have to wait behind them. */
uint32_t batches_most(const struct schedule *s);
/* Whether p may read the slot of ref: they have the same era, so no change of the store is between
 * them. It may have led to the same store. But frames do not depend on that, as it depends on the
 * device and on other streams. */
bool picture_may_read(const struct picture *p, const struct picture *ref);
/* Pictures for the next batch of st, perhaps none. They are SUBMITTED and have slots. */
void batch_collect(struct schedule *s, struct slots *st, struct batch *b);
/* The window's next frame could leave, but with a batch of another store. */
bool batch_leaves_output(const struct window *w, const struct batch *b);
/* The first output after `after` (NULL: the window's first) that waits, if its frame can be
 * delivered with the batch. memory: it goes into a pool. NULL: none; later ones must wait. */
struct output *batch_next_output(const struct window *w, const struct batch *b, bool memory,
                                 struct output *after);

#endif
