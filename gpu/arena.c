/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Host memory that uploads are copied out of by the device itself: cached, as the host reads it too. recon_pack.c finds the buffer
 * behind a pointer; whatever lies elsewhere goes through staging.
 */
#include "gpu/vk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)

struct gpu_arena {
    struct gpu *g;
    struct gpu_buffer buffer;
    void *pages; /* where the memory is ours: pages_size bytes */
    size_t pages_size;
};

/* Index of the first arena behind p. With arena_lock held. */
static size_t after(const struct gpu *g, const uint8_t *p)
{
    size_t low = 0, high = g->arena_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)g->arenas[middle]->buffer.map > (uintptr_t)p)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int insert(struct gpu *g, struct gpu_arena *a)
{
    if (g->arena_count == g->arena_capacity) {
        size_t capacity = 2 * g->arena_capacity + 16;
        struct gpu_arena **grown = realloc(g->arenas, capacity * sizeof(struct gpu_arena *));
        if (!grown)
            return GPU_ERR_NOMEM;
        g->arenas = grown;
        g->arena_capacity = capacity;
    }
    size_t at = after(g, a->buffer.map);
    memmove(&g->arenas[at + 1], &g->arenas[at], (g->arena_count - at) * sizeof(struct gpu_arena *));
    g->arenas[at] = a;
    g->arena_count++;
    return GPU_OK;
}

/* Huge pages of our own, there before the driver sees them, and imported: it pins few of them quickly. What it allocates itself are
 * small pages, one by one, and nothing can be submitted meanwhile. */
static int import_pages(struct gpu_arena *a, size_t size)
{
    size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uint8_t *pages = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return GPU_ERR_NOMEM;
    uint8_t *first = pages + (HUGE_PAGE - (uintptr_t)pages % HUGE_PAGE) % HUGE_PAGE;
    madvise(first, size, MADV_HUGEPAGE);
    madvise(first, size, MADV_POPULATE_WRITE); /* an older system makes them on first use */
    int err = gpu_buffer_import(a->g, first, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, &a->buffer);
    if (err < 0) {
        munmap(pages, size + HUGE_PAGE);
        return err;
    }
    a->pages = pages;
    a->pages_size = size + HUGE_PAGE;
    return GPU_OK;
}

static void release(struct gpu_arena *a)
{
    gpu_buffer_free(a->g, &a->buffer);
    if (a->pages)
        munmap(a->pages, a->pages_size);
    free(a);
}

int gpu_arena_create(struct gpu *g, size_t size, struct gpu_arena **out, void **memory)
{
    if (!size)
        return GPU_ERR_INVALID;
    if (atomic_load(&g->lost))
        return GPU_ERR_LOST;
    struct gpu_arena *a = calloc(1, sizeof(*a));
    if (!a)
        return GPU_ERR_NOMEM;
    a->g = g;
    int err = size < HUGE_PAGE ? GPU_ERR_FEATURE : import_pages(a, size);
    if (err < 0)
        err = gpu_buffer_create(g, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                GPU_MEMORY_READBACK, &a->buffer);
    if (err == GPU_OK) {
        pthread_mutex_lock(&g->arena_lock);
        err = insert(g, a);
        pthread_mutex_unlock(&g->arena_lock);
    }
    if (err < 0) {
        release(a);
        return err;
    }
    *memory = a->buffer.map;
    *out = a;
    return GPU_OK;
}

void gpu_arena_free(struct gpu_arena *a)
{
    if (!a)
        return;
    struct gpu *g = a->g;
    pthread_mutex_lock(&g->arena_lock);
    size_t at = after(g, a->buffer.map) - 1;
    g->arena_count--;
    memmove(&g->arenas[at], &g->arenas[at + 1], (g->arena_count - at) * sizeof(struct gpu_arena *));
    pthread_mutex_unlock(&g->arena_lock);
    release(a);
}

bool gpu_arena_find(struct gpu *g, const void *memory, uint64_t size, VkBuffer *buffer, uint64_t *offset)
{
    bool found = false;
    pthread_mutex_lock(&g->arena_lock);
    size_t at = after(g, memory);
    if (at > 0) {
        const struct gpu_buffer *b = &g->arenas[at - 1]->buffer;
        uint64_t from = (uint64_t)((uintptr_t)memory - (uintptr_t)b->map);
        found = from < b->size && size <= b->size - from;
        if (found) {
            *buffer = b->buffer;
            *offset = from;
        }
    }
    pthread_mutex_unlock(&g->arena_lock);
    return found;
}
