/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Canaries: bytes of a known pattern before and behind each piece of memory that the device has of
 * us, and between the parts of a shared buffer. Tests ask for them (gpu_params.canaries). A shader
 * that writes outside of its memory changes them. They are compared when the memory is released,
 * and whenever gpu_canaries_changed is called.
 *
 * Without them every function returns at once. Thread: any.
 */
#ifndef PELTON_GPU_CANARIES_H
#define PELTON_GPU_CANARIES_H

#include "gpu/engine/buffers.h"

#define GPU_CANARY_BYTES 65536

struct gpu_canaries;

int gpu_canaries_open(struct gpu *g, uint32_t pattern);
void gpu_canaries_close(struct gpu *g); /* compares those that are left */
/* Make room in `needs`. Returns where in the memory the object lies. */
uint64_t gpu_canaries_room(const struct gpu *g, VkMemoryRequirements *needs);
/* Write them round an object of `size` bytes at `at`. */
int gpu_canaries_add(struct gpu *g, VkDeviceMemory memory, uint32_t type, uint64_t at,
                     uint64_t size, const struct gpu_holding *holding);
/* Write one into the buffer itself, whose usage allows copies both ways. */
int gpu_canaries_add_gap(struct gpu *g, const struct gpu_buffer *buffer, uint64_t at, uint64_t size,
                         const char *name);
/* Compare those of the memory, and forget them. */
void gpu_canaries_remove(struct gpu *g, VkDeviceMemory memory);

#endif
