/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What passes of a few dispatches have in common: a command buffer that is recorded anew for each
 * use, barriers in it, and a set of storage buffers.
 */
#include "gpu/engine/vk.h"

#define MOST_BUFFERS 32 /* of a set */

int gpu_commands_create(struct gpu *g, const struct gpu_queue *queue, VkCommandPool *pool,
                        VkCommandBuffer *commands)
{
    int err = GPU_OK;
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                    .queueFamilyIndex = queue->family};
    VK(g, g->vk.vkCreateCommandPool(g->device, &info, NULL, pool));
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = *pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VK(g, g->vk.vkAllocateCommandBuffers(g->device, &allocate, commands));
error:
    return err;
}

int gpu_commands_begin(struct gpu *g, VkCommandPool pool, VkCommandBuffer commands)
{
    int err = GPU_OK;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VK(g, g->vk.vkResetCommandPool(g->device, pool, 0));
    VK(g, g->vk.vkBeginCommandBuffer(commands, &begin));
error:
    return err;
}

void gpu_commands_barrier(struct gpu *g, VkCommandBuffer commands, VkPipelineStageFlags from,
                          VkAccessFlags wrote, VkPipelineStageFlags to, VkAccessFlags accesses)
{
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = wrote,
                              .dstAccessMask = accesses};
    g->vk.vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

int gpu_buffer_set_create(struct gpu *g, const struct gpu_layout *layout, const VkBuffer *buffers,
                          uint32_t count, VkDescriptorPool *pool, VkDescriptorSet *set)
{
    int err = GPU_OK;
    VkDescriptorBufferInfo infos[MOST_BUFFERS];
    VkWriteDescriptorSet writes[MOST_BUFFERS];
    if (count > MOST_BUFFERS)
        return GPU_ERR_INVALID;
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count};
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VK(g, g->vk.vkCreateDescriptorPool(g->device, &info, NULL, pool));
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = *pool,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &layout->set};
    VK(g, g->vk.vkAllocateDescriptorSets(g->device, &allocate, set));
    for (uint32_t i = 0; i < count; i++) {
        infos[i] = (VkDescriptorBufferInfo){buffers[i], 0, VK_WHOLE_SIZE};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = *set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &infos[i]};
    }
    g->vk.vkUpdateDescriptorSets(g->device, count, writes, 0, NULL);
error:
    return err;
}
