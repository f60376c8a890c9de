/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool as the broker sees it: the descriptor of its memory, and who holds which slot. Frames stay
 * readable by whoever has them after the worker that wrote them has died, because this descriptor
 * and the readers' mappings keep the memory.
 *
 * A slot is FREE (the worker's) -> PENDING (announced, not yet sent) -> CLIENT -> FREE.
 */
#ifndef PELTON_READER_POOL_H
#define PELTON_READER_POOL_H

#include "proto/wire.h"

enum slot_state { SLOT_FREE, SLOT_PENDING, SLOT_CLIENT };

struct reader_slot {
    uint8_t state; /* enum slot_state */
    uint32_t generation;
};

struct reader_pool {
    struct reader_pool *next;   /* older */
    uint32_t epoch;             /* as the client knows it; the broker sets it */
    uint32_t wid, worker_epoch; /* as the worker that made it knows it */
    int memfd;                  /* -1: no memory, no slots */
    uint64_t bytes;             /* of its memory, */
    bool device;                /* which is the device's */
    uint32_t n_slots, held;     /* held: not FREE */
    struct reader_slot slots[];
};

enum { POOL_MAX_SLOTS = 65536 };

/* memfd becomes the pool's; NULL: out of memory or a number out of range, and memfd is closed. */
struct reader_pool *reader_pool_create(const Pelton__FormatChanged *m, uint32_t wid, int memfd);
void reader_pool_free(struct reader_pool *p); /* NULL allowed */
/* FREE -> PENDING; false where the slot does not exist or is not free. */
bool reader_pool_take(struct reader_pool *p, uint32_t slot, uint32_t generation);
/* PENDING -> CLIENT */
void reader_pool_send(struct reader_pool *p, uint32_t slot);
/* Whether the slot is in that state with that generation. */
bool reader_pool_holds(const struct reader_pool *p, uint32_t slot, uint32_t generation,
                       enum slot_state state);
/* from -> FREE; false where the slot is not in that state with that generation. */
bool reader_pool_release(struct reader_pool *p, uint32_t slot, uint32_t generation,
                         enum slot_state from);

#endif
