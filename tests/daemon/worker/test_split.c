/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice of pictures of the entropy queue for the GPU.
 */
#include "daemon/worker/steps/entropy_gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define JOBS 200

struct world {
    struct engine e;
    struct session session;
    struct h264_sps sps;
    struct job jobs[JOBS];
    struct h264_picture pictures[JOBS];
    struct job *chosen[ENTROPY_PICTURES];
    uint64_t largest;
};

static const struct entropy_capacity capacity = {.batches = 2,
                                                 .pictures = 16,
                                                 .mbs = 16 * 100,
                                                 .units = 16 * 1984,
                                                 .bytes = 1 << 20,
                                                 .slices = 64};

/* n pictures of 1000 bytes each, one worker: 1 ms of the CPU each, the GPU 20 ms, and 19.5 for
 * fetching: 1.3 times that is 51.35. */
static struct world *world(uint32_t n)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->e.worker_count = 1;
    w->sps.chroma_format_idc = 1;
    w->e.cpu_rate = (struct entropy_rate){1e-3, 1000};
    w->e.gpu_rate = (struct entropy_rate){20e-3, 1000};
    w->e.gpu_fetch = (struct entropy_rate){19.5e-3, 1};
    for (uint32_t i = 0; i < n; i++) {
        w->pictures[i] = (struct h264_picture){
            .sps = &w->sps, .mb_count = 100, .bytes_size = 1000, .slice_count = 1};
        w->jobs[i] = (struct job){.pic = &w->pictures[i],
                                  .session = &w->session,
                                  .turn = i,
                                  .offloads = true,
                                  .bytes = 1000,
                                  .largest_slice = 1000};
        entropy_put(&w->e, &w->jobs[i]);
    }
    return w;
}

static uint32_t choose(struct world *w)
{
    return entropy_choose(&w->e, &capacity, w->chosen, &w->largest);
}

static bool has(const struct world *w, uint32_t n, uint32_t index)
{
    for (uint32_t i = 0; i < n; i++)
        if (w->chosen[i] == &w->jobs[index])
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
            assert_false(w->jobs[i].queued);
        assert_int_equal(w->largest, 1000);
    }
    assert_int_equal(w->e.entropy_count, 62);
    assert_int_equal(w->e.entropy_bytes, 62000);
    assert_ptr_equal(w->jobs[51].next_entropy, &w->jobs[100]);
    assert_int_equal(choose(w), 10);
    assert_ptr_equal(w->e.entropy_last, &w->jobs[51]);
    assert_int_equal(choose(w), 0);
    free(w);
}

/* Before anything is measured a few pictures have to do, and the GPU is thought to be slow. */
static void test_unmeasured(void **state)
{
    struct entropy_capacity wide = capacity;
    struct world *w = world(JOBS);
    wide.pictures = 64;
    wide.mbs = 64 * 100;
    wide.units = 64 * 1984;
    w->e.gpu_rate = (struct entropy_rate){0};
    assert_int_equal(entropy_choose(&w->e, &wide, w->chosen, &w->largest), 32);
    w->e.gpu_rate = (struct entropy_rate){20e-3, 1000};
    assert_int_equal(entropy_choose(&w->e, &wide, w->chosen, &w->largest), 64);
    free(w);
}

/* What is decoded is in memory until reconstruction comes to it. */
static void test_memory(void **state)
{
    struct world *w = world(JOBS);
    w->e.window_budget = 20 * 100 * 176 * 8 / 3 + 3;
    assert_int_equal(choose(w), 16);
    assert_int_equal(choose(w), 0); /* for four of them it is not worth it */
    for (unsigned i = 0; i < 4; i++)
        for (unsigned twice = 0; twice < 2; twice++)
            entropy_keep(&w->e, w->chosen[i], 0);
    assert_int_equal(choose(w), 8);
    assert_int_equal(choose(w), 0);
    assert_int_equal(w->e.entropy_kept, 20 * 100 * 176);
    entropy_keep_units(&w->e, w->chosen[0], 7);
    assert_int_equal(w->e.entropy_kept, 20 * 100 * 176 + 7 * 32);
    free(w);
}

static struct entropy_capacity capacity_of(enum engine_entropy mode, uint64_t memory, bool software,
                                           unsigned queues)
{
    const struct gpu_device_info device = {.memory_bytes = memory,
                                           .software = software,
                                           .kind =
                                               software ? GPU_KIND_SOFTWARE : GPU_KIND_DISCRETE};
    return entropy_capacity(mode, &device, queues);
}

static void test_capacity(void **state)
{
    const uint64_t gib = 1ull << 30;
    struct entropy_capacity c = capacity_of(ENGINE_ENTROPY_AUTO, 80 * gib, false, 8);
    assert_int_equal(c.batches, ENTROPY_BATCHES);
    assert_int_equal(c.pictures, ENTROPY_PICTURES);
    assert_true(c.batches * entropy_batch_bytes(&c) <= 10 * gib);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_CPU, 80 * gib, false, 8).pictures, 0);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_AUTO, 80 * gib, false, 0).pictures, 0);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_AUTO, 80 * gib, true, 8).pictures, 0);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_BOTH, 1 * gib, false, 8).pictures, 0);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_BOTH, 8 * gib, false, 2).batches, 2);
    for (uint64_t memory = 2; memory <= 64; memory *= 2) {
        c = capacity_of(ENGINE_ENTROPY_AUTO, memory * gib, false, 8);
        assert_in_range(c.pictures, memory, ENTROPY_PICTURES);
        assert_true(c.batches * entropy_batch_bytes(&c) <= memory * gib / 4);
    }
    const struct gpu_device_info integrated = {.memory_bytes = 8 * gib,
                                               .kind = GPU_KIND_INTEGRATED};
    assert_int_equal(entropy_capacity(ENGINE_ENTROPY_AUTO, &integrated, 8).pictures, 0);
    assert_true(entropy_capacity(ENGINE_ENTROPY_BOTH, &integrated, 8).pictures > 0);
    assert_true(capacity_of(ENGINE_ENTROPY_GPU, 1 * gib, false, 0).pictures > 0);
    assert_true(capacity_of(ENGINE_ENTROPY_BOTH, 1 * gib, true, 0).pictures > 0);
}

