/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Growth of a store: a thread makes larger images while batches run, then frames move between two
 * batches. The failure mode is that the device has no memory for it: the store goes on as it is.
 */
#include "daemon/worker/steps/store_internal.h"

#include <stdlib.h>

#define STORE_AGAIN_NS 1000000000ll /* until a store that could not grow tries again */

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
    struct store_size size = store_size_of(e, &st->slots.key, count);
    return gpu_memory_has(e->gpu, store_bytes(e, &st->slots.key, &size, true));
}

static void growth_start(struct engine *e, struct store *st, uint32_t count)
{
    struct store_growth *growth = &st->growth;
    uint32_t before = st->slots.count;
    while (count > before + before / 8 && !growth_fits(e, st, count))
        count = before + (count - before) / 2;
    growth->count = count;
    growth->width = slots_batch_width(&e->schedule, &st->slots.key, count);
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
    store_take_size(st);
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
