/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of picture arrays: sizes, slabs, accounts, and the bound of what is cached. The arenas
 * here are on the heap.
 */
#include "daemon/worker/memory/host_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct gpu_arena {
    void *memory;
};

static unsigned made, freed;
static bool no_device_memory, slow;
static atomic_uint making, most_making;

int gpu_arena_create(struct gpu *g, size_t size, struct gpu_arena **out, void **memory)
{
    (void)g;
    if (no_device_memory)
        return GPU_ERR_NOMEM;
    unsigned now = atomic_fetch_add(&making, 1) + 1;
    if (now > atomic_load(&most_making))
        atomic_store(&most_making, now);
    if (slow)
        uv_sleep(20);
    struct gpu_arena *a = calloc(1, sizeof(*a));
    assert_non_null(a);
    a->memory = aligned_alloc(64, (size + 63) / 64 * 64);
    assert_non_null(a->memory);
    made++;
    atomic_fetch_sub(&making, 1);
    *memory = a->memory;
    *out = a;
    return GPU_OK;
}

void gpu_arena_free(struct gpu_arena *a)
{
    freed++;
    free(a->memory);
    free(a);
}

int __real_uv_mutex_init(uv_mutex_t *mutex);
int __wrap_uv_mutex_init(uv_mutex_t *mutex);
static bool no_mutex;
int __wrap_uv_mutex_init(uv_mutex_t *mutex)
{
    return no_mutex ? UV_ENOMEM : __real_uv_mutex_init(mutex);
}

static void begin(struct memory *m, uint64_t limit, bool slabs)
{
    made = freed = 0;
    atomic_store(&most_making, 0);
    no_device_memory = no_mutex = false;
    assert_int_equal(memory_init(m, limit), 0);
    m->gpu = slabs ? (struct gpu *)m : NULL; /* only whether there is one matters */
    m->slab_bytes = 1u << 20;
}

static void *get(struct account *a, size_t size)
{
    return a->allocator.get(a->allocator.ctx, size);
}

static void put(struct account *a, void *block, size_t size)
{
    a->allocator.put(a->allocator.ctx, block, size);
}

/* Blocks are aligned, and a quarter is wasted at most. */
static void test_sizes(void **state)
{
    struct memory m;
    begin(&m, 1u << 30, false);
    struct account *a = account_create(&m);
    assert_non_null(a);
    for (size_t size = 300; size < 3u << 20; size += size / 3) {
        uint8_t *block = get(a, size);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        memset(block, 1, size);
        assert_in_range(atomic_load(&a->used), size, size + size / 4 + 1);
        put(a, block, size);
        assert_int_equal(atomic_load(&a->used), 0);
    }
    account_unref(a);
    memory_free(&m);
}

/* A freed block is the next one of its size. */
static void test_free_list(void **state)
{
    struct memory m;
    begin(&m, 1u << 30, false);
    struct account *a = account_create(&m);
    void *one = get(a, 5000);
    put(a, one, 5000);
    assert_true(m.cached >= 5000);
    void *two = get(a, 5010);
    assert_ptr_equal(one, two);
    assert_int_equal(m.cached, 0);
    put(a, two, 5010);
    account_unref(a);
    memory_free(&m);
}

/* No more is cached than the limit allows. */
static void test_limit(void **state)
{
    struct memory m;
    void *blocks[8];
    begin(&m, 20000, false);
    struct account *a = account_create(&m);
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = get(a, 5000);
    for (unsigned i = 0; i < 8; i++)
        put(a, blocks[i], 5000);
    assert_in_range(m.cached, 5000, 20000);
    account_unref(a);
    memory_free(&m);
}

/* Big blocks come from slabs; one that nobody uses goes when too much is cached. */
static void test_slabs(void **state)
{
    struct memory m;
    void *blocks[64];
    begin(&m, 0, true);
    struct account *a = account_create(&m);
    for (unsigned i = 0; i < 64; i++) {
        blocks[i] = get(a, 100000);
        assert_non_null(blocks[i]);
        memset(blocks[i], (int)i, 100000);
    }
    assert_in_range(made, 2, 16);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(((uint8_t *)blocks[i])[99999], i);
        put(a, blocks[i], 100000);
    }
    assert_int_equal(made, freed);
    assert_int_equal(m.cached, 0);
    account_unref(a);
    memory_free(&m);
}

