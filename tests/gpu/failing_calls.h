/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls of Vulkan that can fail, for wrappers of each: CALL(name, (parameters), (arguments)).
 */
#ifndef PELTON_FAILING_CALLS_H
#define PELTON_FAILING_CALLS_H

#define CREATING_CALL(CALL, name, info, object)                                                    \
    CALL(name, (VkDevice d, const info *i, const VkAllocationCallbacks *a, object *o), (d, i, a, o))

/* What the tests of a device let fail. */
#define FAILING_CALLS(CALL)                                                                        \
    CREATING_CALL(CALL, vkAllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)                    \
    CREATING_CALL(CALL, vkCreateBuffer, VkBufferCreateInfo, VkBuffer)                              \
    CREATING_CALL(CALL, vkCreateImage, VkImageCreateInfo, VkImage)                                 \
    CREATING_CALL(CALL, vkCreateImageView, VkImageViewCreateInfo, VkImageView)                     \
    CREATING_CALL(CALL, vkCreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)               \
    CREATING_CALL(CALL, vkCreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)      \
    CREATING_CALL(CALL, vkCreateQueryPool, VkQueryPoolCreateInfo, VkQueryPool)                     \
    CREATING_CALL(CALL, vkCreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore)                     \
    CREATING_CALL(CALL, vkCreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)            \
    CALL(vkMapMemory,                                                                              \
         (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f,        \
          void **p),                                                                               \
         (d, m, o, s, f, p))                                                                       \
    CALL(vkAllocateDescriptorSets,                                                                 \
         (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *o), (d, i, o))        \
    CALL(vkAllocateCommandBuffers,                                                                 \
         (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *o), (d, i, o))        \
    CALL(vkBeginCommandBuffer, (VkCommandBuffer c, const VkCommandBufferBeginInfo *i), (c, i))     \
    CALL(vkEndCommandBuffer, (VkCommandBuffer c), (c))                                             \
    CALL(vkQueueSubmit, (VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f), (q, n, i, f))

#endif
