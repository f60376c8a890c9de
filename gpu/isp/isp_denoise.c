/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luminance denoise: two passes over the developed frames of the cameras that ask for it, before
 * the finish pass reads them.
 */
#include "gpu/isp/isp_internal.h"
#include "gpu/shaders/lib/isp_denoise.h"

#include "shaders/isp_denoise.spv.h"
#include "shaders/isp_denoise_apply.spv.h"

#define SIDE  16
#define APPLY 256

static int create_set(struct isp *isp)
{
    struct gpu *g = isp->g;
    int err = GPU_OK;
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    if (!isp->denoise_descriptors) /* else the set was refused before */
        VK(g, g->vk.vkCreateDescriptorPool(g->device, &pool, NULL, &isp->denoise_descriptors));
    VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorPool = isp->denoise_descriptors,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &isp->denoise_layout->set};
    VK(g, g->vk.vkAllocateDescriptorSets(g->device, &set, &isp->denoise_set));
error:
    return err;
}

static int create_pipelines(struct isp *isp)
{
    struct gpu *g = isp->g;
    const struct gpu_bindings bindings = {.buffers = ISP_BIT(ISP_DENOISE_RGB) |
                                                     ISP_BIT(ISP_DENOISE_FACTORS)};
    int err = GPU_OK;
    TRY(gpu_layout_get(g, &bindings, sizeof(struct isp_denoise), &isp->denoise_layout));
    TRY(gpu_pipeline_get(g, isp->denoise_layout, shader_isp_denoise, sizeof(shader_isp_denoise),
                         NULL, 0, "isp denoise", &isp->denoise[0]));
    TRY(gpu_pipeline_get(g, isp->denoise_layout, shader_isp_denoise_apply,
                         sizeof(shader_isp_denoise_apply), NULL, 0, "isp denoise apply",
                         &isp->denoise[1]));
    if (!isp->denoise_set)
        err = create_set(isp);
error:
    return err;
}

int isp_denoise_prepare(struct isp *isp, bool wanted)
{
    struct gpu *g = isp->g;
    int err = GPU_OK;
    if ((!wanted && !isp->factors.buffer) || isp->factors_for == isp->rgb.buffer)
        return GPU_OK;
    TRY(create_pipelines(isp));
    TRY(isp_drain(isp));
    gpu_buffer_free(g, &isp->factors);
    TRY(gpu_buffer_create(g, isp->rgb.size / 2, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                          GPU_MEMORY_DEVICE, &isp->factors));
    const VkDescriptorBufferInfo buffers[2] = {
        [ISP_DENOISE_RGB] = {isp->rgb.buffer, 0, VK_WHOLE_SIZE},
        [ISP_DENOISE_FACTORS] = {isp->factors.buffer, 0, VK_WHOLE_SIZE}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = isp->denoise_set,
                                  .descriptorCount = 2,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = buffers};
    g->vk.vkUpdateDescriptorSets(g->device, 1, &write, 0, NULL);
    isp->factors_for = isp->rgb.buffer;
error:
    return err;
}

void isp_denoise_free(struct isp *isp)
{
    gpu_buffer_free(isp->g, &isp->factors);
    isp->g->vk.vkDestroyDescriptorPool(isp->g->device, isp->denoise_descriptors, NULL);
}

static void record_pass(struct isp *isp, struct isp_flight *f, uint32_t begin, uint32_t end,
                        bool apply)
{
    struct gpu *g = isp->g;
    g->vk.vkCmdBindPipeline(f->commands, VK_PIPELINE_BIND_POINT_COMPUTE, isp->denoise[apply]);
    g->vk.vkCmdBindDescriptorSets(f->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                  isp->denoise_layout->pipeline, 0, 1, &isp->denoise_set, 0, NULL);
    for (uint32_t i = begin; i < end; i++) {
        const struct isp_params *p = &f->items[i].frame.camera->params;
        const struct isp_denoise push = {(uint32_t)f->items[i].rgb_at, p->width, p->height,
                                         p->denoise * p->denoise * (float)ISP_DENOISE_FULL};
        if (!(p->denoise > 0))
            continue;
        g->vk.vkCmdPushConstants(f->commands, isp->denoise_layout->pipeline,
                                 VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
        if (apply)
            g->vk.vkCmdDispatch(f->commands, (p->width * p->height + APPLY - 1) / APPLY, 1, 1);
        else
            g->vk.vkCmdDispatch(f->commands, (p->width + SIDE - 1) / SIDE,
                                (p->height + SIDE - 1) / SIDE, 1);
    }
}

void isp_denoise_record(struct isp *isp, struct isp_flight *f, uint32_t begin, uint32_t end)
{
    const uint32_t rgb = ISP_BIT(ISP_BIND_RGB), factors = ISP_BIT(ISP_RES_FACTORS);
    uint32_t first = begin;
    while (first < end && !(f->items[first].frame.camera->params.denoise > 0))
        first++;
    if (first == end)
        return;
    gpu_label_begin(isp->g, f->commands, "isp denoise");
    gpu_sync(isp->g, f->commands, &isp->barriers, BARRIER_COMPUTE, rgb, factors);
    record_pass(isp, f, first, end, false);
    gpu_sync(isp->g, f->commands, &isp->barriers, BARRIER_COMPUTE, factors | rgb, rgb);
    record_pass(isp, f, first, end, true);
    gpu_label_end(isp->g, f->commands);
}
