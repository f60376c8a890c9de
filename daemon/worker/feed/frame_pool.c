/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory and slots of a frame pool. See frame_pool.h.
 *
 * The failure modes are no memory for the pages and a device that refuses to import them. Both
 * leave nothing behind.
 */
#include "daemon/worker/feed/frame_pool.h"

#include "daemon/worker/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_ALIGN 4096u

void feed_format_plane(struct feed_format *f, uint32_t width, uint32_t rows, uint32_t align)
{
    uint32_t p = f->planes++;
    f->plane_width[p] = width;
    f->plane_height[p] = rows;
    f->stride[p] = (uint32_t)align_up(width, align);
    f->plane_offset[p] = f->slot_size;
    f->slot_size = align_up(f->slot_size + (uint64_t)f->stride[p] * rows, align);
}

void feed_format_close(struct feed_format *f)
{
    f->slot_size = align_up(f->slot_size, PAGE_ALIGN);
}

/* Mid-grey in the planes that the GPU does not write. */
static void pool_paint_grey(struct pool *pool, uint8_t depth)
{
    const struct feed_format *f = &pool->format;
    for (uint32_t slot = 0; slot < f->slots && depth && f->planes > 1; slot++) {
        uint8_t *from = (uint8_t *)pool->memory + slot * f->slot_size + f->plane_offset[1];
        size_t size = f->slot_size - f->plane_offset[1];
        memset(from, depth > 8 ? 0 : 128, size);
        for (size_t i = 1; depth > 8 && i < size; i += 2)
            from[i] = (uint8_t)(1 << (depth - 9));
    }
}

/* The mapping comes before the seals: F_SEAL_FUTURE_WRITE lets nobody map it writable again. */
static int pool_map(struct pool *pool)
{
    struct feed_format *f = &pool->format;
    f->memfd_size = f->slot_size * f->slots;
    f->memfd = memfd_create("pelton-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (f->memfd < 0)
        return PELTON_ERR_NOMEM;
    if (ftruncate(f->memfd, (off_t)f->memfd_size))
        return PELTON_ERR_NOMEM;
    void *memory = mmap(NULL, f->memfd_size, PROT_READ | PROT_WRITE, MAP_SHARED, f->memfd, 0);
    if (memory == MAP_FAILED)
        return PELTON_ERR_NOMEM;
    pool->memory = memory;
    /* Pages are made here. Inside the driver they would come one by one, while nothing can be
     * submitted. */
    madvise(memory, f->memfd_size, MADV_HUGEPAGE);
    if (madvise(memory, f->memfd_size, MADV_POPULATE_WRITE) == 0)
        return 0;
    /* kernels before 5.14 cannot; any other failure would be a SIGBUS later */
    if (errno == EINVAL && posix_fallocate(f->memfd, 0, (off_t)f->memfd_size) == 0)
        return 0;
    return PELTON_ERR_NOMEM;
}

static int pool_import(struct gpu *gpu, struct pool *pool)
{
    struct feed_format *f = &pool->format;
    int err = gpu ? gpu_host_import(gpu, pool->memory, f->memfd_size, &pool->host) : 0;
    if (err)
        return err == GPU_ERR_LOST ? PELTON_ERR_GPU_LOST : PELTON_ERR_NOMEM;
    if (fcntl(f->memfd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
        return PELTON_ERR_OTHER;
    return 0;
}

static int pool_fill(struct gpu *gpu, struct pool *pool, const struct pool_params *params)
{
    pool->slots = calloc(params->format.slots, sizeof(*pool->slots));
    int err = pool->slots ? pool_map(pool) : PELTON_ERR_NOMEM;
    if (err)
        return err;
    pool_paint_grey(pool, params->grey_depth);
    return pool_import(gpu, pool);
}

int pool_create(struct gpu *gpu, const struct pool_params *params, struct pool **out)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return PELTON_ERR_NOMEM;
    pool->format = params->format;
    pool->format.memfd = -1;
    pool->delivered = params->delivered;
    int err = 0;
    if (params->memory)
        err = pool_fill(gpu, pool, params);
    else
        pool->format.slots = 0;
    if (err) {
        pool_free(pool);
        return err;
    }
    *out = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    if (pool->host)
        gpu_host_free(pool->host);
    if (pool->memory)
        munmap(pool->memory, pool->format.memfd_size);
    if (pool->format.memfd >= 0)
        close(pool->format.memfd);
    free(pool->slots);
    free(pool);
}

bool pool_take(struct pool *pool, uint32_t *slot)
{
    for (uint32_t i = 0; i < pool->format.slots; i++) {
        uint32_t at = (pool->cursor + i) % pool->format.slots;
        if (pool->slots[at].state != POOL_FREE)
            continue;
        pool->slots[at].state = POOL_WRITING;
        pool->slots[at].generation++;
        pool->cursor = at + 1;
        pool->busy++;
        *slot = at;
        return true;
    }
    return false;
}

void pool_hold(struct pool *pool, uint32_t slot)
{
    pool->slots[slot].state = POOL_HELD;
}

void pool_put(struct pool *pool, uint32_t slot)
{
    pool->slots[slot].state = POOL_FREE;
    pool->busy--;
}

bool pool_release(struct pool *pool, uint32_t slot, uint32_t generation)
{
    if (slot >= pool->format.slots || pool->slots[slot].state != POOL_HELD ||
        pool->slots[slot].generation != generation)
        return false;
    pool_put(pool, slot);
    return true;
}
