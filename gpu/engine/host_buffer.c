/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Host memory that the GPU writes frames into. It is imported where the device can do that
 * (direct). Otherwise the GPU writes to a staging buffer. The written rectangles wait in a list
 * until their submission is complete, and then they are copied row by row.
 *
 * Exported memory is the device's, in place of the host's. Frames are written into it directly.
 */
#include "gpu/engine/host_buffer.h"

#include "gpu/engine/barrier_record.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/work.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pending {
    struct gpu_rect rect;
    struct gpu_point point;
};

struct gpu_host {
    struct gpu *g;
    struct gpu_host *next;
    uint8_t *memory; /* NULL: exported */
    uint64_t size;
    bool direct;
    struct gpu_holding holding; /* of the caller's memory */
    struct gpu_buffer buffer;
    VkDescriptorPool pool;
    uint64_t half; /* windows start at multiples of this and are at most twice as long */
    uint32_t window_count;
    VkDescriptorSet *windows;
    uint64_t last[GPU_QUEUES]; /* of each queue, the submission that wrote here last */
    struct pending *pending;
    size_t pending_count, pending_capacity;
};

static int host_create_buffer(struct gpu *g, struct gpu_host *h)
{
    const char *off = getenv("PELTON_NO_HOST_IMPORT");
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    bool wanted = g->host_alignment && !(off && !strcmp(off, "1"));
    h->direct = wanted && gpu_buffer_import(g, h->memory, h->size, usage, &h->buffer) == GPU_OK;
    if (h->direct)
        return GPU_OK;
    if (atomic_load(&g->lost))
        return GPU_ERR_LOST;
    gpu_log(g, wanted ? 1 : 2, "frames pass through a staging buffer of %llu bytes",
            (unsigned long long)h->size);
    return gpu_buffer_create_for(g, GPU_USE_POOLS, h->size, usage, GPU_MEMORY_READBACK, &h->buffer);
}

static int host_create_windows(struct gpu *g, struct gpu_host *h)
{
    uint64_t align = g->limits.minStorageBufferOffsetAlignment < 4
                         ? 4
                         : g->limits.minStorageBufferOffsetAlignment;
    h->half = g->limits.maxStorageBufferRange / 2 / align * align;
    uint64_t count = h->size <= 2 * h->half ? 1 : (h->size + h->half - 1) / h->half - 1;
    if (count > 65536)
        return GPU_ERR_INVALID;
    h->window_count = (uint32_t)count;
    h->windows = calloc(count, sizeof(*h->windows));
    if (!h->windows)
        return GPU_ERR_NOMEM;
    int err = gpu_host_sets_create(g, h->window_count, &h->pool, h->windows);
    for (uint64_t i = 0; i < count && err == GPU_OK; i++) {
        uint64_t offset = i * h->half, left = h->size - offset;
        gpu_set_write(g, h->windows[i], 0, false,
                      &(VkDescriptorBufferInfo){h->buffer.buffer, offset,
                                                left < 2 * h->half ? left : 2 * h->half});
    }
    return err;
}

static void host_destroy(struct gpu_host *h)
{
    if (h->pool)
        h->g->vk.vkDestroyDescriptorPool(h->g->device, h->pool, NULL);
    gpu_buffer_free(h->g, &h->buffer);
    gpu_unhold(&h->g->books, &h->holding);
    free(h->windows);
    free(h->pending);
    free(h);
}

static void host_link(struct gpu_host *h)
{
    pthread_mutex_lock(&h->g->lock);
    h->next = h->g->hosts;
    h->g->hosts = h;
    pthread_mutex_unlock(&h->g->lock);
}

int gpu_host_import(struct gpu *g, void *memory, size_t size, struct gpu_host **out)
{
    if (!memory || !size || (uintptr_t)memory % 4096 || size % 4096)
        return GPU_ERR_INVALID;
    if (atomic_load(&g->lost))
        return GPU_ERR_LOST;
    int err = GPU_OK;
    struct gpu_host *h = calloc(1, sizeof(*h));
    if (!h)
        return GPU_ERR_NOMEM;
    h->g = g;
    h->memory = memory;
    h->size = size;
    h->holding = (struct gpu_holding){.use = GPU_USE_POOLS, .host = true, .bytes = size};
    gpu_hold(&g->books, &h->holding);
    TRY(host_create_buffer(g, h));
    TRY(host_create_windows(g, h));
    host_link(h);
    *out = h;
    return GPU_OK;
error:
    host_destroy(h);
    return err;
}

/* ---- exported memory ---- */

struct fill_run {
    VkBuffer buffer;
    const struct gpu_host_fill *fill;
};

static void record_fills(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct fill_run *run = ctx;
    struct barrier_state state = {0};
    for (uint32_t i = 0; i < run->fill->count; i++)
        g->vk.vkCmdFillBuffer(commands, run->buffer, run->fill->offset + i * run->fill->step,
                              run->fill->size, run->fill->word);
    barrier_accessed(&state, BARRIER_TRANSFER, 0, 1);
    gpu_sync(g, commands, &state, BARRIER_COMPUTE, 1, 1);
}

