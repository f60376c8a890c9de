/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame slots: quotas, slots that windows are sure of, stores that come and go.
 */
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/schedule.h"
#include "daemon/worker/schedule/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define WINDOWS  3
#define PICTURES 64

struct world {
    struct schedule s;
    struct window windows[WINDOWS];
    struct slots slots;
    struct h264_sps sps;
    struct picture pictures[PICTURES];
    struct h264_picture pics[PICTURES];
};

static struct world *world(uint32_t count)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->sps = (struct h264_sps){.mb_width = 10,
                               .mb_height = 10,
                               .chroma_format_idc = 1,
                               .bit_depth = {8, 8},
                               .frame_mbs_only_flag = 1,
                               .max_dpb_frames = 4};
    w->s.setting.software = true;
    w->s.setting.lookahead = 16;
    for (uint32_t i = 0; i < WINDOWS; i++)
        window_open(&w->windows[i], &w->s);
    struct slots_key key = slots_key_of(&w->sps);
    assert_true(slots_init(&w->slots, &w->s, &key, count));
    slots_add(&w->s, &w->slots);
    for (uint32_t i = 0; i < PICTURES; i++) {
        w->pics[i] = (struct h264_picture){.sps = &w->sps, .holder = {.slot = -1}};
        w->pictures[i] = (struct picture){.pic = &w->pics[i], .owner = &w->pictures[i]};
        w->pics[i].holder.user = &w->pictures[i];
    }
    return w;
}

static void world_free(struct world *w)
{
    slots_free(&w->slots);
    free(w);
}

static void attach(struct world *w, uint32_t window)
{
    struct slots_wish wish = slots_wish_of(&w->windows[window], &w->sps);
    slots_attach(&w->windows[window], &w->slots, &wish);
}

/* The next picture of a window takes a slot, in decoding order. */
static void take(struct world *w, uint32_t window, uint32_t picture)
{
    w->pictures[picture].window = &w->windows[window];
    slots_take(&w->slots, &w->pictures[picture]);
}

/* DPB, the picture itself, the next one, and frames in delivery. */
static void test_base(void **state)
{
    struct world *w = world(64);
    assert_int_equal(slots_base(&w->windows[0], &w->sps), 4 + 2 + SLOTS_DELIVERY);
    w->sps.max_dpb_frames = 0;
    assert_int_equal(slots_base(&w->windows[0], &w->sps), 1 + 2 + SLOTS_DELIVERY);
    w->windows[0].both_views = true;
    assert_int_equal(slots_base(&w->windows[0], &w->sps), 34 + SLOTS_DELIVERY);
    world_free(w);
}

/* What is left beyond everybody's base is shared evenly. */
static void test_quotas(void **state)
{
    struct world *w = world(40);
    attach(w, 0);
    assert_int_equal(slots_quota(&w->windows[0]), 10 + 16); /* all that it can use */
    attach(w, 1);
    assert_int_equal(slots_quota(&w->windows[0]), 10 + 10);
    assert_int_equal(slots_quota(&w->windows[1]), 10 + 10);
    assert_int_equal(w->slots.owed_to_all, 20);
    slots_detach(&w->windows[0]);
    assert_int_equal(slots_quota(&w->windows[1]), 10 + 16);
    assert_int_equal(w->slots.users, 1);
    world_free(w);
}

