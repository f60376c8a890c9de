/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Arenas: memory from which the device itself copies uploads. recon_pack.c finds the buffer behind
 * a pointer to an array. Arrays elsewhere go through staging.
 *
 * Host arenas are cached, because the host reads them too. Device arenas hold data that only the
 * device writes and reads, such as coefficients that it has decoded. Their pointers lie in a
 * reserved address range without memory behind it. One queue writes this memory, another one reads
 * it. The host submits the reader after it has found the writer complete. Even so the reader sees
 * the data only after a wait for the writer's timeline (gpu_arena_writers); this wait costs nothing
 * by then.
 */
#include "gpu/engine/arena.h"

#include "gpu/engine/barrier_record.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/work.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)
#define USAGE     (VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)
/* shaders read there */
#define USAGE_HOST (USAGE | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)

struct gpu_arena {
    struct gpu *g;
    struct gpu_buffer buffer;
    void *pages; /* where the memory, or the addresses, are ours: pages_size bytes */
    size_t pages_size;
    struct gpu_holding holding; /* of pages that hold host memory */
    bool device;
};

/* Index of the first arena behind p. With the lock of arenas. */
static size_t arena_index_after(const struct gpu *g, const uint8_t *p)
{
    size_t low = 0, high = g->arenas.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)g->arenas.all[middle]->buffer.map > (uintptr_t)p)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int arena_insert(struct gpu *g, struct gpu_arena *a)
{
    if (g->arenas.count == g->arenas.capacity) {
        size_t capacity = 2 * g->arenas.capacity + 16;
        struct gpu_arena **grown = realloc(g->arenas.all, capacity * sizeof(struct gpu_arena *));
        if (!grown)
            return GPU_ERR_NOMEM;
        g->arenas.all = grown;
        g->arenas.capacity = capacity;
    }
    size_t at = arena_index_after(g, a->buffer.map);
    memmove(&g->arenas.all[at + 1], &g->arenas.all[at],
            (g->arenas.count - at) * sizeof(struct gpu_arena *));
    g->arenas.all[at] = a;
    g->arenas.count++;
    return GPU_OK;
}

/* Huge pages of our own, there before the driver sees them, and imported: it pins few of them
 * quickly. What it allocates itself are small pages, one by one, and nothing can be submitted
 * meanwhile. */
static int arena_import_pages(struct gpu_arena *a, size_t size)
{
    size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uint8_t *pages =
        mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return GPU_ERR_NOMEM;
    uint8_t *first = pages + (HUGE_PAGE - (uintptr_t)pages % HUGE_PAGE) % HUGE_PAGE;
    madvise(first, size, MADV_HUGEPAGE);
    int err = gpu_pages_make(first, size, NULL);
    if (err != GPU_ERR_NOMEM)
        err = gpu_buffer_import(a->g, first, size, USAGE_HOST, &a->buffer);
    if (err < 0) {
        munmap(pages, size + HUGE_PAGE);
        return err;
    }
    a->pages = pages;
    a->pages_size = size + HUGE_PAGE;
    a->holding = (struct gpu_holding){.use = GPU_USE_ARRAYS, .host = true, .bytes = size};
    gpu_hold(&a->g->books, &a->holding);
    return GPU_OK;
}

static void arena_release(struct gpu_arena *a)
{
    gpu_buffer_free(a->g, &a->buffer);
    if (a->pages)
        munmap(a->pages, a->pages_size);
    gpu_unhold(&a->g->books, &a->holding);
    free(a);
}

/* Imported or allocated. */
static int arena_allocate_host(struct gpu_arena *a, size_t size)
{
    int err = size < HUGE_PAGE ? GPU_ERR_FEATURE : arena_import_pages(a, size);
    return err < 0 ? gpu_buffer_create_for(a->g, GPU_USE_ARRAYS, size, USAGE_HOST,
                                           GPU_MEMORY_READBACK, &a->buffer)
                   : err;
}

static int arena_allocate_device(struct gpu_arena *a, size_t size)
{
    int err =
        gpu_buffer_create_for(a->g, GPU_USE_RESIDENT, size, USAGE, GPU_MEMORY_DEVICE, &a->buffer);
    if (err < 0)
        return err;
    void *pages = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return GPU_ERR_NOMEM;
    a->pages = a->buffer.map = pages;
    a->pages_size = size;
    a->device = true;
    return GPU_OK;
}

static int arena_create(struct gpu *g, size_t size,
                        int (*allocate)(struct gpu_arena *a, size_t size), struct gpu_arena **out,
                        void **memory)
{
    if (!size)
        return GPU_ERR_INVALID;
    if (atomic_load(&g->lost))
        return GPU_ERR_LOST;
    struct gpu_arena *a = calloc(1, sizeof(*a));
    if (!a)
        return GPU_ERR_NOMEM;
    a->g = g;
    int err = allocate(a, size);
    if (err == GPU_OK) {
        pthread_mutex_lock(&g->arenas.lock);
        err = arena_insert(g, a);
        pthread_mutex_unlock(&g->arenas.lock);
    }
    if (err < 0) {
        arena_release(a);
        return err;
    }
    *memory = a->buffer.map;
    *out = a;
    return GPU_OK;
}

