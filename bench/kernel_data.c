/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a case holds on the device, and its random input on the host.
 */
#include "bench/kernel_bench.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES (256ull << 20) /* of all sets, on a GPU: several times what its caches hold */

struct kernel_transfer {
    VkBuffer from, to;
    VkBufferCopy *regions;
    uint32_t count;
};

static void record_transfer(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct kernel_transfer *t = ctx;
    g->vk.vkCmdCopyBuffer(commands, t->from, t->to, t->count, t->regions);
}

int kernel_download(struct kernel_bench *b, VkBuffer from, uint64_t at, uint64_t size,
                    const uint8_t **memory)
{
    int err = GPU_OK;
    if (b->staging.size < size) { /* pinning memory takes longer than the copy */
        gpu_buffer_free(b->g, &b->staging);
        err = gpu_buffer_create(b->g, size, VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_READBACK,
                                &b->staging);
    }
    if (err < 0)
        return err;
    VkBufferCopy region = {at, 0, size};
    err = gpu_run(b->g, record_transfer,
                  &(struct kernel_transfer){
                      .from = from, .to = b->staging.buffer, .regions = &region, .count = 1});
    if (err == GPU_OK)
        *memory = b->staging.map;
    return err;
}

/* The same bytes for every set. */
static int upload(struct kernel_bench *b, uint32_t binding, const uint8_t *memory)
{
    struct gpu_buffer staging = {0};
    VkBufferCopy regions[KERNEL_MAX_SETS];
    uint64_t size = b->data.size[binding];
    int err = gpu_buffer_create(b->g, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, GPU_MEMORY_UPLOAD,
                                &staging);
    if (err < 0)
        return err;
    memcpy(staging.map, memory, size);
    for (uint32_t i = 0; i < b->sets; i++)
        regions[i] = (VkBufferCopy){0, i * b->stride[binding], size};
    err = gpu_run(b->g, record_transfer,
                  &(struct kernel_transfer){.from = staging.buffer,
                                            .to = b->buffers[binding].buffer,
                                            .regions = regions,
                                            .count = b->sets});
    gpu_buffer_free(b->g, &staging);
    return err;
}

static int fill_data(struct kernel_bench *b)
{
    struct kernel_data *d = &b->data;
    for (uint32_t i = 0; i < KERNEL_BINDINGS; i++)
        d->size[i] = b->family->size ? (b->family->size(&b->c, i) + 15) / 16 * 16 : 0;
    d->input = calloc(1, d->size[BENCH_BIND_INPUT] + 16);
    d->params = calloc(1, d->size[BENCH_BIND_PARAMS] + 16);
    d->scratch = b->family->fills_scratch ? calloc(1, d->size[BENCH_BIND_SCRATCH]) : NULL;
    if (!d->input || !d->params || (b->family->fills_scratch && !d->scratch))
        return GPU_ERR_NOMEM;
    d->subgroup = b->g->info.subgroup_size;
    if (b->family->fill)
        b->family->fill(&b->c, d, &b->random);
    d->random = b->random;
    int err = b->family->reference(&b->c, d);
    kernel_random(&b->random);
    return err;
}

static int create_buffers(struct kernel_bench *b)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    int err = GPU_OK;
    uint64_t one = 0;
    for (uint32_t i = 0; i < KERNEL_BINDINGS; i++) {
        if (b->data.size[i] > b->g->limits.maxStorageBufferRange)
            return GPU_ERR_FEATURE;
        /* the largest alignment that Vulkan allows a device to ask for */
        b->stride[i] = (b->data.size[i] + 255) / 256 * 256;
        one += b->stride[i];
    }
    uint64_t sets = b->g->info.software ? 2 : BATCH_BYTES / one;
    b->sets = sets < 2 ? 2 : sets > b->most_sets ? b->most_sets : (uint32_t)sets;
    for (uint32_t i = 0; i < KERNEL_BINDINGS && err == GPU_OK; i++)
        if (b->stride[i])
            err = gpu_buffer_create(b->g, b->stride[i] * b->sets, usage, GPU_MEMORY_DEVICE,
                                    &b->buffers[i]);
    return err;
}

