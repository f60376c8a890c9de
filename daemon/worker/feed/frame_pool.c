/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pool of one epoch: a memfd that the GPU writes frames into and that readers map.
 *
 * It is made by a thread of its own (pool_maker_*), as its pages are allocated and pinned
 * meanwhile. Life cycle of a slot: FREE -> WRITING (a batch delivers into it) -> HELD (announced)
 * -> FREE (session_release). The pool goes when it is retired by a newer epoch, or the session
 * ends, and no slot is busy; readers keep their own mapping of the descriptor.
 */
#include "daemon/worker/engine_internal.h"
#include "daemon/worker/feed/pixels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLANE_ALIGN 256u
#define PAGE_ALIGN  4096u

static uint64_t align_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

static void add_plane(struct session_format *f, uint32_t width, uint32_t height, uint64_t *end)
{
    uint32_t p = f->planes++;
    f->plane_width[p] = width;
    f->plane_height[p] = height;
    f->stride[p] = (uint32_t)align_up(width, PLANE_ALIGN);
    f->plane_offset[p] = *end;
    *end = align_up(*end + (uint64_t)f->stride[p] * height, PLANE_ALIGN);
}

void pool_layout(const struct pixels *pixels, uint32_t width, uint32_t height,
                 struct session_format *format)
{
    uint64_t end = 0;
    uint32_t bytes = pixels->depth > 8 ? 2 : 1, half_width = (width + 1) / 2,
             half_height = (height + 1) / 2;
    format->planes = 0;
    add_plane(format, bytes * width, height, &end);
    if (pixels->planes == RECON_NV12)
        add_plane(format, bytes * 2 * half_width, half_height, &end);
    else
        for (int p = 0; p < 2 && pixels->planes != RECON_GRAY; p++)
            add_plane(format, bytes * (pixels->planes == RECON_I444 ? width : half_width),
                      pixels->planes == RECON_I420 ? half_height : height, &end);
    strcpy(format->pix_fmt, pixels->name);
    format->width = width;
    format->height = height;
    format->slot_size = align_up(end, PAGE_ALIGN);
}

/* Mid-grey in the planes that no delivery writes. */
static void fill_chroma(struct pool *pool)
{
    const struct session_format *f = &pool->format;
    struct pixels pixels = {0};
    if (pool->delivered != RECON_GRAY || f->planes == 1 || !pixels_by_name(f->pix_fmt, &pixels))
        return;
    for (uint32_t slot = 0; slot < f->slots; slot++) {
        uint8_t *from = (uint8_t *)pool->memory + slot * f->slot_size + f->plane_offset[1];
        size_t size = f->slot_size - f->plane_offset[1];
        memset(from, pixels.depth > 8 ? 0 : 128, size);
        for (size_t i = 1; pixels.depth > 8 && i < size; i += 2)
            from[i] = (uint8_t)(1 << (pixels.depth - 9));
    }
}

/* The mapping comes before the seals: F_SEAL_FUTURE_WRITE lets nobody map it writable again. */
static int pool_map(struct gpu *gpu, struct pool *pool)
{
    struct session_format *f = &pool->format;
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
    /* Pages are made here: inside the driver they would come one by one, while nothing can be
     * submitted. */
    madvise(memory, f->memfd_size, MADV_HUGEPAGE);
    if (madvise(memory, f->memfd_size, MADV_POPULATE_WRITE) && errno == ENOMEM)
        return PELTON_ERR_NOMEM;
    fill_chroma(pool);
    int err = gpu_host_import(gpu, memory, f->memfd_size, &pool->host);
    if (err)
        return err == GPU_ERR_LOST ? PELTON_ERR_GPU_LOST : PELTON_ERR_NOMEM;
    if (fcntl(f->memfd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
        return PELTON_ERR_OTHER;
    return 0;
}

int pool_create(struct gpu *gpu, const struct session_format *format, enum recon_format delivered,
                bool memory, struct pool **out)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return PELTON_ERR_NOMEM;
    pool->format = *format;
    pool->format.memfd = -1;
    pool->delivered = delivered;
    int err = 0;
    if (memory) {
        pool->slots = calloc(format->slots, sizeof(*pool->slots));
        err = pool->slots ? pool_map(gpu, pool) : PELTON_ERR_NOMEM;
    } else {
        pool->format.slots = 0;
    }
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

static void make(void *session)
{
    struct session *s = session;
    struct engine *e = s->engine;
    struct pool *pool = NULL;
    int err = pool_create(e->gpu, &s->sub.maker.format, s->sub.maker.delivered,
                          s->params.bench.transport != PELTON_NONE, &pool);
    uv_mutex_lock(&e->lock);
    s->sub.maker.error = err;
    s->sub.maker.pool = pool;
    s->sub.maker.done = true;
    engine_wake_gpu(e);
    uv_mutex_unlock(&e->lock);
}

bool pool_maker_start(struct session *s, const struct session_format *format,
                      enum recon_format delivered)
{
    s->sub.maker = (struct pool_maker){.format = *format, .delivered = delivered};
    s->sub.maker.running = uv_thread_create(&s->sub.maker.thread, make, s) == 0;
    return s->sub.maker.running;
}

struct pool *pool_maker_result(struct session *s, int *error)
{
    uv_mutex_unlock(&s->engine->lock);
    uv_thread_join(&s->sub.maker.thread);
    uv_mutex_lock(&s->engine->lock);
    s->sub.maker.running = false;
    *error = s->sub.maker.error;
    return s->sub.maker.pool;
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

void pool_put(struct pool *pool, uint32_t slot)
{
    pool->slots[slot].state = POOL_FREE;
    pool->busy--;
}