/* Windows that do nothing share no memory, but are sure of their slots. */
static void test_rest(void **state)
{
    struct world *w = world(40);
    attach(w, 0);
    attach(w, 1);
    take(w, 0, 0);
    windows_rest(&w->s);
    assert_int_equal(w->s.at_work_count, 2);
    assert_int_equal(w->slots.owed_to_all, 19);
    w->s.serial += WINDOW_RESTS - 1;
    windows_rest(&w->s);
    assert_int_equal(w->s.at_work_count, 2);
    w->windows[1].busy = 1;
    w->s.serial++;
    windows_rest(&w->s);
    assert_int_equal(w->s.at_work_count, 2); /* nobody looks after each batch */
    w->s.serial += WINDOW_RESTS_LOOK - 1;
    windows_rest(&w->s);
    assert_int_equal(w->s.at_work_count, 1); /* the other one has a picture */
    assert_ptr_equal(w->s.at_work, &w->windows[1]);
    assert_int_equal(w->slots.owed_to_all, 19);
    w->windows[1].busy = 0;
    w->s.serial += WINDOW_RESTS;
    windows_rest(&w->s);
    assert_null(w->s.at_work);
    assert_int_equal(w->slots.owed_to_all, 19);
    /* its slot comes back */
    slots_give(&w->slots, &w->windows[0], w->windows[0].slots.seat, 0);
    assert_null(w->s.at_work);
    assert_int_equal(w->slots.owed_to_all, 20);
    slots_detach(&w->windows[1]);
    assert_int_equal(w->slots.owed_to_all, 10);
    window_works(&w->windows[0]);
    assert_int_equal(w->s.at_work_count, 1);
    window_close(&w->windows[0]);
    window_close(&w->windows[1]);
    assert_null(w->s.at_work);
    window_open(&w->windows[0], &w->s);
    window_works(&w->windows[0]);
    assert_int_equal(w->s.at_work_count, 1);
    world_free(w);
}

/* Pictures ahead leave what others are sure of; the oldest picture always gets its base. */
static void test_claim(void **state)
{
    struct world *w = world(24);
    attach(w, 0);
    attach(w, 1);
    w->slots.owed = w->slots.owed_to_all;
    assert_int_equal(w->slots.owed, 20);
    assert_true(slots_claim(&w->windows[0], &w->slots, false, 0));
    assert_true(slots_claim(&w->windows[0], &w->slots, false, 11));
    assert_false(slots_claim(&w->windows[0], &w->slots, false, 12)); /* older ones need its quota */
    assert_true(slots_claim(&w->windows[0], &w->slots, true, 12));
    for (uint32_t i = 0; i < 2; i++) {
        take(w, 0, i);
        w->windows[0].frames_ahead++;
    }
    assert_false(
        slots_claim(&w->windows[0], &w->slots, false, 0)); /* its quota of pictures ahead */
    for (uint32_t i = 2; i < 12; i++) {
        assert_true(slots_claim(&w->windows[0], &w->slots, true, 0));
        take(w, 0, i);
    }
    assert_int_equal(w->slots.used, 12);
    assert_int_equal(w->slots.free_count, 12);
    for (uint32_t i = 12; i < 22; i++) {
        assert_true(slots_claim(&w->windows[1], &w->slots, true, 0));
        take(w, 1, i);
    }
    assert_false(w->windows[0].starves || w->windows[1].starves);
    world_free(w);
}

/* A stream keeps more pictures than its DPB size allows, and nothing will free one. */
static void test_starves(void **state)
{
    struct world *w = world(12);
    attach(w, 0);
    for (uint32_t i = 0; i < 12; i++)
        take(w, 0, i);
    assert_false(slots_claim(&w->windows[0], &w->slots, true, 0));
    assert_true(w->windows[0].starves);
    world_free(w);
}

/* The same, but a batch in flight may free one. */
static void test_in_flight(void **state)
{
    struct world *w = world(12);
    attach(w, 0);
    for (uint32_t i = 0; i < 12; i++)
        take(w, 0, i);
    w->pictures[3].stage = PICTURE_SUBMITTED;
    w->windows[0].first = &w->pictures[3];
    assert_false(slots_claim(&w->windows[0], &w->slots, true, 0));
    assert_false(w->windows[0].starves);
    world_free(w);
}

