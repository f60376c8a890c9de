/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The speed of device memory for a shader. It bounds every pass that only moves bytes.
 * vkCmdCopyBuffer does not show it, because it may use an engine of its own that is several times
 * slower.
 */
#include "gpu/engine/barrier_record.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/timed_run.h"

#include "shaders/copy_memory.spv.h"

#define COPIES 8

struct copy_run {
    struct gpu_buffer buffers[2];
    uint64_t size;
    const struct gpu_layout *layout;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    VkDescriptorSet sets[2]; /* there, and back */
};

/* Copies there and back. The first one brings up pages and clocks, and is not timed. */
static void record_copies(struct gpu *g, VkCommandBuffer commands, VkQueryPool queries, void *ctx)
{
    const struct copy_run *run = ctx;
    struct barrier_state state = {0};
    uint32_t count = (uint32_t)(run->size / 16), groups = count / 256 / 4;
    g->vk.vkCmdResetQueryPool(commands, queries, 0, 2);
    gpu_sync(g, commands, &state, BARRIER_TRANSFER, 0, 1);
    g->vk.vkCmdFillBuffer(commands, run->buffers[0].buffer, 0, run->size, 0x5a5a5a5au);
    g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, run->pipeline);
    g->vk.vkCmdPushConstants(commands, run->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof(count), &count);
    for (int i = 0; i <= COPIES; i++) {
        gpu_sync(g, commands, &state, BARRIER_COMPUTE, 1u << (i & 1), 1u << !(i & 1));
        if (i == 1)
            g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 0);
        g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                      run->layout->pipeline, 0, 1, &run->sets[i & 1], 0, NULL);
        g->vk.vkCmdDispatch(commands, groups, 1, 1);
    }
    g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1);
}

static int make_sets(struct gpu *g, struct copy_run *run)
{
    int err = gpu_sets_create(g, run->layout, 2, &run->pool, run->sets);
    for (int i = 0; i < 2 && err == GPU_OK; i++)
        gpu_set_write_all(g, run->sets[i],
                          (VkBuffer[2]){run->buffers[i].buffer, run->buffers[!i].buffer}, 2);
    return err;
}

static int bandwidth_measure(struct gpu *g, struct copy_run *run, double *bytes_per_second)
{
    int err = GPU_OK;
    double seconds;
    for (int i = 0; i < 2; i++)
        TRY(gpu_buffer_create(g, run->size,
                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                              GPU_MEMORY_DEVICE, &run->buffers[i]));
    TRY(gpu_layout_get(g, &(struct gpu_bindings){.buffers = 3}, 4, &run->layout));
    TRY(gpu_pipeline_get(g, run->layout, shader_copy_memory, sizeof(shader_copy_memory), NULL, 0,
                         "copy_memory", &run->pipeline));
    TRY(make_sets(g, run));
    TRY(gpu_timed_run(g, record_copies, run, &seconds));
    *bytes_per_second = 2.0 * COPIES * (double)run->size / seconds;
error:
    return err;
}

int gpu_bandwidth(struct gpu *g, double *bytes_per_second)
{
    struct copy_run run = {.size = g->info.software ? 16u << 20 : 256u << 20};
    if (run.size > g->limits.maxStorageBufferRange)
        run.size = g->limits.maxStorageBufferRange / (1u << 20) * (1u << 20); /* at least 128 MiB */
    int err = bandwidth_measure(g, &run, bytes_per_second);
    g->vk.vkDestroyDescriptorPool(g->device, run.pool, NULL);
    for (int i = 0; i < 2; i++)
        gpu_buffer_free(g, &run.buffers[i]);
    return err;
}
