/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pools of readers that are gone. See pool_ends.h.
 *
 * Any thread leaves pools, one frees them. At the end of the engine it frees all before it stops.
 */
#include "daemon/worker/steps/pool_ends.h"

#include "daemon/worker/feed/frame_pool.h"

#include <pthread.h>

void pools_leave(struct engine *e, struct pool *pools)
{
    struct pool **at = &e->old_pools;
    while (*at)
        at = &(*at)->next;
    *at = pools;
    for (; pools; pools = pools->next)
        e->old_pool_count++;
    uv_cond_signal(&e->threads.pool_work);
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
