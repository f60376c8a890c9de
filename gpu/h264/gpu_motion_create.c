/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation on the GPU: creation of the deriver and of its batches.
 */
#include "gpu/engine/descriptors.h"
#include "gpu/h264/gpu_motion_internal.h"

#include "shaders/motion.spv.h"
#include "shaders/motion_check.spv.h"
#include "shaders/motion_fetch.spv.h"

#include <stdlib.h>

#define MAX_GROUPS 65535 /* that any device allows in a dispatch */

void gpu_motion_sizes(const struct gpu_motion_params *p, uint64_t sizes[MOT_BINDINGS])
{
    sizes[MOT_BIND_PICTURES] = (uint64_t)p->pictures * sizeof(struct der_picture);
    sizes[MOT_BIND_SLICES] = (uint64_t)p->slices * sizeof(struct der_slice);
    sizes[MOT_BIND_MBS] = (uint64_t)p->mbs * sizeof(struct rec_mb);
    sizes[MOT_BIND_MOTION] = (uint64_t)p->mbs * sizeof(struct rec_motion);
    sizes[MOT_BIND_SYNTAX] = (uint64_t)p->mbs * MOTION_SYNTAX_BYTES;
    sizes[MOT_BIND_MAPS] = (uint64_t)p->maps * MOTION_MAP_BYTES;
    sizes[MOT_BIND_STILL] = (uint64_t)p->mbs * MOTION_MAP_BYTES;
    sizes[MOT_BIND_RESULTS] = (uint64_t)p->pictures * MOTION_RESULT_BYTES;
    sizes[MOT_BIND_USED] = (uint64_t)p->slices * MOTION_USED_BYTES;
}

static int create_buffers(struct gpu_motion_batch *b)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    struct gpu *g = b->m->g;
    uint64_t sizes[MOT_BINDINGS];
    int err = GPU_OK;
    gpu_motion_sizes(&b->m->params, sizes);
    for (uint32_t i = 0; i < MOT_BINDINGS; i++)
        TRY(gpu_buffer_create_for(g, GPU_USE_MOTION, sizes[i], usage, GPU_MEMORY_DEVICE,
                                  &b->device[i]));
    TRY(gpu_buffer_create_for(
        g, GPU_USE_MOTION, sizes[MOT_BIND_PICTURES] + sizes[MOT_BIND_SLICES] + sizes[MOT_BIND_MAPS],
        VK_BUFFER_USAGE_TRANSFER_SRC_BIT, GPU_MEMORY_UPLOAD, &b->up));
    TRY(gpu_buffer_create_for(g, GPU_USE_MOTION, sizes[MOT_BIND_RESULTS] + sizes[MOT_BIND_USED],
                              VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_READBACK, &b->results));
error:
    return err;
}

static int create_set(struct gpu_motion_batch *b)
{
    VkBuffer buffers[MOT_BINDINGS];
    int err = gpu_sets_create(b->m->g, b->m->layout, 1, &b->descriptors, &b->set);
    for (uint32_t i = 0; i < MOT_BINDINGS; i++)
        buffers[i] = b->device[i].buffer;
    if (err == GPU_OK)
        gpu_set_write_all(b->m->g, b->set, buffers, MOT_BINDINGS);
    return err;
}

int gpu_motion_batch_create(struct gpu_motion *m, struct gpu_motion_batch *b)
{
    int err = GPU_ERR_NOMEM;
    b->m = m;
    b->pictures = calloc(m->params.pictures, sizeof(*b->pictures));
    b->copies = calloc(m->params.pictures, 3 * sizeof(*b->copies));
    b->slice_maps = calloc(m->params.slices, sizeof(*b->slice_maps));
    if (!b->pictures || !b->copies || !b->slice_maps)
        goto error;
    TRY(create_buffers(b));
    TRY(create_set(b));
    TRY(gpu_motion_fetch_create(b));
    const struct gpu_work_params work = {.queues = {[MOTION_PART_INPUT] = m->up,
                                                    [MOTION_PART_DERIVE] = m->main,
                                                    [MOTION_PART_COPY] = m->down},
                                         .depth = 1,
                                         .stamps = 3,
                                         .done = gpu_motion_batch_done,
                                         .ctx = b};
    TRY(gpu_work_create(m->g, &work, &b->work));
error:
    return err;
}

