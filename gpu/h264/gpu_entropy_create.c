/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: creation of the decoder and of its batches.
 */
#include "gpu/engine/descriptors.h"
#include "gpu/h264/gpu_entropy_internal.h"

#include "shaders/entropy.spv.h"
#include "shaders/entropy_cavlc.spv.h"
#include "shaders/entropy_ranges.spv.h"

#include <stdlib.h>

#define MAX_GROUPS   65535 /* that any device allows in a dispatch */
#define MOST_THREADS 64    /* of a workgroup, where subgroups are wider */

/* Bytes of each buffer of a batch. */
static void buffer_sizes(const struct entropy_room *p, uint64_t sizes[ENT_BINDINGS])
{
    /* A slice has a row of edges, or as many as it has macroblocks if these are fewer; so much is
     * read ahead behind the last ones. */
    const uint64_t most = (uint64_t)p->slices * ENT_MAX_WIDTH,
                   lines = (most < p->mbs ? most : p->mbs) + ENT_MAX_WIDTH;
    sizes[ENT_BIND_TABLES] = sizeof(struct ent_tables);
    sizes[ENT_BIND_SLICES] = (uint64_t)p->slices * sizeof(struct ent_slice);
    sizes[ENT_BIND_BYTES] = p->bytes;
    sizes[ENT_BIND_MBS] = (uint64_t)p->mbs * sizeof(struct rec_mb);
    sizes[ENT_BIND_MOTION] = (uint64_t)p->mbs * sizeof(struct rec_motion);
    sizes[ENT_BIND_SYNTAX] = (uint64_t)p->mbs * ENTROPY_SYNTAX_BYTES;
    sizes[ENT_BIND_COEFFS] = (uint64_t)p->coeff_blocks * ENTROPY_COEFF_BLOCK_BYTES;
    sizes[ENT_BIND_RESULTS] = (uint64_t)p->slices * sizeof(struct ent_result);
    sizes[ENT_BIND_COUNTS] = (uint64_t)p->pictures * ENTROPY_COUNTS_BYTES;
    sizes[ENT_BIND_LINES] = lines * ENTROPY_EDGE_BYTES;
    sizes[ENT_BIND_STATES] = (uint64_t)p->slices * sizeof(struct ent_state);
    sizes[ENT_BIND_PACKED] = (uint64_t)(p->packed_words ? p->packed_words : 1) * sizeof(uint32_t);
}

/* A part of n, rounded up. */
static uint32_t part_of(uint32_t n, uint32_t pictures, uint32_t all)
{
    return (uint32_t)(((uint64_t)n * pictures + all - 1) / all);
}

struct entropy_room gpu_entropy_room(const struct gpu_entropy *e, uint32_t pictures)
{
    const struct gpu_entropy_params *p = &e->params;
    uint32_t n = pictures && pictures < p->pictures ? pictures : p->pictures;
    return (struct entropy_room){.pictures = n,
                                 .slices = part_of(p->slices, n, p->pictures),
                                 .mbs = part_of(p->mbs, n, p->pictures),
                                 .coeff_blocks = part_of(p->coeff_blocks, n, p->pictures),
                                 .packed_words = part_of(p->packed_words, n, p->pictures),
                                 .bytes = part_of((p->bytes + 15) / 16, n, p->pictures) * 16};
}

uint64_t gpu_entropy_room_bytes(const struct entropy_room *room)
{
    uint64_t sizes[ENT_BINDINGS], sum = 0;
    buffer_sizes(room, sizes);
    for (uint32_t i = 0; i < ENT_BINDINGS; i++)
        sum += i == ENT_BIND_TABLES ? 0 : sizes[i];
    return sum;
}

