/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luminance denoise: two passes over the developed frames of the cameras that ask for it, before
 * the finish pass reads them.
 */
#include "gpu/engine/descriptors.h"
#include "gpu/isp/isp_internal.h"
#include "gpu/shaders/lib/isp_denoise.h"

#include "shaders/isp_denoise.spv.h"
#include "shaders/isp_denoise_apply.spv.h"

#define SIDE  16
#define APPLY 256

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
        err = gpu_sets_create(g, isp->denoise_layout, 1, &isp->denoise_descriptors,
                              &isp->denoise_set);
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
    TRY(gpu_work_drain(isp->work));
    gpu_buffer_free(g, &isp->factors);
    TRY(gpu_buffer_create_for(g, GPU_USE_CAMERAS, isp->rgb.size / 2,
                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, GPU_MEMORY_DEVICE,
                              &isp->factors));
    gpu_set_write_all(
        g, isp->denoise_set,
        (VkBuffer[2]){
            [ISP_DENOISE_RGB] = isp->rgb.buffer, [ISP_DENOISE_FACTORS] = isp->factors.buffer},
        2);
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
    g->vk.vkCmdBindPipeline(f->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, isp->denoise[apply]);
    g->vk.vkCmdBindDescriptorSets(f->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                  isp->denoise_layout->pipeline, 0, 1, &isp->denoise_set, 0, NULL);
    for (uint32_t i = begin; i < end; i++) {
        const struct isp_params *p = &f->items[i].frame.camera->params;
        const struct isp_denoise push = {(uint32_t)f->items[i].rgb_at, p->width, p->height,
                                         p->denoise * p->denoise * (float)ISP_DENOISE_FULL};
        if (!(p->denoise > 0))
            continue;
        g->vk.vkCmdPushConstants(f->s->commands, isp->denoise_layout->pipeline,
                                 VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
        if (apply)
            g->vk.vkCmdDispatch(f->s->commands, (p->width * p->height + APPLY - 1) / APPLY, 1, 1);
        else
            g->vk.vkCmdDispatch(f->s->commands, (p->width + SIDE - 1) / SIDE,
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
    gpu_work_sync(f->s, BARRIER_COMPUTE, rgb, factors);
    record_pass(isp, f, first, end, false);
    gpu_work_sync(f->s, BARRIER_COMPUTE, factors | rgb, rgb);
    record_pass(isp, f, first, end, true);
}
