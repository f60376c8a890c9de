/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command buffers of a chunk: upload, clears, copies of slots, the passes of the table, deliveries.
 * Barriers follow from declared accesses; gpu_work keeps their state from one submission of the
 * main queue to the next. Semaphores order the other queues (recon_queues.c), so their state starts
 * empty.
 */
#include "gpu/engine/barrier_record.h"
#include "gpu/engine/debug_values.h"
#include "gpu/h264/recon_internal.h"

static void sync_indirect(struct recon *r, struct gpu_submission *s, uint32_t reads,
                          uint32_t writes)
{
    struct barrier_need need = {0};
    barrier_declare(s->barriers, BARRIER_COMPUTE, reads, writes, &need);
    barrier_declare(s->barriers, BARRIER_INDIRECT, RECON_B(BIND_COUNTERS), 0, &need);
    gpu_barrier_record(r->g, s->commands, s->barriers, &need);
    barrier_accessed(s->barriers, BARRIER_COMPUTE, reads, writes);
    if (!(writes & RECON_B(BIND_COUNTERS)))
        barrier_accessed(s->barriers, BARRIER_INDIRECT, RECON_B(BIND_COUNTERS), 0);
}

static void bind_sections(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk)
{
    VkDescriptorBufferInfo infos[BIND_DELIVER + 1], blur = {r->blur.buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet writes[BIND_DELIVER + 2];
    uint32_t count = 0;
    VkBuffer buffer = r->g->unified ? f->staging.buffer : f->upload.buffer;
    for (uint32_t i = 0; i <= BIND_DELIVER; i++) {
        if (!(RECON_UPLOADED & RECON_B(i)))
            continue;
        infos[count] =
            (VkDescriptorBufferInfo){buffer, chunk->sections[i].offset, chunk->sections[i].size};
        writes[count] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                               .dstSet = f->set,
                                               .dstBinding = i,
                                               .descriptorCount = 1,
                                               .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                               .pBufferInfo = &infos[count]};
        count++;
    }
    if (r->blur.buffer)
        writes[count++] =
            (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                   .dstSet = f->set,
                                   .dstBinding = BIND_BLUR,
                                   .descriptorCount = 1,
                                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                   .pBufferInfo = &blur};
    r->g->vk.vkUpdateDescriptorSets(r->g->device, count, writes, 0, NULL);
}

/* Does the chunk copy anything up? */
static bool uploads(const struct recon *r, const struct recon_flight *f)
{
    return (!r->g->unified && f->region_count) || f->copy_count;
}

static void record_upload(struct recon *r, struct recon_flight *f)
{
    struct gpu *g = r->g;
    VkBuffer to = g->unified ? f->staging.buffer : f->upload.buffer;
    if (!g->unified && f->region_count)
        g->vk.vkCmdCopyBuffer(f->s->commands, f->staging.buffer, to, f->region_count, f->regions);
    for (uint32_t i = 0; i < f->copy_count; i++)
        g->vk.vkCmdCopyBuffer(f->s->commands, f->copies[i].from, to, 1, &f->copies[i].region);
}

static void record_zeros(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk)
{
    if (!chunk->shape.pictures || !r->zeroed)
        return;
    gpu_work_sync(f->s, BARRIER_TRANSFER, 0, r->zeroed);
    for (uint32_t i = 0; i <= BIND_DELIVER; i++)
        if (r->zeroed & RECON_B(i))
            r->g->vk.vkCmdFillBuffer(f->s->commands, r->scratch.buffer, r->regions[i].offset,
                                     r->regions[i].size, 0);
}

/* The accesses of a pass depend on the planes of the format. */
static uint32_t pass_reads(const struct recon_pass *pass, const struct recon_shape *shape)
{
    return pass->reads | (shape->chroma_format_idc != 1 ? pass->reads_more : 0);
}

static uint32_t pass_writes(const struct recon_pass *pass, const struct recon_shape *shape)
{
    return pass->writes | (shape->chroma_format_idc != 1 ? pass->writes_more : 0);
}

static struct recon_push push_of(const struct recon *r, const struct recon_pass *pass,
                                 const struct recon_shape *shape)
{
    return (struct recon_push){.picture_count = shape->pictures,
                               .param = pass->param,
                               .mb_width = shape->mb_width,
                               .mb_height = shape->mb_height,
                               .mb_total = shape->mb_total,
                               .coeff_block_total = shape->coeff_block_total,
                               .depth_luma = r->params.bit_depth[0],
                               .depth_chroma = recon_chroma_depth(&r->params)};
}

