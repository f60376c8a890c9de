/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame stores: made when a session needs one, kept a while, freed when idle. The schedule says
 * which store a session gets, and how many slots a new one has (schedule/slots.h).
 */
#include "daemon/worker/steps/store.h"

#include "proto/start_trace.h"

#include <stdlib.h>

#define STORE_AGAIN_NS 1000000000ll /* until a store that could not grow tries again */

/* ---- submissions ---- */

static void submission_free(struct submission *sub)
{
    if (!sub)
        return;
    free(sub->batch.entries);
    free(sub->pictures);
    free(sub->views);
    free(sub);
}

static struct submission *submission_new(uint32_t width)
{
    struct submission *sub = calloc(1, sizeof(*sub));
    if (!sub)
        return NULL;
    sub->batch.entries = calloc(width, sizeof(*sub->batch.entries));
    sub->pictures = calloc(width, sizeof(*sub->pictures));
    sub->views = calloc(width, sizeof(*sub->views));
    if (sub->batch.entries && sub->pictures && sub->views)
        return sub;
    submission_free(sub);
    return NULL;
}

static void submissions_set_width(struct store *st)
{
    for (struct submission *sub = st->spare; sub; sub = sub->next)
        sub->batch.width = st->slots.width;
}

/* All that the store will ever use. */
static int submissions_make(struct store *st, uint32_t width)
{
    for (uint32_t i = 0; i < BATCHES_IN_FLIGHT; i++) {
        struct submission *sub = submission_new(width);
        if (!sub)
            return GPU_ERR_NOMEM;
        sub->next = st->spare;
        st->spare = sub;
    }
    submissions_set_width(st);
    return GPU_OK;
}

/* ---- stores ---- */

static void store_free(struct store *st)
{
    if (!st)
        return;
    if (st->growth.running)
        uv_thread_join(&st->growth.thread);
    recon_growth_free(st->growth.made);
    recon_free(st->recon);
    while (st->spare) {
        struct submission *sub = st->spare;
        st->spare = sub->next;
        submission_free(sub);
    }
    slots_free(&st->slots);
    free(st);
}

static struct recon_params recon_params_of(const struct engine *e, const struct slots *slots)
{
    const struct slots_key *key = &slots->key;
    enum tune_size size = tune_size_of(16 * key->mb_width, 16 * key->mb_height);
    uint8_t wavefront = e->params.wavefront ? e->params.wavefront : tune_wavefront(&e->tune, size);
    return (struct recon_params){.mb_width = key->mb_width,
                                 .mb_height = key->mb_height,
                                 .chroma_format_idc = key->chroma_format_idc,
                                 .bit_depth = {key->bit_depth[0], key->bit_depth[1]},
                                 .interlaced = key->interlaced,
                                 .separate_planes = key->separate_planes,
                                 .slots = slots->count,
                                 .width = slots->width,
                                 /* one more than batches_most */
                                 .flight = BATCHES_IN_FLIGHT + !e->software,
                                 .wavefront = wavefront,
                                 .delivery = tune_delivery(&e->tune, size)};
}

/* Without the lock. width 0: that of the schedule. */
static int store_create(struct engine *e, const struct slots_key *key, uint32_t count,
                        uint32_t width, struct store **out)
{
    struct store *st = calloc(1, sizeof(*st));
    if (!st)
        return GPU_ERR_NOMEM;
    st->engine = e;
    int err = slots_init(&st->slots, &e->schedule, key, count) ? GPU_OK : GPU_ERR_NOMEM;
    st->slots.width = width ? width : st->slots.width;
    struct recon_params params = recon_params_of(e, &st->slots);
    if (!err)
        err = recon_create(e->gpu, &params, &st->recon);
    if (!err) {
        st->slots.width = recon_width(st->recon);
        err = submissions_make(st, slots_batch_width(&e->schedule, UINT32_MAX));
    }
    if (err) {
        store_free(st);
        return err;
    }
    st->memory = recon_memory(st->recon);
    recon_times(st->recon, &st->times);
    *out = st;
    return 0;
}

