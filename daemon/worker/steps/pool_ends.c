/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pools of readers that are gone. See pool_ends.h.
 *
 * Any thread leaves pools, one frees them. At the end of the engine it frees all before it stops.
 */
#include "daemon/worker/steps/pool_ends.h"

#include "daemon/worker/schedule/knobs.h"

#include <pthread.h>

static void pool_append(struct pool **list, struct pool *pool)
{
    while (*list)
        list = &(*list)->next;
    *list = pool;
    pool->next = NULL;
}

static void pool_discard(struct engine *e, struct pool *pool)
{
    pool_append(&e->old_pools, pool);
    e->old_pool_count++;
    uv_cond_signal(&e->threads.pool_work);
}

/* Of all that are kept */
static uint64_t kept_most(const struct engine *e)
{
    uint64_t budget = e->schedule.setting.pool_budget / POOLS_KEPT_PART;
    return budget && budget < POOLS_KEPT_BYTES ? budget : POOLS_KEPT_BYTES;
}

/* The newest are kept, as far as there is room. */
static void kept_trim(struct engine *e)
{
    uint64_t bytes = 0, most = kept_most(e);
    for (const struct pool *p = e->kept_pools; p; p = p->next)
        bytes += p->format.memfd_size;
    while (bytes > most) {
        struct pool *oldest = e->kept_pools;
        bytes -= oldest->format.memfd_size;
        e->kept_pools = oldest->next;
        pool_discard(e, oldest);
    }
}

/* The device knows its memory, and its reader has given back all frames or will tell. */
static bool pool_is_worth(const struct pool *pool, const struct subscription *sub)
{
    return sub->user.reader && pool->memory && pool_whole(pool) && pool->parts[0].host &&
           (!pool->busy || !sub->closing);
}

void pools_leave(struct engine *e, struct subscription *sub)
{
    struct pool *pools = subscription_take_pools(sub);
    while (pools) {
        struct pool *pool = pools;
        pools = pool->next;
        pool->user = sub->user;
        pool->left_ns = now_ns();
        pool->returned = !pool->busy;
        if (!e->gpu_lost && pool_is_worth(pool, sub))
            pool_append(&e->kept_pools, pool);
        else
            pool_discard(e, pool);
    }
    kept_trim(e);
}

/* Those that are still held serve no other stream. */
void engine_pools_returned(struct engine *e, uint32_t stream, bool all)
{
    engine_lock(e);
    for (struct pool **at = &e->kept_pools; *at;) {
        struct pool *pool = *at;
        pool->returned |= pool->user.stream == stream && all;
        if (pool->user.stream != stream || pool->returned) {
            at = &pool->next;
            continue;
        }
        *at = pool->next;
        pool_discard(e, pool);
    }
    engine_unlock(e);
}

struct pool *pools_take_kept(struct engine *e, uint64_t reader, const struct pool_params *params)
{
    struct pool **at = &e->kept_pools, *pool;
    while (*at && ((*at)->user.reader != reader || !(*at)->returned || !pool_serves(*at, params)))
        at = &(*at)->next;
    pool = *at;
    if (pool)
        *at = pool->next;
    return pool;
}

bool pools_tend(struct engine *e, int64_t now)
{
    while (e->kept_pools && now - e->kept_pools->left_ns >= e->idle_ns) {
        struct pool *oldest = e->kept_pools;
        e->kept_pools = oldest->next;
        pool_discard(e, oldest);
    }
    return e->kept_pools != NULL;
}

bool pools_free_one(struct engine *e, uint32_t kept)
{
    struct pool *pool = e->old_pools;
    if (e->old_pool_count <= kept)
        return false;
    e->old_pools = pool->next;
    e->old_pool_count--;
    engine_unlock(e);
    pool_free(pool);
    engine_lock(e);
    return true;
}

void pools_thread_main(void *engine)
{
    struct engine *e = engine;
    pthread_setname_np(pthread_self(), "pelton-pools");
    engine_lock(e);
    while (pools_free_one(e, 0) || !e->threads.pools_stopping)
        if (!e->old_pools && !e->threads.pools_stopping)
            engine_wait(e, &e->threads.pool_work, 0);
    engine_unlock(e);
}
