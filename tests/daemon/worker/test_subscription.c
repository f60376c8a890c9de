/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Events, epochs and the end of a subscription: on_end comes once and last, under any order of
 * frames, failures and close.
 */
#include "daemon/worker/feed/subscription.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct world {
    uv_mutex_t lock;
    struct subscription sub;
    unsigned woken, noted, infos, formats, frames, states, shorts, ends;
    struct feed_frame last;
    uint32_t epoch;
    double exposure_us; /* of the last frame's camera */
    int code;
    bool close_on_frame;
};

static void on_info(void *ctx, const struct pelton_info *info, const struct pelton_probe_sei *sei)
{
    struct world *w = ctx;
    assert_int_equal(w->ends, 0);
    w->infos++;
}

static void on_format(void *ctx, const struct feed_format *format)
{
    struct world *w = ctx;
    assert_int_equal(w->ends, 0);
    w->epoch = format->epoch;
    w->formats++;
}

static void on_frame(void *ctx, const struct feed_frame *frame)
{
    struct world *w = ctx;
    assert_int_equal(w->ends, 0);
    assert_int_equal(frame->epoch, w->epoch); /* its format came before */
    w->last = *frame;
    w->exposure_us = frame->camera ? frame->camera->settings.exposure_us : 0;
    w->frames++;
    if (w->close_on_frame)
        w->sub.closing = true;
}

static void on_state(void *ctx, bool running, const char *cause)
{
    struct world *w = ctx;
    assert_int_equal(w->ends, 0);
    w->states++;
}

static void on_short(void *ctx)
{
    struct world *w = ctx;
    assert_int_equal(w->ends, 0);
    w->shorts++;
}

static void on_end(void *ctx, const struct pelton_failure *failure,
                   const struct pelton_stats *stats)
{
    struct world *w = ctx;
    w->code = failure->code;
    w->ends++;
}

static void world_wake(void *world)
{
    struct world *w = world;
    w->woken++;
}

static void world_note(void *world)
{
    struct world *w = world;
    w->noted++;
}

static void world_init(struct world *w)
{
    static const struct feed_callbacks callbacks = {on_info,  on_format, on_frame,
                                                    on_state, on_short,  on_end};
    memset(w, 0, sizeof(*w));
    uv_mutex_init(&w->lock);
    const struct subscription_owner by = {
        .lock = &w->lock, .wake = world_wake, .note = world_note, .owner = w};
    subscription_init(&w->sub, &by, &callbacks, w);
}

static void world_free(struct world *w)
{
    subscription_clear(&w->sub);
    uv_mutex_destroy(&w->lock);
}

/* With the lock, dropped meanwhile. */
static void world_yield(struct world *w)
{
    uv_mutex_unlock(&w->lock);
    sched_yield();
    uv_mutex_lock(&w->lock);
}

/* With the lock, dropped meanwhile. */
static void make_pool(struct world *w)
{
    while (!subscription_maker_free(&w->sub, true))
        world_yield(w);
    struct pool_params params = {.memory = true, .format.slots = 2};
    feed_format_plane(&params.format, 16, 16, 64);
    feed_format_close(&params.format);
    assert_true(subscription_pool_start(&w->sub, &params));
    assert_true(subscription_pool_making(&w->sub));
    while (!subscription_pool_made(&w->sub))
        world_yield(w);
    assert_int_equal(subscription_pool_adopt(&w->sub), 0);
    assert_false(subscription_pool_making(&w->sub));
    while (!subscription_maker_free(&w->sub, false))
        world_yield(w);
}

/* With the lock. */
static bool post(struct world *w, const struct feed_camera *camera)
{
    struct pool *pool = w->sub.pools;
    uint32_t slot = 0;
    assert_true(pool_take(pool, &slot));
    struct feed_frame frame = {.epoch = pool->format.epoch,
                               .slot = slot,
                               .generation = pool->slots[slot].generation,
                               .side = calloc(1, sizeof(struct pelton_side_data))};
    bool posted = subscription_post_frame(&w->sub, pool, &frame, camera);
    assert_int_equal(posted, frame.side == NULL);
    free(frame.side);
    return posted;
}

/* The owner ends the subscription when it may; the loop calls on_end when that is due. */
static void turn(struct world *w)
{
    static const struct pelton_stats stats;
    subscription_dispatch(&w->sub);
    uv_mutex_lock(&w->lock);
    if (!w->sub.ended && subscription_quiet(&w->sub))
        subscription_end(&w->sub);
    bool over = subscription_over(&w->sub);
    uv_mutex_unlock(&w->lock);
    if (over && !w->ends)
        subscription_call_end(&w->sub, &stats);
}

