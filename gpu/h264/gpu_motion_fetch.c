/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation on the GPU: rec_motion of pictures that coders have entropy-decoded. A shader
 * reads it in host memory, and only what the shapes of macroblocks need. Most macroblocks of a
 * stream need little of it or nothing, so fewer bytes cross the bus than by a copy.
 *
 * Each picture of a batch has a descriptor set for its array, which lies in any arena or in the
 * batch's input. It is written while the picture is added: then no command that names it is
 * pending.
 */
#include "gpu/engine/descriptors.h"
#include "gpu/h264/gpu_motion_internal.h"

#include <stdlib.h>

#define WORD 8 /* bytes: the shader reads by so many */

int gpu_motion_fetch_create(struct gpu_motion_batch *b)
{
    const uint32_t count = b->m->params.pictures;
    b->host_sets = calloc(count, sizeof(VkDescriptorSet));
    return b->host_sets ? gpu_host_sets_create(b->m->g, count, &b->host_descriptors, b->host_sets)
                        : GPU_ERR_NOMEM;
}

void gpu_motion_fetch_free(struct gpu_motion_batch *b)
{
    b->m->g->vk.vkDestroyDescriptorPool(b->m->g->device, b->host_descriptors, NULL);
    free(b->host_sets);
}

void gpu_motion_fetch_place(struct gpu_motion_batch *b, struct motion_picture *p)
{
    const struct gpu_place *from = &p->from[MOTION_MOTION];
    const VkPhysicalDeviceLimits *limits = &b->m->g->limits;
    const uint64_t align = limits->minStorageBufferOffsetAlignment > MOT_SECTOR
                               ? limits->minStorageBufferOffsetAlignment
                               : MOT_SECTOR;
    const uint64_t before = from->offset % align, size = p->mb_count * sizeof(struct rec_motion);
    p->fetched = !b->m->params.copies && !from->device && from->offset % WORD == 0 &&
                 before + size <= limits->maxStorageBufferRange;
    p->first_word = (uint32_t)(before / WORD);
    if (p->fetched)
        gpu_set_write(
            b->m->g, b->host_sets[b->picture_count], 0, false,
            &(VkDescriptorBufferInfo){from->buffer, from->offset - before, before + size});
}

static void record_picture(struct gpu_motion_batch *b, struct gpu_submission *s, uint32_t i)
{
    const struct gpu_motion *m = b->m;
    const uint32_t push[MOTION_PUSH_WORDS] = {i, b->pictures[i].first_word};
    m->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                     m->layout->pipeline, 1, 1, &b->host_sets[i], 0, NULL);
    m->g->vk.vkCmdPushConstants(s->commands, m->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                sizeof(push), push);
    m->g->vk.vkCmdDispatch(s->commands,
                           (b->pictures[i].mb_count + MOT_FETCH_MBS - 1) / MOT_FETCH_MBS, 1, 1);
}

void gpu_motion_record_fetch(struct gpu_motion_batch *b, struct gpu_submission *s)
{
    const struct gpu_motion *m = b->m;
    bool begun = false;
    for (uint32_t i = 0; i < b->picture_count; i++) {
        if (!b->pictures[i].fetched)
            continue;
        if (!begun) {
            gpu_work_sync(s, BARRIER_COMPUTE,
                          MOTION_BIT(MOT_BIND_PICTURES) | MOTION_BIT(MOT_BIND_SYNTAX),
                          MOTION_BIT(MOT_BIND_MOTION) | MOTION_BIT(MOT_BIND_RESULTS));
            m->g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, m->fetch);
            m->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                             m->layout->pipeline, 0, 1, &b->set, 0, NULL);
            begun = true;
        }
        record_picture(b, s, i);
    }
}
