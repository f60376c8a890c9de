/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pools: see pool.h.
 */
#include "daemon/broker/reader_pool.h"

#include <stdlib.h>
#include <unistd.h>

struct reader_pool *reader_pool_create(const Pelton__FormatChanged *m, uint32_t wid, int memfd)
{
    struct reader_pool *p = NULL;
    uint32_t slots = memfd >= 0 ? m->slots : 0;
    if (slots <= POOL_MAX_SLOTS)
        p = calloc(1, sizeof(*p) + slots * sizeof(p->slots[0]));
    if (!p) {
        if (memfd >= 0)
            close(memfd);
        return NULL;
    }
    p->wid = wid;
    p->worker_epoch = m->epoch;
    p->memfd = memfd;
    p->bytes = memfd >= 0 ? m->memfd_size : 0;
    p->device = m->device != NULL;
    p->n_slots = slots;
    return p;
}

void reader_pool_free(struct reader_pool *p)
{
    if (p) {
        if (p->memfd >= 0)
            close(p->memfd);
        free(p);
    }
}

bool reader_pool_take(struct reader_pool *p, uint32_t slot, uint32_t generation)
{
    if (slot >= p->n_slots || p->slots[slot].state != SLOT_FREE)
        return false;
    p->slots[slot] = (struct reader_slot){.state = SLOT_PENDING, .generation = generation};
    p->held++;
    return true;
}

void reader_pool_send(struct reader_pool *p, uint32_t slot)
{
    p->slots[slot].state = SLOT_CLIENT;
}

bool reader_pool_holds(const struct reader_pool *p, uint32_t slot, uint32_t generation,
                       enum slot_state state)
{
    return slot < p->n_slots && p->slots[slot].state == state &&
           p->slots[slot].generation == generation;
}

bool reader_pool_release(struct reader_pool *p, uint32_t slot, uint32_t generation,
                         enum slot_state from)
{
    if (!reader_pool_holds(p, slot, generation, from))
        return false;
    p->slots[slot].state = SLOT_FREE;
    p->held--;
    return true;
}
