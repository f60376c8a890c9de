/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Events, pools and the end of a subscription. See subscription.h.
 *
 * The failure modes are no memory for an event (the frame is not shown), no memory for a pool (the
 * owner fails the reader) and a close at any moment (queued events are dropped, not called).
 */
#include "daemon/worker/feed/subscription.h"

#include <stdio.h>
#include <stdlib.h>

void subscription_init(struct subscription *sub, const struct subscription_owner *by,
                       const struct feed_callbacks *callbacks, void *ctx)
{
    *sub = (struct subscription){.by = *by, .callbacks = *callbacks, .ctx = ctx};
    sub->events_tail = &sub->events;
}

static void event_free(struct event *ev)
{
    free(ev->frame.side);
    free(ev);
}

void subscription_clear(struct subscription *sub)
{
    while (sub->events) {
        struct event *ev = sub->events;
        sub->events = ev->next;
        event_free(ev);
    }
}

void subscription_fail(struct subscription *sub, int code, const char *cause, const char *hint)
{
    struct pelton_failure *f = &sub->failure;
    if (f->code)
        return;
    f->code = code;
    snprintf(f->cause, sizeof(f->cause), "%s", cause);
    snprintf(f->hint, sizeof(f->hint), "%s", hint);
}

/* ---- events ---- */

static void note(struct subscription *sub)
{
    if (sub->by.note)
        sub->by.note(sub->by.owner);
}

static struct event *event_append(struct subscription *sub, enum event_kind kind, struct pool *pool)
{
    struct event *ev = sub->closing || sub->ended ? NULL : calloc(1, sizeof(*ev));
    if (!ev)
        return NULL;
    ev->kind = kind;
    ev->pool = pool;
    if (pool)
        pool->events++;
    *sub->events_tail = ev;
    sub->events_tail = &ev->next;
    note(sub);
    return ev;
}

bool subscription_post_state(struct subscription *sub, bool running, const char *cause)
{
    struct event *ev = event_append(sub, EVENT_STATE, NULL);
    if (!ev)
        return false;
    ev->running = running;
    snprintf(ev->cause, sizeof(ev->cause), "%s", cause);
    return true;
}

bool subscription_post_format(struct subscription *sub, struct pool *pool)
{
    if (!pool->announced)
        pool->announced = event_append(sub, EVENT_FORMAT, pool) != NULL;
    return pool->announced;
}

bool subscription_post_frame(struct subscription *sub, struct pool *pool, struct feed_frame *frame,
                             const struct feed_camera *camera)
{
    struct event *ev = NULL;
    if (subscription_post_format(sub, pool))
        ev = event_append(sub, EVENT_FRAME, pool);
    if (!ev) {
        pool_put(pool, frame->slot);
        return false;
    }
    ev->frame = *frame;
    frame->side = NULL;
    if (camera) {
        ev->camera = *camera;
        ev->frame.camera = &ev->camera;
    }
    pool_hold(pool, frame->slot);
    return true;
}

void subscription_post_short(struct subscription *sub)
{
    sub->memory_short = true;
    note(sub);
}

void subscription_post_info(struct subscription *sub)
{
    sub->info_ready = true;
    note(sub);
}

static bool info_due(const struct subscription *sub)
{
    return sub->info_ready && !sub->info_sent;
}

static void event_call(struct subscription *sub, struct event *ev)
{
    const struct feed_callbacks *to = &sub->callbacks;
    ev->called = true;
    if (ev->kind == EVENT_FORMAT && to->on_format)
        to->on_format(sub->ctx, &ev->pool->format);
    else if (ev->kind == EVENT_FRAME && to->on_frame)
        to->on_frame(sub->ctx, &ev->frame);
    else if (ev->kind == EVENT_STATE && to->on_state)
        to->on_state(sub->ctx, ev->running, ev->cause);
}

/* `closing` changes on this thread alone, so it is read without the lock. */
bool subscription_dispatch(struct subscription *sub)
{
    uv_mutex_lock(sub->by.lock);
    bool info = info_due(sub), memory_short = sub->memory_short;
    sub->info_sent |= info;
    sub->memory_short = false;
    struct event *events = sub->events;
    sub->events = NULL;
    sub->events_tail = &sub->events;
    uv_mutex_unlock(sub->by.lock);
    if (info && !sub->closing && sub->callbacks.on_info)
        sub->callbacks.on_info(sub->ctx, &sub->info, sub->probe_sei);
    if (memory_short && !sub->closing && sub->callbacks.on_short)
        sub->callbacks.on_short(sub->ctx);
    for (struct event *ev = events; ev && !sub->closing; ev = ev->next)
        event_call(sub, ev);
    bool any = events != NULL;
    uv_mutex_lock(sub->by.lock);
    while (events) {
        struct event *ev = events;
        events = ev->next;
        if (ev->kind == EVENT_FRAME && !ev->called) /* nobody will release it */
            pool_release(ev->pool, ev->frame.slot, ev->frame.generation);
        if (ev->pool)
            ev->pool->events--;
        event_free(ev);
    }
    if (any && (sub->awaited || sub->closing))
        sub->by.wake(sub->by.owner);
    sub->awaited &= !any;
    uv_mutex_unlock(sub->by.lock);
    return any;
}

