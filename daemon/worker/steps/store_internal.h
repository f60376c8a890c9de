/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of stores share: how large one may be.
 */
#ifndef PELTON_STORE_INTERNAL_H
#define PELTON_STORE_INTERNAL_H

#include "daemon/worker/steps/store.h"

/* Slots, and pictures of a batch */
struct store_size {
    uint32_t count, width;
};

struct store_size store_size_of(const struct engine *e, const struct slots_key *key,
                                uint32_t count);
/* The largest that the budget has room for; else the smallest, and false. */
bool store_size_fit(const struct engine *e, const struct slots_wish *wish, uint32_t least,
                    struct store_size *size);
/* Of the device; room alone: without uploads. */
uint64_t store_bytes(const struct engine *e, const struct slots_key *key,
                     const struct store_size *size, bool room);
/* Smaller where the device refuses it: *size. needed: even beyond the budget. Without the lock. */
int store_create_any(struct engine *e, const struct slots_wish *wish, struct store_size *size,
                     bool needed, struct store **out);
/* Its recon has another size. */
void store_take_size(struct store *st);

#endif