static void test_frames(void **state)
{
    struct world w;
    const struct feed_camera camera = {.settings.exposure_us = 500};
    world_init(&w);
    uv_mutex_lock(&w.lock);
    subscription_post_info(&w.sub);
    assert_int_equal(w.noted, 1);
    make_pool(&w);
    assert_true(post(&w, NULL));
    assert_true(post(&w, &camera));
    assert_int_equal(w.sub.pools->busy, 2);
    assert_int_equal(w.sub.pools->events, 3);
    uv_mutex_unlock(&w.lock);
    assert_int_equal(w.noted, 4); /* a format and two frames */
    assert_true(subscription_dispatch(&w.sub));
    assert_int_equal(w.infos, 1);
    assert_int_equal(w.formats, 1);
    assert_int_equal(w.frames, 2);
    assert_true(w.exposure_us == 500);
    assert_false(subscription_dispatch(&w.sub));
    w.woken = 0;
    subscription_release(&w.sub, 2, w.last.slot, w.last.generation); /* another epoch */
    subscription_release(&w.sub, 1, w.last.slot, w.last.generation + 1);
    assert_int_equal(w.woken, 0);
    assert_int_equal(w.sub.pools->busy, 2);
    subscription_release(&w.sub, 1, w.last.slot, w.last.generation);
    assert_int_equal(w.woken, 1);
    assert_int_equal(w.sub.pools->busy, 1);
    uv_mutex_lock(&w.lock);
    subscription_end(&w.sub);
    assert_int_equal(w.noted, 5);
    uv_mutex_unlock(&w.lock);
    world_free(&w);
}

static void test_memory_short(void **state)
{
    struct world w;
    world_init(&w);
    uv_mutex_lock(&w.lock);
    subscription_post_short(&w.sub);
    subscription_post_short(&w.sub);
    assert_int_equal(w.noted, 2);
    uv_mutex_unlock(&w.lock);
    subscription_dispatch(&w.sub);
    subscription_dispatch(&w.sub);
    assert_int_equal(w.shorts, 1);
    w.sub.closing = true;
    subscription_post_short(&w.sub);
    subscription_dispatch(&w.sub);
    assert_int_equal(w.shorts, 1);
    world_free(&w);
}

/* Events that were called wake the owner where it waits for them, and not else. */
static void test_awaited(void **state)
{
    struct world w;
    world_init(&w);
    uv_mutex_lock(&w.lock);
    make_pool(&w);
    assert_true(post(&w, NULL));
    w.woken = 0;
    uv_mutex_unlock(&w.lock);
    assert_true(subscription_dispatch(&w.sub));
    assert_int_equal(w.woken, 0);
    uv_mutex_lock(&w.lock);
    assert_true(post(&w, NULL));
    assert_false(subscription_quiet(&w.sub));
    uv_mutex_unlock(&w.lock);
    assert_true(subscription_dispatch(&w.sub));
    assert_int_equal(w.woken, 1);
    uv_mutex_lock(&w.lock);
    assert_true(subscription_quiet(&w.sub));
    make_pool(&w);
    assert_true(post(&w, NULL));
    w.sub.pools->retired = true; /* as if there were a newer one */
    w.woken = 0;
    assert_false(subscription_pools_free(&w.sub, false));
    uv_mutex_unlock(&w.lock);
    assert_true(subscription_dispatch(&w.sub));
    assert_int_equal(w.woken, 1);
    uv_mutex_lock(&w.lock);
    assert_true(post(&w, NULL));
    w.sub.closing = true;
    uv_mutex_unlock(&w.lock);
    assert_true(subscription_dispatch(&w.sub));
    assert_int_equal(w.woken, 2); /* the slot is free again */
    uv_mutex_lock(&w.lock);
    subscription_end(&w.sub);
    uv_mutex_unlock(&w.lock);
    world_free(&w);
}

/* A former pool stays while a reader holds its slots or an event names it. */
static void test_epochs(void **state)
{
    struct world w;
    world_init(&w);
    uv_mutex_lock(&w.lock);
    make_pool(&w);
    assert_true(post(&w, NULL));
    uint64_t one = subscription_bytes(&w.sub, false);
    make_pool(&w);
    assert_int_equal(w.sub.epoch, 2);
    assert_int_equal(subscription_bytes(&w.sub, false), 2 * one);
    assert_false(subscription_pools_free(&w.sub, false));
    assert_true(post(&w, NULL));
    uv_mutex_unlock(&w.lock);
    subscription_dispatch(&w.sub);
    assert_int_equal(w.formats, 2);
    assert_int_equal(w.epoch, 2);
    uv_mutex_lock(&w.lock);
    assert_false(subscription_pools_free(&w.sub, false));
    uv_mutex_unlock(&w.lock);
    subscription_release(&w.sub, 1, 0, 1);
    uv_mutex_lock(&w.lock);
    assert_true(subscription_pools_free(&w.sub, false));
    assert_int_equal(subscription_bytes(&w.sub, false), one);
    subscription_end(&w.sub);
    assert_int_equal(subscription_bytes(&w.sub, false), 0);
    uv_mutex_unlock(&w.lock);
    world_free(&w);
}

