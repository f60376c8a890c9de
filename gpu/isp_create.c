/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a struct isp holds: flights with their buffers, which grow with the largest camera, and the images of developed frames.
 */
#include "gpu/isp_internal.h"

#include <stdlib.h>
#include <string.h>

static void free_buffers(struct isp *isp, struct isp_flight *f)
{
    struct gpu *g = isp->g;
    gpu_buffer_free(g, &f->staging);
    gpu_buffer_free(g, &f->upload);
    gpu_buffer_free(g, &f->output);
}

static int create_buffers(struct isp *isp, struct isp_flight *f, uint64_t raw_size, uint64_t out_size)
{
    struct gpu *g = isp->g;
    const VkBufferUsageFlags shader = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    const VkBufferUsageFlags from = VK_BUFFER_USAGE_TRANSFER_SRC_BIT, to = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    uint64_t bytes = ISP_ARGS_AREA + raw_size;
    int err = GPU_OK;
    TRY(gpu_buffer_create(g, out_size, shader | from, GPU_MEMORY_DEVICE, &f->output));
    if (g->unified)
        return gpu_buffer_create(g, bytes, shader, GPU_MEMORY_SHARED, &f->staging);
    TRY(gpu_buffer_create(g, bytes, shader | to, GPU_MEMORY_DEVICE, &f->upload));
    TRY(gpu_buffer_create(g, bytes, from, GPU_MEMORY_UPLOAD, &f->staging));
error:
    return err;
}

static void write_set(struct isp *isp, struct isp_store *store, const struct isp_flight *f)
{
    const struct gpu_buffer *upload = isp->g->unified ? &f->staging : &f->upload;
    const VkDescriptorBufferInfo buffers[] = {
        [ISP_BIND_RAW] = {upload->buffer, ISP_ARGS_AREA, VK_WHOLE_SIZE},
        [ISP_BIND_ARGS] = {upload->buffer, 0, ISP_ARGS_AREA},
        [ISP_BIND_OUTPUT] = {f->output.buffer, 0, VK_WHOLE_SIZE},
        [ISP_BIND_STATISTICS] = {f->statistics.buffer, 0, VK_WHOLE_SIZE},
    };
    const VkDescriptorImageInfo images[2] = {
        {.imageView = store->image.view, .imageLayout = VK_IMAGE_LAYOUT_GENERAL},
        {.sampler = isp->sampler, .imageView = store->image.texture, .imageLayout = VK_IMAGE_LAYOUT_GENERAL},
    };
    VkWriteDescriptorSet writes[6];
    for (uint32_t i = 0; i < 6; i++) {
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = store->sets[f->index],
                                           .dstBinding = i, .descriptorCount = 1};
        writes[i].descriptorType = i == ISP_BIND_ARGS  ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                   : i < ISP_BIND_RGB  ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                   : i == ISP_BIND_RGB ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE
                                                       : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
        if (i < ISP_BIND_RGB)
            writes[i].pBufferInfo = &buffers[i];
        else
            writes[i].pImageInfo = &images[i - ISP_BIND_RGB];
    }
    isp->g->vk.vkUpdateDescriptorSets(isp->g->device, 6, writes, 0, NULL);
}

static void write_sets(struct isp *isp)
{
    if (!isp->raw_size)
        return;
    for (struct isp_store *s = isp->stores; s; s = s->next)
        for (uint32_t i = 0; i < isp->flight_count; i++)
            write_set(isp, s, &isp->flights[i]);
}

/* As many frames as a batch has, but no more than a descriptor reaches. */
static uint64_t batch_bytes(const struct isp *isp, uint64_t frame)
{
    uint64_t limit = isp->g->limits.maxStorageBufferRange / 16 * 16, all = frame * isp->width;
    return all < limit ? all : limit;
}