static int create_buffers(struct gpu_entropy_batch *b)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    struct gpu *g = b->e->g;
    uint64_t sizes[ENT_BINDINGS];
    int err = GPU_OK;
    buffer_sizes(&b->room, sizes);
    for (uint32_t i = 0; i < ENT_BINDINGS; i++)
        if (i != ENT_BIND_TABLES)
            TRY(gpu_buffer_create_for(g, GPU_USE_ENTROPY, sizes[i], usage, GPU_MEMORY_DEVICE,
                                      &b->device[i]));
    TRY(gpu_buffer_create_for(g, GPU_USE_ENTROPY, sizes[ENT_BIND_SLICES] + sizes[ENT_BIND_BYTES],
                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT, GPU_MEMORY_UPLOAD, &b->up));
    TRY(gpu_buffer_create_for(g, GPU_USE_ENTROPY, gpu_entropy_results(&b->room, ENTROPY_ROUNDS),
                              VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_READBACK, &b->results));
error:
    return err;
}

static int create_set(struct gpu_entropy_batch *b)
{
    VkBuffer buffers[ENT_BINDINGS];
    int err = gpu_sets_create(b->e->g, b->e->layout, 1, &b->descriptors, &b->set);
    for (uint32_t i = 0; i < ENT_BINDINGS; i++)
        buffers[i] = i == ENT_BIND_TABLES ? b->e->tables.buffer : b->device[i].buffer;
    if (err == GPU_OK)
        gpu_set_write_all(b->e->g, b->set, buffers, ENT_BINDINGS);
    return err;
}

int gpu_entropy_batch_create(struct gpu_entropy *e, const struct entropy_room *room,
                             struct gpu_entropy_batch *b)
{
    struct gpu *g = e->g;
    int err = GPU_ERR_NOMEM;
    b->e = e;
    b->room = *room;
    b->pictures = calloc(room->pictures, sizeof(*b->pictures));
    b->slices = calloc(room->slices, sizeof(*b->slices));
    if (!b->pictures || !b->slices)
        goto error;
    TRY(create_buffers(b));
    TRY(create_set(b));
    TRY(gpu_queue_get(g, GPU_QUEUE_FETCH, &b->down));
    const struct gpu_work_params work = {
        .queues = {b->down}, .depth = 1, .done = gpu_entropy_fetched, .ctx = b};
    TRY(gpu_work_create(g, &work, &b->work));
error:
    return err;
}

void gpu_entropy_batch_free(struct gpu_entropy_batch *b)
{
    if (!b->e)
        return;
    struct gpu *g = b->e->g;
    gpu_entropy_end(b);
    if (b->e->work) /* rounds that it took part in */
        gpu_work_drain(b->e->work);
    gpu_work_free(b->work);
    g->vk.vkDestroyDescriptorPool(g->device, b->descriptors, NULL);
    for (uint32_t i = 0; i < ENT_BINDINGS; i++)
        gpu_buffer_free(g, &b->device[i]);
    gpu_buffer_free(g, &b->staging);
    gpu_buffer_free(g, &b->results);
    gpu_buffer_free(g, &b->up);
    free(b->copies);
    free(b->slices);
    free(b->pictures);
    *b = (struct gpu_entropy_batch){0};
}

static struct gpu_pipeline_want wanted_pipeline(const struct gpu_entropy *e,
                                                enum entropy_coding coding, uint32_t share)
{
    struct gpu_pipeline_want want = {.layout = e->layout,
                                     .spirv = shader_entropy,
                                     .spirv_size = sizeof(shader_entropy),
                                     .constants = {e->threads, 1u << share},
                                     .constant_count = 2,
                                     .name = "entropy"};
    if (coding == ENTROPY_CAVLC) {
        want.spirv = shader_entropy_cavlc;
        want.spirv_size = sizeof(shader_entropy_cavlc);
        want.name = "entropy_cavlc";
    }
    return want;
}

int gpu_entropy_pipeline(struct gpu_entropy *e, enum entropy_coding coding, uint32_t share)
{
    struct gpu_pipeline_want wants[2] = {{.layout = e->layout,
                                          .spirv = shader_entropy_ranges,
                                          .spirv_size = sizeof(shader_entropy_ranges),
                                          .name = "entropy_ranges",
                                          .out = &e->ranges},
                                         wanted_pipeline(e, coding, share)};
    wants[1].out = &e->pipelines[coding][share];
    if (e->ranges && *wants[1].out)
        return GPU_OK;
    return gpu_pipelines_make(e->g, wants, 2); /* each takes the driver more than a second */
}

