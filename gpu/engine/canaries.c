/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Canaries (canaries.h). Each is a buffer of its own over the spare bytes, or a part of a buffer.
 */
#include "gpu/engine/canaries.h"

#include "gpu/engine/barrier_record.h"
#include "gpu/engine/work.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 64

struct canary {
    struct canary *next;
    VkDeviceMemory memory;
    VkBuffer buffer;
    bool own; /* the buffer is the canary's */
    uint64_t at, size;
    char name[NAME_BYTES];
};

struct gpu_canaries {
    pthread_mutex_t lock;
    uint32_t pattern;
    unsigned changed;
    struct gpu_buffer copy; /* to compare */
    struct canary *all;
};

static const char *const use_names[GPU_USES] = {
    [GPU_USE_OTHER] = "other memory", [GPU_USE_SLOTS] = "frame slots",
    [GPU_USE_BATCHES] = "batches",    [GPU_USE_ENTROPY] = "entropy batches",
    [GPU_USE_RESIDENT] = "results",   [GPU_USE_MOTION] = "motion batches",
    [GPU_USE_ARRAYS] = "host arrays", [GPU_USE_POOLS] = "pools",
    [GPU_USE_CAMERAS] = "cameras"};

/* ---- one canary ---- */

struct canary_copy {
    const struct gpu_canaries *set;
    const struct canary *canary;
};

static void record_pattern(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct canary_copy *c = ctx;
    g->vk.vkCmdFillBuffer(commands, c->canary->buffer, c->canary->at, c->canary->size,
                          c->set->pattern);
}

static void record_copy(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    enum { CANARY = 1, COPY = 2 };
    const struct canary_copy *c = ctx;
    const VkBufferCopy region = {c->canary->at, 0, c->canary->size};
    struct barrier_state state = {0};
    barrier_accessed(&state, BARRIER_COMPUTE, 0, CANARY);
    gpu_sync(g, commands, &state, BARRIER_TRANSFER, CANARY, COPY);
    g->vk.vkCmdCopyBuffer(commands, c->canary->buffer, c->set->copy.buffer, 1, &region);
    gpu_sync_host(g, commands, &state, COPY);
}

/* With the lock held. */
static void canary_compare(struct gpu *g, const struct canary *canary)
{
    struct gpu_canaries *set = g->canaries;
    struct canary_copy copy = {set, canary};
    if (atomic_load(&g->lost) || gpu_run(g, record_copy, &copy) < 0)
        return;
    uint64_t first = 0, count = 0;
    for (uint64_t i = canary->size; i-- > 0;)
        if (set->copy.map[i] != (uint8_t)(set->pattern >> 8 * (i & 3))) {
            first = i;
            count++;
        }
    set->changed += count > 0;
    if (count)
        gpu_log(g, 0, "canary %s: %llu bytes are changed, the first is byte %llu of %llu",
                canary->name, (unsigned long long)count, (unsigned long long)first,
                (unsigned long long)canary->size);
}

static void canary_free(struct gpu *g, struct canary *canary)
{
    if (canary->own)
        g->vk.vkDestroyBuffer(g->device, canary->buffer, NULL);
    free(canary);
}

/* Takes the canary. */
static int canary_insert(struct gpu *g, struct canary *canary)
{
    struct gpu_canaries *set = g->canaries;
    int err = gpu_run(g, record_pattern, &(struct canary_copy){set, canary});
    if (err < 0) {
        canary_free(g, canary);
        return err;
    }
    pthread_mutex_lock(&set->lock);
    canary->next = set->all;
    set->all = canary;
    pthread_mutex_unlock(&set->lock);
    return GPU_OK;
}

/* ---- round an object ---- */

static int canary_buffer_create(struct gpu *g, struct canary *canary, uint32_t type, uint64_t at)
{
    int err = GPU_OK;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = canary->size,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                     .sharingMode = gpu_sharing(g),
                                     .queueFamilyIndexCount = g->family_count,
                                     .pQueueFamilyIndices = g->families};
    VkMemoryRequirements needs;
    canary->own = true;
    VK(g, g->vk.vkCreateBuffer(g->device, &info, NULL, &canary->buffer));
    g->vk.vkGetBufferMemoryRequirements(g->device, canary->buffer, &needs);
    if (!(needs.memoryTypeBits & (1u << type)) || at % needs.alignment) {
        gpu_log(g, 0, "canaries cannot stand beside %s", canary->name);
        return GPU_ERR_FEATURE;
    }
    VK(g, g->vk.vkBindBufferMemory(g->device, canary->buffer, canary->memory, at));