/* A second field has the slot of the first; slots of a store that was left do not count. */
static void test_take_and_give(void **state)
{
    struct world *w = world(24);
    attach(w, 0);
    take(w, 0, 0);
    w->pictures[1].owner = &w->pictures[0];
    take(w, 0, 1);
    assert_int_equal(w->pics[1].holder.slot, w->pics[0].holder.slot);
    assert_int_equal(w->windows[0].slots.held, 1);
    attach(w, 0); /* as after a change of size */
    assert_int_equal(w->windows[0].slots.held, 0);
    slots_give(&w->slots, &w->windows[0], w->pictures[0].slot.seat, w->pics[0].holder.slot);
    assert_int_equal(w->windows[0].slots.held, 0);
    assert_int_equal(w->slots.free_count, 24);
    world_free(w);
}

/* A new window waits for others' slots, but not for ever. */
static void test_find(void **state)
{
    struct world *w = world(52);
    struct slots *found = NULL;
    struct slots_wish wish = slots_wish_of(&w->windows[1], &w->sps);
    attach(w, 0);
    for (uint32_t i = 0; i < 26; i++)
        take(w, 0, i);
    assert_int_equal(slots_find(&w->windows[1], &wish, 5, &found), SLOTS_FOUND);
    assert_ptr_equal(found, &w->slots);
    for (uint32_t i = 26; i < 50; i++)
        take(w, 0, i);
    assert_int_equal(slots_find(&w->windows[1], &wish, 5, &found), SLOTS_LATER);
    assert_int_equal(slots_find(&w->windows[1], &wish, 4 + SLOTS_PATIENCE_NS, &found), SLOTS_LATER);
    assert_int_equal(slots_find(&w->windows[1], &wish, 5 + SLOTS_PATIENCE_NS, &found), SLOTS_NONE);
    wish.key.mb_width++;
    assert_int_equal(slots_find(&w->windows[2], &wish, 5, &found), SLOTS_NONE);
    world_free(w);
}

/* Where memory is short, windows are content with their base, and the store grows so far. */
static void test_share(void **state)
{
    struct world *w = world(30);
    struct slots *found = NULL;
    struct slots_wish wish = slots_wish_of(&w->windows[2], &w->sps);
    assert_int_equal(wish.base, 10);
    attach(w, 0);
    attach(w, 1);
    assert_int_equal(slots_find(&w->windows[2], &wish, 5, &found), SLOTS_NONE);
    assert_int_equal(slots_share(&w->windows[2], &wish, &found), SLOTS_FOUND);
    assert_ptr_equal(found, &w->slots);
    take(w, 0, 0); /* in decoding order: it is owed one less */
    assert_int_equal(slots_share(&w->windows[2], &wish, &found), SLOTS_FOUND);
    for (uint32_t i = 1; i < 11; i++)
        take(w, 0, i);
    assert_int_equal(slots_share(&w->windows[2], &wish, &found), SLOTS_LATER);
    assert_true(w->slots.wanted);
    assert_int_equal(w->slots.kept, wish.base); /* pictures ahead leave them */
    attach(w, 2);
    assert_int_equal(w->slots.kept, 0);
    world_free(w);
}

static void test_share_grows(void **state)
{
    struct world *w = world(25);
    struct slots *found = NULL;
    struct slots_wish wish = slots_wish_of(&w->windows[2], &w->sps);
    attach(w, 0);
    attach(w, 1);
    assert_int_equal(slots_share(&w->windows[2], &wish, &found), SLOTS_NONE); /* images end */
    w->s.setting.image_layers = 64;
    w->slots.stuck = true;
    assert_int_equal(slots_share(&w->windows[2], &wish, &found), SLOTS_NONE);
    w->slots.stuck = false;
    assert_int_equal(slots_share(&w->windows[2], &wish, &found), SLOTS_LATER);
    assert_int_equal(w->slots.most, 30);
    wish.key.mb_width++;
    assert_int_equal(slots_share(&w->windows[2], &wish, &found), SLOTS_NONE);
    world_free(w);
}

