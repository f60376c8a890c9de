/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Buffers, each with an allocation of its own. They may be used on all queues. Thread: any; one at
 * a time for each buffer.
 */
#ifndef PELTON_GPU_BUFFERS_H
#define PELTON_GPU_BUFFERS_H

#include "gpu/engine/vk.h"

enum gpu_memory {
    GPU_MEMORY_DEVICE,   /* device local */
    GPU_MEMORY_UPLOAD,   /* mapped, coherent; written in order, never read by the host */
    GPU_MEMORY_READBACK, /* mapped, coherent, cached where possible */
    GPU_MEMORY_SHARED    /* mapped and device local; only where gpu.unified */
};

struct gpu_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t size;
    uint8_t *map;
};

VkSharingMode gpu_sharing(const struct gpu *g); /* of buffers and images, with gpu.families */
/* The best memory type of the set `bits`; UINT32_MAX: none has all of `required`. */
uint32_t gpu_memory_type(const struct gpu *g, uint32_t bits, VkMemoryPropertyFlags required,
                         VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted);
int gpu_memory_allocate(struct gpu *g, const VkMemoryRequirements *needs, enum gpu_memory kind,
                        VkDeviceMemory *out);
int gpu_buffer_create(struct gpu *g, uint64_t size, VkBufferUsageFlags usage, enum gpu_memory kind,
                      struct gpu_buffer *out);
/* A buffer over the caller's memory, which outlives it. GPU_ERR_FEATURE: the device cannot, or size
 * or address are not multiples of its alignment. */
int gpu_buffer_import(struct gpu *g, void *memory, uint64_t size, VkBufferUsageFlags usage,
                      struct gpu_buffer *out);
void gpu_buffer_free(struct gpu *g, struct gpu_buffer *buffer);

#endif
