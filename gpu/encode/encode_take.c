/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See encode_take.h. Each picture is a dispatch, as each lies in memory of its own. They write
 * different places, so nothing waits between them.
 */
#include "gpu/encode/encode_take.h"

#include "gpu/encode/gpu_encode_internal.h"
#include "gpu/engine/host_buffer.h"

#include "shaders/encode_take.spv.h"

int encode_take_create(struct gpu *g, const struct gpu_bindings *bindings, struct encode_take *t)
{
    int err = gpu_layout_get(g, bindings, sizeof(struct enc_take_args), &t->layout);
    return err < 0 ? err
                   : gpu_pipeline_get(g, t->layout, shader_encode_take, sizeof(shader_encode_take),
                                      NULL, 0, "encode_take", &t->pipeline);
}

static uint32_t planes_of(const struct gpu_encode_source *source)
{
    return source->stride[1] ? 3 : 1;
}

/* Where a plane begins and ends. False: its rows are no words, or the frame is larger than it may
 * be. */
static bool plane_valid(const struct gpu_encode_params *p, const struct gpu_encode_source *source,
                        uint32_t plane, uint64_t *end)
{
    uint32_t sub = plane ? 1 : 0, width = (source->width + sub) >> sub,
             height = (source->height + sub) >> sub;
    if (!source->width || !source->height || source->width > 16 * p->mb_width ||
        source->height > 16 * p->mb_height || source->offset[plane] % 4 ||
        source->stride[plane] % 4 || source->stride[plane] < width)
        return false;
    *end = source->offset[plane] + (uint64_t)(height - 1) * source->stride[plane] +
           (width + 3) / 4 * 4;
    return true;
}

/* The window that has all planes, and the arguments but the picture's number */
static int source_find(const struct gpu_encode_params *p, const struct gpu_encode_source *source,
                       uint32_t planes, struct gpu_window *window, struct enc_take_args *args)
{
    uint64_t begin = UINT64_MAX, end = 0, plane_end;
    for (uint32_t i = 0; i < planes; i++) {
        if (!plane_valid(p, source, i, &plane_end))
            return GPU_ERR_INVALID;
        begin = source->offset[i] < begin ? source->offset[i] : begin;
        end = plane_end > end ? plane_end : end;
    }
    int err = gpu_host_window(source->host, begin, end, window);
    if (err < 0)
        return err;
    *args = (struct enc_take_args){.mb_width = p->mb_width,
                                   .mb_height = p->mb_height,
                                   .width = source->width,
                                   .height = source->height};
    for (uint32_t i = 0; i < planes; i++) {
        args->offset[i] = (uint32_t)((source->offset[i] - window->offset) / 4);
        args->stride[i] = source->stride[i] / 4;
    }
    return GPU_OK;
}

/* into: a set of planes; index: of the picture in FRAMES */
static int record_one(struct gpu_encode *e, VkCommandBuffer commands,
                      const struct gpu_encode_source *source, uint32_t into, uint32_t index)
{
    const struct gpu_encode_params *p = &e->params;
    VkPipelineLayout layout = e->take.layout->pipeline;
    uint32_t planes = planes_of(source);
    struct gpu_window window;
    struct enc_take_args args;
    int err = source_find(p, source, planes, &window, &args);
    if (err < 0)
        return err;
    args.picture = index;
    args.set = into;
    e->g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 1, 1,
                                     &window.set, 0, NULL);
    e->g->vk.vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(args),
                                &args);
    e->g->vk.vkCmdDispatch(commands,
                           (16 * p->mb_width + 4 * ENC_PLANE_WORDS - 1) / (4 * ENC_PLANE_WORDS),
                           16 * p->mb_height / ENC_PLANE_ROWS, planes);
    return GPU_OK;
}

int encode_take_record(const struct encode_batch *b, struct gpu_submission *s,
                       const struct encode_pictures *of)
{
    struct gpu_encode *e = b->encode;
    bool any = false;
    int err = GPU_OK;
    for (uint32_t i = 0; i < of->count && err == GPU_OK; i++) {
        if (of->pictures[i].flags & ENC_LOADED || !of->sources[i]->host)
            continue;
        if (!any) {
            gpu_work_sync(s, BARRIER_COMPUTE, 0, 1u << ENC_BIND_FRAMES | 1u << ENC_BIND_PLANES);
            e->g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                       e->take.pipeline);
            e->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                             e->take.layout->pipeline, 0, 1, &b->set, 0, NULL);
        }
        any = true;
        err = record_one(e, s->commands, of->sources[i], of->pictures[i].source, i);
    }
    return err;
}