void gpu_motion_batch_free(struct gpu_motion_batch *b)
{
    if (!b->m)
        return;
    struct gpu *g = b->m->g;
    gpu_motion_end(b);
    gpu_work_free(b->work);
    gpu_motion_fetch_free(b);
    g->vk.vkDestroyDescriptorPool(g->device, b->descriptors, NULL);
    for (uint32_t i = 0; i < MOT_BINDINGS; i++)
        gpu_buffer_free(g, &b->device[i]);
    gpu_buffer_free(g, &b->staging);
    gpu_buffer_free(g, &b->input);
    gpu_buffer_free(g, &b->results);
    gpu_buffer_free(g, &b->up);
    free(b->slice_maps);
    free(b->copies);
    free(b->pictures);
    *b = (struct gpu_motion_batch){0};
}

int gpu_motion_prepare(struct gpu_motion *m)
{
    const uint32_t widths[2] = {MOT_USUAL_WIDTH, MOT_MAX_WIDTH};
    struct gpu_pipeline_want wants[4] = {{.layout = m->layout,
                                          .spirv = shader_motion_check,
                                          .spirv_size = sizeof(shader_motion_check),
                                          .name = "motion_check"},
                                         {.layout = m->layout,
                                          .spirv = shader_motion_fetch,
                                          .spirv_size = sizeof(shader_motion_fetch),
                                          .name = "motion_fetch"}};
    int err = GPU_OK;
    if (m->prepared)
        return GPU_OK;
    for (int i = 0; i < 2; i++)
        wants[2 + i] = (struct gpu_pipeline_want){.layout = m->layout,
                                                  .spirv = shader_motion,
                                                  .spirv_size = sizeof(shader_motion),
                                                  .constants = {widths[i]},
                                                  .constant_count = 1,
                                                  .name = "motion"};
    TRY(gpu_pipelines_make(m->g, wants, 4));
    TRY(gpu_pipeline_get(m->g, m->layout, shader_motion_check, sizeof(shader_motion_check), NULL, 0,
                         "motion_check", &m->check));
    TRY(gpu_pipeline_get(m->g, m->layout, shader_motion_fetch, sizeof(shader_motion_fetch), NULL, 0,
                         "motion_fetch", &m->fetch));
    for (int i = 0; i < 2; i++)
        TRY(gpu_pipeline_get(m->g, m->layout, shader_motion, sizeof(shader_motion), &widths[i], 1,
                             "motion", &m->derive[i]));
    m->prepared = true;
error:
    return err;
}

static bool params_fit(const struct gpu_motion *m)
{
    uint64_t sizes[MOT_BINDINGS];
    gpu_motion_sizes(&m->params, sizes);
    for (uint32_t i = 0; i < MOT_BINDINGS; i++)
        if (sizes[i] > m->g->limits.maxStorageBufferRange)
            return false;
    return m->params.pictures <= MAX_GROUPS && m->params.mbs / MOT_CHECK_THREADS < MAX_GROUPS &&
           m->params.mbs / MOT_FETCH_MBS < MAX_GROUPS;
}

int gpu_motion_create(struct gpu *g, const struct gpu_motion_params *params,
                      struct gpu_motion **out)
{
    int err = GPU_OK;
    if (!params->batches || !params->pictures || !params->slices || !params->mbs || !params->maps)
        return GPU_ERR_INVALID;
    struct gpu_motion *m = calloc(1, sizeof(*m));
    if (!m)
        return GPU_ERR_NOMEM;
    m->g = g;
    m->params = *params;
    if (!params_fit(m)) {
        err = GPU_ERR_FEATURE;
        goto error;
    }
    TRY(gpu_layout_get(g, &(struct gpu_bindings){.buffers = (1u << MOT_BINDINGS) - 1},
                       MOTION_PUSH_WORDS * sizeof(uint32_t), &m->layout));
    TRY(gpu_queue_get(g, GPU_QUEUE_UP, &m->up));
    TRY(gpu_queue_get(g, GPU_QUEUE_MAIN, &m->main));
    TRY(gpu_queue_get(g, GPU_QUEUE_DOWN, &m->down));
    m->batches = calloc(params->batches, sizeof(*m->batches));
    if (!m->batches) {
        err = GPU_ERR_NOMEM;
        goto error;
    }
    m->batch_count = params->batches;
    *out = m;
    return GPU_OK;
error:
    gpu_motion_free(m);
    return err;
}

void gpu_motion_trim(struct gpu_motion *m)
{
    for (uint32_t i = 0; i < m->batch_count; i++)
        gpu_motion_batch_free(&m->batches[i]);
    m->batch_count = m->params.batches; /* those that there was no memory for, too */
}

void gpu_motion_free(struct gpu_motion *m)
{
    if (!m)
        return;
    if (m->batches)
        gpu_motion_trim(m);
    free(m->batches);
    free(m);
}
