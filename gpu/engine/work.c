/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A ring of submissions; work_play.c records and submits them.
 *
 * The happy path: begin takes the ring's next entry, which is idle. Its parts are recorded and
 * submitted. It is in flight until a thread finds that the timeline has passed its last part and
 * that all older entries are complete. Then done() is called. Failures: an error while recording
 * leaves the entry idle; an error while submitting waits for the parts that are already submitted;
 * on a lost device entries stay in flight and nothing waits for them.
 */
#include "gpu/engine/work_internal.h"

#include <stdlib.h>

/* ---- making ---- */

static int create_part(struct gpu_work *w, struct part *p, const struct gpu_queue *queue)
{
    struct gpu *g = w->g;
    int err = GPU_OK;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = queue->family};
    VK(g, g->vk.vkCreateCommandPool(g->device, &pool, NULL, &p->pool));
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = p->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VK(g, g->vk.vkAllocateCommandBuffers(g->device, &commands, &p->commands));
error:
    return err;
}

static int create_entry(struct gpu_work *w, struct entry *e)
{
    struct gpu *g = w->g;
    int err = GPU_OK;
    e->s.work = w;
    e->s.index = (uint32_t)(e - w->entries);
    for (uint32_t i = 0; i < GPU_WORK_PARTS; i++)
        if (w->params.queues[i])
            TRY(create_part(w, &e->parts[i], w->params.queues[i]));
    if (!w->most_stamps)
        return GPU_OK;
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = w->most_stamps};
    VK(g, g->vk.vkCreateQueryPool(g->device, &queries, NULL, &e->queries));
    e->stamps = calloc(w->most_stamps, sizeof(*e->stamps));
    err = e->stamps ? GPU_OK : GPU_ERR_NOMEM;
error:
    return err;
}

static bool any_ticks(const struct gpu_work_params *params)
{
    for (uint32_t i = 0; i < GPU_WORK_PARTS; i++)
        if (params->queues[i] && params->queues[i]->tick_mask)
            return true;
    return false;
}

int gpu_work_create(struct gpu *g, const struct gpu_work_params *params, struct gpu_work **out)
{
    int err = GPU_ERR_NOMEM;
    struct gpu_work *w = calloc(1, sizeof(*w));
    if (!w)
        return GPU_ERR_NOMEM;
    w->g = g;
    w->params = *params;
    if (g->timestamps && params->stamps && any_ticks(params))
        w->most_stamps = params->stamps + GPU_WORK_PARTS;
    w->entries = calloc(params->depth, sizeof(*w->entries));
    if (!w->entries || pthread_mutex_init(&w->lock, NULL))
        goto error;
    w->lock_made = true;
    for (uint32_t i = 0; i < params->depth; i++)
        TRY(create_entry(w, &w->entries[i]));
    *out = w;
    return GPU_OK;
error:
    gpu_work_free(w);
    return err;
}

static void free_entry(struct gpu_work *w, struct entry *e)
{
    struct gpu *g = w->g;
    if (e->busy)
        gpu_queue_wait(e->s.last.queue, e->s.last.value, UINT64_MAX);
    g->vk.vkDestroyQueryPool(g->device, e->queries, NULL);
    for (uint32_t i = 0; i < GPU_WORK_PARTS; i++)
        g->vk.vkDestroyCommandPool(g->device, e->parts[i].pool, NULL);
    free(e->stamps);
}

void gpu_work_free(struct gpu_work *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; w->entries && i < w->params.depth; i++)
        free_entry(w, &w->entries[i]);
    if (w->lock_made)
        pthread_mutex_destroy(&w->lock);
    free(w->entries);
    free(w);
}

/* ---- completion ---- */

/* The oldest entry in flight, or NULL. With the lock held. */
static struct entry *oldest(struct gpu_work *w)
{
    for (uint32_t i = 0; i < w->params.depth; i++) {
        struct entry *e = &w->entries[(w->next + i) % w->params.depth];
        if (e->busy)
            return e;
    }
    return NULL;
}

/* With the lock held. */
static int poll_entries(struct gpu_work *w)
{
    w->idle = false;
    for (struct entry *e; (e = oldest(w));) {
        uint64_t completed = 0;
        int err = gpu_queue_completed(e->s.last.queue, &completed);
        if (err < 0)
            return err;
        if (completed < e->s.last.value)
            return GPU_OK;
        if (w->params.done)
            w->params.done(w->params.ctx, &e->s);
        e->busy = false;
    }
    w->idle = true;
    return atomic_load(&w->g->lost) ? GPU_ERR_LOST : GPU_OK;
}