/* A pool of a former stream is the current one at once, and its format is told anew. */
static void test_reuse(void **state)
{
    struct world w, next;
    world_init(&w);
    world_init(&next);
    uv_mutex_lock(&w.lock);
    make_pool(&w);
    struct pool *pool = subscription_take_pools(&w.sub);
    const struct feed_format format = pool->format;
    subscription_end(&w.sub);
    uv_mutex_unlock(&w.lock);
    uv_mutex_lock(&next.lock);
    assert_true(subscription_maker_free(&next.sub, true));
    subscription_pool_reuse(&next.sub, pool, &format);
    assert_true(subscription_pool_making(&next.sub));
    assert_false(subscription_maker_free(&next.sub, true)); /* not before it is adopted */
    assert_true(subscription_pool_made(&next.sub));
    assert_int_equal(subscription_pool_adopt(&next.sub), 0);
    assert_false(subscription_pool_making(&next.sub));
    assert_true(subscription_maker_free(&next.sub, true));
    assert_true(post(&next, NULL));
    uv_mutex_unlock(&next.lock);
    subscription_dispatch(&next.sub);
    assert_int_equal(next.formats, 1);
    assert_int_equal(next.epoch, 1);
    uv_mutex_lock(&next.lock);
    subscription_end(&next.sub);
    uv_mutex_unlock(&next.lock);
    world_free(&w);
    world_free(&next);
}

/* A callback closes: the rest of the queue is dropped, and on_end still comes. The slot that the
 * reader has heard of is its own; the other one is free, as nobody would release it. */
static void test_close_in_callback(void **state)
{
    struct world w;
    world_init(&w);
    w.close_on_frame = true;
    uv_mutex_lock(&w.lock);
    make_pool(&w);
    assert_true(post(&w, NULL));
    assert_true(post(&w, NULL));
    uv_mutex_unlock(&w.lock);
    subscription_dispatch(&w.sub);
    assert_int_equal(w.sub.pools->busy, 1);
    assert_int_equal(w.sub.pools->slots[w.last.slot].state, POOL_HELD);
    turn(&w);
    assert_int_equal(w.frames, 1);
    assert_int_equal(w.ends, 1);
    world_free(&w);
}

static void test_first_failure(void **state)
{
    struct world w;
    world_init(&w);
    subscription_fail(&w.sub, PELTON_ERR_INPUT, "first", "");
    subscription_fail(&w.sub, PELTON_ERR_NOMEM, "second", "");
    turn(&w);
    assert_int_equal(w.code, PELTON_ERR_INPUT);
    assert_string_equal(w.sub.failure.cause, "first");
    world_free(&w);
}

/* Every order of information, frame, state, failure, close and turns of the loop. */
enum step { INFO, FRAME, STATE, FAIL, CLOSE, DISPATCH, STEPS };

static void world_step(struct world *w, enum step step)
{
    uv_mutex_lock(&w->lock);
    if (step == INFO)
        w->sub.info_ready = true;
    else if (step == FRAME && w->sub.pools && w->sub.pools->busy < 2)
        post(w, NULL);
    else if (step == STATE)
        subscription_post_state(&w->sub, false, "gone");
    else if (step == FAIL)
        subscription_fail(&w->sub, PELTON_ERR_INPUT, "cause", "");
    else if (step == CLOSE)
        w->sub.closing = true;
    uv_mutex_unlock(&w->lock);
    if (step == DISPATCH)
        subscription_dispatch(&w->sub);
}

static void test_end_once(void **state)
{
    enum { LENGTH = 5, ORDERS = STEPS * STEPS * STEPS * STEPS * STEPS };
    for (unsigned order = 0; order < ORDERS; order++) {
        struct world w;
        world_init(&w);
        uv_mutex_lock(&w.lock);
        if (order % 7 == 0)
            make_pool(&w);
        uv_mutex_unlock(&w.lock);
        for (unsigned i = 0, rest = order; i < LENGTH; i++, rest /= STEPS)
            world_step(&w, (enum step)(rest % STEPS));
        bool closed = w.sub.closing, info = w.sub.info_ready;
        for (unsigned i = 0; i < 3; i++)
            turn(&w);
        assert_int_equal(w.ends, 1);
        assert_true(closed || w.infos == info);
        assert_null(w.sub.pools);
        world_step(&w, FRAME); /* nothing is taken afterwards */
        world_step(&w, STATE);
        assert_false(w.sub.events);
        world_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),        cmocka_unit_test(test_memory_short),
        cmocka_unit_test(test_awaited),       cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_first_failure), cmocka_unit_test(test_close_in_callback),
        cmocka_unit_test(test_end_once),      cmocka_unit_test(test_reuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
