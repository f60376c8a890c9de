/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of the encoder's passes: buffers, recording, results.
 */
#include "gpu/encode/gpu_encode.h"

#include "gpu/encode/encode_table.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/work.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PASSES 16
/* Resource of barriers beside the bindings: memory that the host reads */
#define RESULTS (1u << ENC_BINDINGS)

struct gpu_encode {
    struct gpu *g;
    struct gpu_encode_params params;
    const struct gpu_layout *layout;
    VkPipeline pipelines[MAX_PASSES];
    struct gpu_buffer device[ENC_BINDINGS];
    struct gpu_buffer up, down; /* of the host */
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
    struct gpu_queue *queue;
    struct gpu_work *work;
};

/* ---- life ---- */

static uint64_t mb_total(const struct gpu_encode_params *p)
{
    return (uint64_t)p->mb_width * p->mb_height * p->pictures;
}

static uint64_t set_size(const struct gpu_encode_params *p)
{
    uint64_t w = 16ull * p->mb_width, h = 16ull * p->mb_height;
    return ENC_SET_SIZE(w, h);
}

static void encode_sizes(const struct gpu_encode_params *p, uint64_t sizes[ENC_BINDINGS])
{
    sizes[ENC_BIND_PICTURES] = p->pictures * sizeof(struct enc_picture);
    sizes[ENC_BIND_FRAMES] = 256 * mb_total(p);
    sizes[ENC_BIND_PLANES] = p->sets * set_size(p);
    sizes[ENC_BIND_LAST] = mb_total(p) * sizeof(struct rec_motion);
    sizes[ENC_BIND_SEARCH] = mb_total(p) * ENC_REFERENCES * sizeof(struct enc_search);
    sizes[ENC_BIND_MOTION] = sizes[ENC_BIND_LAST];
    sizes[ENC_BIND_QUANTISER] = 6 * sizeof(struct enc_quantiser);
    sizes[ENC_BIND_LUMA] = mb_total(p) * sizeof(struct enc_luma);
    for (int i = 0; i < ENC_BINDINGS; i++)
        sizes[i] = (sizes[i] + 3) / 4 * 4;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int create_buffers(struct gpu_encode *e)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    uint64_t sizes[ENC_BINDINGS], up, down;
    VkBuffer buffers[ENC_BINDINGS];
    int err = GPU_OK;
    encode_sizes(&e->params, sizes);
    for (int i = 0; i < ENC_BINDINGS; i++) {
        if (sizes[i] > e->g->limits.maxStorageBufferRange)
            return GPU_ERR_FEATURE;
        TRY(gpu_buffer_create(e->g, sizes[i], usage, GPU_MEMORY_DEVICE, &e->device[i]));
        buffers[i] = e->device[i].buffer;
    }
    up = larger(sizes[ENC_BIND_FRAMES],
                sizes[ENC_BIND_PICTURES] + sizes[ENC_BIND_LAST] + sizes[ENC_BIND_QUANTISER]);
    down = larger(larger(sizes[ENC_BIND_SEARCH], sizes[ENC_BIND_LUMA]), set_size(&e->params) + 3);
    TRY(gpu_buffer_create(e->g, up, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, GPU_MEMORY_UPLOAD, &e->up));
    TRY(gpu_buffer_create(e->g, down, VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_READBACK,
                          &e->down));
    TRY(gpu_sets_create(e->g, e->layout, 1, &e->descriptors, &e->set));
    gpu_set_write_all(e->g, e->set, buffers, ENC_BINDINGS);
error:
    return err;
}

static int create_pipelines(struct gpu_encode *e)
{
    struct gpu_pipeline_want wants[MAX_PASSES];
    for (uint32_t i = 0; i < encode_pass_count; i++) {
        const struct encode_pass *p = &encode_passes[i];
        wants[i] = (struct gpu_pipeline_want){.layout = e->layout,
                                              .spirv = p->spirv,
                                              .spirv_size = p->spirv_size,
                                              .constant_count = p->constant_count,
                                              .name = p->name,
                                              .out = &e->pipelines[i]};
        memcpy(wants[i].constants, p->constants, sizeof(p->constants));
    }
    return gpu_pipelines_make(e->g, wants, encode_pass_count);
}

