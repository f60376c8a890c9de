/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame stores: made when a session needs one, kept a while, freed when idle. The schedule says
 * which store a session gets, and how many slots a new one has (schedule/slots.h).
 */
#include "daemon/worker/steps/store_internal.h"

#include <stdlib.h>

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

void store_take_size(struct store *st)
{
    st->slots.width = recon_width(st->recon);
    st->memory = recon_memory(st->recon);
    submissions_set_width(st);
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
        err = submissions_make(st, slots_batch_width(&e->schedule, key, UINT32_MAX));
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

struct store_size store_size_of(const struct engine *e, const struct slots_key *key, uint32_t count)
{
    return (struct store_size){count, slots_batch_width(&e->schedule, key, count)};
}

uint64_t store_bytes(const struct engine *e, const struct slots_key *key,
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
static bool store_size_lower(const struct engine *e, const struct slots_key *key,
                             struct store_size *size, uint32_t least)
{
    if (size->count / 2 >= least + SLOTS_EXTRA_LEAST)
        *size = store_size_of(e, key, size->count / 2);
    else if (size->width > 1)
        size->width /= 2;
    else if (size->count > least)
        size->count = least;
    else
        return false;
    return true;
}

bool store_size_fit(const struct engine *e, const struct slots_wish *wish, uint32_t least,
                    struct store_size *size)
{
    do {
        if (gpu_memory_has(e->gpu, store_bytes(e, &wish->key, size, false)))
            return true;
    } while (store_size_lower(e, &wish->key, size, least));
    return false;
}

int store_create_any(struct engine *e, const struct slots_wish *wish, struct store_size *size,
                     bool needed, struct store **out)
{
    int err = store_create(e, &wish->key, size, needed, out);
    while (err == GPU_ERR_NOMEM && store_size_lower(e, &wish->key, size, wish->base + 1))
        err = store_create(e, &wish->key, size, needed, out);
    return err;
}

/* ---- idleness ---- */

void store_collect(struct engine *e, bool all)
{
    struct slots *slots;
    while ((slots = slots_remove_idle(&e->schedule, all))) {
        engine_unlock(e);
        store_free(store_of(slots));
        engine_lock(e);
    }
}

static bool store_is_small(const struct engine *e, const struct store *st)
{
    return !e->schedule.stores->next && st->slots.count <= SLOTS_IDLE;
}

/* It begins again with few slots. With the lock, dropped meanwhile. */
static int store_shrink(struct engine *e, struct store *st)
{
    struct recon_growth *growth = NULL;
    uint32_t width = slots_batch_width(&e->schedule, &st->slots.key, SLOTS_IDLE);
    engine_unlock(e);
    int err = recon_growth_create(st->recon, SLOTS_IDLE, width, &growth);
    if (!err)
        err = recon_grow(st->recon, growth, NULL, 0);
    engine_lock(e);
    if (err || !slots_resize(&e->schedule, &st->slots, SLOTS_IDLE))
        return GPU_ERR_NOMEM;
    st->slots.wanted = false;
    store_take_size(st);
    return GPU_OK;
}

static void store_give_back(struct engine *e, struct store *st)
{
    struct store_size size = store_size_of(e, &st->slots.key, SLOTS_IDLE);
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
