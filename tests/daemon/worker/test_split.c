/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice of pictures of the entropy queue for the GPU.
 */
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/schedule/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PICTURES 200

struct world {
    struct schedule s;
    struct window window;
    struct h264_sps sps;
    struct picture pictures[PICTURES];
    struct h264_picture pics[PICTURES];
    struct picture *chosen[SPLIT_PICTURES];
    uint64_t largest;
};

static const struct split_capacity capacity = {.batches = 2,
                                               .pictures = 16,
                                               .mbs = 16 * 100,
                                               .coeff_blocks = 16 * 1984,
                                               .bytes = 1 << 20,
                                               .slices = 64};

/* n pictures of 1000 bytes each, one worker: 1 ms of the CPU each, the GPU 20 ms, and 19.5 for
 * fetching: 1.3 times that is 51.35. */
static struct world *world(uint32_t n)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    window_open(&w->window, &w->s);
    w->s.setting.coders = 1;
    w->sps.chroma_format_idc = 1;
    w->s.split.cpu_rate = (struct split_rate){1e-3, 1000};
    w->s.split.gpu_rate = (struct split_rate){20e-3, 1000};
    w->s.split.gpu_fetch = (struct split_rate){19.5e-3, 1};
    for (uint32_t i = 0; i < n; i++) {
        w->pics[i] = (struct h264_picture){
            .sps = &w->sps, .mb_count = 100, .bytes_size = 1000, .slice_count = 1};
        w->pictures[i] = (struct picture){
            .pic = &w->pics[i],
            .window = &w->window,
            .owner = &w->pictures[i],
            .can = CAN_ENTROPY_GPU,
            .entropy = {.turn = i, .bytes = 1000, .largest_slice = 1000, .slices_left = 1}};
        queue_again(&w->s, &w->pictures[i]);
    }
    return w;
}

static uint32_t choose(struct world *w)
{
    return split_choose(&w->s, &capacity, 1, w->chosen, &w->largest);
}

static bool has(const struct world *w, uint32_t n, uint32_t index)
{
    for (uint32_t i = 0; i < n; i++)
        if (w->chosen[i] == &w->pictures[index])
            return true;
    return false;
}

/* Those that it is just in time for, and then the next ones, as the workers take theirs before
 * them. */
static void test_the_first(void **state)
{
    struct world *w = world(110);
    for (uint32_t from = 52; from < 100; from += 16) {
        uint32_t n = choose(w);
        assert_int_equal(n, 16);
        for (uint32_t i = 0; i < 110; i++)
            assert_int_equal(has(w, n, i), i >= from && i < from + 16);
        for (uint32_t i = from; i < from + 16; i++)
            assert_false(w->pictures[i].stage == PICTURE_QUEUED);
        assert_int_equal(w->largest, 1000);
    }
    assert_int_equal(w->s.entropy.count, 62);
    assert_int_equal(w->s.entropy.bytes, 62000);
    assert_ptr_equal(w->pictures[51].entropy.next, &w->pictures[100]);
    assert_int_equal(choose(w), 10);
    assert_ptr_equal(w->s.entropy.last, &w->pictures[51]);
    assert_int_equal(choose(w), 0);
    free(w);
}

/* Files that the coders are done with before the GPU would begin. */
static void test_short(void **state)
{
    uint64_t second = (uint64_t)(SPLIT_AUTO_SECONDS / SPLIT_CPU_SECONDS);
    assert_false(split_is_short(0, 16)); /* unknown */
    assert_true(split_is_short(1, 1));
    assert_true(split_is_short(second - 1000, 1));
    assert_false(split_is_short(second + 1000, 1));
    assert_true(split_is_short(16 * second - 1000, 16));
    assert_false(split_is_short(16 * second + 1000, 16));
}

/* Before anything is measured a few pictures have to do, and the GPU is thought to be slow. */
static void test_unmeasured(void **state)
{
    struct split_capacity wide = capacity;
    struct world *w = world(PICTURES);
    wide.pictures = 64;
    wide.mbs = 64 * 100;
    wide.coeff_blocks = 64 * 1984;
    w->s.split.gpu_rate = (struct split_rate){0};
    assert_int_equal(split_choose(&w->s, &wide, 1, w->chosen, &w->largest), 32);
    w->s.split.gpu_rate = (struct split_rate){20e-3, 1000};
    assert_int_equal(split_choose(&w->s, &wide, 1, w->chosen, &w->largest), 64);
    free(w);
}

