/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Buffers: memory types, allocation, import of host memory, export of device memory.
 */
#include "gpu/engine/buffers.h"

#include <string.h>

#define LOGGED_BYTES (16u << 20)
#define LOGGED_NS    2000000
/* beside the bytes of a promise: those that a driver adds */
#define PROMISE_EXTRA (64u << 10)

uint32_t gpu_memory_type(const struct gpu *g, uint32_t bits, VkMemoryPropertyFlags required,
                         VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted)
{
    uint32_t best = UINT32_MAX;
    int best_score = -1;
    for (uint32_t i = 0; i < g->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = g->memory.memoryTypes[i].propertyFlags;
        if (!(bits & (1u << i)) || (flags & required) != required)
            continue;
        int score = 2 * ((flags & wanted) == wanted) + !(flags & unwanted);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static uint32_t type_of_kind(const struct gpu *g, uint32_t bits, enum gpu_memory kind)
{
    const VkMemoryPropertyFlags device = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    const VkMemoryPropertyFlags host =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    switch (kind) {
    case GPU_MEMORY_DEVICE:
        return gpu_memory_type(g, bits, device, 0, host);
    case GPU_MEMORY_UPLOAD:
        return gpu_memory_type(g, bits, host, 0, device);
    case GPU_MEMORY_READBACK:
        return gpu_memory_type(g, bits, host, cached, device);
    default:
        return gpu_memory_type(g, bits, host | device, 0, 0);
    }
}

VkSharingMode gpu_sharing(const struct gpu *g)
{
    return g->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
}

/* Those that matter for the time to the first frame. */
static void log_memory(const struct gpu *g, int64_t begun_ns, const char *what, uint64_t bytes)
{
    if (bytes >= LOGGED_BYTES || gpu_clock_ns() - begun_ns >= LOGGED_NS)
        gpu_log_step(g, begun_ns, "memory %s, %.1f MiB", what, (double)bytes / (1 << 20));
}

/* ---- claims ---- */

static bool use_is_bounded(enum gpu_use use)
{
    return use == GPU_USE_SLOTS || use == GPU_USE_BATCHES || gpu_use_is_optional(use);
}

/* With GPU_USE_NEEDED never refused, with GPU_USE_PROMISED not claimed again. */
static bool books_claim(struct gpu_books *books, enum gpu_use use, uint64_t bytes)
{
    uint64_t before = atomic_load(&books->claimed);
    uint64_t wanted = gpu_use_is_optional(use) ? atomic_load(&books->wanted) : 0;
    if (use & GPU_USE_PROMISED)
        return true;
    do {
        if (use_is_bounded(use) && !gpu_books_fit(books, before + wanted, bytes)) {
            atomic_fetch_add(&books->refused, 1);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&books->claimed, &before, before + bytes));
    return true;
}

bool gpu_promise(struct gpu *g, uint64_t *promise, uint64_t bytes, bool needed)
{
    uint64_t more = bytes > *promise ? bytes - *promise : 0;
    if (!more)
        return true;
    if (!needed && *promise && atomic_load(&g->books.wanted)) {
        atomic_fetch_add(&g->books.refused, 1);
        return false;
    }
    more += *promise ? 0 : PROMISE_EXTRA;
    if (!books_claim(&g->books, GPU_USE_BATCHES | (needed ? GPU_USE_NEEDED : 0), more))
        return false;
    *promise = bytes;
    return true;
}

bool gpu_promise_exceeds(const struct gpu *g, uint64_t promise, uint64_t least)
{
    return promise > least && atomic_load(&g->books.wanted);
}

void gpu_promise_lower(struct gpu *g, uint64_t *promise, uint64_t bytes)
{
    if (*promise <= bytes)
        return;
    atomic_fetch_sub(&g->books.claimed, *promise - bytes + (bytes ? 0 : PROMISE_EXTRA));
    *promise = bytes;
}

/* ---- memory ---- */

/* Make room for canaries in `needs`. Returns where in the memory the object lies. */
static uint64_t memory_room(const struct gpu *g, VkMemoryRequirements *needs)
{
    if (!g->memory_made)
        return 0;
    uint64_t at = (GPU_CANARY_BYTES + needs->alignment - 1) / needs->alignment * needs->alignment;
    needs->size = gpu_memory_behind(at, needs->size) + GPU_CANARY_BYTES;
    return at;
}

int gpu_memory_allocate(struct gpu *g, const VkMemoryRequirements *needs, enum gpu_memory kind,
                        enum gpu_use use, VkDeviceMemory *out, struct gpu_holding *held)
{
    int err = GPU_OK;
    bool device = kind == GPU_MEMORY_DEVICE || kind == GPU_MEMORY_SHARED;
    uint32_t type = type_of_kind(g, needs->memoryTypeBits, kind);
    if (type == UINT32_MAX)
        return GPU_ERR_FEATURE;
    VkMemoryRequirements room = *needs;
    uint64_t at = memory_room(g, &room);
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = room.size,
                                 .memoryTypeIndex = type};
    static const char *const names[] = {[GPU_MEMORY_DEVICE] = "of the device",
                                        [GPU_MEMORY_UPLOAD] = "to upload from",
                                        [GPU_MEMORY_READBACK] = "to read back into",
                                        [GPU_MEMORY_SHARED] = "shared"};
    int64_t begun = gpu_clock_ns();
    struct gpu_holding holding = {.use = use & ~(GPU_USE_NEEDED | GPU_USE_PROMISED),
                                  .host = !device,
                                  .promised = use & GPU_USE_PROMISED,
                                  .bytes = needs->size};
    if (device && !books_claim(&g->books, use, needs->size))
        return GPU_ERR_NOMEM;
    gpu_hold(&g->books, &holding);
    VK(g, g->vk.vkAllocateMemory(g->device, &info, NULL, out));
    log_memory(g, begun, names[kind], needs->size);
    holding.at = at;
    *held = holding;
    return g->memory_made ? g->memory_made(g, *out, type, held) : GPU_OK;
error:
    gpu_unhold(&g->books, &holding);
    return err;
}

void gpu_memory_release(struct gpu *g, VkDeviceMemory memory, struct gpu_holding *held)
{
    if (g->memory_goes && memory)
        g->memory_goes(g, memory);
    g->vk.vkFreeMemory(g->device, memory, NULL);
    gpu_unhold(&g->books, held);
}

int gpu_buffer_create(struct gpu *g, uint64_t size, VkBufferUsageFlags usage, enum gpu_memory kind,
                      struct gpu_buffer *out)
{
    return gpu_buffer_create_for(g, GPU_USE_OTHER, size, usage, kind, out);
}

int gpu_buffer_create_for(struct gpu *g, enum gpu_use use, uint64_t size, VkBufferUsageFlags usage,
                          enum gpu_memory kind, struct gpu_buffer *out)
{
    int err = GPU_OK;
    struct gpu_buffer b = {.size = size};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = usage,
                               .sharingMode = gpu_sharing(g),
                               .queueFamilyIndexCount = g->family_count,
                               .pQueueFamilyIndices = g->families};
    VkMemoryRequirements needs;
    VK(g, g->vk.vkCreateBuffer(g->device, &info, NULL, &b.buffer));
    g->vk.vkGetBufferMemoryRequirements(g->device, b.buffer, &needs);
    TRY(gpu_memory_allocate(g, &needs, kind, use, &b.memory, &b.holding));
    VK(g, g->vk.vkBindBufferMemory(g->device, b.buffer, b.memory, b.holding.at));
    if (kind != GPU_MEMORY_DEVICE)
        VK(g, g->vk.vkMapMemory(g->device, b.memory, b.holding.at, size, 0, (void **)&b.map));
    *out = b;
    return GPU_OK;
error:
    gpu_buffer_free(g, &b);
    return err;
}

