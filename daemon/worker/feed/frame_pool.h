/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pool of one epoch: a memfd that the GPU writes frames into and that readers map.
 *
 * Life cycle of a slot: FREE -> WRITING (the GPU writes into it) -> HELD (announced to the reader)
 * -> FREE. Each turn has a new generation. A pool is used under its owner's lock, but for
 * pool_create and pool_free.
 */
#ifndef PELTON_FRAME_POOL_H
#define PELTON_FRAME_POOL_H

#include "daemon/worker/feed/feed.h"
#include "gpu/engine/gpu.h"

enum pool_slot_state { POOL_FREE, POOL_WRITING, POOL_HELD };

struct pool_slot {
    enum pool_slot_state state;
    uint32_t generation;
};

struct pool_params {
    struct feed_format format; /* all but memfd and memfd_size */
    bool memory;               /* false: nobody maps the frames (PELTON_NONE) */
    /* 0: the GPU writes all planes. Else it writes the first alone: the others hold mid-grey of so
     * many bits. */
    uint8_t grey_depth;
    uint8_t delivered; /* enum recon_format of a decoded stream: the planes that the GPU writes */
};

struct pool {
    struct feed_format format;
    void *memory; /* NULL: there is none */
    struct gpu_host *host;
    uint8_t delivered;
    /* of a decoded stream, by view: h264_sps.serial of the latest frames known to fit; 0: none */
    uint32_t fits[2];
    bool announced, retired; /* on_format is queued; a newer epoch exists */
    uint32_t busy;           /* slots that are not FREE */
    uint32_t events;         /* queued events that name the pool */
    struct pool_slot *slots;
    uint32_t cursor; /* slots are handed out in turn */
    struct pool *next;
};

/* It allocates and pins, which takes a tenth of a second. gpu NULL: without a device (tests). Any
 * thread. Returns 0 or enum pelton_error. */
int pool_create(struct gpu *gpu, const struct pool_params *params, struct pool **out);
void pool_free(struct pool *pool); /* NULL is allowed */

/* FREE -> WRITING with a new generation; false: no slot is free. */
bool pool_take(struct pool *pool, uint32_t *slot);
void pool_hold(struct pool *pool, uint32_t slot); /* WRITING -> HELD */
void pool_put(struct pool *pool, uint32_t slot);  /* -> FREE */
/* HELD -> FREE; false: the slot does not exist, is not held, or has another generation. */
bool pool_release(struct pool *pool, uint32_t slot, uint32_t generation);

#endif