int gpu_host_fill(struct gpu_host *h, const struct gpu_host_fill *fill)
{
    struct fill_run run = {h->buffer.buffer, fill};
    if (!fill->count || !fill->size || fill->offset % 4 || fill->size % 4 || fill->step % 4 ||
        fill->offset > h->size || fill->size > h->size - fill->offset ||
        (fill->step && (h->size - fill->offset - fill->size) / fill->step < fill->count - 1))
        return GPU_ERR_INVALID;
    return gpu_run(h->g, record_fills, &run);
}

int gpu_host_export(struct gpu *g, uint64_t size, struct gpu_host **out,
                    struct gpu_export *exported)
{
    int err = GPU_OK;
    struct gpu_export made = {.fd = -1};
    if (!size || size % 4096)
        return GPU_ERR_INVALID;
    if (atomic_load(&g->lost))
        return GPU_ERR_LOST;
    struct gpu_host *h = calloc(1, sizeof(*h));
    if (!h)
        return GPU_ERR_NOMEM;
    h->g = g;
    h->size = size;
    h->direct = true;
    TRY(gpu_buffer_export(g, GPU_USE_POOLS, size,
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                              VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                          &h->buffer, &made));
    TRY(host_create_windows(g, h));
    TRY(gpu_host_fill(h, &(struct gpu_host_fill){.size = size, .count = 1}));
    host_link(h);
    *out = h;
    *exported = made;
    return GPU_OK;
error:
    if (made.fd >= 0)
        close(made.fd);
    host_destroy(h);
    return err;
}

bool gpu_host_is_direct(const struct gpu_host *h)
{
    return h->direct;
}

static void host_copy_rect(struct gpu_host *h, const struct gpu_rect *rect)
{
    for (uint32_t row = 0; row < rect->rows; row++) {
        uint64_t at = rect->offset + (uint64_t)row * rect->stride;
        memcpy(h->memory + at, h->buffer.map + at, rect->bytes);
    }
}

static void host_flush(struct gpu_host *h, const struct gpu_queue *queue, uint64_t completed)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->pending_count; i++) {
        const struct gpu_point *point = &h->pending[i].point;
        if (point->queue == queue && point->value <= completed)
            host_copy_rect(h, &h->pending[i].rect);
        else
            h->pending[kept++] = h->pending[i];
    }
    h->g->hosts_pending -= h->pending_count - kept;
    h->pending_count = kept;
}

void gpu_hosts_flush(struct gpu *g, const struct gpu_queue *queue, uint64_t completed)
{
    pthread_mutex_lock(&g->lock);
    for (struct gpu_host *h = g->hosts_pending ? g->hosts : NULL; h; h = h->next)
        if (h->pending_count)
            host_flush(h, queue, completed);
    pthread_mutex_unlock(&g->lock);
}

void gpu_host_free(struct gpu_host *h)
{
    if (!h)
        return;
    struct gpu *g = h->g;
    bool done[GPU_QUEUES];
    for (uint32_t i = 0; i < g->queue_count; i++)
        done[i] = h->last[i] && gpu_queue_wait(&g->queues[i], h->last[i], UINT64_MAX) == 0;
    pthread_mutex_lock(&g->lock);
    for (uint32_t i = 0; i < g->queue_count; i++)
        if (done[i])
            host_flush(h, &g->queues[i], h->last[i]);
    g->hosts_pending -= h->pending_count;
    struct gpu_host **link = &g->hosts;
    while (*link != h)
        link = &(*link)->next;
    *link = h->next;
    pthread_mutex_unlock(&g->lock);
    host_destroy(h);
}

int gpu_host_window(const struct gpu_host *h, uint64_t begin, uint64_t end, struct gpu_window *out)
{
    if (begin >= end || end > h->size)
        return GPU_ERR_INVALID;
    uint64_t index = begin / h->half;
    if (index >= h->window_count)
        index = h->window_count - 1;
    if (end > index * h->half + 2 * h->half)
        return GPU_ERR_INVALID;
    *out =
        (struct gpu_window){index * h->half, h->buffer.buffer, h->windows[index], (uint32_t)index};
    return GPU_OK;
}

VkBuffer gpu_host_buffer(const struct gpu_host *h)
{
    return h->buffer.buffer;
}

/* With gpu.lock held. */
static int host_reserve(struct gpu_host *h, size_t rects)
{
    if (h->pending_capacity - h->pending_count >= rects)
        return GPU_OK;
    size_t capacity = 2 * h->pending_capacity + rects;
    struct pending *grown = realloc(h->pending, capacity * sizeof(*grown));
    if (!grown)
        return GPU_ERR_NOMEM;
    h->pending = grown;
    h->pending_capacity = capacity;
    return GPU_OK;
}

int gpu_host_reserve(struct gpu_host *h, size_t rects)
{
    if (h->direct)
        return GPU_OK;
    pthread_mutex_lock(&h->g->lock);
    int err = host_reserve(h, rects);
    pthread_mutex_unlock(&h->g->lock);
    return err;
}

void gpu_host_written(struct gpu_host *h, const struct gpu_rect *rects, size_t count,
                      const struct gpu_point *point)
{
    pthread_mutex_lock(&h->g->lock);
    h->last[point->queue - h->g->queues] = point->value;
    for (size_t i = 0; !h->direct && i < count; i++)
        h->pending[h->pending_count++] = (struct pending){rects[i], *point};
    h->g->hosts_pending += h->direct ? 0 : count;
    pthread_mutex_unlock(&h->g->lock);
}
