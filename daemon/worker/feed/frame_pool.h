/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pool of one epoch: a memfd that the GPU writes frames into and that readers map, or memory of
 * the device that readers import.
 *
 * Life cycle of a slot: FREE -> WRITING (the GPU writes into it) -> HELD (announced to the reader)
 * -> FREE. Each turn has a new generation. A pool is used under its owner's lock, but for
 * pool_create, pool_grow and pool_free.
 *
 * With format.batch the slots of a group are taken in order. A group is begun once all of its slots
 * are FREE.
 *
 * Readers are told of all slots at once. Those of the first part can be used at once, and one
 * thread makes the other parts meanwhile: all pages together take a tenth of a second.
 */
#ifndef PELTON_FRAME_POOL_H
#define PELTON_FRAME_POOL_H

#include "daemon/worker/feed/feed.h"
#include "gpu/engine/gpu.h"

#define POOL_PARTS 16

enum pool_slot_state { POOL_FREE, POOL_WRITING, POOL_HELD };

struct pool_slot {
    enum pool_slot_state state;
    uint32_t generation;
};

/* Slots that one import has brought to the device. */
struct pool_part {
    struct gpu_host *host; /* NULL: without a device, and never of PELTON_DEVICE */
    uint32_t first, count;
};

struct pool_params {
    struct feed_format format; /* all but memfd and memfd_size */
    bool memory;               /* false: nobody maps the frames (PELTON_NONE) */
    bool device;               /* the device's memory, not the host's (PELTON_DEVICE) */
    /* 0: the GPU writes all planes. Else it writes the first alone: the others hold mid-grey of so
     * many bits. */
    uint8_t grey_depth;
    uint8_t delivered; /* enum recon_format of a decoded stream: the planes that the GPU writes */
};

struct pool {
    struct feed_format format;
    struct conversion *conversion; /* where format.converts */
    void *memory;                  /* NULL: there is none, or it is the device's */
    bool device;                   /* as pool_params */
    struct pool_part parts[POOL_PARTS];
    uint32_t part_count;
    uint32_t ready;                /* slots that may be used, from 0 on */
    uint8_t grey_depth, delivered; /* as pool_params */
    /* of a decoded stream, by view: h264_sps.serial of the latest frames known to fit; 0: none */
    uint32_t fits[2];
    bool announced, retired; /* on_format is queued; a newer epoch exists */
    uint32_t busy;           /* slots that are not FREE */
    uint32_t events;         /* queued events that name the pool */
    struct pool_slot *slots;
    /* once its stream has ended */
    struct feed_user user;
    int64_t left_ns;
    bool returned;   /* the reader has given back all frames */
    uint32_t cursor; /* slots are handed out in turn, or those of a group */
    struct pool *next;
};

/* With the first part. It allocates and pins. gpu NULL: without a device (tests). Any thread.
 * Returns 0 or enum pelton_error; PELTON_ERR_NO_DEVICE: the device exports no memory. */
int pool_create(struct gpu *gpu, const struct pool_params *params, struct pool **out);
void pool_free(struct pool *pool); /* NULL is allowed; nobody makes a part of it */

/* It has slots. */
static inline bool pool_has_slots(const struct pool *pool)
{
    return pool->part_count > 0;
}
/* All parts are there. */
bool pool_whole(const struct pool *pool);
/* Makes the next part; pool_grown lets its slots be used. One thread, without the lock. An error
 * leaves the pool as it is. *stop set: it ends early. Returns 0 or enum pelton_error. */
int pool_grow(struct gpu *gpu, struct pool *pool, const atomic_bool *stop);
void pool_grown(struct pool *pool);
/* The device's memory of a slot, and where the slot begins in it. */
struct gpu_host *pool_host(const struct pool *pool, uint32_t slot, uint64_t *offset);

/* A pool whose stream has ended may be that of another one: its memory holds such frames, and as
 * many. */
bool pool_serves(const struct pool *pool, const struct pool_params *params);
/* For the next stream, of a format that it serves. All slots are FREE. */
void pool_begin_again(struct pool *pool, const struct feed_format *format);

/* FREE -> WRITING with a new generation; false: no slot is free. */
bool pool_take(struct pool *pool, uint32_t *slot);
void pool_hold(struct pool *pool, uint32_t slot); /* WRITING -> HELD */
void pool_put(struct pool *pool, uint32_t slot);  /* -> FREE */
/* HELD -> FREE; false: the slot does not exist, is not held, or has another generation. */
bool pool_release(struct pool *pool, uint32_t slot, uint32_t generation);

#endif