void gpu_buffer_free(struct gpu *g, struct gpu_buffer *buffer)
{
    if (g->memory_goes && buffer->memory) /* some canaries are parts of the buffer */
        g->memory_goes(g, buffer->memory);
    g->vk.vkDestroyBuffer(g->device, buffer->buffer, NULL);
    gpu_memory_release(g, buffer->memory, &buffer->holding);
    memset(buffer, 0, sizeof(*buffer));
}

/* A buffer whose memory comes from elsewhere, or goes there, by the handle. */
static int create_external(struct gpu *g, VkExternalMemoryHandleTypeFlagBits handle, uint64_t size,
                           VkBufferUsageFlags usage, VkBuffer *out)
{
    int err = GPU_OK;
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = handle};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = &external,
                               .size = size,
                               .usage = usage,
                               .sharingMode = gpu_sharing(g),
                               .queueFamilyIndexCount = g->family_count,
                               .pQueueFamilyIndices = g->families};
    VK(g, g->vk.vkCreateBuffer(g->device, &info, NULL, out));
error:
    return err;
}

int gpu_buffer_import(struct gpu *g, void *memory, uint64_t size, VkBufferUsageFlags usage,
                      struct gpu_buffer *out)
{
    int err = GPU_OK;
    const VkExternalMemoryHandleTypeFlagBits handle =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkMemoryHostPointerPropertiesEXT pointer = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    VkMemoryRequirements needs;
    struct gpu_buffer b = {.size = size, .map = memory};
    if (!g->host_alignment || (uintptr_t)memory % g->host_alignment || size % g->host_alignment)
        return GPU_ERR_FEATURE;
    VK(g, g->vk.vkGetMemoryHostPointerPropertiesEXT(g->device, handle, memory, &pointer));
    TRY(create_external(g, handle, size, usage, &b.buffer));
    g->vk.vkGetBufferMemoryRequirements(g->device, b.buffer, &needs);
    uint32_t type =
        gpu_memory_type(g, needs.memoryTypeBits & pointer.memoryTypeBits,
                        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                        VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0);
    err = GPU_ERR_FEATURE;
    if (type == UINT32_MAX || needs.size > size)
        goto error;
    VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = handle,
        .pHostPointer = memory};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .pNext = &import,
                                     .allocationSize = size,
                                     .memoryTypeIndex = type};
    int64_t begun = gpu_clock_ns();
    VK(g, g->vk.vkAllocateMemory(g->device, &allocate, NULL, &b.memory));
    log_memory(g, begun, "of the host imported", size);
    VK(g, g->vk.vkBindBufferMemory(g->device, b.buffer, b.memory, 0));
    *out = b;
    return GPU_OK;