int gpu_work_poll(struct gpu_work *w)
{
    pthread_mutex_lock(&w->lock);
    int err = poll_entries(w);
    pthread_mutex_unlock(&w->lock);
    return err;
}

bool gpu_work_oldest(struct gpu_work *w, struct gpu_point *out)
{
    pthread_mutex_lock(&w->lock);
    const struct entry *e = oldest(w);
    if (e)
        *out = e->s.last;
    pthread_mutex_unlock(&w->lock);
    return e != NULL;
}

int gpu_work_wait(struct gpu_work *w, uint64_t timeout_ns)
{
    struct gpu_point point;
    if (!gpu_work_oldest(w, &point))
        return GPU_OK;
    int err = gpu_queue_wait(point.queue, point.value, timeout_ns);
    return err ? err : gpu_work_poll(w);
}

int gpu_work_drain(struct gpu_work *w)
{
    struct gpu_point point;
    int err = GPU_OK;
    while (err == GPU_OK && gpu_work_oldest(w, &point))
        err = gpu_work_wait(w, UINT64_MAX);
    return err;
}

void gpu_work_times(const struct gpu_submission *s,
                    void (*add)(void *ctx, uint32_t name, double seconds), void *ctx)
{
    const struct entry *e = entry_of(s);
    const struct gpu_work *w = s->work;
    struct gpu *g = w->g;
    uint64_t *ticks = e->stamp_count > 1 ? malloc(e->stamp_count * sizeof(*ticks)) : NULL;
    if (ticks && g->vk.vkGetQueryPoolResults(g->device, e->queries, 0, e->stamp_count,
                                             e->stamp_count * sizeof(*ticks), ticks, sizeof(*ticks),
                                             VK_QUERY_RESULT_64_BIT) == VK_SUCCESS) {
        for (uint32_t i = 1; i < e->stamp_count; i++) {
            const uint64_t mask = w->params.queues[e->stamps[i].part]->tick_mask;
            if (e->stamps[i].name != GPU_WORK_BEGIN)
                add(ctx, e->stamps[i].name,
                    (double)((ticks[i] - ticks[i - 1]) & mask) * g->limits.timestampPeriod * 1e-9);
        }
    }
    free(ticks);
}

/* ---- the next one ---- */

int gpu_work_begin(struct gpu_work *w, uint64_t timeout_ns, struct gpu_submission **out)
{
    struct entry *e = &w->entries[w->next]; /* busy: the oldest in flight */
    bool busy;
    int err;
    do {
        pthread_mutex_lock(&w->lock);
        err = poll_entries(w);
        busy = e->busy;
        e->s.alone = w->idle;
        pthread_mutex_unlock(&w->lock);
        if (err == GPU_OK && busy)
            err = timeout_ns ? gpu_queue_wait(e->s.last.queue, e->s.last.value, timeout_ns) : 1;
    } while (err == GPU_OK && busy);
    if (err)
        return err;
    for (uint32_t i = 0; i < GPU_WORK_PARTS; i++)
        e->parts[i].recorded = e->parts[i].recording = false;
    e->stamp_count = 0;
    if (w->most_stamps)
        w->g->vk.vkResetQueryPool(w->g->device, e->queries, 0, w->most_stamps);
    *out = &e->s;
    return GPU_OK;
}

struct gpu_point gpu_work_last(const struct gpu_work *w, uint32_t part)
{
    return w->last[part];
}

/* ---- one submission ---- */

int gpu_run_after(struct gpu *g, const struct gpu_point *after, uint32_t count,
                  gpu_record_fn record, void *ctx)
{
    const struct gpu_work_params params = {.queues = {g->main}, .depth = 1};
    struct gpu_work *w = NULL;
    struct gpu_submission *s;
    int64_t begun = gpu_clock_ns();
    int err = GPU_OK;
    TRY(gpu_work_create(g, &params, &w));
    TRY(gpu_work_begin(w, 0, &s));
    TRY(gpu_work_record(s, 0));
    for (uint32_t i = 0; i < count; i++)
        gpu_work_depend(s, after[i]);
    record(g, s->commands, ctx);
    TRY(gpu_work_submit(s));
    err = gpu_work_wait(w, UINT64_MAX);
    gpu_log_step(g, begun, "work that is waited for");
error:
    gpu_work_free(w);
    return err;
}

int gpu_run(struct gpu *g, gpu_record_fn record, void *ctx)
{
    return gpu_run_after(g, NULL, 0, record, ctx);
}
