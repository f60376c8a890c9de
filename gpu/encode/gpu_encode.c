/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of the encoder's passes: buffers, recording, results.
 */
#include "gpu/encode/gpu_encode.h"

#include "gpu/encode/encode_table.h"
#include "gpu/engine/arena.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/host_buffer.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/work.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PASSES 24
#define MOST_SETS  65536 /* enc_picture.reference has 16 bits */
/* Resource of barriers beside the bindings: memory that the host reads */
#define RESULTS (1u << ENC_BINDINGS)

struct gpu_encode {
    struct gpu *g;
    struct gpu_encode_params params;
    const struct gpu_layout *layout;
    VkPipeline pipelines[MAX_PASSES];
    struct gpu_buffer device[ENC_BINDINGS];
    uint64_t sizes[ENC_BINDINGS];
    struct gpu_buffer up, down; /* of the host */
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
    struct gpu_queue *queue;
    struct gpu_work *work;
    struct enc_picture *heads; /* of references that are made */
    double seconds[MAX_PASSES];
    bool filled; /* the quantiser's tables are on the device */
};

/* ---- life ---- */

static uint64_t mb_count(const struct gpu_encode_params *p)
{
    return (uint64_t)p->mb_width * p->mb_height;
}

static uint64_t set_size(const struct gpu_encode_params *p)
{
    uint64_t w = 16ull * p->mb_width, h = 16ull * p->mb_height;
    return ENC_SET_SIZE(w, h);
}

uint64_t gpu_encode_frame_size(const struct gpu_encode *e)
{
    return 384 * mb_count(&e->params);
}

static void encode_sizes(const struct gpu_encode_params *p, uint64_t sizes[ENC_BINDINGS])
{
    uint64_t mbs = mb_count(p), all = mbs * p->pictures;
    sizes[ENC_BIND_PICTURES] = p->pictures * sizeof(struct enc_picture);
    sizes[ENC_BIND_FRAMES] = sizes[ENC_BIND_UNFILTERED] = 384 * all;
    sizes[ENC_BIND_PLANES] = p->sets * set_size(p);
    sizes[ENC_BIND_LAST] = mbs * p->streams * sizeof(struct rec_motion);
    sizes[ENC_BIND_SEARCH] = all * ENC_REFERENCES * sizeof(struct enc_search);
    sizes[ENC_BIND_MOTION] = 2 * all * sizeof(struct rec_motion);
    sizes[ENC_BIND_QUANTISER] = sizeof(p->quantiser);
    sizes[ENC_BIND_OFFSETS] = all;
    sizes[ENC_BIND_INTRA] = all * sizeof(struct enc_intra);
    sizes[ENC_BIND_MBS] = all * sizeof(struct rec_mb);
    sizes[ENC_BIND_LEVELS] = sizes[ENC_BIND_COEFFS] = all * ENC_BLOCKS * 32;
    sizes[ENC_BIND_TOTALS] = 4 * p->pictures;
    for (int i = 0; i < ENC_BINDINGS; i++)
        sizes[i] = (sizes[i] + 15) / 16 * 16;
}

static int create_buffers(struct gpu_encode *e)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    const uint64_t *sizes = e->sizes;
    uint64_t up, down;
    VkBuffer buffers[ENC_BINDINGS];
    int err = GPU_OK;
    encode_sizes(&e->params, e->sizes);
    for (int i = 0; i < ENC_BINDINGS; i++) {
        if (sizes[i] > e->g->limits.maxStorageBufferRange)
            return GPU_ERR_FEATURE;
        TRY(gpu_buffer_create(e->g, sizes[i], usage, GPU_MEMORY_DEVICE, &e->device[i]));
        buffers[i] = e->device[i].buffer;
    }
    up = sizes[ENC_BIND_FRAMES] + sizes[ENC_BIND_PICTURES] + sizes[ENC_BIND_OFFSETS] +
         sizes[ENC_BIND_QUANTISER] + sizes[ENC_BIND_LAST];
    down = sizes[ENC_BIND_COEFFS] > set_size(&e->params) ? sizes[ENC_BIND_COEFFS]
                                                         : set_size(&e->params);
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

static void pass_add(void *ctx, uint32_t name, double seconds)
{
    struct gpu_encode *e = ctx;
    if (name < MAX_PASSES)
        e->seconds[name] += seconds;
}

