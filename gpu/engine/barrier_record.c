/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Turns the barriers that barrier.c derives into Vulkan's.
 */
#include "gpu/engine/barrier_record.h"

static const struct {
    VkPipelineStageFlags stage;
    VkAccessFlags writes, all;
} vk_stages[BARRIER_STAGES] = {
    [BARRIER_TRANSFER] = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT},
    [BARRIER_COMPUTE] = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
    [BARRIER_INDIRECT] = {VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0,
                          VK_ACCESS_INDIRECT_COMMAND_READ_BIT},
    [BARRIER_HOST] = {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_WRITE_BIT,
                      VK_ACCESS_HOST_READ_BIT},
};

void gpu_barrier_record(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                        const struct barrier_need *need)
{
    VkPipelineStageFlags from = 0, to = 0;
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    if (!need->from)
        return;
    for (int i = 0; i < BARRIER_STAGES; i++) {
        if (need->from & (1u << i))
            from |= vk_stages[i].stage;
        if (need->flush & (1u << i))
            memory.srcAccessMask |= vk_stages[i].writes;
        if (need->to & (1u << i)) {
            to |= vk_stages[i].stage;
            memory.dstAccessMask |= vk_stages[i].all;
        }
    }
    g->vk.vkCmdPipelineBarrier(commands, from, to, 0, memory.srcAccessMask ? 1 : 0, &memory, 0,
                               NULL, 0, NULL);
    barrier_applied(state, need);
}

void gpu_sync(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
              enum barrier_stage stage, uint32_t reads, uint32_t writes)
{
    struct barrier_need need = {0};
    barrier_declare(state, stage, reads, writes, &need);
    gpu_barrier_record(g, commands, state, &need);
    barrier_accessed(state, stage, reads, writes);
}

void gpu_sync_host(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                   uint32_t reads)
{
    struct barrier_need need = {0};
    barrier_declare(state, BARRIER_HOST, reads, 0, &need);
    gpu_barrier_record(g, commands, state, &need);
}
