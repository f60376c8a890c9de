/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Buffers and images, each with an allocation of its own: there are few and they are big.
 */
#include "gpu/engine/vk.h"

#include <string.h>

uint32_t gpu_memory_type(const struct gpu *g, uint32_t bits, VkMemoryPropertyFlags required,
                         VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted)
{
    uint32_t best = UINT32_MAX;
    int best_score = -1;
    for (uint32_t i = 0; i < g->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = g->memory.memoryTypes[i].propertyFlags;
        if (!(bits & (1u << i)) || (flags & required) != required)
            continue;
        int score = 2 * ((flags & wanted) == wanted) + !(flags & unwanted);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static uint32_t type_of_kind(const struct gpu *g, uint32_t bits, enum gpu_memory kind)
{
    const VkMemoryPropertyFlags device = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    const VkMemoryPropertyFlags host =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    switch (kind) {
    case GPU_MEMORY_DEVICE:
        return gpu_memory_type(g, bits, device, 0, host);
    case GPU_MEMORY_UPLOAD:
        return gpu_memory_type(g, bits, host, 0, device);
    case GPU_MEMORY_READBACK:
        return gpu_memory_type(g, bits, host, cached, device);
    default:
        return gpu_memory_type(g, bits, host | device, 0, 0);
    }
}

VkSharingMode gpu_sharing(const struct gpu *g)
{
    return g->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
}

static int allocate(struct gpu *g, const VkMemoryRequirements *needs, enum gpu_memory kind,
                    VkDeviceMemory *out)
{
    int err = GPU_OK;
    uint32_t type = type_of_kind(g, needs->memoryTypeBits, kind);
    if (type == UINT32_MAX)
        return GPU_ERR_FEATURE;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = needs->size,
                                 .memoryTypeIndex = type};
    VK(g, g->vk.vkAllocateMemory(g->device, &info, NULL, out));
error:
    return err;
}

int gpu_buffer_create(struct gpu *g, uint64_t size, VkBufferUsageFlags usage, enum gpu_memory kind,
                      struct gpu_buffer *out)
{
    int err = GPU_OK;
    struct gpu_buffer b = {.size = size};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = usage,
                               .sharingMode = gpu_sharing(g),
                               .queueFamilyIndexCount = g->family_count,
                               .pQueueFamilyIndices = g->families};
    VkMemoryRequirements needs;
    VK(g, g->vk.vkCreateBuffer(g->device, &info, NULL, &b.buffer));
    g->vk.vkGetBufferMemoryRequirements(g->device, b.buffer, &needs);
    TRY(allocate(g, &needs, kind, &b.memory));
    VK(g, g->vk.vkBindBufferMemory(g->device, b.buffer, b.memory, 0));
    if (kind != GPU_MEMORY_DEVICE)
        VK(g, g->vk.vkMapMemory(g->device, b.memory, 0, VK_WHOLE_SIZE, 0, (void **)&b.map));
    *out = b;
    return GPU_OK;
error:
    gpu_buffer_free(g, &b);
    return err;
}

void gpu_buffer_free(struct gpu *g, struct gpu_buffer *buffer)
{
    g->vk.vkDestroyBuffer(g->device, buffer->buffer, NULL);
    g->vk.vkFreeMemory(g->device, buffer->memory, NULL);
    memset(buffer, 0, sizeof(*buffer));
}

/* A first layout, and mid-grey instead of whatever the memory held. */
static void record_clear(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct gpu_image *image = ctx;
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, image->layers};
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                    .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                    .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = image->image,
                                    .subresourceRange = range};
    g->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                               VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
    VkClearColorValue grey = {.uint32 = {image->grey[0], image->grey[1], 0, 0}};
    g->vk.vkCmdClearColorImage(commands, image->image, VK_IMAGE_LAYOUT_GENERAL, &grey, 1, &range);
    VkMemoryBarrier after = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                             .dstAccessMask =
                                 VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    g->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                               VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &after, 0, NULL, 0,
                               NULL);
}

static VkFormat texel_format(const struct gpu_image *image)
{
    return image->texel_bytes == 8 ? VK_FORMAT_R32G32_UINT : VK_FORMAT_R32_UINT;
}

static int create_view(struct gpu *g, struct gpu_image *image)
{
    int err = GPU_OK;
    VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D_ARRAY,
        .format = texel_format(image),
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, image->layers}};
    VK(g, g->vk.vkCreateImageView(g->device, &info, NULL, &image->view));
error:
    return err;
}

int gpu_image_create(struct gpu *g, uint32_t width, uint32_t height, uint32_t layers,
                     uint32_t depth, bool wide, struct gpu_image *out)
{
    int err = GPU_OK;
    uint32_t grey = (1u << (depth - 1)) * (wide ? 0x10001u : 0x1010101u);
    struct gpu_image image = {.width = width,
                              .height = height,
                              .layers = layers,
                              .texel_bytes = wide ? 8 : 4,
                              .grey = {grey, wide ? grey : 0}};
    if (!width || !height || !layers || width > g->limits.maxImageDimension2D ||
        height > g->limits.maxImageDimension2D || layers > g->limits.maxImageArrayLayers) {
        gpu_log(g, 0, "%u images of %u x %u texels are more than the device can hold", layers,
                width, height);
        return GPU_ERR_FEATURE;
    }
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = texel_format(&image),
                              .extent = {width, height, 1},
                              .mipLevels = 1,
                              .arrayLayers = layers,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = VK_IMAGE_USAGE_STORAGE_BIT |
                                       VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                       VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                              .sharingMode = gpu_sharing(g),
                              .queueFamilyIndexCount = g->family_count,
                              .pQueueFamilyIndices = g->families};
    VkMemoryRequirements needs;
    VK(g, g->vk.vkCreateImage(g->device, &info, NULL, &image.image));
    g->vk.vkGetImageMemoryRequirements(g->device, image.image, &needs);
    image.bytes = needs.size;
    TRY(allocate(g, &needs, GPU_MEMORY_DEVICE, &image.memory));
    VK(g, g->vk.vkBindImageMemory(g->device, image.image, image.memory, 0));
    TRY(create_view(g, &image));
    TRY(gpu_run(g, record_clear, &image));
    *out = image;
    return GPU_OK;
error:
    gpu_image_free(g, &image);
    return err;
}

void gpu_image_free(struct gpu *g, struct gpu_image *image)
{
    g->vk.vkDestroyImageView(g->device, image->view, NULL);
    g->vk.vkDestroyImage(g->device, image->image, NULL);
    g->vk.vkFreeMemory(g->device, image->memory, NULL);
    memset(image, 0, sizeof(*image));
}
