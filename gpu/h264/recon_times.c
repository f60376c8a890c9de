/* SPDX-License-Identifier: BSD-2-Clause
 *
 * GPU time per stage. A timestamp is written when everything before it on its queue has finished,
 * so the time between two of them is what lay between, and the sum over the stages of a queue is
 * the time that it was at work on the batch. Queues work side by side, so the sum over all stages
 * may be more than the time that passed.
 */
#include "gpu/h264/recon_internal.h"

#include <string.h>

void recon_stamp(struct recon *r, struct recon_flight *f, enum recon_stage stage, uint32_t pass)
{
    if (!f->stamped || f->query_count >= RECON_QUERIES)
        return;
    f->query_stages[f->query_count] = (uint8_t)stage;
    f->query_passes[f->query_count] = (uint8_t)pass;
    r->g->vk.vkCmdWriteTimestamp(f->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, f->queries,
                                 f->query_count++);
}

void recon_times_add(struct recon *r, struct recon_flight *f)
{
    struct gpu *g = r->g;
    uint64_t ticks[RECON_QUERIES];
    if (!f->queries || f->query_count < 2)
        return;
    VkResult result = g->vk.vkGetQueryPoolResults(g->device, f->queries, 0, f->query_count,
                                                  f->query_count * sizeof(*ticks), ticks,
                                                  sizeof(*ticks), VK_QUERY_RESULT_64_BIT);
    if (result != VK_SUCCESS)
        return;
    for (uint32_t i = 1; i < f->query_count; i++) {
        if (f->query_stages[i] == RECON_BEGIN)
            continue;
        double seconds =
            (double)((ticks[i] - ticks[i - 1]) & r->tick_mask) * g->limits.timestampPeriod * 1e-9;
        r->times.seconds[f->query_stages[i]] += seconds;
        if (f->query_passes[i] < RECON_MAX_PASSES)
            r->pass_seconds[f->query_passes[i]] += seconds;
    }
}

void recon_pass_times(struct recon *r, double seconds[RECON_MAX_PASSES])
{
    pthread_mutex_lock(&r->lock);
    memcpy(seconds, r->pass_seconds, sizeof(r->pass_seconds));
    pthread_mutex_unlock(&r->lock);
}

void recon_times(struct recon *r, struct recon_times *out)
{
    pthread_mutex_lock(&r->lock);
    *out = r->times;
    pthread_mutex_unlock(&r->lock);
}
