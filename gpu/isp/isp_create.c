/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Creation of a struct isp: flights with their buffers, which grow with the largest camera, and the
 * developed frames of one group.
 */
#include "gpu/engine/descriptors.h"
#include "gpu/isp/isp_internal.h"

#include <stdlib.h>
#include <string.h>

static void free_buffers(struct isp *isp, struct isp_flight *f)
{
    struct gpu *g = isp->g;
    gpu_buffer_free(g, &f->staging);
    gpu_buffer_free(g, &f->upload);
    gpu_buffer_free(g, &f->output);
}

static int create_buffers(struct isp *isp, struct isp_flight *f, uint64_t raw_size,
                          uint64_t out_size)
{
    struct gpu *g = isp->g;
    const VkBufferUsageFlags shader =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    const VkBufferUsageFlags from = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                             to = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    uint64_t bytes = ISP_ARGS_AREA + raw_size;
    int err = GPU_OK;
    TRY(gpu_buffer_create_for(g, GPU_USE_CAMERAS, out_size, shader | from, GPU_MEMORY_DEVICE,
                              &f->output));
    if (g->unified)
        return gpu_buffer_create_for(g, GPU_USE_CAMERAS, bytes, shader, GPU_MEMORY_SHARED,
                                     &f->staging);
    TRY(gpu_buffer_create_for(g, GPU_USE_CAMERAS, bytes, shader | to, GPU_MEMORY_DEVICE,
                              &f->upload));
    TRY(gpu_buffer_create_for(g, GPU_USE_CAMERAS, bytes, from, GPU_MEMORY_UPLOAD, &f->staging));
error:
    return err;
}

static void write_set(struct isp *isp, const struct isp_flight *f)
{
    const struct gpu_buffer *upload = isp->g->unified ? &f->staging : &f->upload;
    const VkDescriptorBufferInfo buffers[ISP_BIND_COUNT] = {
        [ISP_BIND_RAW] = {upload->buffer, ISP_ARGS_AREA, VK_WHOLE_SIZE},
        [ISP_BIND_ARGS] = {upload->buffer, 0, ISP_ARGS_AREA},
        [ISP_BIND_OUTPUT] = {f->output.buffer, 0, VK_WHOLE_SIZE},
        [ISP_BIND_STATISTICS] = {f->statistics.buffer, 0, VK_WHOLE_SIZE},
        [ISP_BIND_RGB] = {isp->rgb.buffer, 0, VK_WHOLE_SIZE},
    };
    for (uint32_t i = 0; i < ISP_BIND_COUNT; i++)
        gpu_set_write(isp->g, f->set, i, i == ISP_BIND_ARGS, &buffers[i]);
}

