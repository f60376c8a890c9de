/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames in memory of the GPU, for a program that imports that memory by Vulkan or CUDA. pelton.h
 * includes this header.
 *
 * The happy path: open with bench.transport = PELTON_DEVICE, pelton_next, pelton_device_memory,
 * import the memory once an epoch, read the frame at its offsets, pelton_release.
 *
 * Waits. The GPU has written a frame before pelton_next gives it, so the reader waits for nothing.
 * The daemon writes into its slot again after pelton_release. So the reader waits for its own GPU
 * work on the frame (a fence, a stream) before it releases.
 *
 * Life. An import, like the descriptor, keeps the memory after the end of stream, worker and
 * daemon. A new epoch has other memory. The old import is freed when no frame of it is held.
 *
 * Trust. No driver makes such memory read-only: a reader that writes spoils frames of its own pool.
 * No other reader shares that pool. The descriptor may be of a driver's own kind: map it by the API
 * that it is for, and never by mmap.
 */
#ifndef PELTON_DEVICE_H
#define PELTON_DEVICE_H

enum pelton_handle {
    PELTON_HANDLE_NONE,
    /* VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD */
    PELTON_HANDLE_OPAQUE_FD
};

/* The memory of one epoch, a VkBuffer bound at offset 0 of its allocation, and the place of a frame
 * in it. An import names the device by UUIDs, and gives sizes and flags as they stand here. */
struct pelton_device_memory {
    /* The library's, valid until the frame is released. An import that takes a descriptor over gets
     * a dup() of it. */
    int fd;
    uint32_t handle_type;     /* enum pelton_handle */
    uint64_t allocation_size; /* bytes of the allocation */
    uint64_t buffer_size;     /* bytes of the buffer: all slots */
    uint32_t memory_type;     /* index of the device's memory type */
    /* The import is dedicated to the buffer: VkMemoryDedicatedAllocateInfo, CUDA_EXTERNAL_MEMORY_
     * DEDICATED. */
    bool dedicated;
    bool luid_valid;
    uint8_t reserved[2];
    uint8_t device_uuid[16], driver_uuid[16]; /* VkPhysicalDeviceIDProperties */
    uint8_t device_luid[8];                   /* with luid_valid */
    uint32_t epoch, slots;                    /* memory is new when epoch is */
    uint64_t slot_size;                       /* bytes */
    /* Of the frame's planes in the buffer. Strides and sizes of planes are the frame's. */
    uint64_t offset[4];
};

/* The memory of a frame that the caller holds. Only epoch and slot of the frame are read.
 * PELTON_ERR_USAGE: the frame is in host memory, or is not held. */
static inline int pelton_device_memory(const struct pelton_stream *stream,
                                       const struct pelton_frame *frame,
                                       struct pelton_device_memory *out);

#endif