int store_warm_up(struct engine *e)
{
    const struct slots_key key = {
        .mb_width = 120, .mb_height = 68, .chroma_format_idc = 1, .bit_depth = {8, 8}};
    struct slots slots = {0};
    if (!slots_init(&slots, &e->schedule, &key, 1))
        return GPU_ERR_NOMEM;
    struct recon_params params = recon_params_of(e, &slots);
    int err = recon_warm_up(e->gpu, &params);
    slots_free(&slots);
    return err;
}

/* With unfiltered pictures and uploads. */
static uint64_t store_bytes(const struct engine *e, const struct slots_key *key, uint32_t count)
{
    return 2 * slots_bytes(key, count + slots_batch_width(&e->schedule, count));
}

/* With fewer slots if memory is short; in the end the least that still makes progress, even beyond
 * the budget. */
static int store_create_any(struct engine *e, const struct slots_wish *wish, uint32_t count,
                            struct store **out)
{
    while (count / 2 > wish->base && !gpu_memory_fits(e->gpu, store_bytes(e, &wish->key, count)))
        count /= 2;
    int err = store_create(e, &wish->key, count, 0, out);
    while (err == GPU_ERR_NOMEM && count / 2 > wish->base) {
        count /= 2;
        err = store_create(e, &wish->key, count, 0, out);
    }
    if (err == GPU_ERR_NOMEM)
        err = store_create(e, &wish->key, wish->base + 1, 1, out);
    return err;
}

/* ---- growth ---- */

static void growth_main(void *store)
{
    struct store *st = store;
    struct store_growth *growth = &st->growth;
    int err = recon_growth_create(st->recon, growth->count, growth->width, &growth->made);
    engine_lock(st->engine);
    growth->error = err;
    growth->done = true;
    wake_device(&st->engine->schedule);
    engine_unlock(st->engine);
}

/* It goes on as it is, and tries again a while later. */
static void growth_refuse(struct store *st)
{
    st->growth.again_ns = now_ns() + STORE_AGAIN_NS;
    st->slots.most = st->slots.count;
}

static void growth_start(struct engine *e, struct store *st, uint32_t count)
{
    struct store_growth *growth = &st->growth;
    /* the old ones are there until all frames are copied */
    uint32_t before = st->slots.count;
    while (count > before + before / 8 &&
           !gpu_memory_fits(e->gpu, slots_bytes(&st->slots.key, count)))
        count = before + (count - before) / 2;
    growth->count = count;
    growth->width = slots_batch_width(&e->schedule, count);
    growth->done = false;
    growth->running = gpu_memory_fits(e->gpu, slots_bytes(&st->slots.key, count)) &&
                      uv_thread_create(&growth->thread, growth_main, st) == 0;
    if (!growth->running)
        growth_refuse(st);
}

/* Nothing is in flight. With the lock, dropped meanwhile. */
static void growth_adopt(struct engine *e, struct store *st)
{
    struct store_growth *growth = &st->growth;
    engine_unlock(e);
    uv_thread_join(&growth->thread);
    int err = growth->error;
    if (!err)
        err = recon_grow(st->recon, growth->made, st->slots.count);
    growth->made = NULL;
    engine_lock(e);
    growth->running = false;
    st->slots.held_back = false;
    if (!err && !slots_resize(&e->schedule, &st->slots, growth->count))
        err = GPU_ERR_NOMEM;
    if (err == GPU_ERR_LOST)
        engine_device_failed(e, err);
    if (err)
        growth_refuse(st);
    st->slots.width = recon_width(st->recon);
    st->memory = recon_memory(st->recon);
    submissions_set_width(st);
}