/* As many frames as asked for, but no more than a descriptor reaches. */
static uint64_t bytes_of(const struct isp *isp, uint64_t frame, uint32_t count, uint64_t more)
{
    uint64_t limit = isp->g->limits.maxStorageBufferRange / 16 * 16, all = frame * count + more;
    return all < limit ? all : limit;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

int isp_reserve(struct isp *isp, uint64_t raw_bytes, uint64_t out_bytes, uint64_t pixels)
{
    struct gpu *g = isp->g;
    const VkBufferUsageFlags shader = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    /* shaders read a little ahead */
    const uint64_t ahead = 16, limit = g->limits.maxStorageBufferRange;
    if (raw_bytes + ahead > limit || out_bytes > limit || 8 * pixels > limit) {
        gpu_log(g, 0, "a frame of %llu bytes, or its picture of %llu, exceeds the device's buffers",
                (unsigned long long)raw_bytes, (unsigned long long)out_bytes);
        return GPU_ERR_FEATURE;
    }
    uint64_t raw_size = larger(bytes_of(isp, raw_bytes, isp->width, ahead), isp->raw_size);
    uint64_t out_size = larger(bytes_of(isp, out_bytes, isp->width, 0), isp->out_size),
             most = larger(larger(pixels, isp->pixels), 1);
    if (raw_size == isp->raw_size && out_size == isp->out_size && most == isp->pixels)
        return GPU_OK;
    int err = gpu_work_drain(isp->work);
    isp->raw_size = isp->out_size = isp->pixels = 0; /* until all are there */
    gpu_buffer_free(g, &isp->rgb);
    isp->factors_for = VK_NULL_HANDLE; /* a new buffer may have the old one's handle */
    if (err == GPU_OK)
        err = gpu_buffer_create_for(g, GPU_USE_CAMERAS, bytes_of(isp, 8 * most, isp->group, 0),
                                    shader, GPU_MEMORY_DEVICE, &isp->rgb);
    for (uint32_t i = 0; i < isp->flight_count && err == GPU_OK; i++) {
        free_buffers(isp, &isp->flights[i]);
        err = create_buffers(isp, &isp->flights[i], raw_size, out_size);
    }
    if (err < 0)
        return err;
    isp->raw_size = raw_size;
    isp->out_size = out_size;
    isp->pixels = most;
    for (uint32_t i = 0; i < isp->flight_count; i++)
        write_set(isp, &isp->flights[i]);
    return GPU_OK;
}

static int create_descriptors(struct isp *isp)
{
    VkDescriptorSet sets[ISP_MAX_FLIGHT];
    int err = gpu_sets_create(isp->g, isp->layout, isp->flight_count, &isp->descriptors, sets);
    for (uint32_t i = 0; i < isp->flight_count && err == GPU_OK; i++)
        isp->flights[i].set = sets[i];
    return err;
}

static int create_flight(struct isp *isp, struct isp_flight *f)
{
    struct gpu *g = isp->g;
    int err = GPU_OK;
    const VkBufferUsageFlags shader = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                             from = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                             to = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    uint64_t bytes = 4ull * ISP_STATISTICS_WORDS * isp->width;
    TRY(gpu_buffer_create_for(g, GPU_USE_CAMERAS, bytes, shader | from | to, GPU_MEMORY_DEVICE,
                              &f->statistics));
    TRY(gpu_buffer_create_for(g, GPU_USE_CAMERAS, bytes, to, GPU_MEMORY_READBACK, &f->readback));
error:
    return err;
}

/* The fastest choices (docs/design/isp.md): fewer barriers gain more than a cache that holds a
 * group. */
static void isp_choose(struct isp *isp, const struct isp_options *o)
{
    bool software = isp->g->info.software;
    isp->width = o->width ? o->width : software ? 4 : 16;
    isp->group = o->group ? o->group : isp->width;
    isp->flight_count = o->flight ? o->flight : 3;
    isp->fuse = o->passes == ISP_ONE_PASS || (o->passes == ISP_PASSES_CHOSEN && !software);
}

int isp_create(struct gpu *g, const struct isp_options *options, struct isp **out)
{
    const struct isp_options none = {0}, *o = options ? options : &none;
    const struct gpu_bindings bindings = {.buffers =
                                              ISP_BIT(ISP_BIND_RAW) | ISP_BIT(ISP_BIND_OUTPUT) |
                                              ISP_BIT(ISP_BIND_STATISTICS) | ISP_BIT(ISP_BIND_RGB),
                                          .uniforms = ISP_BIT(ISP_BIND_ARGS)};
    if (o->width > ISP_MAX_WIDTH || o->flight > ISP_MAX_FLIGHT ||
        (o->width && o->group > o->width) || o->group > ISP_MAX_WIDTH)
        return GPU_ERR_INVALID;
    int err = GPU_OK;
    struct isp *isp = calloc(1, sizeof(*isp));
    if (!isp)
        return GPU_ERR_NOMEM;
    isp->g = g;
    isp_choose(isp, o);
    if (isp->group > isp->width)
        isp->width = isp->group;
    TRY(gpu_layout_get(g, &bindings, 8, &isp->layout));
    TRY(create_descriptors(isp));
    for (uint32_t i = 0; i < isp->flight_count; i++)
        TRY(create_flight(isp, &isp->flights[i]));
    const struct gpu_work_params work = {.queues = {g->main},
                                         .depth = isp->flight_count,
                                         .stamps = ISP_STAMPS,
                                         .done = isp_submission_done,
                                         .ctx = isp};
    TRY(gpu_work_create(g, &work, &isp->work));
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
    if (isp->work)
        gpu_work_drain(isp->work);
    gpu_work_free(isp->work);
    isp_blur_free(isp);
    isp_denoise_free(isp);
    for (uint32_t i = 0; i < isp->flight_count; i++) {
        struct isp_flight *f = &isp->flights[i];
        free_buffers(isp, f);
        gpu_buffer_free(g, &f->readback);
        gpu_buffer_free(g, &f->statistics);
        free(f->regions);
    }
    gpu_buffer_free(g, &isp->rgb);
    g->vk.vkDestroyDescriptorPool(g->device, isp->descriptors, NULL);
    free(isp);
}
