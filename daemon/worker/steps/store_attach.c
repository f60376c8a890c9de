/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How a session gets a store: one that is there, one of its own, or none yet.
 *
 * Where the budget has no room, the session waits. The broker is asked to let another stream rest,
 * and idle memory of entropy decoding goes back. When nothing moves any more, it exceeds the budget
 * (docs/design/memory.md).
 */
#include "daemon/worker/steps/store_attach.h"

#include "daemon/worker/steps/store_internal.h"
#include "proto/start_trace.h"

#include <stdio.h>

void store_detach(struct session *s)
{
    if (!s->window.slots.of)
        return;
    session_account_gpu(s, &s->gpu_sum);
    slots_detach(&s->window);
}

/* A store of its own. With the lock, dropped meanwhile. */
static int store_make(struct engine *e, const struct slots_wish *wish, uint32_t most,
                      struct store_size *size, bool needed, struct slots **out)
{
    struct store *st = NULL;
    engine_unlock(e);
    START_TRACE_FIRST("first frame store is wanted");
    int err = store_create_any(e, wish, size, needed, &st);
    engine_lock(e);
    if (err)
        return err;
    st->slots.most = st->growth.planned = most > st->slots.count ? most : st->slots.count;
    slots_add(&e->schedule, &st->slots);
    *out = &st->slots;
    return 0;
}

/* Memory that others may give back, or nothing moves any more: a client may read several streams in
 * step, and this one of them waits. */
static bool memory_may_come(const struct engine *e, struct window_slots *slots, int64_t now)
{
    bool moves = slots->short_at != e->schedule.serial;
    for (const struct slots *st = e->schedule.stores; st; st = st->next)
        moves |= st->in_flight != 0;
    if (!slots->short_ns || moves) {
        slots->short_ns = now;
        slots->short_at = e->schedule.serial;
    }
    return (e->schedule.stores || gpu_memory_spare(e->gpu)) &&
           now - slots->short_ns < SLOTS_STILL_NS;
}

static bool memory_comes(const struct engine *e)
{
    const struct session *s = e->sessions;
    while (s && !s->window.abort)
        s = s->place.next;
    return s != NULL;
}

/* The broker closes a stream whose reader has all its frames, and opens it again later. Another one
 * only if that was not enough. */
static void memory_ask(struct session *s)
{
    struct engine *e = s->engine;
    int64_t now = now_ns();
    if (memory_comes(e) || (s->window.slots.asked && now - e->asked_ns < SLOTS_ASK_NS))
        return;
    e->asked_ns = now;
    s->window.slots.asked = true;
    subscription_post_short(&s->sub);
    engine_notify(e);
}

static void memory_wait_log(struct engine *e, struct session *s, bool waits)
{
    char line[256];
    snprintf(line, sizeof(line), "%.120s %s: the streams need more than memory.device", s->name,
             waits ? "waits for memory of the GPU" : "exceeds the budget");
    engine_log(e, waits ? 2 : 1, line);
}

/* With the lock, dropped meanwhile. */
static int store_wait(struct session *s, const struct slots_wish *wish, struct store_size *size,
                      struct slots **out)
{
    struct engine *e = s->engine;
    int64_t now = now_ns();
    if (memory_may_come(e, &s->window.slots, now)) {
        memory_ask(s);
        if (!e->short_ns) {
            e->short_ns = now;
            memory_wait_log(e, s, true);
        }
        bool fresh = now - e->short_ns < SLOTS_SHORT_NS;
        gpu_memory_want(e->gpu, fresh ? store_bytes(e, &wish->key, size, false) : 0);
        wake_gpu_coder(&e->schedule);
        return STORE_LATER;
    }
    memory_wait_log(e, s, false);
    return store_make(e, wish, size->count, size, true, out);
}

/* The budget may be short of memory for a store of its own: then that of others, or a small one.
 * With the lock, dropped meanwhile. */
static int store_find_room(struct session *s, const struct slots_wish *wish, struct slots **out)
{
    struct engine *e = s->engine;
    uint32_t most = slots_for(&e->schedule, wish), least = wish->base + SLOTS_EXTRA_LEAST;
    struct store_size size = store_size_of(e, &wish->key, slots_first(&s->window, wish, most));
    store_collect(e, false);
    if (store_size_fit(e, wish, least < size.count ? least : size.count, &size)) {
        int err = store_make(e, wish, most, &size, false, out);
        if (err != GPU_ERR_NOMEM)
            return err;
    }
    enum slots_found found = slots_share(&s->window, wish, out);
    if (found == SLOTS_LATER)
        memory_ask(s);
    if (found != SLOTS_NONE)
        return found == SLOTS_LATER ? STORE_LATER : 0;
    store_collect(e, true);
    uint64_t refused = gpu_memory_refused(e->gpu);
    size = store_size_of(e, &wish->key, wish->base + 1);
    if (!store_size_fit(e, wish, wish->base + 1, &size))
        return store_wait(s, wish, &size, out);
    int err = store_make(e, wish, size.count, &size, false, out);
    /* others may have taken it meanwhile */
    bool taken = err == GPU_ERR_NOMEM && gpu_memory_refused(e->gpu) != refused;
    return taken ? store_wait(s, wish, &size, out) : err;
}

static bool stores_grow(const struct engine *e, const struct slots_key *key)
{
    bool grow = false;
    for (struct slots *st = e->schedule.stores; st; st = st->next)
        grow |= store_of(st)->growth.running && slots_key_equal(&st->key, key);
    return grow;
}

void stores_want_nothing(struct engine *e)
{
    if (!e->short_ns)
        return;
    e->short_ns = 0;
    gpu_memory_want(e->gpu, 0);
}

int store_attach(struct session *s, const struct h264_sps *sps)
{
    struct slots_wish wish = slots_wish_of(&s->window, sps);
    struct slots *slots = NULL;
    store_detach(s);
    enum slots_found found = slots_find(&s->window, &wish, now_ns(), &slots);
    if (found == SLOTS_LATER) {
        if (now_ns() - s->window.slots.wait_ns > SLOTS_ASK_AFTER_NS &&
            !stores_grow(s->engine, &wish.key))
            memory_ask(s);
        return STORE_LATER;
    }
    int err = found == SLOTS_NONE ? store_find_room(s, &wish, &slots) : 0;
    if (err)
        return err;
    START_TRACE_FIRST("first frame store is made");
    slots_attach(&s->window, slots, &wish);
    s->base.gpu = store_of(slots)->times;
    return 0;
}