/* ---- pools ---- */

/* The rest of the pool. With the lock, dropped meanwhile. */
static void pool_maker_grow(struct subscription *sub, struct pool *pool)
{
    int err = 0;
    while (!err && !pool_whole(pool) && !atomic_load(&sub->maker.stop)) {
        uv_mutex_unlock(sub->by.lock);
        err = pool_grow(sub->by.gpu, pool, &sub->maker.stop);
        uv_mutex_lock(sub->by.lock);
        if (err)
            continue;
        pool_grown(pool);
        sub->by.wake(sub->by.owner);
    }
}

static void pool_maker_main(void *subscription)
{
    struct subscription *sub = subscription;
    struct pool *pool = NULL;
    int err = pool_create(sub->by.gpu, &sub->maker.params, &pool);
    uv_mutex_lock(sub->by.lock);
    sub->maker.error = err;
    sub->maker.pool = pool;
    sub->maker.made = true;
    sub->by.wake(sub->by.owner);
    if (pool)
        pool_maker_grow(sub, pool);
    sub->maker.over = true;
    sub->by.wake(sub->by.owner);
    uv_mutex_unlock(sub->by.lock);
}

bool subscription_pool_start(struct subscription *sub, const struct pool_params *params)
{
    struct pool_maker *m = &sub->maker;
    *m = (struct pool_maker){.params = *params};
    m->params.format.epoch = sub->epoch + 1;
    m->running = uv_thread_create(&m->thread, pool_maker_main, sub) == 0;
    return m->running;
}

void subscription_pool_reuse(struct subscription *sub, struct pool *pool,
                             const struct feed_format *format)
{
    pool_begin_again(pool, format);
    pool->format.epoch = sub->epoch + 1;
    sub->maker = (struct pool_maker){.pool = pool, .made = true, .over = true};
}

int subscription_pool_adopt(struct subscription *sub)
{
    struct pool_maker *m = &sub->maker;
    m->made = false;
    if (m->error)
        return m->error;
    sub->epoch++;
    if (sub->pools)
        sub->pools->retired = true;
    m->pool->next = sub->pools;
    sub->pools = m->pool;
    return 0;
}

bool subscription_maker_free(struct subscription *sub, bool stop)
{
    struct pool_maker *m = &sub->maker;
    if (stop)
        atomic_store(&m->stop, true);
    if (!m->running || m->made || !m->over)
        return !m->running && !m->made;
    uv_mutex_unlock(sub->by.lock);
    uv_thread_join(&m->thread);
    uv_mutex_lock(sub->by.lock);
    m->running = false;
    return true;
}

bool subscription_pools_free(struct subscription *sub, bool all)
{
    bool any = false;
    for (struct pool **at = &sub->pools; *at;) {
        struct pool *pool = *at;
        if (!all && (!pool->retired || pool->busy || pool->events)) {
            sub->awaited |= pool->retired && pool->events;
            at = &pool->next;
            continue;
        }
        *at = pool->next;
        uv_mutex_unlock(sub->by.lock);
        pool_free(pool);
        uv_mutex_lock(sub->by.lock);
        any = true;
    }
    return any;
}

void subscription_release(struct subscription *sub, uint32_t epoch, uint32_t slot,
                          uint32_t generation)
{
    uv_mutex_lock(sub->by.lock);
    for (struct pool *p = sub->pools; p; p = p->next)
        if (p->format.epoch == epoch && pool_release(p, slot, generation))
            sub->by.wake(sub->by.owner);
    uv_mutex_unlock(sub->by.lock);
}

uint64_t subscription_bytes(const struct subscription *sub, bool device)
{
    uint64_t bytes = 0;
    for (const struct pool *p = sub->pools; p; p = p->next)
        bytes += p->device == device ? p->format.memfd_size : 0;
    return bytes;
}

/* ---- the end ---- */

bool subscription_quiet(struct subscription *sub)
{
    if (!subscription_maker_free(sub, true))
        return false;
    bool events = sub->events != NULL;
    for (const struct pool *p = sub->pools; p; p = p->next)
        events |= p->events > 0;
    sub->awaited |= events;
    return !events;
}

struct pool *subscription_take_pools(struct subscription *sub)
{
    struct pool *pools = sub->pools;
    sub->pools = NULL;
    return pools;
}

void subscription_end(struct subscription *sub)
{
    subscription_pools_free(sub, true);
    sub->ended = true;
    note(sub);
}

bool subscription_over(const struct subscription *sub)
{
    return sub->ended && !sub->events && (sub->closing || !info_due(sub));
}

void subscription_call_end(struct subscription *sub, const struct pelton_stats *stats)
{
    if (sub->callbacks.on_end)
        sub->callbacks.on_end(sub->ctx, &sub->failure, stats);
}
