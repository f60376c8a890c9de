/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Images of a case: what a family reads or writes beside its buffers, a layer for each set, always
 * in the general layout.
 */
#include "bench/kernel_bench.h"

struct filling {
    struct kernel_bench *b;
    uint32_t index;
};

static void record_fill(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct filling *f = ctx;
    const struct kernel_bench *b = f->b;
    const struct kernel_image *kind = &b->family->images[f->index];
    VkImage image = b->images[f->index].image;
    VkImageMemoryBarrier first = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .image = image,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, b->sets}};
    g->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                               VK_PIPELINE_STAGE_TRANSFER_BIT |
                                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                               0, 0, NULL, 0, NULL, 1, &first);
    for (uint32_t s = 0; s < b->sets && kind->from < KERNEL_BINDINGS; s++) {
        VkBufferImageCopy region = {.bufferOffset = s * b->stride[kind->from],
                                    .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, s, 1},
                                    .imageExtent = {b->c.width / kind->pixels, b->c.height, 1}};
        g->vk.vkCmdCopyBufferToImage(commands, b->buffers[kind->from].buffer, image,
                                     VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    }
}

static bool has_format(struct gpu *g, const struct kernel_image *kind)
{
    VkFormatProperties properties;
    VkFormatFeatureFlags needs =
        (kind->storage ? VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT : 0u) |
        (kind->texture ? VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT : 0u) |
        (kind->linear ? VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT : 0u);
    vkGetPhysicalDeviceFormatProperties(g->physical, kind->format, &properties);
    return (properties.optimalTilingFeatures & needs) == needs;
}

static int create_view(struct kernel_bench *b, uint32_t index, uint32_t set)
{
    struct gpu *g = b->g;
    int err = GPU_OK;
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = b->images[index].image,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = b->family->images[index].format,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, set, 1}};
    VK(g, g->vk.vkCreateImageView(g->device, &view, NULL, &b->images[index].views[set]));
error:
    return err;
}

int kernel_image_create(struct kernel_bench *b, uint32_t index)
{
    struct gpu *g = b->g;
    const struct kernel_image *kind = &b->family->images[index];
    int err = GPU_OK;
    VkMemoryRequirements needs;
    VkImageUsageFlags transfer = kind->from < KERNEL_BINDINGS ? VK_IMAGE_USAGE_TRANSFER_DST_BIT
                                                              : VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = kind->format,
                              .extent = {b->c.width / kind->pixels, b->c.height, 1},
                              .mipLevels = 1,
                              .arrayLayers = b->sets,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = (kind->storage ? VK_IMAGE_USAGE_STORAGE_BIT : 0u) |
                                       (kind->texture ? VK_IMAGE_USAGE_SAMPLED_BIT : 0u) |
                                       transfer};
    if (!has_format(g, kind))
        return GPU_ERR_FEATURE;
    VK(g, g->vk.vkCreateImage(g->device, &info, NULL, &b->images[index].image));
    g->vk.vkGetImageMemoryRequirements(g->device, b->images[index].image, &needs);
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex =
            gpu_memory_type(g, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, 0)};
    if (allocate.memoryTypeIndex == UINT32_MAX)
        return GPU_ERR_FEATURE;
    VK(g, g->vk.vkAllocateMemory(g->device, &allocate, NULL, &b->images[index].memory));
    VK(g, g->vk.vkBindImageMemory(g->device, b->images[index].image, b->images[index].memory, 0));
    for (uint32_t s = 0; s < b->sets; s++)
        TRY(create_view(b, index, s));
    TRY(gpu_run(g, record_fill, &(struct filling){b, index}));
error:
    return err;
}

void kernel_image_free(struct kernel_bench *b, uint32_t index)
{
    struct gpu *g = b->g;
    for (uint32_t s = 0; s < KERNEL_MAX_SETS; s++)
        g->vk.vkDestroyImageView(g->device, b->images[index].views[s], NULL);
    g->vk.vkDestroyImage(g->device, b->images[index].image, NULL);
    g->vk.vkFreeMemory(g->device, b->images[index].memory, NULL);
    b->images[index] = (struct kernel_bench_image){0};
}

void kernel_image_describe(struct kernel_bench *b, uint32_t index, uint32_t set)
{
    const struct kernel_image *kind = &b->family->images[index];
    VkDescriptorImageInfo image = {.sampler = kind->linear ? b->linear : b->nearest,
                                   .imageView = b->images[index].views[set],
                                   .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = b->descriptors[set],
                                  .dstBinding = kind->storage,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                  .pImageInfo = &image};
    if (kind->storage)
        b->g->vk.vkUpdateDescriptorSets(b->g->device, 1, &write, 0, NULL);
    write.dstBinding = kind->texture;
    write.descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    if (kind->texture)
        b->g->vk.vkUpdateDescriptorSets(b->g->device, 1, &write, 0, NULL);
}

void kernel_image_save(struct kernel_bench *b, VkCommandBuffer commands, uint32_t index,
                       uint32_t set)
{
    VkBufferImageCopy region = {
        .bufferOffset = set * b->stride[BENCH_BIND_OUTPUT],
        .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, set, 1},
        .imageExtent = {b->c.width / b->family->images[index].pixels, b->c.height, 1}};
    b->g->vk.vkCmdCopyImageToBuffer(commands, b->images[index].image, VK_IMAGE_LAYOUT_GENERAL,
                                    b->output, 1, &region);
}
