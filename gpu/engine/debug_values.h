/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Values out of shaders. Without gpu_params.debug these functions do nothing.
 */
#ifndef PELTON_GPU_DEBUG_VALUES_H
#define PELTON_GPU_DEBUG_VALUES_H

#include "gpu/engine/debug_shaders.h"
#include "gpu/engine/pipeline.h"

#define GPU_DEBUG_SET 2 /* descriptor set of the values */

/* shaders NULL: log that this build has none. Thread: the one that opens or closes the device. */
int gpu_debug_open(struct gpu *g, const struct gpu_debug_shaders *shaders);
void gpu_debug_close(struct gpu *g);
/* Replace a shader by its debug compilation where it has one. Thread: any. */
static inline void gpu_debug_shader(const struct gpu *g, const uint32_t **spirv, size_t *size)
{
    for (size_t i = 0; g->debug && i < g->debug_shaders->count; i++) {
        const struct gpu_debug_shader *row = &g->debug_shaders->rows[i];
        if (*spirv == row->plain) {
            *spirv = row->debug;
            *size = row->size;
            return;
        }
    }
}

/* Bind the buffer of values for the pipelines of the layout, once in each command buffer. */
static inline void gpu_debug_bind(const struct gpu *g, VkCommandBuffer commands,
                                  const struct gpu_layout *layout)
{
    if (g->debug)
        g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout->pipeline,
                                      GPU_DEBUG_SET, 1, &g->debug_set, 0, NULL);
}

#endif
