/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Descriptor sets, each group in a pool of its own. Thread: any; one at a time for each set.
 */
#ifndef PELTON_GPU_DESCRIPTORS_H
#define PELTON_GPU_DESCRIPTORS_H

#include "gpu/engine/pipeline.h"

struct gpu_buffer;

/* `count` sets of a layout. The caller destroys the pool, and with it the sets. *pool and sets stay
 * untouched on failure. */
int gpu_sets_create(struct gpu *g, const struct gpu_layout *layout, uint32_t count,
                    VkDescriptorPool *pool, VkDescriptorSet *sets);
/* The same of gpu.host_set: one storage buffer each. */
int gpu_host_sets_create(struct gpu *g, uint32_t count, VkDescriptorPool *pool,
                         VkDescriptorSet *sets);
/* Bind a buffer's bytes. uniform: as a uniform buffer, else as a storage buffer. */
void gpu_set_write(struct gpu *g, VkDescriptorSet set, uint32_t binding, bool uniform,
                   const VkDescriptorBufferInfo *info);
/* Bind whole storage buffers from binding 0 on. */
void gpu_set_write_all(struct gpu *g, VkDescriptorSet set, const VkBuffer *buffers, uint32_t count);

#endif