/* A live stream holds at most two blocks more than it needs. */
static void test_small_slabs(void **state)
{
    struct memory m;
    void *blocks[21];
    begin(&m, 1u << 30, true);
    struct account *a = account_create(&m);
    a->small = true;
    for (unsigned i = 0; i < 21; i++) {
        blocks[i] = get(a, 100000);
        assert_non_null(blocks[i]);
        assert_true(m.cached <= 2 * 114688);
    }
    for (unsigned i = 0; i < 21; i++)
        put(a, blocks[i], 100000);
    account_unref(a);
    memory_free(&m);
    assert_int_equal(made, freed);
}

enum { TOGETHER = 16 };

struct taker {
    struct account *account;
    uv_barrier_t *start;
    void *block;
};

static void take_one(void *arg)
{
    struct taker *t = arg;
    uv_barrier_wait(t->start);
    t->block = get(t->account, 100000);
}

/* Coders that need a block at the same time share slabs, which are made one at a time. */
static void test_together(void **state)
{
    struct memory m;
    struct taker takers[TOGETHER];
    uv_thread_t threads[TOGETHER];
    uv_barrier_t start;
    begin(&m, 1u << 30, true);
    struct account *a = account_create(&m);
    assert_int_equal(uv_barrier_init(&start, TOGETHER), 0);
    slow = true;
    for (unsigned i = 0; i < TOGETHER; i++) {
        takers[i] = (struct taker){a, &start, NULL};
        assert_int_equal(uv_thread_create(&threads[i], take_one, &takers[i]), 0);
    }
    for (unsigned i = 0; i < TOGETHER; i++)
        uv_thread_join(&threads[i]);
    slow = false;
    assert_int_equal(atomic_load(&most_making), 1);
    assert_in_range(made, 1, 4); /* of 2, 4, 8 and 10 blocks */
    for (unsigned i = 0; i < TOGETHER; i++) {
        assert_non_null(takers[i].block);
        put(a, takers[i].block, 100000);
    }
    uv_barrier_destroy(&start);
    account_unref(a);
    memory_free(&m);
}

/* Bytes of access units are of any size: never from a slab. */
static void test_bytes(void **state)
{
    struct memory m;
    begin(&m, 1u << 30, true);
    struct account *a = account_create(&m);
    void *block = a->bytes.get(a->bytes.ctx, 100000);
    assert_non_null(block);
    assert_int_equal(made, 0);
    a->bytes.put(a->bytes.ctx, block, 100000);
    account_unref(a);
    memory_free(&m);
}

static void test_provide(void **state)
{
    struct memory m;
    begin(&m, 1u << 30, true);
    assert_int_equal(memory_missing(&m, 100000, 5), 5);
    assert_int_equal(memory_missing(&m, 1000, 5), 0); /* not from slabs */
    assert_true(memory_provide(&m, 100000, 5));
    assert_int_equal(memory_missing(&m, 100000, 5), 0);
    assert_false(memory_provide(&m, 100000, 5));
    memory_free(&m);
    assert_int_equal(made, freed);
}

static void test_no_device_memory(void **state)
{
    struct memory m;
    begin(&m, 1u << 30, true);
    struct account *a = account_create(&m);
    no_device_memory = true;
    assert_null(get(a, 100000));
    assert_false(memory_provide(&m, 100000, 1));
    assert_int_equal(atomic_load(&a->used), 0);
    account_unref(a);
    memory_free(&m);
}

/* Pictures may be freed a moment after their session. */
static void test_outlives(void **state)
{
    struct memory m;
    begin(&m, 1u << 30, false);
    struct account *a = account_create(&m);
    void *block = get(a, 5000);
    account_unref(a);
    memset(block, 1, 5000);
    put(a, block, 5000); /* the last one */
    memory_free(&m);
}

static void test_no_mutex(void **state)
{
    struct memory m;
    no_mutex = true;
    assert_int_not_equal(memory_init(&m, 1), 0);
    no_mutex = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_free_list),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_slabs),
        cmocka_unit_test(test_small_slabs),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_provide),
        cmocka_unit_test(test_outlives),
        cmocka_unit_test(test_no_device_memory),
        cmocka_unit_test(test_no_mutex),
        cmocka_unit_test(test_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