/* What is decoded is in memory until reconstruction comes to it. */
static void test_memory(void **state)
{
    struct world *w = world(PICTURES);
    w->s.setting.window_budget = 20 * 100 * 176 * 8 / SPLIT_KEPT_LITTLE + 8;
    assert_int_equal(choose(w), 16);
    assert_int_equal(choose(w), 0); /* for four of them it is not worth it */
    for (unsigned i = 0; i < 4; i++)
        gpu_entropy_refused(&w->s, w->chosen[i], 1);
    assert_int_equal(choose(w), 8);
    assert_int_equal(choose(w), 0);
    assert_int_equal(w->s.split.kept, 20 * 100 * 176);
    split_keep_results(&w->s, w->chosen[0], 7 * SPLIT_BLOCK_BYTES);
    assert_int_equal(w->s.split.kept, 20 * 100 * 176 + 7 * 32);
    free(w);
    w = world(PICTURES); /* of more memory others have more */
    w->s.setting.window_budget = SPLIT_LITTLE_BYTES;
    w->s.split.kept = SPLIT_LITTLE_BYTES * SPLIT_KEPT_EIGHTHS / 8;
    assert_int_equal(choose(w), 0);
    w->s.setting.window_budget--;
    assert_int_equal(choose(w), 16);
    free(w);
}

/* Nothing of a picture that can be restored is in host memory, if the GPU derives its motion. */
static void test_memory_of_others(void **state)
{
    struct world *w = world(PICTURES);
    w->s.setting.window_budget = 20 * 100 * 176 * 8 / SPLIT_KEPT_LITTLE + 8;
    w->s.split.motion_mbs = 100;
    for (uint32_t i = 0; i < PICTURES; i++) {
        w->pictures[i].can |= CAN_MOTION_GPU;
        w->pics[i].nal_ref_idc = 1;
        w->pics[i].bytes_size = i % 2 * (100 * (32 + 136) + 1); /* more than its records */
    }
    assert_int_equal(choose(w), 16);
    assert_int_equal(w->s.split.kept, 8 * 100 * 176);
    w->chosen[0]->records = LIVES_DEVICE;
    split_keep_results(&w->s, w->chosen[0], 0);
    assert_int_equal(w->s.split.kept, 8 * 100 * 176);
    w->chosen[0]->records = LIVES_HOST; /* there was no room on the device */
    split_keep_results(&w->s, w->chosen[0], 0);
    assert_int_equal(w->s.split.kept, 9 * 100 * 176);
    split_keep_results(&w->s, w->chosen[0], 12 * 100 * 176); /* nothing is left */
    assert_int_equal(choose(w), 0);
    assert_true(w->s.split.full);
    w->chosen[0]->records = LIVES_DEVICE;
    split_keep_results(&w->s, w->chosen[0], 0);
    assert_int_equal(choose(w), 16);
    assert_int_equal(w->s.split.kept, 16 * 100 * 176);
    assert_true(choose(w) < 16);
    free(w);
}

/* Slices of one stream do not share subgroups. */
static void test_share(void **state)
{
    struct schedule s = {.at_work_count = 1};
    assert_int_equal(split_share(&s), 1);
    s.at_work_count = 2;
    assert_int_equal(split_share(&s), 0);
    s.setting.tuning.share = 4;
    assert_int_equal(split_share(&s), 4);
    s.setting.tuning.share = 0;
    s.at_work_count = 1;
    s.split.all = true;
    assert_int_equal(split_share(&s), 0);
}

/* One stream may have fewer in work, unless the GPU is to do all. */
static void test_batches(void **state)
{
    struct schedule s = {.at_work_count = 1, .setting.tuning.alone = 3};
    struct split_capacity c = {.batches = SPLIT_BATCHES, .pictures = SPLIT_PICTURES};
    assert_int_equal(split_batches(&s, &c, 0), 3);
    assert_int_equal(split_batches(&s, &c, SPLIT_PICTURES_WHOLE), 3);
    /* half as many pictures in each, twice as many of them */
    assert_int_equal(split_batches(&s, &c, SPLIT_PICTURES_WHOLE / 2), 6);
    assert_int_equal(split_batches(&s, &c, 1), SPLIT_BATCHES);
    s.at_work_count = 2;
    assert_int_equal(split_batches(&s, &c, 0), SPLIT_BATCHES);
    s.at_work_count = 1;
    s.split.all = true;
    assert_int_equal(split_batches(&s, &c, 0), SPLIT_BATCHES);
    s.split.all = false;
    c.batches = 2;
    assert_int_equal(split_batches(&s, &c, 0), 2);
    s.at_work_count = 2;
    c = (struct split_capacity){.batches = SPLIT_BATCHES, .pictures = SPLIT_PICTURES};
    s.blocked = 5;
    s.ready = SPLIT_OPEN_MOST + s.blocked;
    assert_int_equal(split_batches(&s, &c, 0), SPLIT_BATCHES);
    s.ready++; /* reconstruction is behind */
    assert_int_equal(split_batches(&s, &c, 0), SPLIT_BATCHES_BEHIND);
    c = (struct split_capacity){.batches = SPLIT_BATCHES, .pictures = 40};
    assert_int_equal(split_batches(&s, &c, 0), SPLIT_BATCHES); /* narrow ones */
}

