/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Descriptor sets: pools sized by the layout, and writes of buffers.
 */
#include "gpu/engine/descriptors.h"

#include <stdlib.h>

#define KINDS 4

static int create_sets(struct gpu *g, VkDescriptorSetLayout layout,
                       const VkDescriptorPoolSize *sizes, uint32_t kinds, uint32_t count,
                       VkDescriptorPool *pool_out, VkDescriptorSet *sets)
{
    int err = GPU_OK;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    VkDescriptorSetLayout *layouts = malloc(count * sizeof(*layouts));
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = count,
                                       .poolSizeCount = kinds,
                                       .pPoolSizes = sizes};
    if (!layouts)
        return GPU_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        layouts[i] = layout;
    VK(g, g->vk.vkCreateDescriptorPool(g->device, &info, NULL, &pool));
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = pool,
                                            .descriptorSetCount = count,
                                            .pSetLayouts = layouts};
    VK(g, g->vk.vkAllocateDescriptorSets(g->device, &allocate, sets));
    *pool_out = pool;
    pool = VK_NULL_HANDLE;
error:
    g->vk.vkDestroyDescriptorPool(g->device, pool, NULL);
    free(layouts);
    return err;
}

int gpu_sets_create(struct gpu *g, const struct gpu_layout *layout, uint32_t count,
                    VkDescriptorPool *pool, VkDescriptorSet *sets)
{
    const struct gpu_bindings *b = &layout->bindings;
    const struct {
        uint32_t mask;
        VkDescriptorType type;
    } kinds[KINDS] = {{b->buffers, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER},
                      {b->images, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE},
                      {b->uniforms, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER},
                      {b->textures, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER}};
    VkDescriptorPoolSize sizes[KINDS];
    uint32_t used = 0;
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].mask)
            sizes[used++] = (VkDescriptorPoolSize){
                kinds[i].type, count * (uint32_t)__builtin_popcount(kinds[i].mask)};
    return create_sets(g, layout->set, sizes, used, count, pool, sets);
}

int gpu_host_sets_create(struct gpu *g, uint32_t count, VkDescriptorPool *pool,
                         VkDescriptorSet *sets)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count};
    return create_sets(g, g->host_set, &size, 1, count, pool, sets);
}

void gpu_set_write(struct gpu *g, VkDescriptorSet set, uint32_t binding, bool uniform,
                   const VkDescriptorBufferInfo *info)
{
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = set,
                                        .dstBinding = binding,
                                        .descriptorCount = 1,
                                        .descriptorType = uniform
                                                              ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                              : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = info};
    g->vk.vkUpdateDescriptorSets(g->device, 1, &write, 0, NULL);
}

void gpu_set_write_all(struct gpu *g, VkDescriptorSet set, const VkBuffer *buffers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        gpu_set_write(g, set, i, false, &(VkDescriptorBufferInfo){buffers[i], 0, VK_WHOLE_SIZE});
}
