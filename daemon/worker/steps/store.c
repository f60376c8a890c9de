/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame stores: made when a session needs one, kept a while, freed when idle. The schedule says
 * which store a session gets, and how many slots a new one has (schedule/slots.h).
 */
#include "daemon/worker/steps/store.h"

#include "proto/start_trace.h"

#include <stdio.h>
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

/* Slots, and pictures of a batch. */
struct store_size {
    uint32_t count, width;
};

/* Without the lock. needed: even beyond the budget. */
static int store_create(struct engine *e, const struct slots_key *key,
                        const struct store_size *size, bool needed, struct store **out)
{
    struct store *st = calloc(1, sizeof(*st));
    if (!st)
        return GPU_ERR_NOMEM;
    st->engine = e;
    int err = slots_init(&st->slots, &e->schedule, key, size->count) ? GPU_OK : GPU_ERR_NOMEM;
    st->slots.width = size->width;
    struct recon_params params = recon_params_of(e, &st->slots);
    params.needed = needed;
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

static struct store_size store_size_of(const struct engine *e, uint32_t count)
{
    return (struct store_size){count, slots_batch_width(&e->schedule, count)};
}

/* Of the device; room alone: without uploads. */
static uint64_t store_bytes(const struct engine *e, const struct slots_key *key,
                            const struct store_size *size, bool room)
{
    struct slots slots = {.key = *key, .count = size->count, .width = size->width};
    struct recon_params params = recon_params_of(e, &slots);
    struct recon_bytes bytes;
    if (recon_bytes(e->gpu, &params, &bytes))
        return 0; /* which its creation will tell */
    return bytes.room + (room ? 0 : bytes.uploads);
}

/* Fewer slots, then narrower batches, then as few slots as `least`. False: it is that already. */
static bool store_size_lower(const struct engine *e, struct store_size *size, uint32_t least)
{
    if (size->count / 2 >= least + SLOTS_EXTRA_LEAST)
        *size = store_size_of(e, size->count / 2);
    else if (size->width > 1)
        size->width /= 2;
    else if (size->count > least)
        size->count = least;
    else
        return false;
    return true;
}

/* The largest that the budget has room for; else the smallest, and false. */
static bool store_size_fit(const struct engine *e, const struct slots_wish *wish, uint32_t least,
                           struct store_size *size)
{
    do {
        if (gpu_memory_has(e->gpu, store_bytes(e, &wish->key, size, false)))
            return true;
    } while (store_size_lower(e, size, least));
    return false;
}

/* Smaller where the device refuses it. Without the lock. */
static int store_create_any(struct engine *e, const struct slots_wish *wish,
                            struct store_size *size, bool needed, struct store **out)
{
    int err = store_create(e, &wish->key, size, needed, out);
    while (err == GPU_ERR_NOMEM && store_size_lower(e, size, wish->base + 1))
        err = store_create(e, &wish->key, size, needed, out);
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
    st->slots.stuck = true;
}

/* The old slots are there until all frames are copied. */
static bool growth_fits(const struct engine *e, const struct store *st, uint32_t count)
{
    struct store_size size = store_size_of(e, count);
    return gpu_memory_has(e->gpu, store_bytes(e, &st->slots.key, &size, true));
}

static void growth_start(struct engine *e, struct store *st, uint32_t count)
{
    struct store_growth *growth = &st->growth;
    uint32_t before = st->slots.count;
    while (count > before + before / 8 && !growth_fits(e, st, count))
        count = before + (count - before) / 2;
    growth->count = count;
    growth->width = slots_batch_width(&e->schedule, count);
    growth->done = false;
    growth->running =
        growth_fits(e, st, count) && uv_thread_create(&growth->thread, growth_main, st) == 0;
    if (!growth->running)
        growth_refuse(st);
}

/* Frames move that are in use: this thread alone takes free slots. Each takes the device 0.1 ms.
 * With the lock, dropped meanwhile. */
static int growth_move(struct engine *e, struct store *st)
{
    struct store_growth *growth = &st->growth;
    uint32_t *frames = malloc(st->slots.count * sizeof(*frames));
    uint32_t count = frames ? slots_taken(&st->slots, frames) : 0;
    engine_unlock(e);
    uv_thread_join(&growth->thread);
    int err = frames || growth->error ? growth->error : GPU_ERR_NOMEM;
    if (!err)
        err = recon_grow(st->recon, growth->made, frames, count);
    else
        recon_growth_free(growth->made);
    growth->made = NULL;
    free(frames);
    engine_lock(e);
    return err;
}

/* Nothing is in flight. With the lock, dropped meanwhile. */
static void growth_adopt(struct engine *e, struct store *st)
{
    struct store_growth *growth = &st->growth;
    int err = growth_move(e, st);
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
        st->slots.stuck = false;
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
        s = s->next;
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
    struct store_size size = store_size_of(e, slots_first(&s->window, wish, most));
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
    size = store_size_of(e, wish->base + 1);
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
        err = recon_grow(st->recon, growth, NULL, 0);
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
    struct store_size size = store_size_of(e, SLOTS_IDLE);
    bool last = !e->schedule.stores->next,
         small = e->software && store_bytes(e, &st->slots.key, &size, true) <= SLOTS_IDLE_BYTES;
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