/* Unasked, only for what lasts. */
static void test_worth(void **state)
{
    struct world *w = world(PICTURES);
    w->s.setting.tuning.join = JOIN_SPENT;
    assert_true(w->s.setting.entropy == ENGINE_ENTROPY_AUTO);
    assert_false(split_worth(&w->s));
    w->s.split.cpu_spent = 1.1;
    assert_true(split_worth(&w->s));
    w->s.setting.coders = 2;
    assert_false(split_worth(&w->s));
    w->s.setting.entropy = ENGINE_ENTROPY_BOTH;
    w->s.split.cpu_spent = 0;
    assert_false(split_worth(&w->s)); /* 200 ms of one worker */
    w->s.setting.coders = 1;
    assert_true(split_worth(&w->s));
    free(w);
}

/* Or as soon as more waits than the coders do in a batch's time, behind the first pictures. */
static void test_worth_by_queue(void **state)
{
    struct world *w = world(PICTURES); /* 200 ms of one coder; a batch takes 45.5 */
    assert_false(split_worth(&w->s));
    w->s.serial = 1;
    assert_true(split_worth(&w->s));
    w->s.split.gpu_rate.seconds = 140e-3; /* a batch takes 201.5 */
    assert_false(split_worth(&w->s));
    w->s.setting.entropy = ENGINE_ENTROPY_BOTH;
    assert_true(split_worth(&w->s));
    free(w);
}

/* Idle coders are so far ahead of the device that it does best to encode. */
static void test_encoders(void **state)
{
    struct world *w = world(PICTURES);
    w->s.serial = 1;
    w->s.setting.coders = SPLIT_IDLE_PART;
    w->s.split.cpu_rate.seconds *= SPLIT_IDLE_PART;
    w->s.idle = 1;
    assert_true(split_worth(&w->s)); /* nobody encodes */
    w->s.encoders = 1;
    assert_false(split_worth(&w->s));
    w->s.setting.coders++;
    assert_true(split_worth(&w->s)); /* too few are idle */
    w->s.setting.coders--;
    w->s.setting.tuning.idle = 1;
    assert_true(split_worth(&w->s));
    w->s.idle = w->s.setting.coders;
    assert_false(split_worth(&w->s));
    w->s.setting.entropy = ENGINE_ENTROPY_BOTH;
    assert_true(split_worth(&w->s));
    free(w);
}

/* Larger pictures, if the GPU has time for both: more bytes in the time of a batch. */
static void test_bytes(void **state)
{
    for (uint32_t rule = CHOICE_ALIKE; rule <= CHOICE_BYTES; rule++) {
        struct world *w = world(PICTURES);
        w->s.setting.tuning.choice = rule;
        for (uint32_t i = 1; i < PICTURES; i += 2) {
            w->pictures[i].entropy.bytes += 1000;
            w->pictures[i].entropy.largest_slice += i % 4 == 1 ? 500 : 600;
            w->s.entropy.bytes += 1000;
            w->s.entropy.weight += i % 4 == 1 ? 500 : 600;
        }
        assert_int_equal(choose(w), 16);
        for (uint32_t i = 0; i < 16; i++)
            assert_int_equal(w->chosen[i]->entropy.bytes, rule == CHOICE_BYTES ? 2000 : 1000);
        free(w);
    }
}

/* Small pictures of two streams, and one coder. */
static struct world *small_world(uint32_t n)
{
    struct world *w = world(n);
    w->s.setting.entropy = ENGINE_ENTROPY_BOTH;
    w->s.at_work_count = 2;
    w->s.split.depth = 32;
    w->s.split.batch = capacity.pictures;
    return w;
}

