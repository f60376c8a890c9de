/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of picture arrays: free lists by size, pinned slabs, and an account for each session.
 *
 * Thread: any; it has a lock of its own.
 */
#ifndef PELTON_HOST_MEMORY_H
#define PELTON_HOST_MEMORY_H

#include "codec/h264_allocator.h"
#include "gpu/engine/gpu.h"

#include <stdatomic.h>
#include <uv.h>

#define MEMORY_CLASSES 256
struct memory {
    uv_mutex_t grows; /* one slab at a time; taken before the lock */
    uv_mutex_t lock;
    void *free_list[MEMORY_CLASSES];
    struct slab *slabs[MEMORY_CLASSES];   /* with a free block */
    uint32_t slab_blocks[MEMORY_CLASSES]; /* free ones of theirs */
    uint8_t slab_steps[MEMORY_CLASSES];   /* how often the next one's blocks are doubled */
    struct gpu *gpu; /* of the slabs, set before the first block is taken; NULL: no slabs */
    size_t slab_bytes;
    uint64_t cached, limit;    /* bytes of free blocks */
    atomic_uint_fast64_t heap; /* bytes of blocks that lie in no slab */
};
/* Counts the blocks of one session, and serves the codec. It lives until the session and the last
 * block are gone, as another thread may free a picture a moment after its session. */
struct account {
    struct h264_allocator allocator, bytes;
    struct memory *memory;
    bool small; /* slabs grow slowly: a live stream; set before its first block is taken */
    atomic_uint_fast64_t used;
    atomic_uint refs;
};
/* 0, or -1: no memory. */
int memory_init(struct memory *m, uint64_t cache_limit);
void memory_free(struct memory *m);
/* Gives back what nobody uses: free blocks, and slabs without used ones. It may take long. */
void memory_trim(struct memory *m);
/* Bytes from the heap, in use or kept. */
uint64_t memory_heap(const struct memory *m);
/* How many of `count` blocks of that size are missing, if they come from slabs. */
uint32_t memory_missing(struct memory *m, size_t size, uint32_t count);
/* Makes one slab for missing blocks. False: none is missing, or there is no memory. It takes a
 * tenth of a second; allocations of other threads go on. */
bool memory_provide(struct memory *m, size_t size, uint32_t count);
struct account *account_create(struct memory *m);
void account_unref(struct account *a); /* NULL allowed */

#endif