int gpu_arena_create(struct gpu *g, size_t size, struct gpu_arena **out, void **memory)
{
    return arena_create(g, size, arena_allocate_host, out, memory);
}

int gpu_arena_create_device(struct gpu *g, size_t size, struct gpu_arena **out, void **memory)
{
    return arena_create(g, size, arena_allocate_device, out, memory);
}

void gpu_arena_free(struct gpu_arena *a)
{
    if (!a)
        return;
    struct gpu *g = a->g;
    pthread_mutex_lock(&g->arenas.lock);
    size_t at = arena_index_after(g, a->buffer.map) - 1;
    g->arenas.count--;
    memmove(&g->arenas.all[at], &g->arenas.all[at + 1],
            (g->arenas.count - at) * sizeof(struct gpu_arena *));
    pthread_mutex_unlock(&g->arenas.lock);
    arena_release(a);
}

bool gpu_arena_find(struct gpu *g, const void *memory, uint64_t size, struct gpu_place *out)
{
    bool found = false;
    pthread_mutex_lock(&g->arenas.lock);
    size_t at = arena_index_after(g, memory);
    if (at > 0) {
        const struct gpu_arena *a = g->arenas.all[at - 1];
        uint64_t from = (uint64_t)((uintptr_t)memory - (uintptr_t)a->buffer.map);
        found = from < a->buffer.size && size <= a->buffer.size - from;
        if (found)
            *out = (struct gpu_place){a->buffer.buffer, from, a->device};
    }
    pthread_mutex_unlock(&g->arenas.lock);
    return found;
}

void gpu_arena_written(struct gpu *g, const struct gpu_point *point)
{
    uint64_t *written = &g->arenas.written[point->queue - g->queues];
    pthread_mutex_lock(&g->arenas.lock);
    *written = point->value > *written ? point->value : *written;
    pthread_mutex_unlock(&g->arenas.lock);
}

uint32_t gpu_arena_writers(struct gpu *g, struct gpu_point points[GPU_QUEUES])
{
    uint32_t count = 0;
    pthread_mutex_lock(&g->arenas.lock);
    for (uint32_t i = 0; i < g->queue_count; i++)
        if (g->arenas.written[i])
            points[count++] = (struct gpu_point){&g->queues[i], g->arenas.written[i]};
    pthread_mutex_unlock(&g->arenas.lock);
    return count;
}

struct reading {
    struct gpu_place from;
    struct gpu_buffer to;
};

static void record_reading(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct reading *r = ctx;
    VkBufferCopy copy = {r->from.offset, 0, r->to.size};
    struct barrier_state state = {0};
    gpu_sync(g, commands, &state, BARRIER_TRANSFER, 0, 1);
    g->vk.vkCmdCopyBuffer(commands, r->from.buffer, r->to.buffer, 1, &copy);
    gpu_sync_host(g, commands, &state, 1);
}

int gpu_arena_read(struct gpu *g, const void *memory, size_t size, void *out)
{
    struct gpu_point after[GPU_QUEUES];
    struct reading r = {0};
    int err = GPU_OK;
    if (!size || !gpu_arena_find(g, memory, size, &r.from))
        return GPU_ERR_INVALID;
    TRY(gpu_buffer_create(g, size, VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_READBACK, &r.to));
    TRY(gpu_run_after(g, after, gpu_arena_writers(g, after), record_reading, &r));
    memcpy(out, r.to.map, size);
error:
    gpu_buffer_free(g, &r.to);
    return err;
}

struct writing {
    struct gpu_buffer from;
    struct gpu_place to;
};

static void record_writing(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct writing *w = ctx;
    VkBufferCopy copy = {0, w->to.offset, w->from.size};
    g->vk.vkCmdCopyBuffer(commands, w->from.buffer, w->to.buffer, 1, &copy);
}

int gpu_arena_write(struct gpu *g, void *memory, size_t size, const void *data)
{
    struct gpu_point after[GPU_QUEUES];
    struct writing w = {0};
    uint64_t completed = 0;
    int err = GPU_OK;
    if (!size || !gpu_arena_find(g, memory, size, &w.to))
        return GPU_ERR_INVALID;
    TRY(gpu_buffer_create(g, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, GPU_MEMORY_UPLOAD, &w.from));
    memcpy(w.from.map, data, size);
    TRY(gpu_run_after(g, after, gpu_arena_writers(g, after), record_writing, &w));
    TRY(gpu_queue_completed(g->main, &completed));
    gpu_arena_written(g, &(struct gpu_point){g->main, completed});
error:
    gpu_buffer_free(g, &w.from);
    return err;
}