/* gpu_work's done() */
static void encode_done(void *ctx, const struct gpu_submission *s)
{
    gpu_work_times(s, pass_add, ctx);
}

const char *gpu_encode_time(const struct gpu_encode *e, uint32_t i, double *seconds)
{
    if (i >= encode_pass_count)
        return NULL;
    *seconds = e->seconds[i];
    return encode_passes[i].name;
}

int gpu_encode_create(struct gpu *g, const struct gpu_encode_params *params,
                      struct gpu_encode **out)
{
    int err = GPU_OK;
    struct gpu_encode *e;
    if (!params->mb_width || !params->mb_height || !params->pictures || !params->streams ||
        params->sets <= params->pictures || params->sets > MOST_SETS)
        return GPU_ERR_INVALID;
    e = calloc(1, sizeof(*e));
    if (!e)
        return GPU_ERR_NOMEM;
    e->g = g;
    e->params = *params;
    e->heads = calloc(params->pictures, sizeof(*e->heads));
    if (!e->heads)
        err = GPU_ERR_NOMEM;
    TRY(err);
    TRY(gpu_layout_get(g, &(struct gpu_bindings){.buffers = (1u << ENC_BINDINGS) - 1},
                       sizeof(struct enc_args), &e->layout));
    TRY(create_buffers(e));
    TRY(create_pipelines(e));
    TRY(gpu_queue_open(g, GPU_QUEUE_MAIN, &e->queue));
    TRY(gpu_work_create(g,
                        &(struct gpu_work_params){.queues = {e->queue},
                                                  .depth = 1,
                                                  .stamps = MAX_PASSES + 1,
                                                  .done = encode_done,
                                                  .ctx = e},
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
    free(e->heads);
    free(e);
}

/* ---- recording ---- */

static void record_copy(struct gpu_encode *e, struct gpu_submission *s, VkBuffer from,
                        uint64_t from_at, VkBuffer to, uint64_t to_at, uint64_t size)
{
    e->g->vk.vkCmdCopyBuffer(s->commands, from, to, 1, &(VkBufferCopy){from_at, to_at, size});
}

static void record_pass(struct gpu_encode *e, struct gpu_submission *s, uint32_t index,
                        uint32_t pictures)
{
    const struct encode_pass *p = &encode_passes[index];
    struct enc_args args = {e->params.mb_width, e->params.mb_height, pictures, 0};
    uint32_t steps = encode_pass_steps(p, args.mb_width, args.mb_height), xyz[3];
    encode_pass_grid(p, args.mb_width, args.mb_height, xyz);
    e->g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->pipelines[index]);
    for (args.step = 0; args.step < steps; args.step++) {
        gpu_work_sync(s, BARRIER_COMPUTE, p->reads, p->writes);
        e->g->vk.vkCmdPushConstants(s->commands, e->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT,
                                    0, sizeof(args), &args);
        e->g->vk.vkCmdDispatch(s->commands, xyz[0], xyz[1], pictures);
    }
    gpu_work_stamp(s, index);
}

static void record_group(struct gpu_encode *e, struct gpu_submission *s, enum encode_group group,
                         uint32_t pictures, bool any_p)
{
    e->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                     e->layout->pipeline, 0, 1, &e->set, 0, NULL);
    for (uint32_t i = 0; i < encode_pass_count; i++)
        if (encode_passes[i].group == group && (any_p || !encode_passes[i].of_p))
            record_pass(e, s, i, pictures);
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

/* Bytes of the host to a binding. Those of an arena are copied from there; *at: where e->up has
 * room for others */
static void record_input(struct gpu_encode *e, struct gpu_submission *s, uint32_t binding,
                         uint64_t to, const void *from, uint64_t size, uint64_t *at)
{
    struct gpu_place place;
    if (gpu_arena_find(e->g, from, size, &place) && !place.device) {
        gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << binding);
        record_copy(e, s, place.buffer, place.offset, e->device[binding].buffer, to, size);
        return;
    }
    memcpy(e->up.map + *at, from, size);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << binding);
    record_copy(e, s, e->up.buffer, *at, e->device[binding].buffer, to, size);
    *at += (size + 3) / 4 * 4;
}