bool store_grow(struct engine *e, struct store *st)
{
    struct slots *slots = &st->slots;
    if (e->gpu_lost)
        return false;
    if (st->growth.again_ns && now_ns() >= st->growth.again_ns) {
        st->slots.most = st->growth.planned;
        st->growth.again_ns = 0;
    }
    if (!st->growth.running) {
        uint32_t next = slots->wanted ? slots_next(&e->schedule, slots) : slots->count;
        slots->wanted = false;
        if (next > slots->count)
            growth_start(e, st, next);
        return false;
    }
    slots->held_back = st->growth.done;
    if (!st->growth.done || slots->in_flight)
        return false;
    growth_adopt(e, st);
    return true;
}

/* ---- sessions ---- */

void store_detach(struct session *s)
{
    if (!s->window.slots.of)
        return;
    session_account_gpu(s, &s->gpu_sum);
    slots_detach(&s->window);
}

int store_attach(struct session *s, const struct h264_sps *sps)
{
    struct engine *e = s->engine;
    struct slots_wish wish = slots_wish_of(&s->window, sps);
    struct slots *slots = NULL;
    store_detach(s);
    enum slots_found found = slots_find(&s->window, &wish, now_ns(), &slots);
    if (found == SLOTS_LATER)
        return STORE_LATER;
    if (found == SLOTS_NONE) {
        struct store *st = NULL;
        uint32_t most = slots_for(&e->schedule, &wish),
                 count = slots_first(&s->window, &wish, most);
        store_collect(e, false);
        engine_unlock(e);
        START_TRACE_FIRST("first frame store is wanted");
        int err = store_create_any(e, &wish, count, &st);
        engine_lock(e);
        if (err)
            return err;
        slots = &st->slots;
        slots->most = st->growth.planned = most;
        slots_add(&e->schedule, slots);
    }
    START_TRACE_FIRST("first frame store is made");
    slots_attach(&s->window, slots, &wish);
    s->gpu_base = store_of(slots)->times;
    return 0;
}

void store_collect(struct engine *e, bool all)
{
    struct slots *slots;
    while ((slots = slots_remove_idle(&e->schedule, all))) {
        engine_unlock(e);
        store_free(store_of(slots));
        engine_lock(e);
    }
}

/* ---- idleness ---- */

static bool store_is_small(const struct engine *e, const struct store *st)
{
    return !e->schedule.stores->next && st->slots.count <= SLOTS_IDLE;
}

/* It begins again with few slots. With the lock, dropped meanwhile. */
static int store_shrink(struct engine *e, struct store *st)
{
    struct recon_growth *growth = NULL;
    uint32_t width = slots_batch_width(&e->schedule, SLOTS_IDLE);
    engine_unlock(e);
    int err = recon_growth_create(st->recon, SLOTS_IDLE, width, &growth);
    if (!err)
        err = recon_grow(st->recon, growth, 0);
    engine_lock(e);
    if (err || !slots_resize(&e->schedule, &st->slots, SLOTS_IDLE))
        return GPU_ERR_NOMEM;
    st->slots.width = recon_width(st->recon);
    st->slots.wanted = false;
    st->memory = recon_memory(st->recon);
    submissions_set_width(st);
    return GPU_OK;
}

static void store_give_back(struct engine *e, struct store *st)
{
    bool last = !e->schedule.stores->next,
         small = e->software && store_bytes(e, &st->slots.key, SLOTS_IDLE) <= SLOTS_IDLE_BYTES;
    if (last && small && !e->gpu_lost && !st->growth.running && !store_shrink(e, st))
        return;
    slots_remove(&e->schedule, &st->slots);
    engine_unlock(e);
    store_free(st);
    engine_lock(e);
}

bool stores_tend(struct engine *e, int64_t now)
{
    struct slots *next, *due = NULL;
    bool later = false;
    for (struct slots *st = e->schedule.stores; st; st = next) {
        next = st->next;
        st->idle_ns = !slots_idle(st) ? 0 : st->idle_ns ? st->idle_ns : now;
        if (!st->idle_ns || store_is_small(e, store_of(st)))
            continue;
        later = true;
        if (now - st->idle_ns >= e->idle_ns)
            due = st;
    }
    if (due)
        store_give_back(e, store_of(due)); /* one each time */
    return later;
}