error:
    return err;
}

static int canary_create(struct gpu *g, VkDeviceMemory memory, uint32_t type, uint64_t at,
                         const char *side, const struct gpu_holding *holding)
{
    struct canary *canary = calloc(1, sizeof(*canary));
    if (!canary)
        return GPU_ERR_NOMEM;
    canary->memory = memory;
    canary->size = GPU_CANARY_BYTES;
    snprintf(canary->name, sizeof(canary->name), "%s %s of %llu bytes", side,
             use_names[holding->use], (unsigned long long)holding->bytes);
    int err = canary_buffer_create(g, canary, type, at);
    if (err == GPU_OK)
        return canary_insert(g, canary);
    canary_free(g, canary);
    return err;
}

/* Write them round an object. */
static int canaries_add(struct gpu *g, VkDeviceMemory memory, uint32_t type,
                        const struct gpu_holding *holding)
{
    int err = canary_create(g, memory, type, holding->at - GPU_CANARY_BYTES, "before", holding);
    return err < 0 ? err
                   : canary_create(g, memory, type, gpu_memory_behind(holding->at, holding->bytes),
                                   "behind", holding);
}

int gpu_canaries_add_gap(struct gpu *g, const struct gpu_buffer *buffer, uint64_t at, uint64_t size,
                         const char *name)
{
    if (!g->canaries)
        return GPU_OK;
    struct canary *canary = calloc(1, sizeof(*canary));
    if (!canary)
        return GPU_ERR_NOMEM;
    *canary =
        (struct canary){.memory = buffer->memory, .buffer = buffer->buffer, .at = at, .size = size};
    snprintf(canary->name, sizeof(canary->name), "behind %s", name);
    return canary_insert(g, canary);
}

/* Compare those of the memory, and forget them. */
static void canaries_remove(struct gpu *g, VkDeviceMemory memory)
{
    struct gpu_canaries *set = g->canaries;
    pthread_mutex_lock(&set->lock);
    for (struct canary **link = &set->all; *link;) {
        struct canary *canary = *link;
        if (canary->memory != memory) {
            link = &canary->next;
            continue;
        }
        canary_compare(g, canary);
        *link = canary->next;
        canary_free(g, canary);
    }
    pthread_mutex_unlock(&set->lock);
}

/* ---- all of them ---- */

int gpu_canaries_open(struct gpu *g, uint32_t pattern)
{
    struct gpu_canaries *set = calloc(1, sizeof(*set));
    if (!set)
        return GPU_ERR_NOMEM;
    set->pattern = pattern;
    int err = pthread_mutex_init(&set->lock, NULL) ? GPU_ERR_NOMEM : GPU_OK;
    if (err < 0) {
        free(set);
        return err;
    }
    /* before there are canaries: it has none */
    err = gpu_buffer_create(g, GPU_CANARY_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                            GPU_MEMORY_READBACK, &set->copy);
    g->canaries = set;
    g->memory_made = canaries_add;
    g->memory_goes = canaries_remove;
    return err;
}

unsigned gpu_canaries_changed(struct gpu *g)
{
    struct gpu_canaries *set = g->canaries;
    if (!set)
        return 0;
    pthread_mutex_lock(&set->lock);
    for (const struct canary *c = set->all; c; c = c->next)
        canary_compare(g, c);
    unsigned changed = set->changed;
    pthread_mutex_unlock(&set->lock);
    return changed;
}

void gpu_canaries_close(struct gpu *g)
{
    struct gpu_canaries *set = g->canaries;
    if (!set)
        return;
    while (set->all)
        canaries_remove(g, set->all->memory);
    g->canaries = NULL;
    g->memory_made = NULL;
    g->memory_goes = NULL;
    gpu_buffer_free(g, &set->copy);
    pthread_mutex_destroy(&set->lock);
    free(set);
}