/* A stream changes its store if a picture needs more than before. */
static void test_serve(void **state)
{
    struct world *w = world(40);
    assert_false(slots_serve(&w->windows[0], &w->sps));
    attach(w, 0);
    assert_true(slots_serve(&w->windows[0], &w->sps));
    w->sps.max_dpb_frames = 2;
    assert_true(slots_serve(&w->windows[0], &w->sps));
    w->sps.max_dpb_frames = 5;
    assert_false(slots_serve(&w->windows[0], &w->sps));
    w->sps.max_dpb_frames = 4;
    w->sps.bit_depth[0] = 10;
    assert_false(slots_serve(&w->windows[0], &w->sps));
    world_free(w);
}

/* One more with another key or a larger base, whatever store the window has. */
static void test_eras(void **state)
{
    struct world *w = world(40);
    struct window *window = &w->windows[0];
    assert_int_equal(slots_era(window, &w->sps), 1);
    attach(w, 0);
    assert_int_equal(slots_era(window, &w->sps), 1);
    w->sps.max_dpb_frames--;
    assert_int_equal(slots_era(window, &w->sps), 1);
    w->sps.max_dpb_frames += 2;
    assert_int_equal(slots_era(window, &w->sps), 2);
    w->sps.mb_width++;
    assert_int_equal(slots_era(window, &w->sps), 3);
    w->sps.mb_width--;
    w->sps.max_dpb_frames = 2;
    assert_int_equal(slots_era(window, &w->sps), 4);
    w->sps.max_dpb_frames = 3;
    assert_int_equal(slots_era(window, &w->sps), 5);
    world_free(w);
}

/* The longest idle store goes first, beyond those that are kept. */
static void test_idle_stores(void **state)
{
    struct world *w = world(40);
    struct slots more[SLOTS_IDLE_STORES + 1] = {
        {.idle_since = 7}, {.idle_since = 3}, {.idle_since = 9}};
    w->slots.used = 1;
    for (uint32_t i = 0; i < SLOTS_IDLE_STORES; i++)
        slots_add(&w->s, &more[i]);
    assert_null(slots_remove_idle(&w->s, false));
    slots_add(&w->s, &more[SLOTS_IDLE_STORES]);
    assert_ptr_equal(slots_remove_idle(&w->s, false), &more[1]);
    assert_null(slots_remove_idle(&w->s, false));
    assert_ptr_equal(slots_remove_idle(&w->s, true), &more[0]);
    assert_ptr_equal(slots_remove_idle(&w->s, true), &more[2]);
    assert_null(slots_remove_idle(&w->s, true)); /* one has slots in use */
    world_free(w);
}

static void test_size_of_a_store(void **state)
{
    struct world *w = world(40);
    struct slots_wish wish = slots_wish_of(&w->windows[0], &w->sps);
    assert_int_equal(slots_for(&w->s, &wish), 10 + 16);
    assert_int_equal(slots_batch_width(&w->s, &wish.key, 40), BATCH_WIDTH_SOFTWARE);
    w->s.setting.software = false;
    w->s.setting.image_layers = 2048;
    w->s.setting.device_memory = 64ull << 30;
    assert_int_equal(slots_for(&w->s, &wish), SLOTS_SHARES * (10 + 16));
    w->s.setting.lookahead = 0;
    assert_int_equal(slots_for(&w->s, &wish), SLOTS_MOST);
    w->s.setting.image_layers = 256;
    assert_int_equal(slots_for(&w->s, &wish), 256);
    w->s.setting.device_memory = 1 << 20; /* never less than progress needs */
    assert_int_equal(slots_for(&w->s, &wish), 10 + 1);
    w->s.setting.device_memory = 8 * 20 * slots_bytes(&wish.key, 1) / 2; /* half for frames */
    assert_int_equal(slots_for(&w->s, &wish), 20);
    w->s.setting.device_memory *= 2;
    assert_int_equal(slots_for(&w->s, &wish), 10 + 16);
    assert_int_equal(slots_batch_width(&w->s, &wish.key, 1280), BATCH_WIDTH_SMALL);
    const struct slots_key hd = {.mb_width = 120, .mb_height = 68},
                           half = {.mb_width = 60, .mb_height = 34};
    assert_int_equal(slots_batch_width(&w->s, &hd, 1280), BATCH_WIDTH);
    assert_int_equal(slots_batch_width(&w->s, &half, 1280), BATCH_WIDTH_SMALL);
    assert_int_equal(slots_batch_width(&w->s, &wish.key, 5), 1); /* few slots, narrow batches */
    assert_int_equal(slots_batch_width(&w->s, &wish.key, 64), 8);
    w->s.setting.tuning.width = 128;
    assert_int_equal(slots_batch_width(&w->s, &wish.key, 1280), 128);
    w->s.setting.batch = 8;
    assert_int_equal(slots_batch_width(&w->s, &wish.key, 5), 5);
    world_free(w);
}

