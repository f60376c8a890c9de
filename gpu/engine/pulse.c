/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A little work for a device that would take its clocks down between the pictures of a live stream.
 */
#include "gpu/engine/vk.h"

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
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint64_t value; /* of the timeline, when the last one is over */
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

static int record(struct gpu_pulse *p)
{
    struct gpu *g = p->g;
    int err = GPU_OK;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = g->family};
    VK(g, g->vk.vkCreateCommandPool(g->device, &pool, NULL, &p->pool));
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = p->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VK(g, g->vk.vkAllocateCommandBuffers(g->device, &allocate, &p->commands));
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK(g, g->vk.vkBeginCommandBuffer(p->commands, &begin));
    gpu_pulse_record(p, p->commands);
    VK(g, g->vk.vkEndCommandBuffer(p->commands));
error:
    return err;
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
    TRY(gpu_set_create(g, p->layout->set, &p->sink, &p->descriptors, &p->set));
    TRY(record(p));
    *out = p;
    return GPU_OK;
error:
    gpu_pulse_free(p);
    return err;
}

int gpu_pulse(struct gpu_pulse *p)
{
    uint64_t completed = 0;
    int err = gpu_completed(p->g, &completed);
    if (err < 0 || p->value > completed)
        return err;
    return gpu_submit(p->g, p->commands, &p->value);
}

void gpu_pulse_free(struct gpu_pulse *p)
{
    if (!p)
        return;
    struct gpu *g = p->g;
    if (p->value)
        gpu_wait(g, p->value, UINT64_MAX);
    g->vk.vkDestroyCommandPool(g->device, p->pool, NULL);
    g->vk.vkDestroyDescriptorPool(g->device, p->descriptors, NULL);
    gpu_buffer_free(g, &p->sink);
    free(p);
}
