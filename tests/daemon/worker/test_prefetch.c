/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory for picture arrays that is allocated ahead of time. It exists when array_maker_ready says
 * so, in few slabs. If the device gives none, everything goes on. The arenas here are on the heap,
 * and their number may be limited.
 */
#include "codec/abi/records.h"
#include "daemon/worker/memory/prefetch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#define MBS         8160
#define PATIENCE_US 60000000

struct gpu_arena {
    void *memory;
};

static atomic_uint made, freed, most_arenas;

int gpu_arena_create(struct gpu *g, size_t size, struct gpu_arena **out, void **memory)
{
    (void)g;
    if (made == most_arenas)
        return GPU_ERR_NOMEM;
    struct gpu_arena *a = calloc(1, sizeof(*a));
    if (!a || !(a->memory = aligned_alloc(64, (size + 63) / 64 * 64)))
        abort();
    made++;
    *memory = a->memory;
    *out = a;
    return GPU_OK;
}

bool gpu_memory_fits(const struct gpu *g, uint64_t bytes)
{
    (void)g;
    return true;
}

uint64_t gpu_memory_refused(const struct gpu *g)
{
    return 0;
}

void gpu_arena_free(struct gpu_arena *a)
{
    freed++;
    free(a->memory);
    free(a);
}

int gpu_arena_create_device(struct gpu *g, size_t size, struct gpu_arena **out, void **memory)
{
    return gpu_arena_create(g, size, out, memory);
}

static void begin(struct memory *m, unsigned arenas)
{
    made = freed = 0;
    most_arenas = arenas;
    assert_int_equal(memory_init(m, 4ull << 30), 0);
    m->gpu = (struct gpu *)m; /* only whether there is one matters */
    m->slab_bytes = 4u << 20;
}

static void wait_until_ready(struct array_maker *a, uint32_t count)
{
    unsigned us = 0;
    while (!array_maker_ready(a, MBS, count, 0)) {
        usleep(1000);
        us += 1000;
        assert_true(us < PATIENCE_US);
    }
}

static void test_made(void **state)
{
    struct memory m;
    begin(&m, 100);
    struct array_maker *a = array_maker_start(&m, NULL);
    assert_non_null(a);
    assert_false(array_maker_ready(a, MBS, 64, 0));
    wait_until_ready(a, 64);
    assert_int_equal(made, 3); /* one for each array */
    assert_int_equal(memory_missing(&m, MBS * sizeof(struct rec_motion), 64), 0);
    struct account *account = account_create(&m);
    void *blocks[64];
    for (unsigned i = 0; i < 64; i++)
        blocks[i] = account->allocator.get(account->allocator.ctx, MBS * sizeof(struct rec_motion));
    assert_int_equal(made, 3);
    assert_int_equal(memory_missing(&m, MBS * sizeof(struct rec_motion), 64), 64);
    assert_int_equal(memory_missing(&m, MBS * sizeof(struct rec_mb), 64), 0);
    for (unsigned i = 0; i < 64; i++)
        account->allocator.put(account->allocator.ctx, blocks[i], MBS * sizeof(struct rec_motion));
    assert_true(array_maker_ready(a, MBS, 64, 0));
    account_unref(account);
    array_maker_stop(a);
    memory_free(&m);
    assert_int_equal(freed, made);
}

/* Then they are made, or not, where they are needed. */
static void test_no_memory(void **state)
{
    struct memory m;
    for (unsigned most = 0; most < 3; most++) {
        begin(&m, most);
        struct array_maker *a = array_maker_start(&m, NULL);
        assert_non_null(a);
        wait_until_ready(a, 64);
        assert_true(array_maker_ready(a, MBS, 1000, 0));
        assert_int_equal(made, most);
        array_maker_stop(a);
        memory_free(&m);
        assert_int_equal(freed, made);
    }
}

static void test_no_device(void **state)
{
    struct memory m;
    begin(&m, 100);
    m.gpu = NULL;
    struct array_maker *a = array_maker_start(&m, NULL);
    assert_true(array_maker_ready(a, MBS, 64, 0));
    assert_true(array_maker_ready(NULL, MBS, 64, 0));
    array_maker_stop(a);
    array_maker_stop(NULL);
    memory_free(&m);
    assert_int_equal(made, 0);
}

/* Nobody waits for room on the device, but it comes, and no more than there may be. */
static void test_room(void **state)
{
    const uint64_t piece = 64 << 10, most = 64 * piece;
    uint64_t used;
    struct memory m;
    begin(&m, 1000);
    struct resident *r = resident_create(NULL, most);
    struct array_maker *a = array_maker_start(&m, r);
    assert_non_null(a);
    wait_until_ready(a, 8);
    assert_int_equal(resident_bytes(r, &used), 0);
    for (unsigned us = 0; resident_bytes(r, &used) < 3 * piece; us += 1000) {
        assert_true(array_maker_ready(a, MBS, 8, 3 * piece));
        usleep(1000);
        assert_true(us < PATIENCE_US);
    }
    assert_false(resident_short(r, 3 * piece));
    for (unsigned us = 0; resident_short(r, 2 * most); us += 1000) {
        assert_true(array_maker_ready(a, MBS, 8, 2 * most));
        usleep(1000);
        assert_true(us < PATIENCE_US);
    }
    assert_int_equal(resident_bytes(r, &used), most);
    array_maker_stop(a);
    resident_free(r);
    memory_free(&m);
    assert_int_equal(freed, made);
}

/* While it is at work. */
static void test_stop(void **state)
{
    struct memory m;
    for (unsigned i = 0; i < 20; i++) {
        begin(&m, 100);
        struct array_maker *a = array_maker_start(&m, NULL);
        array_maker_ready(a, MBS, 8 + i, 0);
        array_maker_stop(a);
        memory_free(&m);
        assert_int_equal(freed, made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),      cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_device), cmocka_unit_test(test_room),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