/* Bounds that count pictures are higher for small ones, as far as memory and the device allow. */
static void test_small_pictures(void **state)
{
    struct world *w = world(40);
    struct h264_sps hd = w->sps;
    hd.mb_width = 120;
    hd.mb_height = 68;
    struct slots_wish wish = slots_wish_of(&w->windows[0], &w->sps);
    const uint64_t small = window_picture_bytes(&w->sps, w->sps.mb_width * w->sps.mb_height),
                   large = window_picture_bytes(&hd, SPLIT_HD_MBS);
    w->s.setting = (struct schedule_setting){.coders = 16,
                                             .image_layers = 4096,
                                             .device_memory = 64ull << 30,
                                             .window_budget = 8ull << 30};
    const uint32_t few = window_arrays_for(&w->s, small, 16);
    assert_int_equal(few, 16 * WINDOW_AHEAD_PER_CODER / 16);
    w->s.setting.tuning.small = 3;
    assert_int_equal(window_arrays_for(&w->s, small, 16), 3 * few);
    assert_int_equal(window_arrays_for(&w->s, large, 16), few);
    assert_int_equal(slots_for(&w->s, &wish), 3 * SLOTS_MOST);
    w->s.setting.image_layers = 2048;
    assert_int_equal(slots_for(&w->s, &wish), 2048);
    w->s.setting.window_budget = 16 * 10 * small;
    assert_int_equal(window_arrays_for(&w->s, small, 16), 10);
    world_free(w);
}

/* A store begins small, and doubles while pictures ahead find no slot. */
static void test_growth(void **state)
{
    struct world *w = world(18);
    struct slots_wish wish = slots_wish_of(&w->windows[0], &w->sps);
    w->slots.most = 200;
    assert_int_equal(slots_first(&w->windows[0], &wish, 200), 10 + SLOTS_FIRST_SOFTWARE);
    w->s.setting.software = false;
    w->s.at_work_count = 2;
    assert_int_equal(slots_first(&w->windows[0], &wish, 200), 200);
    w->windows[0].frames = 20;
    assert_int_equal(slots_first(&w->windows[0], &wish, 200), 10 + 20);
    assert_int_equal(slots_first(&w->windows[0], &wish, 25), 25);
    w->windows[0].frames = UINT64_MAX;
    assert_int_equal(slots_first(&w->windows[0], &wish, 200), 200);
    w->windows[0].frames = 0;
    window_set_live(&w->windows[0], true);
    assert_int_equal(slots_first(&w->windows[0], &wish, 200), 10 + SLOTS_LIVE);
    window_set_live(&w->windows[0], false);
    w->s.setting.software = true;
    attach(w, 0);
    attach(w, 1);
    assert_false(w->slots.wanted);
    assert_false(slots_claim(&w->windows[0], &w->slots, false, 0));
    assert_true(w->slots.wanted);
    assert_int_equal(slots_next(&w->s, &w->slots), 36);
    take(w, 0, 0);
    assert_true(slots_resize(&w->s, &w->slots, 36));
    assert_int_equal(w->slots.free_count, 35);
    assert_int_equal(slots_quota(&w->windows[0]), 10 + 8);
    assert_int_equal(slots_next(&w->s, &w->slots), 52); /* all that its windows can use */
    w->windows[0].frames = w->windows[1].frames = 100;
    w->windows[0].slots.pictures = 95; /* 5 are left */
    assert_int_equal(slots_next(&w->s, &w->slots), 10 + 5 + 10 + 16);
    w->windows[0].slots.pictures = 300; /* fields, or more than it had told */
    w->windows[1].slots.pictures = 100;
    assert_int_equal(slots_next(&w->s, &w->slots), 36);
    w->windows[0].frames = w->windows[1].frames = 0;
    w->slots.most = 40;
    assert_int_equal(slots_next(&w->s, &w->slots), 40);
    for (uint32_t i = 0; i < w->slots.free_count; i++)
        assert_true(w->slots.free[i] != w->pics[0].holder.slot && w->slots.free[i] < 36);
    slots_give(&w->slots, &w->windows[0], w->pictures[0].slot.seat, w->pics[0].holder.slot);
    assert_true(slots_resize(&w->s, &w->slots, 12)); /* while none is in use */
    assert_int_equal(w->slots.free_count, 12);
    world_free(w);
}

