/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Layouts and compute pipelines. The device keeps them; users of equal ones share. Thread: any.
 */
#ifndef PELTON_GPU_PIPELINE_H
#define PELTON_GPU_PIPELINE_H

#include "gpu/engine/vk.h"

/* Masks of bindings in set 0. */
struct gpu_bindings {
    uint32_t buffers, images, uniforms, textures; /* textures with their sampler */
};

/* A descriptor set layout and the pipeline layout {set 0: this, set 1: a gpu_host}. */
struct gpu_layout {
    struct gpu_layout *next;
    struct gpu_bindings bindings;
    uint32_t push_size;
    VkDescriptorSetLayout set;
    VkPipelineLayout pipeline;
};

/* A shader with specialisation constants, ids 0... `whole`: its subgroups must be full, which
 * gpu.info.fixed_subgroups allows. */
struct gpu_pipeline_want {
    const struct gpu_layout *layout;
    const uint32_t *spirv;
    size_t spirv_size;
    uint32_t constants[8], constant_count;
    bool whole;
    const char *name; /* for the log */
    VkPipeline *out;  /* where to write it; NULL: nowhere */
};

/* Says that the pass's pipeline is made, or why there is none. */
#define GPU_PIPELINE_LOG(g, begun_ns, err, name)                                                   \
    do {                                                                                           \
        if ((err) < 0)                                                                             \
            gpu_log(g, 0, "no pipeline for the pass %s: %s", name, gpu_error_text(err));           \
        else                                                                                       \
            gpu_log_step(g, begun_ns, "pipeline %s", name);                                        \
    } while (0)

int gpu_layout_get(struct gpu *g, const struct gpu_bindings *bindings, uint32_t push_size,
                   const struct gpu_layout **out);
/* Compile the missing ones in threads, one a core at most, and do not wait. Names stay with the
 * caller for ever; out is not used. What fails is tried again by whoever needs it. */
int gpu_pipelines_begin(struct gpu *g, const struct gpu_pipeline_want *wants, uint32_t n);
/* Compile the missing ones in the same way, and wait for all; a driver may need seconds. After an
 * error, those that succeeded stay. */
int gpu_pipelines_make(struct gpu *g, const struct gpu_pipeline_want *wants, uint32_t n);
/* A pipeline that is kept, or is made now. */
int gpu_pipeline_get_whole(struct gpu *g, const struct gpu_layout *layout, const uint32_t *spirv,
                           size_t spirv_size, const uint32_t *constants, uint32_t constant_count,
                           bool whole, const char *name, VkPipeline *out);
int gpu_pipeline_get(struct gpu *g, const struct gpu_layout *layout, const uint32_t *spirv,
                     size_t spirv_size, const uint32_t *constants, uint32_t constant_count,
                     const char *name, VkPipeline *out);
void gpu_pipelines_free(struct gpu *g); /* thread: the one that closes the device */

#endif