/* Small pictures of many streams: what waits is the GPU's, in time or not. */
static void test_small(void **state)
{
    struct world *w = small_world(PICTURES);
    assert_true(split_worth(&w->s));
    assert_int_equal(choose(w), 16);
    assert_true(has(w, 16, 0) && has(w, 16, 15));
    assert_false(w->s.split.timely);
    w->s.ready = SPLIT_OPEN_MOST + 1;
    assert_int_equal(split_batches(&w->s, &capacity, 0), capacity.batches);
    w->s.entropy.weight += w->s.entropy.count * (uint64_t)SPLIT_SMALL_WEIGHT;
    assert_int_equal(choose(w), 16); /* large */
    assert_true(has(w, 16, 16 + 52) && w->s.split.timely);
    free(w);
    for (uint32_t n = 3; n <= 17; n++) {
        w = small_world(n);
        assert_int_equal(split_worth(&w->s), n >= 4);
        assert_int_equal(choose(w), n < 4 ? 0 : n < 16 ? n : 16);
        free(w);
    }
}

/* Few coders work beside it, and the more the more waits beyond a batch. */
static void test_small_beside(void **state)
{
    struct world *w = small_world(16);
    w->s.split.works = 1;
    for (uint32_t coders = 1; coders <= 32; coders++) {
        uint32_t few = (coders + SPLIT_SMALL_CODERS - 1) / SPLIT_SMALL_CODERS;
        w->s.setting.coders = coders;
        w->s.at_work_count = coders + 1;
        for (uint32_t others = 0; others < coders; others++)
            assert_int_equal(split_leaves(&w->s, others), others >= few);
    }
    w->s.entropy.count = 16 + SPLIT_SMALL_WAITS / 2 * 16;
    assert_false(split_leaves(&w->s, 15));
    assert_true(split_leaves(&w->s, 16));
    w->s.entropy.count = 16 + SPLIT_SMALL_WAITS * 16;
    assert_false(split_leaves(&w->s, 31));
    free(w);
}

static void test_not_small(void **state)
{
    struct world *w = small_world(16);
    w->s.split.works = 1;
    assert_true(split_leaves(&w->s, 1));
    w->s.setting.entropy = ENGINE_ENTROPY_AUTO; /* not at once */
    assert_false(split_leaves(&w->s, 1));
    w->s.split.cpu_spent = SPLIT_SMALL_SECONDS;
    assert_true(split_leaves(&w->s, 1));
    w->s.setting.tuning.choice = CHOICE_BYTES;
    assert_false(split_leaves(&w->s, 1));
    w->s.setting.tuning.choice = 0;
    w->s.at_work_count = 1;
    assert_false(split_leaves(&w->s, 1));
    w->s.at_work_count = 2;
    w->s.split.works = 0;
    assert_false(split_leaves(&w->s, 1));
    w->s.split.works = 1;
    w->s.split.batch = 0; /* it has failed */
    assert_false(split_leaves(&w->s, 1));
    w->s.split.batch = capacity.pictures;
    w->s.setting.window_budget = 1; /* for none of its pictures */
    assert_int_equal(choose(w), 0);
    assert_true(w->s.split.full);
    assert_true(w->pictures[0].can & CAN_ENTROPY_GPU);
    free(w);
}

static void test_tuning(void **state)
{
    struct split_tuning t = {.ahead = 5};
    assert_true(split_tuning_parse(NULL, &t) && split_tuning_parse("", &t));
    assert_true(split_tuning_parse("batches=3,choice=2,margin=90", &t));
    assert_int_equal(t.batches, 3);
    assert_int_equal(t.choice, CHOICE_BYTES);
    assert_int_equal(t.margin, 90);
    assert_int_equal(t.ahead, 5);
    static const char *const bad[] = {
        "batch=3",    "batches",       "batches=", "batches=9", "batches=3,",
        "batches=3;", "batches=00003", "=3",       "ahead=-1"};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(split_tuning_parse(bad[i], &t));
    assert_int_equal(t.batches, 3);
}

/* The CPU would be there first: nothing is taken, whatever is left. */
static void test_the_end_of_a_file(void **state)
{
    for (uint32_t n = 0; n <= 20; n++) {
        struct world *w = world(n);
        assert_int_equal(choose(w), 0);
        assert_int_equal(w->s.entropy.count, n);
        free(w);
    }
    struct world *w = world(59); /* too few for a batch */
    assert_int_equal(choose(w), 0);
    free(w);
    w = world(60);
    w->s.setting.coders = 4; /* and these would not be late */
    assert_int_equal(choose(w), 0);
    free(w);
    w = world(100);
    w->s.setting.coders = 8;
    assert_int_equal(choose(w), 0);
    free(w);
}

