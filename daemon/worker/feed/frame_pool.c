/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory and slots of a frame pool. See frame_pool.h.
 *
 * The failure modes are no memory for the pages and a device that refuses to import them. Both
 * leave nothing behind: a pool that cannot grow stays as it is.
 */
#include "daemon/worker/feed/frame_pool.h"

#include "daemon/worker/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_ALIGN       4096u
#define POOL_FIRST_SLOTS 4u
#define POOL_FIRST_BYTES (8u << 20) /* small frames: each import costs a driver's call or five */

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
static void part_paint_grey(const struct pool *pool, const struct pool_part *part)
{
    const struct feed_format *f = &pool->format;
    uint8_t depth = pool->grey_depth;
    for (uint32_t i = 0; i < part->count && depth && f->planes > 1; i++) {
        uint8_t *from =
            (uint8_t *)pool->memory + (part->first + i) * f->slot_size + f->plane_offset[1];
        size_t size = f->slot_size - f->plane_offset[1];
        memset(from, depth > 8 ? 0 : 128, size);
        for (size_t k = 1; depth > 8 && k < size; k += 2)
            from[k] = (uint8_t)(1 << (depth - 9));
    }
}

/* The mapping comes before the seals: F_SEAL_FUTURE_WRITE lets nobody map it writable again. */
static int pool_map(struct pool *pool)
{
    struct feed_format *f = &pool->format;
    f->memfd_size = align_up(f->slot_size * f->slots, PAGE_ALIGN);
    f->memfd = memfd_create("pelton-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (f->memfd < 0)
        return PELTON_ERR_NOMEM;
    if (ftruncate(f->memfd, (off_t)f->memfd_size))
        return PELTON_ERR_NOMEM;
    void *memory = mmap(NULL, f->memfd_size, PROT_READ | PROT_WRITE, MAP_SHARED, f->memfd, 0);
    if (memory == MAP_FAILED)
        return PELTON_ERR_NOMEM;
    pool->memory = memory;
    madvise(memory, f->memfd_size, MADV_HUGEPAGE);
    if (fcntl(f->memfd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
        return PELTON_ERR_OTHER;
    return 0;
}

/* One allocation has one descriptor, so all slots are one part. */
static int pool_export(struct gpu *gpu, struct pool *pool)
{
    struct feed_format *f = &pool->format;
    struct pelton_device_memory *to = &f->device;
    struct pool_part *part = &pool->parts[0];
    struct gpu_export exported;
    if (!gpu)
        return PELTON_ERR_NO_DEVICE;
    f->memfd_size = f->slot_size * f->slots;
    int err = gpu_host_export(gpu, f->memfd_size, &part->host, &exported);
    if (err)
        return err == GPU_ERR_LOST      ? PELTON_ERR_GPU_LOST
               : err == GPU_ERR_FEATURE ? PELTON_ERR_NO_DEVICE
                                        : PELTON_ERR_NOMEM;
    const struct gpu_identity *id = &gpu_info(gpu)->identity;
    f->memfd = exported.fd;
    f->host = part->host;
    *to = (struct pelton_device_memory){.handle_type = PELTON_HANDLE_OPAQUE_FD,
                                        .allocation_size = exported.size,
                                        .memory_type = exported.memory_type,
                                        .dedicated = exported.dedicated,
                                        .luid_valid = id->luid_valid};
    memcpy(to->device_uuid, id->device_uuid, sizeof(to->device_uuid));
    memcpy(to->driver_uuid, id->driver_uuid, sizeof(to->driver_uuid));
    memcpy(to->device_luid, id->luid, sizeof(to->device_luid));
    part->count = f->slots;
    pool->part_count = 1;
    pool->ready = f->slots;
    return 0;
}

/* As part_paint_grey. */
static int pool_fill_grey(struct pool *pool)
{
    const struct feed_format *f = &pool->format;
    if (!pool->grey_depth || f->planes < 2)
        return 0;
    uint32_t level = 1u << (pool->grey_depth - 1);
    struct gpu_host_fill grey = {.offset = f->plane_offset[1],
                                 .size = f->slot_size - f->plane_offset[1],
                                 .step = f->slot_size,
                                 .count = f->slots,
                                 .word = level * (pool->grey_depth > 8 ? 0x10001u : 0x1010101u)};
    int err = gpu_host_fill(pool->parts[0].host, &grey);
    return err == GPU_ERR_LOST ? PELTON_ERR_GPU_LOST : err ? PELTON_ERR_NOMEM : 0;
}

/* As many slots as there are, so that there are few parts; the last part takes all that is left. */
static struct pool_part part_next(const struct pool *pool)
{
    uint64_t size = pool->format.slot_size, small = POOL_FIRST_BYTES / (size ? size : 1);
    uint32_t left = pool->format.slots - pool->ready,
             first = small > left               ? left
                     : small > POOL_FIRST_SLOTS ? (uint32_t)small
                                                : POOL_FIRST_SLOTS,
             count = pool->ready ? pool->ready : first;
    bool last = count >= left || pool->part_count + 1 == POOL_PARTS ||
                pool->format.slot_size % PAGE_ALIGN; /* parts begin with a page */
    return (struct pool_part){.first = pool->ready, .count = last ? left : count};
}

/* A page that cannot be made would be a SIGBUS later. */
static bool part_pages(const struct pool *pool, const struct pool_part *part, void *memory,
                       size_t size, const atomic_bool *stop)
{
    int err = gpu_pages_make(memory, size, stop);
    if (err != GPU_ERR_FEATURE)
        return err == GPU_OK;
    return posix_fallocate(pool->format.memfd, (off_t)(part->first * pool->format.slot_size),
                           (off_t)size) == 0;
}

/* Pages are made before the driver sees them. It would make them one by one, while nothing can be
 * submitted. */
static int part_make(struct gpu *gpu, const struct pool *pool, struct pool_part *part,
                     const atomic_bool *stop)
{
    uint8_t *memory = (uint8_t *)pool->memory + part->first * pool->format.slot_size;
    size_t size = align_up(part->count * pool->format.slot_size, PAGE_ALIGN);
    if (!part_pages(pool, part, memory, size, stop))
        return PELTON_ERR_NOMEM;
    if (stop && atomic_load(stop))
        return PELTON_ERR_OTHER;
    part_paint_grey(pool, part);
    int err = gpu ? gpu_host_import(gpu, memory, size, &part->host) : 0;
    return err == GPU_ERR_LOST ? PELTON_ERR_GPU_LOST : err ? PELTON_ERR_NOMEM : 0;
}

bool pool_whole(const struct pool *pool)
{
    return pool->ready == pool->format.slots;
}

int pool_grow(struct gpu *gpu, struct pool *pool, const atomic_bool *stop)
{
    struct pool_part part = part_next(pool);
    int err = part_make(gpu, pool, &part, stop);
    if (!err)
        pool->parts[pool->part_count] = part; /* nobody looks at it yet */
    return err;
}

void pool_grown(struct pool *pool)
{
    pool->ready += pool->parts[pool->part_count++].count;
}

struct gpu_host *pool_host(const struct pool *pool, uint32_t slot, uint64_t *offset)
{
    uint32_t i = pool->part_count - 1;
    while (slot < pool->parts[i].first)
        i--;
    *offset = (slot - pool->parts[i].first) * pool->format.slot_size;
    return pool->parts[i].host;
}

static int pool_fill(struct gpu *gpu, struct pool *pool)
{
    pool->slots = calloc(pool->format.slots, sizeof(*pool->slots));
    int err = !pool->slots   ? PELTON_ERR_NOMEM
              : pool->device ? pool_export(gpu, pool)
                             : pool_map(pool);
    if (pool->device)
        return err ? err : pool_fill_grey(pool);
    if (!err)
        err = pool_grow(gpu, pool, NULL);
    if (!err)
        pool_grown(pool);
    return err;
}

static int pool_keep_sets(struct pool *pool, const struct feed_format *from)
{
    uint8_t *sets = from->sets_size ? malloc(from->sets_size) : NULL;
    if (from->sets_size && !sets)
        return PELTON_ERR_NOMEM;
    if (sets)
        memcpy(sets, from->sets, from->sets_size);
    pool->format.sets = sets;
    return 0;
}

/* Its tables take milliseconds; this is a thread of its own. */
static int pool_make_conversion(struct pool *pool)
{
    const struct feed_format *f = &pool->format;
    char why[160];
    if (f->converts)
        pool->conversion = conversion_create(&f->source, &f->wish, why);
    return f->converts && !pool->conversion ? PELTON_ERR_NOMEM : 0;
}

int pool_create(struct gpu *gpu, const struct pool_params *params, struct pool **out)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return PELTON_ERR_NOMEM;
    pool->format = params->format;
    pool->format.memfd = -1;
    pool->format.sets = NULL;
    pool->delivered = params->delivered;
    pool->grey_depth = params->grey_depth;
    pool->device = params->device;
    int err = pool_keep_sets(pool, &params->format);
    if (!err)
        err = pool_make_conversion(pool);
    if (!err && params->memory)
        err = pool_fill(gpu, pool);
    else if (!err)
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
    for (uint32_t i = 0; i < pool->part_count; i++)
        gpu_host_free(pool->parts[i].host);
    if (pool->memory)
        munmap(pool->memory, pool->format.memfd_size);
    if (pool->format.memfd >= 0)
        close(pool->format.memfd);
    free((void *)pool->format.sets);
    free(pool->conversion);
    free(pool->slots);
    free(pool);
}

/* ---- its next stream ---- */

static bool same_planes(const struct feed_format *a, const struct feed_format *b)
{
    bool same = a->planes == b->planes && a->slot_size == b->slot_size && a->layout == b->layout &&
                a->type == b->type && a->channels == b->channels &&
                strcmp(a->pix_fmt, b->pix_fmt) == 0;
    for (uint32_t i = 0; i < a->planes && same; i++)
        same = a->plane_offset[i] == b->plane_offset[i] && a->stride[i] == b->stride[i] &&
               a->plane_width[i] == b->plane_width[i] && a->plane_height[i] == b->plane_height[i];
    return same;
}

/* The tables that it has do for both. */
static bool same_conversion(const struct feed_format *a, const struct feed_format *b)
{
    return a->converts == b->converts &&
           (!a->converts || (conversion_same_source(&a->source, &b->source) &&
                             conversion_same_wish(&a->wish, &b->wish)));
}

bool pool_serves(const struct pool *pool, const struct pool_params *params)
{
    const struct feed_format *f = &pool->format;
    return params->memory && !params->device && !pool->device && pool->memory && pool_whole(pool) &&
           !f->encoded && !params->format.encoded && pool->grey_depth == params->grey_depth &&
           pool->delivered == params->delivered && f->batch == params->format.batch &&
           f->slots >= params->format.slots && same_planes(f, &params->format) &&
           same_conversion(f, &params->format);
}

void pool_begin_again(struct pool *pool, const struct feed_format *format)
{
    struct feed_format f = *format;
    f.slots = pool->format.slots;
    f.memfd = pool->format.memfd;
    f.memfd_size = pool->format.memfd_size;
    f.sets = NULL;
    pool->format = f;
    pool->fits[0] = pool->fits[1] = 0;
    pool->announced = pool->retired = false;
    pool->cursor = pool->busy = 0;
    pool->next = NULL;
    for (uint32_t i = 0; i < f.slots; i++)
        pool->slots[i].state = POOL_FREE;
}

/* ---- slots ---- */

/* All of its slots are free. */
static bool group_free(const struct pool *pool, uint32_t first, uint32_t batch)
{
    for (uint32_t i = 0; i < batch; i++)
        if (pool->slots[first + i].state != POOL_FREE)
            return false;
    return true;
}

/* The next one of a group that was begun, else the first one of a free group. */
static bool slot_find(const struct pool *pool, uint32_t *slot)
{
    uint32_t batch = pool->format.batch ? pool->format.batch : 1, groups = pool->ready / batch;
    *slot = pool->cursor;
    if (pool->cursor % batch)
        return true;
    for (uint32_t i = 0; i < groups; i++) {
        *slot = (pool->cursor / batch + i) % groups * batch;
        if (group_free(pool, *slot, batch))
            return true;
    }
    return false;
}

bool pool_take(struct pool *pool, uint32_t *slot)
{
    uint32_t at;
    if (!slot_find(pool, &at))
        return false;
    pool->slots[at].state = POOL_WRITING;
    pool->slots[at].generation++;
    pool->cursor = at + 1;
    pool->busy++;
    *slot = at;
    return true;
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
