/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The steps of a chunk: upload, clears, copies of slots, the passes of the table, deliveries.
 * Barriers follow from declared accesses; gpu_work keeps their state from one submission of the
 * main queue to the next. Semaphores order the other queues, so their state starts empty. A picture
 * that reuses the slot of a frame waits until the frame has left.
 */
#include "gpu/h264/recon_internal.h"

#define COPY_GROUP_X 32
#define COPY_GROUP_Y 8

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

static void record_upload(struct recon *r, const struct recon_flight *f)
{
    VkBuffer to = r->g->unified ? f->staging.buffer : f->upload.buffer;
    if (!r->g->unified && f->region_count)
        gpu_steps_next(&r->steps, GPU_STEP_COPY)->copy =
            (struct gpu_step_copy){f->staging.buffer, to, f->region_count, f->regions};
    for (uint32_t i = 0; i < f->copy_count; i++)
        gpu_steps_next(&r->steps, GPU_STEP_COPY)->copy =
            (struct gpu_step_copy){f->copies[i].from, to, 1, &f->copies[i].region};
}

static void record_zeros(struct recon *r, const struct recon_chunk *chunk)
{
    if (!chunk->shape.pictures || !r->zeroed)
        return;
    gpu_steps_access(&r->steps, BARRIER_COMMAND, BARRIER_TRANSFER, 0, r->zeroed);
    for (uint32_t i = 0; i <= BIND_DELIVER; i++)
        if (r->zeroed & RECON_B(i))
            gpu_steps_next(&r->steps, GPU_STEP_FILL)->fill = (struct gpu_step_fill){
                r->scratch.buffer, r->regions[i].offset, r->regions[i].size, NULL};
}

