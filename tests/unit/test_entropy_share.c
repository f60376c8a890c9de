/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which pictures of the entropy queue go to the GPU.
 */
#include "daemon/worker/entropy_gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define JOBS 200

struct world {
    struct engine e;
    struct session session;
    struct job jobs[JOBS];
    struct h264_picture pictures[JOBS];
    struct job *chosen[ENTROPY_PICTURES];
    uint64_t largest;
};

static const struct entropy_capacity capacity = {.batches = 2, .pictures = 16, .mbs = 16 * 100, .units = 1, .bytes = 1 << 20, .slices = 64};

/* n pictures of 1000 bytes each, one worker: 1 ms of the CPU each, the GPU 20 ms. */
static struct world *world(uint32_t n)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->e.worker_count = 1;
    w->e.cpu_rate = (struct entropy_rate){1e-3, 1000};
    w->e.gpu_rate = (struct entropy_rate){20e-3, 1000};
    for (uint32_t i = 0; i < n; i++) {
        w->pictures[i] = (struct h264_picture){.mb_count = 100, .bytes_size = 1000, .slice_count = 1};
        w->jobs[i] = (struct job){.pic = &w->pictures[i], .session = &w->session, .turn = i, .offloads = true, .largest_slice = 1000};
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

static void test_the_last(void **state)
{
    struct world *w = world(100);
    uint32_t n = choose(w);
    assert_int_equal(n, 16);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(has(w, n, i), i >= 84);
    assert_int_equal(w->e.entropy_count, 84);
    assert_int_equal(w->e.entropy_bytes, 84000);
    assert_int_equal(w->largest, 1000);
    assert_ptr_equal(w->e.entropy_last, &w->jobs[83]);
    for (uint32_t i = 84; i < 100; i++)
        assert_false(w->jobs[i].queued);
    assert_int_equal(choose(w), 16);
    free(w);
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
    struct world *w = world(30); /* too few for a batch */
    assert_int_equal(choose(w), 0);
    w->e.worker_count = 4; /* and these would not be late */
    assert_int_equal(choose(w), 0);
    free(w);
    w = world(100);
    w->e.worker_count = 8;
    assert_int_equal(choose(w), 0);
    free(w);
}

/* In parts of the queue where the GPU is in time for small pictures only, large ones are left where they are. */
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
    w->jobs[99].offloads = false;
    w->jobs[98].slice_next = 1;
    w->jobs[97].allocated = true;
    uint32_t n = choose(w);
    assert_int_equal(n, 16);
    assert_false(has(w, n, 99) || has(w, n, 98) || has(w, n, 97));
    assert_true(has(w, n, 96));
    assert_ptr_equal(w->e.entropy_last, &w->jobs[99]);
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
        cmocka_unit_test(test_the_last),     cmocka_unit_test(test_the_end_of_a_file), cmocka_unit_test(test_large_pictures),
        cmocka_unit_test(test_not_eligible), cmocka_unit_test(test_room),              cmocka_unit_test(test_all),
        cmocka_unit_test(test_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