/* More than a stream can use would only take time to make. */
static void test_first_slots(void **state)
{
    struct world *w = world(18);
    struct slots_wish wish = slots_wish_of(&w->windows[0], &w->sps);
    w->s.setting.software = false;
    w->s.at_work_count = 2;
    assert_int_equal(slots_first(&w->windows[0], &wish, 600), 600); /* for the others, too */
    w->windows[0].frames = SLOTS_SHORT_FRAMES + 1;
    assert_int_equal(slots_first(&w->windows[0], &wish, 600), 10 + SLOTS_SHORT_FRAMES + 1);
    w->windows[0].frames = SLOTS_SHORT_FRAMES;
    assert_int_equal(slots_first(&w->windows[0], &wish, 600), 10 + SLOTS_SHORT);
    w->s.at_work_count = 1;
    assert_int_equal(slots_first(&w->windows[0], &wish, 600), 10 + 16);
    w->windows[0].frames = 5;
    assert_int_equal(slots_first(&w->windows[0], &wish, 600), 10 + 5);
    w->windows[0].frames = 0;
    assert_int_equal(slots_first(&w->windows[0], &wish, 600), 10 + 16);
    world_free(w);
}

/* Nobody starves as long as there may be more slots. */
static void test_growth_feeds(void **state)
{
    struct world *w = world(12);
    attach(w, 0);
    w->slots.most = 24;
    for (uint32_t i = 0; i < 12; i++)
        take(w, 0, i);
    assert_false(slots_claim(&w->windows[0], &w->slots, true, 0));
    assert_false(w->windows[0].starves);
    assert_true(w->slots.wanted);
    assert_true(slots_resize(&w->s, &w->slots, 24));
    assert_true(slots_claim(&w->windows[0], &w->slots, true, 0));
    world_free(w);
}

static void test_taken(void **state)
{
    struct world *w = world(6);
    uint32_t taken[6];
    assert_int_equal(slots_taken(&w->slots, taken), 0);
    attach(w, 0);
    for (uint32_t i = 0; i < 4; i++)
        take(w, 0, i);
    slots_give(&w->slots, &w->windows[0], w->pictures[1].slot.seat, w->pics[1].holder.slot);
    assert_int_equal(slots_taken(&w->slots, taken), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(taken[i], w->pics[i ? i + 1 : 0].holder.slot);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base),           cmocka_unit_test(test_quotas),
        cmocka_unit_test(test_rest),           cmocka_unit_test(test_claim),
        cmocka_unit_test(test_starves),        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_take_and_give),  cmocka_unit_test(test_find),
        cmocka_unit_test(test_share),          cmocka_unit_test(test_share_grows),
        cmocka_unit_test(test_serve),          cmocka_unit_test(test_eras),
        cmocka_unit_test(test_idle_stores),    cmocka_unit_test(test_size_of_a_store),
        cmocka_unit_test(test_small_pictures), cmocka_unit_test(test_growth),
        cmocka_unit_test(test_growth_feeds),   cmocka_unit_test(test_first_slots),
        cmocka_unit_test(test_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