int gpu_encode_create(struct gpu *g, const struct gpu_encode_params *params,
                      struct gpu_encode **out)
{
    int err = GPU_OK;
    struct gpu_encode *e;
    if (!params->mb_width || !params->mb_height || !params->pictures ||
        params->sets <= params->pictures || params->sets > 256)
        return GPU_ERR_INVALID;
    e = calloc(1, sizeof(*e));
    if (!e)
        return GPU_ERR_NOMEM;
    e->g = g;
    e->params = *params;
    TRY(gpu_layout_get(g, &(struct gpu_bindings){.buffers = (1u << ENC_BINDINGS) - 1},
                       sizeof(struct enc_args), &e->layout));
    TRY(create_buffers(e));
    TRY(create_pipelines(e));
    TRY(gpu_queue_open(g, GPU_QUEUE_MAIN, &e->queue));
    TRY(gpu_work_create(
        g, &(struct gpu_work_params){.queues = {e->queue}, .depth = 1, .stamps = MAX_PASSES},
        &e->work));
    *out = e;
    return GPU_OK;
error:
    gpu_encode_free(e);
    return err;
}

void gpu_encode_free(struct gpu_encode *e)
{
    if (!e)
        return;
    gpu_work_free(e->work);
    gpu_queue_close(e->queue);
    e->g->vk.vkDestroyDescriptorPool(e->g->device, e->descriptors, NULL);
    for (int i = 0; i < ENC_BINDINGS; i++)
        gpu_buffer_free(e->g, &e->device[i]);
    gpu_buffer_free(e->g, &e->up);
    gpu_buffer_free(e->g, &e->down);
    free(e);
}

/* ---- recording ---- */

static void record_copy(struct gpu_encode *e, struct gpu_submission *s, VkBuffer from,
                        uint64_t from_at, VkBuffer to, uint64_t to_at, uint64_t size)
{
    e->g->vk.vkCmdCopyBuffer(s->commands, from, to, 1, &(VkBufferCopy){from_at, to_at, size});
}

static void record_pass(struct gpu_encode *e, struct gpu_submission *s, uint32_t index,
                        uint32_t first_set)
{
    const struct encode_pass *p = &encode_passes[index];
    struct enc_args args = {e->params.mb_width, e->params.mb_height, e->params.pictures, first_set};
    uint32_t xyz[3];
    encode_pass_grid(p, &e->params, xyz);
    gpu_work_sync(s, BARRIER_COMPUTE, p->reads, p->writes);
    e->g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->pipelines[index]);
    e->g->vk.vkCmdPushConstants(s->commands, e->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                sizeof(args), &args);
    e->g->vk.vkCmdDispatch(s->commands, xyz[0], xyz[1], xyz[2]);
    gpu_work_stamp(s, index);
}

static void record_group(struct gpu_encode *e, struct gpu_submission *s, enum encode_group group,
                         uint32_t first_set)
{
    e->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                     e->layout->pipeline, 0, 1, &e->set, 0, NULL);
    for (uint32_t i = 0; i < encode_pass_count; i++)
        if (encode_passes[i].group == group)
            record_pass(e, s, i, first_set);
}

static int encode_begin(struct gpu_encode *e, struct gpu_submission **s)
{
    int err = gpu_work_begin(e->work, UINT64_MAX, s);
    if (err == GPU_OK)
        err = gpu_work_record(*s, 0);
    if (err == GPU_OK)
        gpu_work_forget(*s, UINT32_MAX); /* the host has waited for the last one */
    return err;
}

static int encode_end(struct gpu_encode *e, struct gpu_submission *s)
{
    int err = gpu_work_submit(s);
    return err < 0 ? err : gpu_work_drain(e->work);
}