/* Chroma of a frame goes into its set as it is; luma is there for encode_load. */
static void record_frame(struct gpu_encode *e, struct gpu_submission *s, uint32_t picture,
                         uint32_t set, const uint8_t *frame, uint64_t *at)
{
    uint64_t luma = 256 * mb_count(&e->params), w = 16ull * e->params.mb_width,
             h = 16ull * e->params.mb_height;
    record_input(e, s, ENC_BIND_FRAMES, picture * luma / 2 * 3, frame, luma, at);
    record_input(e, s, ENC_BIND_PLANES, set * set_size(&e->params) + ENC_CHROMA_AT(w, h),
                 frame + luma, luma / 2, at);
}

/* The same of a frame that the device has put into a gpu_host */
static void record_host_frame(struct gpu_encode *e, struct gpu_submission *s, uint32_t picture,
                              const struct gpu_encode_reference *r)
{
    VkBuffer from = gpu_host_buffer(r->host);
    uint64_t luma = 256 * mb_count(&e->params), w = 16ull * e->params.mb_width,
             h = 16ull * e->params.mb_height;
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_FRAMES | 1u << ENC_BIND_PLANES);
    record_copy(e, s, from, r->offset, e->device[ENC_BIND_FRAMES].buffer, picture * luma / 2 * 3,
                luma);
    record_copy(e, s, from, r->offset + luma, e->device[ENC_BIND_PLANES].buffer,
                r->set * set_size(&e->params) + ENC_CHROMA_AT(w, h), luma / 2);
}

/* ---- references ---- */

static bool references_valid(const struct gpu_encode *e,
                             const struct gpu_encode_reference *references, uint32_t count)
{
    bool good = count > 0 && count <= e->params.pictures;
    for (uint32_t i = 0; good && i < count; i++)
        good = references[i].set >= e->params.pictures && references[i].set < e->params.sets &&
               references[i].stream < e->params.streams;
    return good;
}

int gpu_encode_accept(struct gpu_encode *e, const struct gpu_encode_reference *references,
                      uint32_t count)
{
    uint64_t motion = mb_count(&e->params) * sizeof(struct rec_motion), at = 0;
    struct gpu_submission *s;
    int err = GPU_OK;
    if (!references_valid(e, references, count))
        return GPU_ERR_INVALID;
    TRY(encode_begin(e, &s));
    for (uint32_t i = 0; i < count; i++) {
        const struct gpu_encode_reference *r = &references[i];
        e->heads[i] = (struct enc_picture){.source = r->set};
        if (r->frame)
            record_frame(e, s, i, r->set, r->frame, &at);
        else
            record_host_frame(e, s, i, r);
        record_input(e, s, ENC_BIND_LAST, r->stream * motion, r->motion, motion, &at);
    }
    record_input(e, s, ENC_BIND_PICTURES, 0, e->heads, count * sizeof(*e->heads), &at);
    record_group(e, s, ENCODE_PLANES, count, false);
    record_group(e, s, ENCODE_REFERENCES_ONLY, count, false);
    TRY(encode_end(e, s));
error:
    return err;
}

/* ---- decisions ---- */

static bool pictures_valid(const struct gpu_encode *e, const struct enc_picture *pictures,
                           uint32_t count)
{
    const struct gpu_encode_params *p = &e->params;
    bool good = count > 0 && count <= p->pictures;
    for (uint32_t i = 0; good && i < count; i++) {
        const struct enc_picture *picture = &pictures[i];
        good = picture->source == i && picture->stream < p->streams && picture->qp <= REC_MAX_QP &&
               picture->ref_count <= ENC_REFERENCES;
        for (uint32_t r = 0; good && r < picture->ref_count; r++)
            good = picture->reference[r] >= p->pictures && picture->reference[r] < p->sets;
    }
    return good;
}

static void record_offsets(struct gpu_encode *e, struct gpu_submission *s,
                           const int8_t *const *offsets, uint32_t count, uint64_t *at)
{
    uint64_t mbs = mb_count(&e->params);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_OFFSETS);
    e->g->vk.vkCmdFillBuffer(s->commands, e->device[ENC_BIND_OFFSETS].buffer, 0, VK_WHOLE_SIZE, 0);
    for (uint32_t i = 0; offsets && i < count; i++)
        if (offsets[i])
            record_input(e, s, ENC_BIND_OFFSETS, i * mbs, offsets[i], mbs, at);
}

