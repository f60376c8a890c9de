/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine's side of arenas (gpu.h): from an address to a buffer. Thread: any.
 */
#ifndef PELTON_GPU_ARENA_H
#define PELTON_GPU_ARENA_H

#include "gpu/engine/vk.h"

struct gpu_place {
    VkBuffer buffer;
    uint64_t offset;
    bool device; /* device memory: the host must not touch these addresses */
};
/* Find the buffer that memory[size] lies in; false: no arena holds it. */
bool gpu_arena_find(struct gpu *g, const void *memory, uint64_t size, struct gpu_place *out);
/* The host has found complete a submission that wrote into device arenas. */
void gpu_arena_written(struct gpu *g, const struct gpu_point *point);
/* The points that a reader of device arenas must come after, so that it sees the data. */
uint32_t gpu_arena_writers(struct gpu *g, struct gpu_point points[GPU_QUEUES]);

#endif
