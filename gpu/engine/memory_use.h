/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The books of memory: who holds how much. All that buffers.c, images.c, arena.c and host_buffer.c
 * hand out is counted here. Thread: any.
 */
#ifndef PELTON_GPU_MEMORY_USE_H
#define PELTON_GPU_MEMORY_USE_H

#include "gpu/engine/gpu.h"

#include <stdatomic.h>

/* One entry of the books; of 0 bytes: none. */
struct gpu_holding {
    enum gpu_use use;
    bool host;     /* host memory, else the device's */
    bool promised; /* of a promise, which counts by itself */
    uint64_t bytes;
    uint64_t at; /* of the object in its memory: behind a canary */
};

struct gpu_books {
    atomic_uint_fast64_t device[GPU_USES], host[GPU_USES];
    atomic_uint_fast64_t limit;   /* of the device's; 0: none */
    atomic_uint_fast64_t claimed; /* of the device's: held or promised */
    atomic_uint_fast64_t wanted;  /* of the device's: by a stream that waits */
    atomic_uint_fast64_t refused; /* times */
};

static inline bool gpu_books_fit(const struct gpu_books *books, uint64_t claimed, uint64_t bytes)
{
    uint64_t limit = atomic_load(&books->limit);
    return !limit || (claimed <= limit && bytes <= limit - claimed);
}

/* Those that can do without leave what a stream waits for. */
static inline bool gpu_use_is_optional(enum gpu_use use)
{
    return use == GPU_USE_ENTROPY || use == GPU_USE_RESIDENT || use == GPU_USE_MOTION;
}

static inline void gpu_hold(struct gpu_books *books, const struct gpu_holding *h)
{
    atomic_fetch_add(h->host ? &books->host[h->use] : &books->device[h->use], h->bytes);
}

/* Takes the entry out, and empties it. */
static inline void gpu_unhold(struct gpu_books *books, struct gpu_holding *h)
{
    atomic_fetch_sub(h->host ? &books->host[h->use] : &books->device[h->use], h->bytes);
    if (!h->host && !h->promised)
        atomic_fetch_sub(&books->claimed, h->bytes);
    *h = (struct gpu_holding){0};
}

#endif
