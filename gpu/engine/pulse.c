/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A little work that keeps a device's clocks up between the pictures of a live stream.
 */
#include "gpu/engine/pulse.h"

#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/work.h"

#include "shaders/pulse.spv.h"

#include <stdlib.h>

#define THREADS 32 /* of the workgroup */

struct gpu_pulse {
    struct gpu *g;
    struct gpu_buffer sink;
    const struct gpu_layout *layout;
    VkPipeline pipeline;
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
    uint32_t steps;
    struct gpu_work *work;
};

void gpu_pulse_record(const struct gpu_pulse *p, VkCommandBuffer commands)
{
    struct gpu *g = p->g;
    g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout->pipeline, 0,
                                  1, &p->set, 0, NULL);
    g->vk.vkCmdPushConstants(commands, p->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof(p->steps), &p->steps);
    g->vk.vkCmdDispatch(commands, 1, 1, 1);
}

int gpu_pulse_create(struct gpu *g, uint32_t steps, struct gpu_pulse **out)
{
    int err = GPU_OK;
    struct gpu_pulse *p = calloc(1, sizeof(*p));
    if (!p)
        return GPU_ERR_NOMEM;
    p->g = g;
    p->steps = steps;
    TRY(gpu_buffer_create(g, THREADS * sizeof(uint32_t), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                          GPU_MEMORY_DEVICE, &p->sink));
    TRY(gpu_layout_get(g, &(struct gpu_bindings){.buffers = 1}, sizeof(steps), &p->layout));
    TRY(gpu_pipeline_get(g, p->layout, shader_pulse, sizeof(shader_pulse), NULL, 0, "pulse",
                         &p->pipeline));
    TRY(gpu_sets_create(g, p->layout, 1, &p->descriptors, &p->set));
    gpu_set_write_all(g, p->set, &p->sink.buffer, 1);
    TRY(gpu_work_create(g, &(struct gpu_work_params){.queues = {g->main}, .depth = 1}, &p->work));
    *out = p;
    return GPU_OK;
error:
    gpu_pulse_free(p);
    return err;
}

int gpu_pulse(struct gpu_pulse *p)
{
    struct gpu_submission *s;
    int err = gpu_work_begin(p->work, 0, &s);
    if (err)
        return err < 0 ? err : GPU_OK;
    TRY(gpu_work_record(s, 0));
    gpu_pulse_record(p, s->commands);
    err = gpu_work_submit(s);
error:
    return err;
}

void gpu_pulse_free(struct gpu_pulse *p)
{
    if (!p)
        return;
    struct gpu *g = p->g;
    gpu_work_free(p->work);
    g->vk.vkDestroyDescriptorPool(g->device, p->descriptors, NULL);
    gpu_buffer_free(g, &p->sink);
    free(p);
}
