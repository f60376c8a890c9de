/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame slots: who may take one. Accounting only; the images are a step's (steps/store.h).
 *
 * A slot belongs to a frame from the submission of its first picture until the last holder of that
 * picture lets go: DPB, readers, output.
 *
 * Thread: any, with the engine's lock.
 */
#ifndef PELTON_SLOTS_H
#define PELTON_SLOTS_H

#include "daemon/worker/schedule/window.h"

/* The slots of one store: frames of one size and format, shared by windows. */
struct slots {
    struct slots *next; /* in schedule.stores */
    struct slots_key key;
    uint32_t count;       /* all of them */
    uint32_t most;        /* there may be so many, if they are wanted */
    bool wanted;          /* pictures waited that could have gone with more of them */
    bool stuck;           /* it could not grow, for lack of memory */
    bool held_back;       /* no batch begins: the store is about to grow */
    uint32_t width;       /* pictures of a batch */
    uint32_t users;       /* windows */
    uint32_t bases;       /* what these need for progress (window_slots.base) */
    uint32_t used;        /* slots in use */
    uint32_t owed;        /* free ones that windows are sure of, as of the batch being collected */
    uint32_t owed_to_all; /* the same now */
    uint32_t kept;        /* free ones that pictures ahead leave for the next window */
    int32_t *free;        /* [count] */
    uint32_t free_count;
    uint32_t in_flight;  /* batches */
    uint64_t idle_since; /* schedule.serial when it was last used */
    int64_t idle_ns;     /* since when it is known to be idle; 0: it is not */
};

/* Slots that the window holds for progress in decoding order. */
static inline uint32_t slots_in_order(const struct window *w)
{
    return w->slots.held > w->frames_ahead ? w->slots.held - w->frames_ahead : 0;
}

/* The window has another number of slots, or of pictures that wait: it is sure of others. */
static inline void slots_recount(struct window *w)
{
    struct window_slots *slots = &w->slots;
    uint32_t in_order = slots_in_order(w);
    uint32_t owed = slots->of && slots->base > in_order ? slots->base - in_order : 0;
    if (slots->of)
        slots->of->owed_to_all += owed - slots->owed;
    slots->owed = owed;
}

bool slots_key_equal(const struct slots_key *a, const struct slots_key *b);
struct slots_key slots_key_of(const struct h264_sps *sps);

/* Numbers of a new store; free: room for count numbers, which slots_free gives back. False: no
 * memory. */
bool slots_init(struct slots *st, const struct schedule *s, const struct slots_key *key,
                uint32_t count);
/* Numbers of the slots that are not free. out: room for all. Returns how many. */
uint32_t slots_taken(const struct slots *st, uint32_t *out);
void slots_free(struct slots *st);
/* The store has `count` slots now: more, or fewer while none is in use. False: no memory. */
bool slots_resize(struct schedule *s, struct slots *st, uint32_t count);

/* ---- windows ---- */

/* Slots that a stream needs to make progress in decoding order. */
uint32_t slots_base(const struct window *w, const struct h264_sps *sps);
/* Counts the changes of the store that pictures ask for, in decoding order: one by another key or a
 * larger base. For the next picture of the window. Pictures of an era share a store. */
uint32_t slots_era(struct window *w, const struct h264_sps *sps);
/* The window's store can hold its pictures. */
bool slots_serve(const struct window *w, const struct h264_sps *sps);

/* So many slots the window may have of its store. */
uint32_t slots_quota(const struct window *w);
/* What a window asks of a store. */
struct slots_wish {
    struct slots_key key;
    uint32_t base; /* it needs so many slots, */
    uint32_t want; /* and can use so many more for pictures ahead */
};
struct slots_wish slots_wish_of(const struct window *w, const struct h264_sps *sps);
enum slots_found { SLOTS_FOUND, SLOTS_LATER, SLOTS_NONE };
/* A store for the window. LATER: others have to give back slots first. NONE: make a new one. */
enum slots_found slots_find(struct window *w, const struct slots_wish *wish, int64_t now_ns,
                            struct slots **out);
/* Where memory is short: a store that others use, as long as each of them keeps its base. FOUND and
 * LATER as above. NONE: there is none, and none can grow so far. */
enum slots_found slots_share(const struct window *w, const struct slots_wish *wish,
                             struct slots **out);
void slots_attach(struct window *w, struct slots *st, const struct slots_wish *wish);
void slots_detach(struct window *w);
uint64_t slots_bytes(const struct slots_key *key, uint32_t count); /* about; of frames alone */
/* The most slots of a store that a device's images can hold. */
uint64_t slots_limit(const struct schedule *s, const struct slots_key *key);
/* How many slots a store may have, */
uint32_t slots_for(const struct schedule *s, const struct slots_wish *wish);
/* how many of them a new one gets for the window, */
uint32_t slots_first(const struct window *w, const struct slots_wish *wish, uint32_t most);
/* and how many it should have next; its present number: it need not grow. */
uint32_t slots_next(const struct schedule *s, const struct slots *st);
/* Pictures of a batch in a store of so many slots. */
uint32_t slots_batch_width(const struct schedule *s, const struct slots_key *key, uint32_t count);

/* ---- pictures ---- */

/* A new frame of the window may take a slot; oldest: it is the oldest that waits; older: frames
 * before it that will need one. Sets window.starves if none can ever become free. */
bool slots_claim(struct window *w, struct slots *st, bool oldest, uint32_t older);
/* A free slot, or that of the picture's frame. */
void slots_take(struct slots *st, struct picture *p);
void slots_give(struct slots *st, struct window *w, uint32_t seat, int32_t slot);

/* ---- stores ---- */

void slots_add(struct schedule *s, struct slots *st);
static inline bool slots_idle(const struct slots *st)
{
    return !st->users && !st->used && !st->in_flight;
}
void slots_remove(struct schedule *s, struct slots *st);
/* The longest idle store leaves, if there are too many, or all are to go. NULL: none. */
struct slots *slots_remove_idle(struct schedule *s, bool all);

#endif