error:
    gpu_buffer_free(g, &b);
    return err;
}

static int exported_bind(struct gpu *g, enum gpu_use use, struct gpu_buffer *b,
                         struct gpu_export *exported)
{
    int err = GPU_ERR_FEATURE;
    VkMemoryRequirements needs;
    g->vk.vkGetBufferMemoryRequirements(g->device, b->buffer, &needs);
    uint32_t type = type_of_kind(g, needs.memoryTypeBits, GPU_MEMORY_DEVICE);
    if (type == UINT32_MAX)
        return err;
    VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = b->buffer};
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                         .pNext = g->info.external_dedicated ? &dedicated : NULL,
                                         .handleTypes =
                                             VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = &export,
                                 .allocationSize = needs.size,
                                 .memoryTypeIndex = type};
    int64_t begun = gpu_clock_ns();
    VK(g, g->vk.vkAllocateMemory(g->device, &info, NULL, &b->memory));
    log_memory(g, begun, "of the device, for other processes", needs.size);
    b->holding = (struct gpu_holding){.use = use, .bytes = needs.size};
    gpu_hold(&g->books, &b->holding);
    VK(g, g->vk.vkBindBufferMemory(g->device, b->buffer, b->memory, 0));
    *exported = (struct gpu_export){
        .fd = -1, .size = needs.size, .memory_type = type, .dedicated = g->info.external_dedicated};
    err = GPU_OK;
error:
    return err;
}

int gpu_buffer_export(struct gpu *g, enum gpu_use use, uint64_t size, VkBufferUsageFlags usage,
                      struct gpu_buffer *out, struct gpu_export *exported)
{
    int err = GPU_OK;
    const VkExternalMemoryHandleTypeFlagBits handle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    struct gpu_buffer b = {.size = size};
    if (!g->info.external_memory_fd)
        return GPU_ERR_FEATURE;
    TRY(create_external(g, handle, size, usage, &b.buffer));
    TRY(exported_bind(g, use, &b, exported));
    VkMemoryGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                .memory = b.memory,
                                .handleType = handle};
    VK(g, g->vk.vkGetMemoryFdKHR(g->device, &get, &exported->fd));
    *out = b;
    return GPU_OK;
error:
    gpu_buffer_free(g, &b);
    return err;
}
