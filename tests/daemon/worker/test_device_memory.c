/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Room on the device for coefficients. Blocks never overlap, and each lies in one arena. All of the
 * room is found again. Blocks without room are refused. The arenas here are addresses alone, as on
 * a device, and memory may be short.
 */
#include "codec/h264_allocator.h"
#include "daemon/worker/memory/device_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PIECES 64
#define PIECE  (16u << 10)
#define LIMIT  (PIECES * PIECE)
#define BLOCKS 1000

struct gpu_arena {
    uintptr_t base;
    size_t size;
};

static struct gpu_arena arenas[PIECES];
static unsigned made, freed, most_arenas;

int gpu_arena_create_device(struct gpu *g, size_t size, struct gpu_arena **out, void **memory)
{
    (void)g;
    if (made == most_arenas)
        return GPU_ERR_NOMEM;
    struct gpu_arena *a = &arenas[made];
    *a = (struct gpu_arena){(uintptr_t)0x100000000 * (PIECES - made), size};
    made++;
    *memory = (void *)a->base;
    *out = a;
    return GPU_OK;
}

static bool over_budget;

bool gpu_memory_fits(const struct gpu *g, uint64_t bytes)
{
    (void)g;
    return !over_budget;
}

uint64_t gpu_memory_refused(const struct gpu *g)
{
    return 0;
}

void gpu_arena_free(struct gpu_arena *a)
{
    assert_non_null(a);
    freed++;
}

struct block {
    uintptr_t at;
    size_t size;
};

struct world {
    struct resident *r;
    const struct h264_allocator *a;
    struct block blocks[BLOCKS];
    unsigned count;
    uint64_t random;
};

static struct world *world(unsigned most, uint64_t limit)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    made = freed = 0;
    most_arenas = most;
    w->random = 0x9e3779b97f4a7c15ull;
    w->r = resident_create(NULL, limit);
    assert_non_null(w->r);
    w->a = resident_allocator(w->r);
    return w;
}

static void end(struct world *w)
{
    resident_free(w->r);
    assert_int_equal(freed, made);
    free(w);
}

static uint32_t next_random(struct world *w, uint32_t most)
{
    w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(w->random >> 33) % most;
}

static bool in_an_arena(const struct block *b)
{
    for (unsigned i = 0; i < made; i++)
        if (b->at >= arenas[i].base && b->at + b->size <= arenas[i].base + arenas[i].size)
            return true;
    return false;
}

static bool take(struct world *w, size_t size)
{
    struct block b = {(uintptr_t)w->a->get(w->a->ctx, size), size};
    if (!b.at)
        return false;
    assert_true(in_an_arena(&b));
    assert_int_equal(b.at % 32, 0);
    for (unsigned i = 0; i < w->count; i++)
        assert_true(b.at + b.size <= w->blocks[i].at ||
                    w->blocks[i].at + w->blocks[i].size <= b.at);
    w->blocks[w->count++] = b;
    return true;
}

static void give(struct world *w, unsigned i)
{
    w->a->put(w->a->ctx, (void *)w->blocks[i].at, w->blocks[i].size);
    w->blocks[i] = w->blocks[--w->count];
}

/* Everything is free, in one gap a piece. */
static void check_empty(struct world *w)
{
    while (w->count)
        give(w, next_random(w, w->count));
    for (unsigned i = 0; i < made; i++)
        assert_true(take(w, PIECE));
    while (w->count)
        give(w, 0);
}

static void test_any_order(void **state)
{
    struct world *w = world(PIECES, LIMIT);
    unsigned refused = 0;
    for (unsigned step = 0; step < 20000; step++) {
        bool more = w->count < BLOCKS && next_random(w, 100) < (step / 2000 % 2 ? 30 : 70);
        if (more || !w->count)
            refused += !take(w, 32 * (1 + next_random(w, next_random(w, 10) ? 100 : 512)));
        else
            give(w, next_random(w, w->count));
    }
    uint64_t most;
    assert_int_equal(resident_bytes(w->r, &most), (uint64_t)made * PIECE);
    assert_true(most <= LIMIT && most > 0);
    assert_int_equal(made, PIECES);
    assert_true(refused > 0);
    check_empty(w);
    end(w);
}

static void test_provided(void **state)
{
    struct world *w = world(PIECES, LIMIT);
    assert_true(resident_provide(w->r, 2 * PIECE));
    assert_true(resident_provide(w->r, 2 * PIECE));
    assert_false(resident_provide(w->r, 2 * PIECE));
    assert_int_equal(made, 2);
    assert_true(take(w, PIECE / 2));
    assert_true(take(w, PIECE));
    assert_int_equal(made, 2);
    while (resident_provide(w->r, LIMIT))
        ;
    assert_int_equal(made, PIECES);
    check_empty(w);
    end(w);
}

/* Beyond the budget no piece is taken, and later, with room again, one is. */
static void test_budget(void **state)
{
    struct world *w = world(PIECES, LIMIT);
    over_budget = true;
    assert_false(resident_short(w->r, 1));
    assert_false(resident_provide(w->r, 1));
    assert_false(take(w, 64));
    over_budget = false;
    assert_true(resident_provide(w->r, 1));
    check_empty(w);
    end(w);
}

static void test_full(void **state)
{
    struct world *w = world(PIECES, LIMIT);
    unsigned n = 0;
    while (take(w, PIECE / 2))
        n++;
    assert_int_equal(n, 2 * PIECES);
    assert_false(take(w, 32));
    give(w, 7);
    assert_false(take(w, PIECE));
    assert_true(take(w, PIECE / 2));
    check_empty(w);
    end(w);
}

static void test_too_large(void **state)
{
    struct world *w = world(PIECES, LIMIT);
    assert_false(take(w, PIECE + 1));
    assert_int_equal(made, 0);
    assert_true(take(w, PIECE));
    check_empty(w);
    end(w);
}

static void test_memory_is_short(void **state)
{
    for (unsigned most = 0; most < 3; most++) {
        struct world *w = world(most, LIMIT);
        unsigned n = 0;
        while (take(w, PIECE))
            n++;
        assert_int_equal(n, most);
        most_arenas = PIECES; /* nobody asks again */
        assert_false(take(w, PIECE));
        check_empty(w);
        end(w);
    }
}

static void test_no_room_at_all(void **state)
{
    struct world *w = world(PIECES, 100);
    assert_false(take(w, 32));
    end(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),      cmocka_unit_test(test_provided),
        cmocka_unit_test(test_budget),         cmocka_unit_test(test_full),
        cmocka_unit_test(test_too_large),      cmocka_unit_test(test_memory_is_short),
        cmocka_unit_test(test_no_room_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
