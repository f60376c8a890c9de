/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The last good frame of a stream whose placeholder it is. Its slot does not go back to the worker
 * before the next good frame is there, so that nobody writes it.
 */
#ifndef PELTON_LAST_FRAME_H
#define PELTON_LAST_FRAME_H

#include "daemon/broker/reader_pool.h"

struct last_frame {
    struct reader_pool *pool; /* NULL: there is none */
    uint32_t slot, generation;
    bool given_back; /* nobody else holds it; it is still */
    enum slot_state state;
};

/* A slot that was in this state is to be free. True: it stays, as it is the last frame's. */
static inline bool last_frame_keeps(struct last_frame *l, const struct reader_pool *p,
                                    uint32_t slot, uint32_t generation, enum slot_state state)
{
    if (l->pool != p || l->slot != slot || l->generation != generation)
        return false;
    if (!l->given_back)
        l->state = state;
    l->given_back = true;
    return true;
}

#endif