int gpu_encode_planes(struct gpu_encode *e, const uint8_t *frames, uint32_t first, bool references)
{
    struct gpu_submission *s;
    uint64_t size = 256 * mb_total(&e->params);
    int err = GPU_OK;
    if (first + e->params.pictures > e->params.sets)
        return GPU_ERR_INVALID;
    TRY(encode_begin(e, &s));
    memcpy(e->up.map, frames, size);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_FRAMES);
    record_copy(e, s, e->up.buffer, 0, e->device[ENC_BIND_FRAMES].buffer, 0, size);
    record_group(e, s, ENCODE_SOURCES, first);
    if (references)
        record_group(e, s, ENCODE_REFERENCES_ONLY, first);
    TRY(encode_end(e, s));
error:
    return err;
}

/* Bytes of the host, one after the other in e->up, to bindings */
struct encode_input {
    uint32_t binding;
    const void *from;
    uint64_t size;
};

static void record_inputs(struct gpu_encode *e, struct gpu_submission *s,
                          const struct encode_input *inputs, uint32_t count)
{
    uint64_t at = 0;
    uint32_t writes = 0;
    for (uint32_t i = 0; i < count; i++)
        writes |= 1u << inputs[i].binding;
    gpu_work_sync(s, BARRIER_TRANSFER, 0, writes);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(e->up.map + at, inputs[i].from, inputs[i].size);
        record_copy(e, s, e->up.buffer, at, e->device[inputs[i].binding].buffer, 0, inputs[i].size);
        at += inputs[i].size;
    }
}

/* Inputs, a group of passes, and what a binding holds then */
static int encode_run(struct gpu_encode *e, const struct encode_input *inputs, uint32_t count,
                      enum encode_group group, uint32_t binding, void *out, uint64_t size)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(encode_begin(e, &s));
    record_inputs(e, s, inputs, count);
    record_group(e, s, group, 0);
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << binding, RESULTS);
    record_copy(e, s, e->device[binding].buffer, 0, e->down.buffer, 0, size);
    gpu_work_sync_host(s, RESULTS);
    TRY(encode_end(e, s));
    memcpy(out, e->down.map, size);
error:
    return err;
}

int gpu_encode_search(struct gpu_encode *e, const struct enc_picture *pictures,
                      const struct rec_motion *last, struct enc_search *out)
{
    const struct encode_input inputs[] = {
        {ENC_BIND_PICTURES, pictures, e->params.pictures * sizeof(*pictures)},
        {ENC_BIND_LAST, last, mb_total(&e->params) * sizeof(*last)},
    };
    return encode_run(e, inputs, 2, ENCODE_SEARCH, ENC_BIND_SEARCH, out,
                      mb_total(&e->params) * ENC_REFERENCES * sizeof(*out));
}

int gpu_encode_luma(struct gpu_encode *e, const struct enc_picture *pictures,
                    const struct rec_motion *motion, const struct enc_quantiser quantiser[6],
                    struct enc_luma *out)
{
    const struct encode_input inputs[] = {
        {ENC_BIND_PICTURES, pictures, e->params.pictures * sizeof(*pictures)},
        {ENC_BIND_MOTION, motion, mb_total(&e->params) * sizeof(*motion)},
        {ENC_BIND_QUANTISER, quantiser, 6 * sizeof(*quantiser)},
    };
    return encode_run(e, inputs, 3, ENCODE_LUMA, ENC_BIND_LUMA, out,
                      mb_total(&e->params) * sizeof(*out));
}

int gpu_encode_read_set(struct gpu_encode *e, uint32_t set, uint8_t *out)
{
    struct gpu_submission *s;
    uint64_t size = set_size(&e->params);
    int err = GPU_OK;
    if (set >= e->params.sets)
        return GPU_ERR_INVALID;
    TRY(encode_begin(e, &s));
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << ENC_BIND_PLANES, RESULTS);
    record_copy(e, s, e->device[ENC_BIND_PLANES].buffer, set * size, e->down.buffer, 0, size);
    gpu_work_sync_host(s, RESULTS);
    TRY(encode_end(e, s));
    memcpy(out, e->down.map, size);
error:
    return err;
}
