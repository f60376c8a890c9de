/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine's side of a gpu_host (gpu.h). Thread: any.
 */
#ifndef PELTON_GPU_HOST_BUFFER_H
#define PELTON_GPU_HOST_BUFFER_H

#include "gpu/engine/vk.h"

/* The part of a host that a storage buffer descriptor can reach. */
struct gpu_window {
    uint64_t offset; /* of its first byte in the host */
    VkBuffer buffer; /* of the host */
    VkDescriptorSet set;
    uint32_t index;
};
/* The window that holds bytes [begin, end). GPU_ERR_INVALID: they are outside the host or wider
 * than any window. */
int gpu_host_window(const struct gpu_host *h, uint64_t begin, uint64_t end, struct gpu_window *out);
VkBuffer gpu_host_buffer(const struct gpu_host *h);

struct gpu_rect {
    uint64_t offset;
    uint32_t stride, bytes, rows;
};
/* Make room for rectangles that gpu_host_written will note. */
int gpu_host_reserve(struct gpu_host *h, size_t rects);
/* The submission of `point` writes these rectangles. If h is not direct, they are copied to the
 * host's memory when it is done. */
void gpu_host_written(struct gpu_host *h, const struct gpu_rect *rects, size_t count,
                      const struct gpu_point *point);
/* Copy the rectangles that submissions to the queue up to `completed` have written. */
void gpu_hosts_flush(struct gpu *g, const struct gpu_queue *queue, uint64_t completed);

#endif
