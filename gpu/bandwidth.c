/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How fast device memory is: the floor under every pass that only moves bytes.
 */
#include "gpu/vk.h"

#define COPIES 8

struct copy_run {
    VkBuffer buffers[2];
    VkDeviceSize size;
    VkQueryPool queries;
};

/* There and back again; the first copy, which brings pages and clocks up, is not timed. */
static void record_copies(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct copy_run *run = ctx;
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    VkBufferCopy all = {0, 0, run->size};
    g->vk.vkCmdResetQueryPool(commands, run->queries, 0, 2);
    g->vk.vkCmdFillBuffer(commands, run->buffers[0], 0, run->size, 0x5a5a5a5au);
    for (int i = 0; i <= COPIES; i++) {
        g->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
        if (i == 1)
            g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, run->queries, 0);
        g->vk.vkCmdCopyBuffer(commands, run->buffers[i & 1], run->buffers[~i & 1], 1, &all);
    }
    g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, run->queries, 1);
}

int gpu_bandwidth(struct gpu *g, double *bytes_per_second)
{
    int err = GPU_ERR_FEATURE;
    struct gpu_buffer buffers[2] = {0};
    struct copy_run run = {.size = g->info.software ? 64u << 20 : 256u << 20};
    uint64_t ticks[2];
    if (!g->tick_mask)
        return err;
    for (int i = 0; i < 2; i++) {
        TRY(gpu_buffer_create(g, run.size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_DEVICE,
                              &buffers[i]));
        run.buffers[i] = buffers[i].buffer;
    }
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
    VK(g, g->vk.vkCreateQueryPool(g->device, &info, NULL, &run.queries));
    TRY(gpu_run(g, record_copies, &run));
    VK(g, g->vk.vkGetQueryPoolResults(g->device, run.queries, 0, 2, sizeof(ticks), ticks, sizeof(*ticks),
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    double seconds = (double)((ticks[1] - ticks[0]) & g->tick_mask) * g->limits.timestampPeriod * 1e-9;
    err = seconds > 0 ? GPU_OK : GPU_ERR_FEATURE;
    if (err == GPU_OK)
        *bytes_per_second = 2.0 * COPIES * (double)run.size / seconds;
error:
    g->vk.vkDestroyQueryPool(g->device, run.queries, NULL);
    for (int i = 0; i < 2; i++)
        gpu_buffer_free(g, &buffers[i]);
    return err;
}
