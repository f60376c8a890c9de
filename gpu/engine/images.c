/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Image arrays: creation, and the clear that brings them into their only layout.
 */
#include "gpu/engine/images.h"

#include "gpu/engine/barrier_record.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/work.h"

#include <string.h>

/* The transition into the only layout, then grey. */
static void record_clear(struct gpu *g, VkCommandBuffer commands, const struct gpu_image *image)
{
    struct barrier_state state = {0};
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
    barrier_accessed(&state, BARRIER_TRANSFER, 0, 1);
    gpu_sync(g, commands, &state, BARRIER_COMPUTE, 1, 1);
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

int gpu_image_create(struct gpu *g, enum gpu_use use, uint32_t width, uint32_t height,
                     uint32_t layers, uint32_t depth, bool wide, struct gpu_image *out)
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
    TRY(gpu_memory_allocate(g, &needs, GPU_MEMORY_DEVICE, use, &image.memory, &image.holding));
    VK(g, g->vk.vkBindImageMemory(g->device, image.image, image.memory, image.holding.at));
    TRY(create_view(g, &image));
    *out = image;
    return GPU_OK;
error:
    gpu_image_free(g, &image);
    return err;
}

struct images {
    const struct gpu_image *all;
    uint32_t count;
};

static void record_clears(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct images *images = ctx;
    for (uint32_t i = 0; i < images->count; i++)
        record_clear(g, commands, &images->all[i]);
}

int gpu_images_clear(struct gpu *g, const struct gpu_image *all, uint32_t count)
{
    struct images images = {all, count};
    return gpu_run(g, record_clears, &images);
}

void gpu_image_free(struct gpu *g, struct gpu_image *image)
{
    g->vk.vkDestroyImageView(g->device, image->view, NULL);
    g->vk.vkDestroyImage(g->device, image->image, NULL);
    gpu_memory_release(g, image->memory, &image->holding);
    memset(image, 0, sizeof(*image));
}
