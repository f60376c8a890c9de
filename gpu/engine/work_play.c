/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records and submits: barriers, the parts of a submission, and lists of steps (steps.h).
 *
 * Failures: an error while recording leaves the entry idle. An error while submitting waits for the
 * parts that are already submitted.
 */
#include "gpu/engine/barrier_record.h"
#include "gpu/engine/debug_values.h"
#include "gpu/engine/steps.h"
#include "gpu/engine/work_internal.h"

/* ---- barriers ---- */

static const struct {
    VkPipelineStageFlags stage;
    VkAccessFlags writes, all;
} vk_stages[BARRIER_STAGES] = {
    [BARRIER_TRANSFER] = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT},
    [BARRIER_COMPUTE] = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
    [BARRIER_INDIRECT] = {VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0,
                          VK_ACCESS_INDIRECT_COMMAND_READ_BIT},
    [BARRIER_HOST] = {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_WRITE_BIT,
                      VK_ACCESS_HOST_READ_BIT},
};

static void barrier_record(struct gpu *g, VkCommandBuffer commands, const struct barrier_need *need)
{
    VkPipelineStageFlags from = 0, to = 0;
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    for (int i = 0; i < BARRIER_STAGES; i++) {
        if (need->from & (1u << i))
            from |= vk_stages[i].stage;
        if (need->flush & (1u << i))
            memory.srcAccessMask |= vk_stages[i].writes;
        if (need->to & (1u << i)) {
            to |= vk_stages[i].stage;
            memory.dstAccessMask |= vk_stages[i].all;
        }
    }
    g->vk.vkCmdPipelineBarrier(commands, from, to, 0, memory.srcAccessMask ? 1 : 0, &memory, 0,
                               NULL, 0, NULL);
}

static void access_record(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                          const struct barrier_access *access, const char *place)
{
    const struct barrier_need need = barrier_note(state, access, &g->barrier_watch, place);
    if (need.from)
        barrier_record(g, commands, &need);
}

void gpu_sync_at(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                 enum barrier_stage stage, uint32_t reads, uint32_t writes, const char *place)
{
    access_record(g, commands, state,
                  &(struct barrier_access){BARRIER_COMMAND, stage, reads, writes, 0}, place);
}

void gpu_sync_host_at(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                      uint32_t reads, const char *place)
{
    access_record(g, commands, state,
                  &(struct barrier_access){.kind = BARRIER_FOR_HOST, .reads = reads}, place);
}

/* ---- recording ---- */

static int end_part(struct entry *e)
{
    struct gpu *g = e->s.work->g;
    struct part *p = &e->parts[e->part];
    int err = GPU_OK;
    if (p->recording)
        VK(g, g->vk.vkEndCommandBuffer(p->commands));
    p->recording = false;
error:
    return err;
}

int gpu_work_record(struct gpu_submission *s, uint32_t part)
{
    struct entry *e = entry_of(s);
    struct gpu *g = s->work->g;
    struct part *p = &e->parts[part];
    int err = GPU_OK;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    TRY(end_part(e));
    VK(g, g->vk.vkResetCommandPool(g->device, p->pool, 0));
    VK(g, g->vk.vkBeginCommandBuffer(p->commands, &begin));
    p->recorded = p->recording = true;
    p->after_count = p->after_parts = 0;
    p->barriers = s->work->barriers[part];
    e->part = part;
    s->commands = p->commands;
    s->barriers = &p->barriers;
    gpu_work_stamp(s, GPU_WORK_BEGIN);
error:
    return err;
}

static void add_point(struct part *p, struct gpu_point point)
{
    for (uint32_t i = 0; i < p->after_count; i++)
        if (p->after[i].queue == point.queue) {
            if (p->after[i].value < point.value)
                p->after[i].value = point.value;
            return;
        }
    p->after[p->after_count++] = point;
}

void gpu_work_depend(struct gpu_submission *s, struct gpu_point point)
{
    if (point.value)
        add_point(&entry_of(s)->parts[entry_of(s)->part], point);
}

void gpu_work_depend_part(struct gpu_submission *s, uint32_t part)
{
    entry_of(s)->parts[entry_of(s)->part].after_parts |= 1u << part;
}

void gpu_work_sync_at(struct gpu_submission *s, enum barrier_stage stage, uint32_t reads,
                      uint32_t writes, const char *place)
{
    gpu_sync_at(s->work->g, s->commands, s->barriers, stage, reads, writes, place);
}

void gpu_work_sync_host_at(struct gpu_submission *s, uint32_t reads, const char *place)
{
    gpu_sync_host_at(s->work->g, s->commands, s->barriers, reads, place);
}

void gpu_work_forget(struct gpu_submission *s, uint32_t resources)
{
    barrier_forget(s->barriers, resources);
}

void gpu_work_stamp(struct gpu_submission *s, uint32_t name)
{
    struct entry *e = entry_of(s);
    const struct gpu_work *w = s->work;
    if (e->stamp_count >= w->most_stamps || !w->params.queues[e->part]->tick_mask)
        return;
    e->stamps[e->stamp_count].name = name;
    e->stamps[e->stamp_count].part = e->part;
    w->g->vk.vkCmdWriteTimestamp(s->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, e->queries,
                                 e->stamp_count++);
}