/* Unasked, only for what lasts. */
static void test_worth(void **state)
{
    struct world *w = world(JOBS);
    assert_true(w->e.params.entropy == ENGINE_ENTROPY_AUTO);
    assert_false(entropy_worth(&w->e));
    w->e.cpu_spent = 1.1;
    assert_true(entropy_worth(&w->e));
    w->e.worker_count = 2;
    assert_false(entropy_worth(&w->e));
    w->e.params.entropy = ENGINE_ENTROPY_BOTH;
    w->e.cpu_spent = 0;
    assert_false(entropy_worth(&w->e)); /* 200 ms of one worker */
    w->e.worker_count = 1;
    assert_true(entropy_worth(&w->e));
    free(w);
}

static void test_units(void **state)
{
    struct h264_sps sps = {.chroma_format_idc = 1};
    struct h264_picture pic = {.sps = &sps, .mb_count = 100, .bytes_size = 100, .slice_count = 2};
    assert_int_equal(entropy_units(&pic), 160 + 2 * 384);
    pic.bytes_size = 100000; /* never more than the macroblocks can take */
    assert_int_equal(entropy_units(&pic), 2400);
    sps.chroma_format_idc = 0;
    assert_int_equal(entropy_units(&pic), 1600);
}

/* The CPU would be there first: nothing is taken, whatever is left. */
static void test_the_end_of_a_file(void **state)
{
    for (uint32_t n = 0; n <= 20; n++) {
        struct world *w = world(n);
        assert_int_equal(choose(w), 0);
        assert_int_equal(w->e.entropy_count, n);
        free(w);
    }
    struct world *w = world(59); /* too few for a batch */
    assert_int_equal(choose(w), 0);
    free(w);
    w = world(60);
    w->e.worker_count = 4; /* and these would not be late */
    assert_int_equal(choose(w), 0);
    free(w);
    w = world(100);
    w->e.worker_count = 8;
    assert_int_equal(choose(w), 0);
    free(w);
}

/* In parts of the queue where the GPU is in time for small pictures only, large ones are left where
 * they are. */
static void test_large_pictures(void **state)
{
    struct world *w = world(100);
    for (uint32_t i = 3; i < 100; i += 4)
        w->jobs[i].largest_slice = 6000;
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
    w->jobs[52].offloads = false;
    w->jobs[53].slice_next = 1;
    w->jobs[54].allocated = true;
    uint32_t n = choose(w);
    assert_int_equal(n, 16);
    assert_false(has(w, n, 52) || has(w, n, 53) || has(w, n, 54));
    assert_true(has(w, n, 55));
    assert_ptr_equal(w->jobs[54].next_entropy, &w->jobs[71]);
    w->session.abort = true;
    assert_int_equal(choose(w), 0);
    free(w);
}

static void test_room(void **state)
{
    struct world *w = world(100);
    for (uint32_t i = 0; i < 100; i++)
        w->pictures[i].mb_count = 150; /* 10 of them */
    assert_int_equal(choose(w), 10);
    for (uint32_t i = 0; i < 100; i++)
        w->pictures[i].slice_count = 65;
    assert_int_equal(choose(w), 0);
    free(w);
}

static void test_all(void **state)
{
    struct world *w = world(20);
    w->e.entropy_all = true;
    w->pictures[0].mb_count = 1601; /* never fits */
    uint32_t n = choose(w);
    assert_int_equal(n, 16);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(has(w, n, i), i >= 1 && i < 17);
    assert_false(w->jobs[0].offloads);
    assert_int_equal(choose(w), 3);
    assert_int_equal(choose(w), 0);
    assert_ptr_equal(w->e.entropy, &w->jobs[0]);
    entropy_put(&w->e, &w->jobs[9]);
    entropy_put(&w->e, &w->jobs[5]);
    assert_ptr_equal(w->jobs[0].next_entropy, &w->jobs[5]);
    assert_ptr_equal(w->e.entropy_last, &w->jobs[9]);
    free(w);
}

/* Pictures that come late make it take later ones, for a while. */
static void test_learn(void **state)
{
    struct world *w = world(JOBS);
    for (int i = 0; i < 100; i++)
        entropy_learn(&w->e, 1);
    assert_int_equal(choose(w), 16);
    assert_true(has(w, 16, 119) && !has(w, 16, 118)); /* 39.5 ms, three times */
    for (int i = 0; i < 200; i++)
        entropy_learn(&w->e, 0);
    assert_int_equal(choose(w), 16);
    assert_true(has(w, 16, 44) && !has(w, 16, 43)); /* 1.1 times */
    free(w);
}

static void test_rate(void **state)
{
    struct entropy_rate r = {0};
    for (int i = 0; i < 200; i++)
        entropy_rate_add(&r, 2, 4);
    for (int i = 0; i < 200; i++)
        entropy_rate_add(&r, 8, 4);
    assert_true(r.seconds / r.bytes > 1.99 && r.seconds / r.bytes < 2.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first),
        cmocka_unit_test(test_the_end_of_a_file),
        cmocka_unit_test(test_large_pictures),
        cmocka_unit_test(test_unmeasured),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_worth),
        cmocka_unit_test(test_not_eligible),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_learn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