static void record_steps(struct recon *r, struct gpu_submission *s, const struct recon_pass *pass,
                         const struct recon_chunk *chunk, uint32_t steps)
{
    const struct recon_shape *shape = &chunk->shape;
    struct recon_push push = push_of(r, pass, shape);
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t xyz[3] = {1, 1, 1};
        if (pass->groups)
            pass->groups(shape, step, xyz);
        if (!xyz[0] || !xyz[1] || !xyz[2])
            continue;
        gpu_work_sync(s, BARRIER_COMPUTE, pass_reads(pass, shape), pass_writes(pass, shape));
        push.step = step;
        r->g->vk.vkCmdPushConstants(s->commands, r->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT,
                                    0, sizeof(push), &push);
        r->g->vk.vkCmdDispatch(s->commands, xyz[0], xyz[1], xyz[2]);
    }
}

static void record_indirect(struct recon *r, struct gpu_submission *s,
                            const struct recon_pass *pass, const struct recon_chunk *chunk)
{
    const struct recon_shape *shape = &chunk->shape;
    struct recon_push push = push_of(r, pass, shape);
    sync_indirect(r, s, pass_reads(pass, shape), pass_writes(pass, shape));
    r->g->vk.vkCmdPushConstants(s->commands, r->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                sizeof(push), &push);
    r->g->vk.vkCmdDispatchIndirect(s->commands, r->scratch.buffer,
                                   r->regions[BIND_COUNTERS].offset + pass->indirect_offset);
}

static int record_pass(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk,
                       uint32_t index)
{
    const struct recon_pass *pass = &recon_passes[index];
    if (pass->wanted && !pass->wanted(&chunk->shape))
        return GPU_OK;
    uint32_t steps = pass->steps ? pass->steps(&chunk->shape) : 1;
    if (!steps)
        return GPU_OK;
    int err = recon_pass_pipeline(r, index);
    if (err < 0)
        return err;
    gpu_label_begin(r->g, f->s->commands, pass->name);
    r->g->vk.vkCmdBindPipeline(f->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, r->pipelines[index]);
    if (pass->indirect)
        record_indirect(r, f->s, pass, chunk);
    else
        record_steps(r, f->s, pass, chunk, steps);
    gpu_label_end(r->g, f->s->commands);
    recon_stamp(r, f, pass->stage, index);
    return GPU_OK;
}

static int begin_part(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk,
                      enum recon_part part)
{
    int err = gpu_work_record(f->s, part);
    if (err == GPU_OK)
        recon_part_depend(r, f, chunk, part);
    return err;
}

static void recon_bind(struct recon *r, struct recon_flight *f)
{
    r->g->vk.vkCmdBindDescriptorSets(f->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                     r->layout->pipeline, SET_BATCH, 1, &f->set, 0, NULL);
    gpu_debug_bind(r->g, f->s->commands, r->layout);
}

/* Clears, copies of slots, the passes. */
static int record_pictures(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk)
{
    int err = GPU_OK;
    record_zeros(r, f, chunk);
    recon_bind(r, f);
    if (chunk->copies)
        recon_copies_record(r, f->s, chunk);
    recon_stamp(r, f, RECON_UPLOAD, RECON_NO_PASS);
    for (uint32_t i = 0; chunk->shape.pictures && i < recon_pass_count; i++)
        TRY(record_pass(r, f, chunk, i));
error:
    return err;
}

/* The flight's buffers are idle: earlier accesses to them are over. */
static int record_whole(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk)
{
    int err = GPU_OK;
    TRY(begin_part(r, f, chunk, RECON_PART_MAIN));
    gpu_work_forget(f->s, RECON_UPLOADED);
    record_upload(r, f);
    if (uploads(r, f))
        barrier_accessed(f->s->barriers, BARRIER_TRANSFER, 0, RECON_UPLOADED);
    TRY(record_pictures(r, f, chunk));
    if (chunk->delivery_count) {
        recon_deliver_record(r, f->s, chunk);
        recon_stamp(r, f, RECON_DELIVER, RECON_NO_PASS);
    }
error:
    return err;
}

/* Semaphores order the parts, so the barriers of one know nothing of the others. */
static int record_parts(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk)
{
    int err = GPU_OK;
    if (uploads(r, f)) {
        TRY(begin_part(r, f, chunk, RECON_PART_UP));
        record_upload(r, f);
        recon_stamp(r, f, RECON_UPLOAD, RECON_NO_PASS);
    }
    if (chunk->shape.pictures || chunk->copies) {
        TRY(begin_part(r, f, chunk, RECON_PART_MAIN));
        gpu_work_forget(f->s, RECON_UPLOADED);
        TRY(record_pictures(r, f, chunk));
    }
    if (chunk->delivery_count) {
        TRY(begin_part(r, f, chunk, chunk->shaded ? RECON_PART_DELIVER : RECON_PART_DOWN));
        gpu_work_forget(f->s, UINT32_MAX);
        if (chunk->shaded)
            recon_bind(r, f);
        recon_deliver_record(r, f->s, chunk);
        recon_stamp(r, f, RECON_DELIVER, RECON_NO_PASS);
    }
error:
    return err;
}

int recon_record(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk)
{
    bind_sections(r, f, chunk);
    return chunk->parts ? record_parts(r, f, chunk) : record_whole(r, f, chunk);
}
