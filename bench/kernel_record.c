/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The commands of a variant: all its passes, for one set of buffers or for many.
 */
#include "bench/kernel_bench.h"

#include <string.h>

void kernel_all_done(struct gpu *g, VkCommandBuffer commands)
{
    const VkPipelineStageFlags stages =
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                         VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    g->vk.vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void stamp(struct kernel_bench *b, VkCommandBuffer commands, uint32_t query)
{
    b->g->vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, b->queries, query);
}

static bool clears(const struct kernel_bench *b)
{
    return b->variant->clear || b->variant->clear_scratch;
}

static void clear(struct kernel_bench *b, VkCommandBuffer commands, uint32_t set)
{
    const uint32_t out = BENCH_BIND_OUTPUT, scratch = BENCH_BIND_SCRATCH;
    if (b->variant->clear)
        b->g->vk.vkCmdFillBuffer(commands, b->output, set * b->stride[out], b->data.size[out], 0);
    if (b->variant->clear_scratch && b->data.size[scratch])
        b->g->vk.vkCmdFillBuffer(commands, b->buffers[scratch].buffer, set * b->stride[scratch],
                                 b->data.size[scratch], 0);
}

void kernel_groups(const struct kernel_bench *b, uint32_t pass, uint32_t xyz[3])
{
    xyz[0] = xyz[1] = xyz[2] = 1;
    b->family->groups(&b->c, b->variant, &b->variant->passes[pass], &b->data, xyz);
}

/* The nearest half, of values from 2^-14 to 65504 and what is less as 0. */
static uint32_t half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits < 113u << 23 ? 0 : (bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
}

static void dispatch(struct kernel_bench *b, VkCommandBuffer commands, uint32_t pass, uint32_t set)
{
    struct gpu *g = b->g;
    uint32_t first[3], xyz[3];
    kernel_groups(b, 0, first);
    kernel_groups(b, pass, xyz);
    if (!xyz[0] || !xyz[1] || !xyz[2])
        return;
    struct kernel_push push = {b->c.width,
                               b->c.height,
                               b->family->items ? b->family->items(&b->c) : 0,
                               first[0] * first[1] * first[2],
                               {0},
                               {0}};
    if (b->family->push)
        b->family->push(&b->c, &b->data, push.weights);
    for (int i = 0; i < BENCH_WEIGHTS; i++)
        push.halves[i] = half_of(push.weights[i]) * 0x10001u;
    g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, b->pipelines[pass]);
    g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, b->layout->pipeline, 0,
                                  1, &b->descriptors[set], 0, NULL);
    g->vk.vkCmdPushConstants(commands, b->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof(push), &push);
    g->vk.vkCmdDispatch(commands, xyz[0], xyz[1], xyz[2]);
}

/* All passes for sets [first, end). */
static void run_sets(struct kernel_bench *b, VkCommandBuffer commands, uint32_t first, uint32_t end)
{
    const struct kernel_variant *v = b->variant;
    for (uint32_t s = first; s < end && clears(b); s++)
        clear(b, commands, s);
    if (clears(b))
        kernel_all_done(b->g, commands);
    for (uint32_t s = first; s < end && v->copy; s++) {
        VkBufferCopy region = {s * b->stride[BENCH_BIND_INPUT], s * b->stride[BENCH_BIND_OUTPUT],
                               b->data.size[BENCH_BIND_OUTPUT]};
        b->g->vk.vkCmdCopyBuffer(commands, b->buffers[BENCH_BIND_INPUT].buffer, b->output, 1,
                                 &region);
    }
    for (uint32_t p = 0; p < v->pass_count; p++) {
        for (uint32_t s = first; s < end; s++)
            dispatch(b, commands, p, s);
        if (p + 1 < v->pass_count && !v->independent)
            kernel_all_done(b->g, commands);
    }
    kernel_all_done(b->g, commands);
}

void kernel_record_once(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    run_sets(ctx, commands, 0, 1);
}

void kernel_record_round(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    struct kernel_bench *b = ctx;
    g->vk.vkCmdResetQueryPool(commands, b->queries, 0, KERNEL_QUERIES);
    for (uint32_t s = 0; s < b->sets; s++) {
        stamp(b, commands, 2 * s);
        run_sets(b, commands, s, s + 1);
        stamp(b, commands, 2 * s + 1);
    }
    kernel_all_done(g, commands);
    stamp(b, commands, 2 * b->sets);
    run_sets(b, commands, 0, b->sets);
    stamp(b, commands, 2 * b->sets + 1);
}
