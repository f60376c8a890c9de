/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/engine/timed_run.h"

struct timed_run {
    timed_record *record;
    void *ctx;
    VkQueryPool queries;
};

static void record_timed(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    struct timed_run *run = ctx;
    run->record(g, commands, run->queries, run->ctx);
}

static int timed_read(struct gpu *g, VkQueryPool queries, double *seconds)
{
    uint64_t ticks[2];
    int err = GPU_OK;
    VK(g,
       g->vk.vkGetQueryPoolResults(g->device, queries, 0, 2, sizeof(ticks), ticks, sizeof(*ticks),
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    uint64_t passed = (ticks[1] - ticks[0]) & g->main->tick_mask;
    if (!passed)
        return GPU_ERR_FEATURE;
    *seconds = (double)passed * g->limits.timestampPeriod * 1e-9;
error:
    return err;
}

int gpu_timed_run(struct gpu *g, timed_record *record, void *ctx, double *seconds)
{
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = 2};
    struct timed_run run = {record, ctx, VK_NULL_HANDLE};
    int err = GPU_OK;
    if (!g->main->tick_mask)
        return GPU_ERR_FEATURE;
    VK(g, g->vk.vkCreateQueryPool(g->device, &info, NULL, &run.queries));
    TRY(gpu_run(g, record_timed, &run));
    TRY(timed_read(g, run.queries, seconds));
error:
    g->vk.vkDestroyQueryPool(g->device, run.queries, NULL);
    return err;
}