/* ---- submission ---- */

static int submit_part(struct entry *e, uint32_t part)
{
    struct gpu_work *w = e->s.work;
    struct gpu_queue *queue = w->params.queues[part];
    struct part *p = &e->parts[part];
    for (uint32_t i = 0; i < part; i++)
        if (p->after_parts & (1u << i) && e->parts[i].recorded)
            add_point(p, (struct gpu_point){w->params.queues[i], e->parts[i].value});
    int err = gpu_queue_submit_after(queue, p->commands, p->after, p->after_count, &p->value);
    if (err < 0)
        return err;
    w->barriers[part] = p->barriers;
    w->last[part] = e->s.last = (struct gpu_point){queue, p->value};
    return GPU_OK;
}

int gpu_work_submit(struct gpu_submission *s)
{
    struct entry *e = entry_of(s);
    struct gpu_work *w = s->work;
    uint32_t end = 0;
    int err = end_part(e);
    for (uint32_t i = 0; i < GPU_WORK_PARTS && err == GPU_OK; i++) {
        if (!e->parts[i].recorded)
            continue;
        err = submit_part(e, i);
        end = i;
    }
    for (uint32_t i = end; err < 0 && i-- > 0 && !atomic_load(&w->g->lost);)
        if (e->parts[i].recorded)
            gpu_queue_wait(w->params.queues[i], e->parts[i].value, UINT64_MAX);
    if (err < 0)
        return err;
    pthread_mutex_lock(&w->lock);
    if (w->params.submitted)
        w->params.submitted(w->params.ctx, s);
    e->busy = true;
    w->next = (w->next + 1) % w->params.depth;
    pthread_mutex_unlock(&w->lock);
    return GPU_OK;
}

/* ---- playing ---- */

static void play_group(struct gpu *g, VkCommandBuffer commands, const struct gpu_step *t)
{
    const struct gpu_step_group *p = &t->group;
    if (p->pipeline)
        g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    if (p->host_set)
        g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 1, 1,
                                      &p->host_set, 0, NULL);
    g->vk.vkCmdPushConstants(commands, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, p->push_size,
                             p->push);
    if (p->indirect)
        g->vk.vkCmdDispatchIndirect(commands, p->indirect, p->offset);
    else
        g->vk.vkCmdDispatch(commands, p->xyz[0], p->xyz[1], p->xyz[2]);
}

/* Everything but the order of parts and barriers: one command, or none. */
static void play_command(struct gpu *g, VkCommandBuffer commands, const struct gpu_step *t)
{
    switch (t->kind) {
    case GPU_STEP_BIND:
        g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                      t->bind.layout->pipeline, 0, 1, &t->bind.set, 0, NULL);
        gpu_debug_bind(g, commands, t->bind.layout);
        break;
    case GPU_STEP_PIPELINE:
        g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, t->pipeline);
        break;
    case GPU_STEP_GROUP:
        play_group(g, commands, t);
        break;
    case GPU_STEP_FILL:
        g->vk.vkCmdFillBuffer(commands, t->fill.buffer, t->fill.offset, t->fill.size, 0);
        break;
    case GPU_STEP_UPDATE:
        g->vk.vkCmdUpdateBuffer(commands, t->fill.buffer, t->fill.offset, t->fill.size,
                                t->fill.data);
        break;
    case GPU_STEP_COPY:
        g->vk.vkCmdCopyBuffer(commands, t->copy.from, t->copy.to, t->copy.count, t->copy.regions);
        break;
    case GPU_STEP_COPY_IMAGE:
        g->vk.vkCmdCopyImageToBuffer(commands, t->image.from, VK_IMAGE_LAYOUT_GENERAL, t->image.to,
                                     1, &t->image.region);
        break;
    default:
        break;
    }
}

static int play_step(struct gpu_submission *s, const struct gpu_step *t)
{
    switch (t->kind) {
    case GPU_STEP_PART:
        return gpu_work_record(s, t->part);
    case GPU_STEP_AFTER:
        gpu_work_depend(s, t->point);
        break;
    case GPU_STEP_AFTER_PART:
        gpu_work_depend_part(s, t->part);
        break;
    case GPU_STEP_AFTER_LAST:
        gpu_work_depend(s, s->work->last[t->part]);
        break;
    case GPU_STEP_STAMP:
        gpu_work_stamp(s, t->stamp);
        break;
    default:
        play_command(s->work->g, s->commands, t);
    }
    return GPU_OK;
}

int gpu_work_play(struct gpu_submission *s, const struct gpu_steps *steps)
{
    int err = steps->failed ? GPU_ERR_NOMEM : GPU_OK;
    const char *place = "steps";
    for (uint32_t i = 0; i < steps->count && err == GPU_OK; i++) {
        const struct gpu_step *t = &steps->all[i];
        if (t->kind == GPU_STEP_NAME)
            place = t->name;
        if (t->kind == GPU_STEP_ACCESS)
            access_record(s->work->g, s->commands, s->barriers, &t->access, place);
        else
            err = play_step(s, t);
    }
    return err == GPU_OK ? gpu_work_submit(s) : err;
}