/* In parts of the queue where the GPU is in time for small pictures only, large ones are left where
 * they are. */
static void test_large_pictures(void **state)
{
    struct world *w = world(100);
    for (uint32_t i = 3; i < 100; i += 4)
        w->pictures[i].entropy.largest_slice = 6000;
    uint32_t n = choose(w);
    assert_int_equal(n, 16);
    for (uint32_t i = 0; i < 100; i++)
        assert_false(has(w, n, i) && i % 4 == 3);
    assert_int_equal(w->largest, 1000);
    free(w);
}

static void test_not_eligible(void **state)
{
    struct world *w = world(100);
    w->pictures[52].can = 0;
    w->pictures[53].stage = PICTURE_ENTROPY;
    w->pictures[54].records = LIVES_HOST;
    uint32_t n = choose(w);
    assert_int_equal(n, 16);
    assert_false(has(w, n, 52) || has(w, n, 53) || has(w, n, 54));
    assert_true(has(w, n, 55));
    assert_ptr_equal(w->pictures[54].entropy.next, &w->pictures[71]);
    w->window.abort = true;
    assert_int_equal(choose(w), 0);
    free(w);
}

static void test_room(void **state)
{
    struct world *w = world(100);
    for (uint32_t i = 0; i < 100; i++)
        w->pics[i].mb_count = 150; /* 10 of them */
    assert_int_equal(choose(w), 10);
    for (uint32_t i = 0; i < 100; i++)
        w->pics[i].slice_count = 65;
    assert_int_equal(choose(w), 0);
    free(w);
}

static void test_all(void **state)
{
    struct world *w = world(20);
    w->s.split.all = true;
    w->pics[0].mb_count = 1601; /* never fits */
    uint32_t n = choose(w);
    assert_int_equal(n, 16);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(has(w, n, i), i >= 1 && i < 17);
    assert_false(w->pictures[0].can & CAN_ENTROPY_GPU);
    assert_int_equal(choose(w), 3);
    assert_int_equal(choose(w), 0);
    assert_ptr_equal(w->s.entropy.first, &w->pictures[0]);
    gpu_entropy_refused(&w->s, &w->pictures[9], 1);
    gpu_entropy_refused(&w->s, &w->pictures[5], 1);
    assert_ptr_equal(w->pictures[0].entropy.next, &w->pictures[5]);
    assert_ptr_equal(w->s.entropy.last, &w->pictures[9]);
    free(w);
}

/* Pictures that come late make it take later ones, for a while. */
static void test_learn(void **state)
{
    struct world *w = world(PICTURES);
    for (int i = 0; i < 100; i++)
        split_learn(&w->s, 1);
    assert_int_equal(choose(w), 16);
    assert_true(has(w, 16, 119) && !has(w, 16, 118)); /* 39.5 ms, three times */
    for (int i = 0; i < 200; i++)
        split_learn(&w->s, 0);
    assert_int_equal(choose(w), 16);
    assert_true(has(w, 16, 44) && !has(w, 16, 43)); /* 1.1 times */
    free(w);
}

static void test_rate(void **state)
{
    struct split_rate r = {0};
    for (int i = 0; i < 200; i++)
        split_rate_add(&r, 2, 4);
    for (int i = 0; i < 200; i++)
        split_rate_add(&r, 8, 4);
    assert_true(r.seconds / r.bytes > 1.99 && r.seconds / r.bytes < 2.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first),      cmocka_unit_test(test_the_end_of_a_file),
        cmocka_unit_test(test_large_pictures), cmocka_unit_test(test_unmeasured),
        cmocka_unit_test(test_short),          cmocka_unit_test(test_memory),
        cmocka_unit_test(test_share),          cmocka_unit_test(test_batches),
        cmocka_unit_test(test_worth),          cmocka_unit_test(test_not_eligible),
        cmocka_unit_test(test_room),           cmocka_unit_test(test_all),
        cmocka_unit_test(test_rate),           cmocka_unit_test(test_learn),
        cmocka_unit_test(test_worth_by_queue), cmocka_unit_test(test_encoders),
        cmocka_unit_test(test_bytes),          cmocka_unit_test(test_small),
        cmocka_unit_test(test_small_beside),   cmocka_unit_test(test_not_small),
        cmocka_unit_test(test_tuning),         cmocka_unit_test(test_memory_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