int isp_reserve(struct isp *isp, uint64_t raw_bytes, uint64_t out_bytes)
{
    uint64_t raw_size = batch_bytes(isp, raw_bytes) + 16, out_size = batch_bytes(isp, out_bytes); /* shaders read a little ahead */
    if (raw_bytes + 16 > isp->g->limits.maxStorageBufferRange || out_bytes > isp->g->limits.maxStorageBufferRange) {
        gpu_log(isp->g, 0, "a frame of %llu bytes, or its picture of %llu, exceeds the device's buffers", (unsigned long long)raw_bytes,
                (unsigned long long)out_bytes);
        return GPU_ERR_FEATURE;
    }
    if (raw_size > isp->g->limits.maxStorageBufferRange)
        raw_size = isp->g->limits.maxStorageBufferRange / 16 * 16;
    raw_size = raw_size > isp->raw_size ? raw_size : isp->raw_size;
    out_size = out_size > isp->out_size ? out_size : isp->out_size;
    if (raw_size == isp->raw_size && out_size == isp->out_size)
        return GPU_OK;
    int err = isp_drain(isp);
    isp->raw_size = isp->out_size = 0; /* until all are there */
    for (uint32_t i = 0; i < isp->flight_count && err == GPU_OK; i++) {
        free_buffers(isp, &isp->flights[i]);
        err = create_buffers(isp, &isp->flights[i], raw_size, out_size);
    }
    if (err < 0)
        return err;
    isp->raw_size = raw_size;
    isp->out_size = out_size;
    write_sets(isp);
    return GPU_OK;
}

static void destroy_store(struct isp *isp, struct isp_store *s)
{
    if (s->descriptors)
        isp->g->vk.vkDestroyDescriptorPool(isp->g->device, s->descriptors, NULL);
    gpu_image_free(isp->g, &s->image);
    free(s);
}

static int create_sets(struct isp *isp, struct isp_store *s)
{
    struct gpu *g = isp->g;
    int err = GPU_OK;
    VkDescriptorPoolSize sizes[4] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3 * isp->flight_count},
                                     {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, isp->flight_count},
                                     {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, isp->flight_count},
                                     {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, isp->flight_count}};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = isp->flight_count, .poolSizeCount = 4, .pPoolSizes = sizes};
    VK(g, g->vk.vkCreateDescriptorPool(g->device, &pool, NULL, &s->descriptors));
    for (uint32_t i = 0; i < isp->flight_count; i++) {
        VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = s->descriptors,
                                           .descriptorSetCount = 1, .pSetLayouts = &isp->layout->set};
        VK(g, g->vk.vkAllocateDescriptorSets(g->device, &set, &s->sets[i]));
    }
error:
    return err;
}

int isp_store_get(struct isp *isp, uint32_t width, uint32_t height, struct isp_store **out)
{
    for (struct isp_store *s = isp->stores; s; s = s->next) {
        if (s->width == width && s->height == height) {
            s->users++;
            *out = s;
            return GPU_OK;
        }
    }
    int err = GPU_OK;
    struct isp_store *s = calloc(1, sizeof(*s));
    if (!s)
        return GPU_ERR_NOMEM;
    s->width = width;
    s->height = height;
    s->users = 1;
    TRY(gpu_image_create_texture(isp->g, width, height, isp->group, &s->image));
    TRY(create_sets(isp, s));
    s->next = isp->stores;
    isp->stores = s;
    write_sets(isp);
    *out = s;
    return GPU_OK;
error:
    destroy_store(isp, s);
    return err;
}

void isp_store_put(struct isp *isp, struct isp_store *store)
{
    if (!store || --store->users)
        return;
    struct isp_store **link = &isp->stores;
    while (*link != store)
        link = &(*link)->next;
    *link = store->next;
    destroy_store(isp, store);
}

static int create_sampler(struct isp *isp)
{
    struct gpu *g = isp->g;
    int err = GPU_OK;
    VkFormatProperties format;
    vkGetPhysicalDeviceFormatProperties(g->physical, VK_FORMAT_R16G16B16A16_UNORM, &format);
    if (!(format.optimalTilingFeatures & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT)) {
        gpu_log(g, 0, "%s has no textures of 16 bits", g->info.name);
        return GPU_ERR_FEATURE;
    }
    bool linear = format.optimalTilingFeatures & VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT;
    isp->textures &= linear && g->limits.subTexelPrecisionBits >= ISP_MAP_BITS;
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                .magFilter = linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST, .minFilter = linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST,
                                .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER, .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
                                .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, .borderColor = VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK};
    VK(g, g->vk.vkCreateSampler(g->device, &info, NULL, &isp->sampler));