int gpu_entropy_prepare(struct gpu_entropy *e, bool cavlc)
{
    const enum entropy_coding coding = cavlc ? ENTROPY_CAVLC : ENTROPY_CABAC;
    const struct gpu_pipeline_want many = wanted_pipeline(e, coding, ENT_SHARES - 1);
    int err = GPU_OK;
    TRY(gpu_entropy_pipeline(e, coding, 0));
    if (!e->g->info.software && e->threads >= ENT_SHARE_MOST)
        err = gpu_pipelines_begin(e->g, &many, 1);
error:
    return err;
}

static bool params_fit(const struct gpu_entropy *e)
{
    const struct entropy_room most = gpu_entropy_room(e, 0);
    uint64_t sizes[ENT_BINDINGS];
    buffer_sizes(&most, sizes);
    for (uint32_t i = 0; i < ENT_BINDINGS; i++)
        if (sizes[i] > e->g->limits.maxStorageBufferRange)
            return false;
    return e->params.slices <= MAX_GROUPS;
}

static void record_tables(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct gpu_entropy *e = ctx;
    g->vk.vkCmdUpdateBuffer(commands, e->tables.buffer, 0, sizeof(*e->params.tables),
                            e->params.tables);
}

int gpu_entropy_create(struct gpu *g, const struct gpu_entropy_params *params,
                       struct gpu_entropy **out)
{
    int err = GPU_OK;
    if (!params->batches || !params->pictures || !params->slices || !params->mbs ||
        !params->coeff_blocks || !params->bytes || params->bytes % 4)
        return GPU_ERR_INVALID;
    struct gpu_entropy *e = calloc(1, sizeof(*e));
    if (!e)
        return GPU_ERR_NOMEM;
    e->g = g;
    e->params = *params;
    e->threads = g->info.subgroup_size < MOST_THREADS ? g->info.subgroup_size : MOST_THREADS;
    if (!params_fit(e)) {
        err = GPU_ERR_FEATURE;
        goto error;
    }
    TRY(gpu_layout_get(g, &(struct gpu_bindings){.buffers = (1u << ENT_BINDINGS) - 1}, 8,
                       &e->layout));
    TRY(gpu_buffer_create_for(g, GPU_USE_ENTROPY | GPU_USE_NEEDED, sizeof(*params->tables),
                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                              GPU_MEMORY_DEVICE, &e->tables));
    TRY(gpu_run(g, record_tables, e));
    e->params.tables = NULL;
    TRY(gpu_queue_get(g, GPU_QUEUE_BACKGROUND, &e->queue));
    const struct gpu_work_params work = {.queues = {e->queue},
                                         .depth = ENTROPY_ROUNDS,
                                         .stamps = 2,
                                         .done = gpu_entropy_round_done,
                                         .ctx = e};
    TRY(gpu_work_create(g, &work, &e->work));
    e->batches = calloc(params->batches, sizeof(*e->batches));
    if (!e->batches) {
        err = GPU_ERR_NOMEM;
        goto error;
    }
    e->batch_count = params->batches;
    *out = e;
    return GPU_OK;
error:
    gpu_entropy_free(e);
    return err;
}

void gpu_entropy_trim(struct gpu_entropy *e)
{
    for (uint32_t i = 0; i < e->batch_count; i++)
        gpu_entropy_batch_free(&e->batches[i]);
    e->batch_count = e->params.batches; /* those that there was no memory for, too */
}

void gpu_entropy_free(struct gpu_entropy *e)
{
    if (!e)
        return;
    if (e->batches)
        gpu_entropy_trim(e);
    gpu_work_free(e->work);
    gpu_buffer_free(e->g, &e->tables);
    free(e->batches);
    free(e);
}
