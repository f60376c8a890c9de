/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How many operations on integers a device makes. It bounds every pass that computes. An addition
 * and an exclusive or count alike: most devices issue one of them where they could multiply.
 */
#include "gpu/engine/barrier_record.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/timed_run.h"

#include "shaders/count_operations.spv.h"

#define THREADS         256
#define STEP_OPERATIONS 32 /* eight of each of four chains */

struct operations_run {
    struct gpu_buffer values;
    uint32_t groups, steps;
    const struct gpu_layout *layout;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    VkDescriptorSet set;
};

/* Twice: the first one brings up clocks, and is not timed. */
static void record_operations(struct gpu *g, VkCommandBuffer commands, VkQueryPool queries,
                              void *ctx)
{
    const struct operations_run *run = ctx;
    struct barrier_state state = {0};
    g->vk.vkCmdResetQueryPool(commands, queries, 0, 2);
    gpu_sync(g, commands, &state, BARRIER_TRANSFER, 0, 1);
    g->vk.vkCmdFillBuffer(commands, run->values.buffer, 0, run->values.size, 0x5a5a5a5au);
    g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, run->pipeline);
    g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, run->layout->pipeline,
                                  0, 1, &run->set, 0, NULL);
    g->vk.vkCmdPushConstants(commands, run->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof(run->steps), &run->steps);
    for (int i = 0; i < 2; i++) {
        gpu_sync(g, commands, &state, BARRIER_COMPUTE, 1, 1);
        if (i == 1)
            g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 0);
        g->vk.vkCmdDispatch(commands, run->groups, 1, 1);
    }
    g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1);
}

static int operations_measure(struct gpu *g, struct operations_run *run, double *per_second)
{
    int err = GPU_OK;
    double seconds;
    TRY(gpu_buffer_create(g, 16ull * THREADS * run->groups,
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                          GPU_MEMORY_DEVICE, &run->values));
    TRY(gpu_layout_get(g, &(struct gpu_bindings){.buffers = 1}, 4, &run->layout));
    TRY(gpu_pipeline_get(g, run->layout, shader_count_operations, sizeof(shader_count_operations),
                         NULL, 0, "count_operations", &run->pipeline));
    TRY(gpu_sets_create(g, run->layout, 1, &run->pool, &run->set));
    gpu_set_write_all(g, run->set, &run->values.buffer, 1);
    TRY(gpu_timed_run(g, record_operations, run, &seconds));
    *per_second = (double)run->groups * THREADS * run->steps * STEP_OPERATIONS / seconds;
error:
    return err;
}

int gpu_operations(struct gpu *g, double *per_second)
{
    struct operations_run run = {.groups = g->info.software ? 16 : 8192,
                                 .steps = g->info.software ? 256 : 1024};
    int err = operations_measure(g, &run, per_second);
    g->vk.vkDestroyDescriptorPool(g->device, run.pool, NULL);
    gpu_buffer_free(g, &run.values);
    return err;
}