error:
    return err;
}

static int create_flight(struct isp *isp, struct isp_flight *f)
{
    struct gpu *g = isp->g;
    int err = GPU_OK;
    const VkBufferUsageFlags shader = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, from = VK_BUFFER_USAGE_TRANSFER_SRC_BIT, to = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    uint64_t bytes = 4ull * ISP_STATISTICS_WORDS * isp->width;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = g->family};
    VK(g, g->vk.vkCreateCommandPool(g->device, &pool, NULL, &f->pool));
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = f->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1};
    VK(g, g->vk.vkAllocateCommandBuffers(g->device, &commands, &f->commands));
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = ISP_QUERIES};
    if (g->timestamps)
        VK(g, g->vk.vkCreateQueryPool(g->device, &queries, NULL, &f->queries));
    TRY(gpu_buffer_create(g, bytes, shader | from | to, GPU_MEMORY_DEVICE, &f->statistics));
    TRY(gpu_buffer_create(g, bytes, to, GPU_MEMORY_READBACK, &f->readback));
error:
    return err;
}

/* What was measured as best (docs/cameras.md); a software device has its frames in the host's memory. */
static void choose(struct isp *isp, const struct isp_options *o)
{
    bool software = isp->g->info.software;
    isp->width = o->width ? o->width : software ? 4 : 16;
    isp->group = o->group ? o->group : isp->width < 4 ? isp->width : 4;
    isp->flight_count = o->flight ? o->flight : 3;
    isp->textures = o->textures ? o->textures == 2 : !software;
}

int isp_create(struct gpu *g, const struct isp_options *options, struct isp **out)
{
    const struct isp_options none = {0}, *o = options ? options : &none;
    const struct gpu_bindings bindings = {.buffers = ISP_BIT(ISP_BIND_RAW) | ISP_BIT(ISP_BIND_OUTPUT) | ISP_BIT(ISP_BIND_STATISTICS),
                                          .images = ISP_BIT(ISP_BIND_RGB), .textures = ISP_BIT(ISP_BIND_TEXTURE), .uniforms = ISP_BIT(ISP_BIND_ARGS)};
    if (o->width > ISP_MAX_WIDTH || o->flight > ISP_MAX_FLIGHT || o->textures > 2 || (o->width && o->group > o->width) || o->group > ISP_MAX_WIDTH)
        return GPU_ERR_INVALID;
    int err = GPU_OK;
    struct isp *isp = calloc(1, sizeof(*isp));
    if (!isp)
        return GPU_ERR_NOMEM;
    isp->g = g;
    choose(isp, o);
    if (isp->group > isp->width)
        isp->width = isp->group;
    TRY(gpu_layout_get(g, &bindings, 4, &isp->layout));
    TRY(create_sampler(isp));
    for (uint32_t i = 0; i < isp->flight_count; i++) {
        isp->flights[i].index = i;
        TRY(create_flight(isp, &isp->flights[i]));
    }
    *out = isp;
    return GPU_OK;
error:
    isp_free(isp);
    return err;
}

void isp_free(struct isp *isp)
{
    if (!isp)
        return;
    struct gpu *g = isp->g;
    isp_drain(isp);
    for (uint32_t i = 0; i < isp->flight_count; i++) {
        struct isp_flight *f = &isp->flights[i];
        free_buffers(isp, f);
        gpu_buffer_free(g, &f->readback);
        gpu_buffer_free(g, &f->statistics);
        g->vk.vkDestroyQueryPool(g->device, f->queries, NULL);
        g->vk.vkDestroyCommandPool(g->device, f->pool, NULL);
        free(f->regions);
    }
    g->vk.vkDestroySampler(g->device, isp->sampler, NULL);
    free(isp);
}

uint64_t isp_memory(const struct isp *isp)
{
    uint64_t bytes = isp->table_bytes;
    for (const struct isp_store *s = isp->stores; s; s = s->next)
        bytes += s->image.bytes;
    for (uint32_t i = 0; i < isp->flight_count; i++) {
        const struct isp_flight *f = &isp->flights[i];
        bytes += (isp->g->unified ? f->staging.size : f->upload.size) + f->output.size + f->statistics.size;
    }
    return bytes;
}