/* Copies of one batch do not depend on each other: one barrier in front of them all. */
static void record_slot_copies(struct recon *r, const struct recon_chunk *chunk)
{
    const struct gpu_image *luma = &r->images[BIND_FRAME_Y - BIND_WORK_Y];
    gpu_steps_name(&r->steps, "copy_frame");
    gpu_steps_pipeline(&r->steps, r->copy_pipeline);
    gpu_steps_access(&r->steps, BARRIER_COMMAND, BARRIER_COMPUTE, RECON_FRAMES, RECON_FRAMES);
    for (uint32_t i = 0; i < chunk->picture_count; i++) {
        const struct recon_picture *p = &chunk->pictures[i];
        if (p->view || (p->slot == p->copy_from && p->rows == p->rows_from))
            continue;
        uint32_t rows = p->rows ? p->rows : REC_FRAME,
                 rows_from = p->rows ? p->rows_from : REC_FRAME;
        struct recon_push push = {.first_picture = p->slot,
                                  .param = p->copy_from,
                                  .depth_luma = r->params.bit_depth[0],
                                  .depth_chroma = recon_chroma_depth(&r->params),
                                  .step = COPY_WHAT(rows, rows_from, p->planes ? p->planes : 7u)};
        recon_dispatch(r, VK_NULL_HANDLE, &push, (luma->width + COPY_GROUP_X - 1) / COPY_GROUP_X,
                       (luma->height + COPY_GROUP_Y - 1) / COPY_GROUP_Y, 1);
    }
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

static void record_dispatches(struct recon *r, const struct recon_pass *pass,
                              const struct recon_shape *shape, uint32_t steps)
{
    struct recon_push push = push_of(r, pass, shape);
    for (push.step = 0; push.step < steps; push.step++) {
        uint32_t xyz[3] = {1, 1, 1};
        if (pass->groups)
            pass->groups(shape, push.step, xyz);
        if (!xyz[0] || !xyz[1] || !xyz[2])
            continue;
        gpu_steps_access(&r->steps, BARRIER_COMMAND, BARRIER_COMPUTE, pass_reads(pass, shape),
                         pass_writes(pass, shape));
        recon_dispatch(r, VK_NULL_HANDLE, &push, xyz[0], xyz[1], xyz[2]);
    }
}

static bool pass_wanted(const struct recon_pass *pass, const struct recon_shape *shape)
{
    return !pass->wanted || pass->wanted(shape);
}

/* Is it the first pass of its run that the batch has? */
static bool run_begins(const struct recon_pass *pass, const struct recon_shape *shape)
{
    for (const struct recon_pass *p = pass; pass->run && p-- > recon_passes && p->run == pass->run;)
        if (pass_wanted(p, shape))
            return false;
    return true;
}

/* One barrier in front of all passes of the run that begins here. */
static void record_run_access(struct recon *r, const struct recon_pass *pass,
                              const struct recon_shape *shape)
{
    const struct recon_pass *p = pass, *end = recon_passes + recon_pass_count;
    struct barrier_access access = {
        .kind = BARRIER_COMMAND, .stage = BARRIER_COMPUTE, .indirect = RECON_B(BIND_COUNTERS)};
    do {
        access.reads |= pass_wanted(p, shape) ? pass_reads(p, shape) : 0;
        access.writes |= pass_wanted(p, shape) ? pass_writes(p, shape) : 0;
    } while (pass->run && ++p < end && p->run == pass->run);
    gpu_steps_next(&r->steps, GPU_STEP_ACCESS)->access = access;
}

static void record_indirect(struct recon *r, const struct recon_pass *pass,
                            const struct recon_shape *shape)
{
    struct recon_push push = push_of(r, pass, shape);
    if (run_begins(pass, shape))
        record_run_access(r, pass, shape);
    struct gpu_step_group *group = recon_dispatch(r, VK_NULL_HANDLE, &push, 0, 0, 0);
    group->indirect = r->scratch.buffer;
    group->offset = r->regions[BIND_COUNTERS].offset + pass->indirect_offset;
}

static void record_pass(struct recon *r, const struct recon_chunk *chunk, uint32_t index)
{
    const struct recon_pass *pass = &recon_passes[index];
    if (!pass_wanted(pass, &chunk->shape))
        return;
    uint32_t steps = pass->steps ? pass->steps(&chunk->shape) : 1;
    if (!steps)
        return;
    gpu_steps_name(&r->steps, pass->name);
    gpu_steps_pipeline(&r->steps, r->pipelines[index]);
    if (pass->indirect)
        record_indirect(r, pass, &chunk->shape);
    else
        record_dispatches(r, pass, &chunk->shape, steps);
    recon_stamp(r, pass->stage, index);
}

static void after_part(struct recon *r, enum gpu_step_kind kind, enum recon_part part)
{
    gpu_steps_next(&r->steps, kind)->part = part;
}

static void after_point(struct recon *r, struct gpu_point point)
{
    gpu_steps_next(&r->steps, GPU_STEP_AFTER)->point = point;
}

/* Deliveries that still read slots which the chunk writes. */
static void after_readers(struct recon *r, const struct recon_chunk *chunk)
{
    for (int part = RECON_PART_DELIVER; part <= RECON_PART_DOWN; part++) {
        uint64_t latest = 0;
        for (uint32_t i = 0; i < chunk->picture_count; i++) {
            uint64_t *value = recon_slot_read(r, chunk->pictures[i].slot, part);
            latest = *value > latest ? *value : latest;
            *value = 0;
        }
        after_point(r, (struct gpu_point){r->queues[part], latest});
    }
}

/* Begin a part. Semaphores order the parts, so the barriers of one know nothing of the others. The
 * flight's buffers are idle: earlier accesses to `forgotten` are over. */
static void begin_part(struct recon *r, const struct recon_flight *f,
                       const struct recon_chunk *chunk, enum recon_part part, uint32_t forgotten)
{
    bool copies_up = part == RECON_PART_UP || (part == RECON_PART_MAIN && !chunk->parts);
    after_part(r, GPU_STEP_PART, part);
    if (part != RECON_PART_UP)
        after_part(r, GPU_STEP_AFTER_PART, RECON_PART_UP);
    for (uint32_t i = 0; copies_up && i < f->writer_count; i++)
        after_point(r, f->writers[i]);
    if (part == RECON_PART_MAIN)
        after_readers(r, chunk);
    if (part > RECON_PART_MAIN) {
        after_part(r, GPU_STEP_AFTER_LAST, RECON_PART_MAIN);
        after_part(r, GPU_STEP_AFTER_PART, RECON_PART_MAIN);
    }
    if (forgotten)
        gpu_steps_access(&r->steps, BARRIER_FORGET, BARRIER_TRANSFER, 0, forgotten);
}

static void record_binding(struct recon *r, const struct recon_flight *f)
{
    gpu_steps_next(&r->steps, GPU_STEP_BIND)->bind = (struct gpu_step_bind){r->layout, f->set};
}

/* Clears, copies of slots, the passes. */
static void record_pictures(struct recon *r, const struct recon_flight *f,
                            const struct recon_chunk *chunk)
{
    record_zeros(r, chunk);
    record_binding(r, f);
    if (chunk->copies)
        record_slot_copies(r, chunk);
    recon_stamp(r, RECON_UPLOAD, RECON_NO_PASS);
    for (uint32_t i = 0; chunk->shape.pictures && i < recon_pass_count; i++)
        record_pass(r, chunk, i);
}

/* One part, or the upload, the pictures and the deliveries in one each. */
void recon_record(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk)
{
    bool whole = !chunk->parts, up = uploads(r, f);
    r->steps.count = 0;
    r->steps.failed = false;
    bind_sections(r, f, chunk);
    if (whole)
        begin_part(r, f, chunk, RECON_PART_MAIN, RECON_UPLOADED);
    else if (up)
        begin_part(r, f, chunk, RECON_PART_UP, 0);
    record_upload(r, f);
    if (whole && up)
        gpu_steps_access(&r->steps, BARRIER_ONLY_NOTED, BARRIER_TRANSFER, 0, RECON_UPLOADED);
    else if (up)
        recon_stamp(r, RECON_UPLOAD, RECON_NO_PASS);
    if (whole || chunk->shape.pictures || chunk->copies) {
        if (!whole)
            begin_part(r, f, chunk, RECON_PART_MAIN, RECON_UPLOADED);
        record_pictures(r, f, chunk);
    }
    if (!chunk->delivery_count)
        return;
    if (!whole) {
        begin_part(r, f, chunk, chunk->shaded ? RECON_PART_DELIVER : RECON_PART_DOWN, UINT32_MAX);
        if (chunk->shaded)
            record_binding(r, f);
    }
    recon_deliver_record(r, chunk);
}