/* Bytes of a binding to memory of the host that lies in an arena */
static bool record_result(struct gpu_encode *e, struct gpu_submission *s, uint32_t binding,
                          uint64_t from, uint64_t size, const void *to)
{
    struct gpu_place place;
    if (!gpu_arena_find(e->g, to, size, &place) || place.device)
        return false;
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << binding, RESULTS);
    record_copy(e, s, e->device[binding].buffer, from, place.buffer, place.offset, size);
    return true;
}

static int record_results(struct gpu_encode *e, struct gpu_submission *s,
                          const struct gpu_encode_result *results, uint32_t count)
{
    uint64_t mbs = mb_count(&e->params), mb_bytes = mbs * sizeof(struct rec_mb),
             motion = mbs * sizeof(struct rec_motion);
    for (uint32_t i = 0; i < count; i++)
        if (!record_result(e, s, ENC_BIND_MBS, i * mb_bytes, mb_bytes, results[i].mbs) ||
            !record_result(e, s, ENC_BIND_MOTION, i * motion, motion, results[i].motion))
            return GPU_ERR_INVALID;
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << ENC_BIND_TOTALS, RESULTS);
    record_copy(e, s, e->device[ENC_BIND_TOTALS].buffer, 0, e->down.buffer, 0, 4ull * count);
    gpu_work_sync_host(s, RESULTS);
    return GPU_OK;
}

static int decide_records(struct gpu_encode *e, const struct enc_picture *pictures, uint32_t count,
                          const uint8_t *const *frames, const int8_t *const *offsets,
                          const struct gpu_encode_result *results)
{
    uint64_t at = 0;
    struct gpu_submission *s;
    bool any_p = false;
    int err = GPU_OK;
    for (uint32_t i = 0; i < count; i++)
        any_p |= pictures[i].ref_count > 0;
    TRY(encode_begin(e, &s));
    if (!e->filled)
        record_input(e, s, ENC_BIND_QUANTISER, 0, e->params.quantiser, sizeof(e->params.quantiser),
                     &at);
    record_input(e, s, ENC_BIND_PICTURES, 0, pictures, count * sizeof(*pictures), &at);
    for (uint32_t i = 0; i < count; i++)
        record_frame(e, s, i, i, frames[i], &at);
    record_group(e, s, ENCODE_PLANES, count, false);
    record_offsets(e, s, offsets, count, &at);
    record_group(e, s, ENCODE_DECISIONS, count, any_p);
    TRY(record_results(e, s, results, count));
    TRY(encode_end(e, s));
    e->filled = true;
error:
    return err;
}

/* As many coefficients as there are */
static int decide_coeffs(struct gpu_encode *e, struct gpu_encode_result *results, uint32_t count)
{
    const uint32_t *totals = (const uint32_t *)e->down.map;
    uint64_t room = mb_count(&e->params) * ENC_BLOCKS * 32;
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(encode_begin(e, &s));
    for (uint32_t i = 0; i < count; i++) {
        results[i].coeff_block_count = totals[i];
        if (totals[i] &&
            !record_result(e, s, ENC_BIND_COEFFS, i * room, totals[i] * 32ull, results[i].coeffs))
            return GPU_ERR_INVALID;
    }
    gpu_work_sync_host(s, RESULTS);
    TRY(encode_end(e, s));
error:
    return err;
}

int gpu_encode_decide(struct gpu_encode *e, const struct enc_picture *pictures, uint32_t count,
                      const uint8_t *const *frames, const int8_t *const *offsets,
                      struct gpu_encode_result *results)
{
    int err = GPU_OK;
    if (!pictures_valid(e, pictures, count))
        return GPU_ERR_INVALID;
    TRY(decide_records(e, pictures, count, frames, offsets, results));
    TRY(decide_coeffs(e, results, count));
error:
    return err;
}

int gpu_encode_read(struct gpu_encode *e, uint32_t binding, uint64_t offset, uint64_t size,
                    void *out)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    if (binding >= ENC_BINDINGS || offset > e->sizes[binding] ||
        size > e->sizes[binding] - offset || size > e->down.size)
        return GPU_ERR_INVALID;
    TRY(encode_begin(e, &s));
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << binding, RESULTS);
    record_copy(e, s, e->device[binding].buffer, offset, e->down.buffer, 0, size);
    gpu_work_sync_host(s, RESULTS);
    TRY(encode_end(e, s));
    memcpy(out, e->down.map, size);
error:
    return err;
}