static int create_descriptors(struct kernel_bench *b)
{
    struct gpu *g = b->g;
    int err = GPU_OK;
    VkDescriptorSetLayout layouts[KERNEL_MAX_SETS];
    VkDescriptorPoolSize sizes[3] = {
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, KERNEL_BINDINGS * b->sets},
        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, KERNEL_IMAGES * b->sets},
        {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, KERNEL_IMAGES * b->sets}};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = b->sets,
                                       .poolSizeCount = 3,
                                       .pPoolSizes = sizes};
    struct gpu_bindings bindings = {.buffers = (1u << KERNEL_BINDINGS) - 1};
    for (uint32_t i = 0; i < b->family->image_count; i++) {
        const struct kernel_image *image = &b->family->images[i];
        bindings.images |= image->storage ? 1u << image->storage : 0;
        bindings.textures |= image->texture ? 1u << image->texture : 0;
    }
    TRY(gpu_layout_get(g, &bindings, sizeof(struct kernel_push), &b->layout));
    VK(g, g->vk.vkCreateDescriptorPool(g->device, &pool, NULL, &b->pool));
    for (uint32_t i = 0; i < b->sets; i++)
        layouts[i] = b->layout->set;
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = b->pool,
                                            .descriptorSetCount = b->sets,
                                            .pSetLayouts = layouts};
    VK(g, g->vk.vkAllocateDescriptorSets(g->device, &allocate, b->descriptors));
error:
    return err;
}

void kernel_case_output(struct kernel_bench *b, VkBuffer output)
{
    b->output = output;
    for (uint32_t s = 0; s < b->sets; s++) {
        VkDescriptorBufferInfo buffers[KERNEL_BINDINGS];
        VkWriteDescriptorSet writes[KERNEL_BINDINGS];
        /* a binding that the family does not use repeats the input */
        for (uint32_t i = 0; i < KERNEL_BINDINGS; i++) {
            uint32_t k = b->stride[i] ? i : BENCH_BIND_INPUT;
            buffers[i] =
                (VkDescriptorBufferInfo){k == BENCH_BIND_OUTPUT ? output : b->buffers[k].buffer,
                                         s * b->stride[k], b->data.size[k]};
            writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                               .dstSet = b->descriptors[s],
                                               .dstBinding = i,
                                               .descriptorCount = 1,
                                               .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                               .pBufferInfo = &buffers[i]};
        }
        b->g->vk.vkUpdateDescriptorSets(b->g->device, KERNEL_BINDINGS, writes, 0, NULL);
        for (uint32_t i = 0; i < b->family->image_count; i++)
            kernel_image_describe(b, i, s);
    }
}

static int open_on_device(struct kernel_bench *b)
{
    int err = GPU_OK;
    TRY(create_buffers(b));
    TRY(upload(b, BENCH_BIND_INPUT, b->data.input));
    if (b->data.size[BENCH_BIND_PARAMS])
        TRY(upload(b, BENCH_BIND_PARAMS, b->data.params));
    if (b->data.scratch)
        TRY(upload(b, BENCH_BIND_SCRATCH, b->data.scratch));
    for (uint32_t i = 0; i < b->family->image_count; i++)
        TRY(kernel_image_create(b, i));
    TRY(create_descriptors(b));
    kernel_case_output(b, b->buffers[BENCH_BIND_OUTPUT].buffer);
error:
    return err;
}

static bool same_case(const struct kernel_case *a, const struct kernel_case *b)
{
    return a->width == b->width && a->height == b->height && a->format == b->format &&
           a->taps == b->taps && a->gauss == b->gauss && a->pictures == b->pictures;
}

int kernel_case_open(struct kernel_bench *b, const struct kernel_family *family,
                     const struct kernel_case *c)
{
    int err = GPU_OK;
    if (b->family == family && same_case(&b->c, c))
        return GPU_OK;
    kernel_case_close(b);
    b->family = family;
    b->c = *c;
    TRY(fill_data(b));
    if (family->size)
        TRY(open_on_device(b));
    return GPU_OK;
error:
    kernel_case_close(b);
    return err;
}

void kernel_case_close(struct kernel_bench *b)
{
    struct gpu *g = b->g;
    g->vk.vkDestroyDescriptorPool(g->device, b->pool, NULL);
    for (uint32_t i = 0; i < KERNEL_IMAGES; i++)
        kernel_image_free(b, i);
    for (uint32_t i = 0; i < KERNEL_BINDINGS; i++)
        gpu_buffer_free(g, &b->buffers[i]);
    free(b->data.input);
    free(b->data.params);
    free(b->data.scratch);
    if (b->family && b->family->forget)
        b->family->forget(&b->data);
    else
        free(b->data.reference);
    b->data = (struct kernel_data){0};
    b->pool = VK_NULL_HANDLE;
    b->family = NULL;
}
