/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a case holds on the device, and its random input on the host.
 */
#include "gpu/kernels/kernel_bench.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES (256ull << 20) /* of all sets, on a GPU: several times what its caches hold */

struct transfer {
    VkBuffer from, to;
    VkBufferCopy *regions;
    uint32_t count;
    struct kernel_bench *b; /* image: copied to all its layers */
};

static void record_transfer(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct transfer *t = ctx;
    g->vk.vkCmdCopyBuffer(commands, t->from, t->to, t->count, t->regions);
}

int kernel_download(struct kernel_bench *b, VkBuffer from, uint64_t at, uint64_t size, uint8_t *memory)
{
    struct gpu_buffer staging = {0};
    int err = gpu_buffer_create(b->g, size, VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_READBACK, &staging);
    if (err < 0)
        return err;
    VkBufferCopy region = {at, 0, size};
    err = gpu_run(b->g, record_transfer, &(struct transfer){.from = from, .to = staging.buffer, .regions = &region, .count = 1});
    if (err == GPU_OK)
        memcpy(memory, staging.map, size);
    gpu_buffer_free(b->g, &staging);
    return err;
}

/* The same bytes for every set. */
static int upload(struct kernel_bench *b, uint32_t binding, const uint8_t *memory)
{
    struct gpu_buffer staging = {0};
    VkBufferCopy regions[KERNEL_MAX_SETS];
    uint64_t size = b->data.size[binding];
    int err = gpu_buffer_create(b->g, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, GPU_MEMORY_UPLOAD, &staging);
    if (err < 0)
        return err;
    memcpy(staging.map, memory, size);
    for (uint32_t i = 0; i < b->sets; i++)
        regions[i] = (VkBufferCopy){0, i * b->stride[binding], size};
    err = gpu_run(b->g, record_transfer,
                  &(struct transfer){.from = staging.buffer, .to = b->buffers[binding].buffer, .regions = regions, .count = b->sets});
    gpu_buffer_free(b->g, &staging);
    return err;
}

static void record_image(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct kernel_bench *b = ctx;
    VkImageMemoryBarrier first = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER, .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .newLayout = VK_IMAGE_LAYOUT_GENERAL, .image = b->image,
                                  .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {b->c.width / 4, b->c.height, 1}};
    g->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &first);
    g->vk.vkCmdCopyBufferToImage(commands, b->buffers[BENCH_BIND_INPUT].buffer, b->image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
}

/* One picture of 32-bit texels; all sets read it: interprediction's references are in the cache anyhow. */
static int create_image(struct kernel_bench *b)
{
    struct gpu *g = b->g;
    int err = GPU_OK;
    VkMemoryRequirements needs;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D, .format = VK_FORMAT_R32_UINT,
                              .extent = {b->c.width / 4, b->c.height, 1}, .mipLevels = 1, .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT, .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VK(g, g->vk.vkCreateImage(g->device, &info, NULL, &b->image));
    g->vk.vkGetImageMemoryRequirements(g->device, b->image, &needs);
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size,
                                     .memoryTypeIndex = gpu_memory_type(g, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, 0)};
    if (allocate.memoryTypeIndex == UINT32_MAX)
        return GPU_ERR_FEATURE;
    VK(g, g->vk.vkAllocateMemory(g->device, &allocate, NULL, &b->image_memory));
    VK(g, g->vk.vkBindImageMemory(g->device, b->image, b->image_memory, 0));
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, .image = b->image, .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = info.format, .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VK(g, g->vk.vkCreateImageView(g->device, &view, NULL, &b->view));
    TRY(gpu_run(g, record_image, b));
error:
    return err;
}

static int fill_data(struct kernel_bench *b)
{
    struct kernel_data *d = &b->data;
    for (uint32_t i = 0; i < KERNEL_BINDINGS; i++)
        d->size[i] = (b->family->size(&b->c, i) + 15) / 16 * 16;
    d->input = calloc(1, d->size[BENCH_BIND_INPUT]);
    d->params = calloc(1, d->size[BENCH_BIND_PARAMS] + 16);
    if (!d->input || !d->params)
        return GPU_ERR_NOMEM;
    d->subgroup = b->g->info.subgroup_size;
    b->family->fill(&b->c, d, &b->random);
    return b->family->reference(&b->c, d);
}

static int create_buffers(struct kernel_bench *b)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    int err = GPU_OK;
    uint64_t one = 0;
    for (uint32_t i = 0; i < KERNEL_BINDINGS; i++) {
        if (b->data.size[i] > b->g->limits.maxStorageBufferRange)
            return GPU_ERR_FEATURE;
        b->stride[i] = (b->data.size[i] + 255) / 256 * 256; /* the largest alignment that Vulkan allows a device to ask for */
        one += b->stride[i];
    }
    uint64_t sets = b->g->info.software ? 2 : BATCH_BYTES / one;
    b->sets = sets < 2 ? 2 : sets > KERNEL_MAX_SETS ? KERNEL_MAX_SETS : (uint32_t)sets;
    for (uint32_t i = 0; i < KERNEL_BINDINGS && err == GPU_OK; i++)
        if (b->stride[i])
            err = gpu_buffer_create(b->g, b->stride[i] * b->sets, usage, GPU_MEMORY_DEVICE, &b->buffers[i]);
    return err;
}

