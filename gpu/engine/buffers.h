/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Buffers, each with an allocation of its own. They may be used on all queues. Thread: any; one at
 * a time for each buffer.
 */
#ifndef PELTON_GPU_BUFFERS_H
#define PELTON_GPU_BUFFERS_H

#include "gpu/engine/memory_use.h"
#include "gpu/engine/vk.h"

enum gpu_memory {
    GPU_MEMORY_DEVICE,   /* device local */
    GPU_MEMORY_UPLOAD,   /* mapped, coherent; written in order, never read by the host */
    GPU_MEMORY_READBACK, /* mapped, coherent, cached where possible */
    GPU_MEMORY_SHARED    /* mapped and device local; only where gpu.unified */
};

#define GPU_CANARY_BYTES 65536
#define GPU_CANARY_ALIGN 1024 /* suits any buffer and any image */

/* Where the canary behind an object begins (canaries.h). */
static inline uint64_t gpu_memory_behind(uint64_t at, uint64_t size)
{
    return (at + size + GPU_CANARY_ALIGN - 1) / GPU_CANARY_ALIGN * GPU_CANARY_ALIGN;
}

struct gpu_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t size;
    uint8_t *map;
    struct gpu_holding holding;
};

VkSharingMode gpu_sharing(const struct gpu *g); /* of buffers and images, with gpu.families */
/* The best memory type of the set `bits`; UINT32_MAX: none has all of `required`. */
uint32_t gpu_memory_type(const struct gpu *g, uint32_t bits, VkMemoryPropertyFlags required,
                         VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted);
/* Memory that is counted for `use`; *held is what gpu_memory_release is to be told. */
int gpu_memory_allocate(struct gpu *g, const VkMemoryRequirements *needs, enum gpu_memory kind,
                        enum gpu_use use, VkDeviceMemory *out, struct gpu_holding *held);
/* Claims bytes of the device before they are held, as GPU_USE_PROMISED: *promise is raised to
 * `bytes`. False: the budget has not so many, or it would be raised while a stream waits. */
bool gpu_promise(struct gpu *g, uint64_t *promise, uint64_t bytes, bool needed);
/* A stream waits for memory, and less than is promised would do. */
bool gpu_promise_exceeds(const struct gpu *g, uint64_t promise, uint64_t least);
/* Lowers it. What was held of it is freed. */
void gpu_promise_lower(struct gpu *g, uint64_t *promise, uint64_t bytes);
/* Null memory allowed. */
void gpu_memory_release(struct gpu *g, VkDeviceMemory memory, struct gpu_holding *held);
/* Counted for `use`. */
int gpu_buffer_create_for(struct gpu *g, enum gpu_use use, uint64_t size, VkBufferUsageFlags usage,
                          enum gpu_memory kind, struct gpu_buffer *out);
/* The same for GPU_USE_OTHER. */
int gpu_buffer_create(struct gpu *g, uint64_t size, VkBufferUsageFlags usage, enum gpu_memory kind,
                      struct gpu_buffer *out);
/* A buffer over the caller's memory, which outlives it and which the caller counts.
 * GPU_ERR_FEATURE: the device cannot, or size or address are not multiples of its alignment. */
int gpu_buffer_import(struct gpu *g, void *memory, uint64_t size, VkBufferUsageFlags usage,
                      struct gpu_buffer *out);
/* Device memory that is counted for `use`, and its descriptor. GPU_ERR_FEATURE: the device cannot.
 */
int gpu_buffer_export(struct gpu *g, enum gpu_use use, uint64_t size, VkBufferUsageFlags usage,
                      struct gpu_buffer *out, struct gpu_export *exported);
void gpu_buffer_free(struct gpu *g, struct gpu_buffer *buffer);

#endif