static int create_descriptors(struct kernel_bench *b)
{
    struct gpu *g = b->g;
    int err = GPU_OK;
    VkDescriptorSetLayout layouts[KERNEL_MAX_SETS];
    VkDescriptorPoolSize sizes[3] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, KERNEL_BINDINGS * b->sets},
                                     {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, b->sets}, {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, b->sets}};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = b->sets, .poolSizeCount = 3,
                                       .pPoolSizes = sizes};
    bool image = b->family->has_image;
    struct gpu_bindings bindings = {.buffers = (1u << KERNEL_BINDINGS) - 1, .images = image ? 1u << BENCH_BIND_IMAGE : 0,
                                    .textures = image ? 1u << BENCH_BIND_TEXTURE : 0};
    TRY(gpu_layout_get(g, &bindings, sizeof(struct kernel_push), &b->layout));
    VK(g, g->vk.vkCreateDescriptorPool(g->device, &pool, NULL, &b->pool));
    for (uint32_t i = 0; i < b->sets; i++)
        layouts[i] = b->layout->set;
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = b->pool,
                                            .descriptorSetCount = b->sets, .pSetLayouts = layouts};
    VK(g, g->vk.vkAllocateDescriptorSets(g->device, &allocate, b->descriptors));
error:
    return err;
}

void kernel_case_output(struct kernel_bench *b, VkBuffer output)
{
    b->output = output;
    for (uint32_t s = 0; s < b->sets; s++) {
        VkDescriptorBufferInfo buffers[KERNEL_BINDINGS];
        VkDescriptorImageInfo image = {.sampler = b->sampler, .imageView = b->view, .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
        VkWriteDescriptorSet writes[KERNEL_BINDINGS + 2];
        for (uint32_t i = 0; i < KERNEL_BINDINGS + 2; i++) {
            writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = b->descriptors[s], .dstBinding = i,
                                               .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pImageInfo = &image};
            if (i < KERNEL_BINDINGS) { /* a binding that the family does not use repeats the input */
                uint32_t k = b->stride[i] ? i : BENCH_BIND_INPUT;
                buffers[i] = (VkDescriptorBufferInfo){k == BENCH_BIND_OUTPUT ? output : b->buffers[k].buffer, s * b->stride[k], b->data.size[k]};
                writes[i].pBufferInfo = &buffers[i];
            }
        }
        writes[BENCH_BIND_IMAGE].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
        writes[BENCH_BIND_TEXTURE].descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
        b->g->vk.vkUpdateDescriptorSets(b->g->device, b->family->has_image ? KERNEL_BINDINGS + 2 : KERNEL_BINDINGS, writes, 0, NULL);
    }
}

int kernel_case_open(struct kernel_bench *b, const struct kernel_family *family, const struct kernel_case *c)
{
    int err = GPU_OK;
    if (b->family == family && !memcmp(&b->c, c, sizeof(*c)))
        return GPU_OK;
    kernel_case_close(b);
    b->family = family;
    b->c = *c;
    TRY(fill_data(b));
    TRY(create_buffers(b));
    TRY(upload(b, BENCH_BIND_INPUT, b->data.input));
    if (b->data.size[BENCH_BIND_PARAMS])
        TRY(upload(b, BENCH_BIND_PARAMS, b->data.params));
    if (family->has_image)
        TRY(create_image(b));
    TRY(create_descriptors(b));
    kernel_case_output(b, b->buffers[BENCH_BIND_OUTPUT].buffer);
    return GPU_OK;
error:
    kernel_case_close(b);
    return err;
}

void kernel_case_close(struct kernel_bench *b)
{
    struct gpu *g = b->g;
    g->vk.vkDestroyDescriptorPool(g->device, b->pool, NULL);
    g->vk.vkDestroyImageView(g->device, b->view, NULL);
    g->vk.vkDestroyImage(g->device, b->image, NULL);
    g->vk.vkFreeMemory(g->device, b->image_memory, NULL);
    for (uint32_t i = 0; i < KERNEL_BINDINGS; i++)
        gpu_buffer_free(g, &b->buffers[i]);
    free(b->data.input);
    free(b->data.params);
    free(b->data.reference);
    b->data = (struct kernel_data){0};
    b->pool = VK_NULL_HANDLE;
    b->view = VK_NULL_HANDLE;
    b->image = VK_NULL_HANDLE;
    b->image_memory = VK_NULL_HANDLE;
    b->family = NULL;
}
