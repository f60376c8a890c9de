/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slots, generations, layout and memory of a frame pool, without a device.
 */
#include "daemon/worker/feed/frame_pool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static struct pool *pool_of(uint32_t width, uint32_t rows, uint32_t slots, uint8_t grey_depth)
{
    struct pool_params params = {.memory = true, .grey_depth = grey_depth, .format.slots = slots};
    struct pool *pool = NULL;
    feed_format_plane(&params.format, width, rows, 256);
    feed_format_plane(&params.format, width / 2, rows / 2, 256);
    feed_format_close(&params.format);
    assert_int_equal(pool_create(NULL, &params, &pool), 0);
    return pool;
}

static struct pool *pool_new(uint32_t slots, uint8_t grey_depth)
{
    return pool_of(100, 40, slots, grey_depth);
}

static void test_layout(void **state)
{
    struct feed_format f = {0};
    feed_format_plane(&f, 100, 40, 256);
    feed_format_plane(&f, 300, 20, 256);
    assert_int_equal(f.planes, 2);
    assert_int_equal(f.stride[0], 256);
    assert_int_equal(f.stride[1], 512);
    assert_int_equal(f.plane_offset[1], 40 * 256);
    assert_int_equal(f.slot_size, 40 * 256 + 20 * 512);
    feed_format_close(&f);
    assert_int_equal(f.slot_size % 4096, 0);
    assert_true(f.slot_size >= 40 * 256 + 20 * 512);
}

static void test_slots_in_turn(void **state)
{
    struct pool *pool = pool_new(3, 0);
    uint32_t slot;
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(pool_take(pool, &slot));
        assert_int_equal(slot, i);
        assert_int_equal(pool->slots[slot].generation, 1);
    }
    assert_false(pool_take(pool, &slot));
    assert_int_equal(pool->busy, 3);
    pool_put(pool, 1);
    assert_true(pool_take(pool, &slot));
    assert_int_equal(slot, 1);
    assert_int_equal(pool->slots[1].generation, 2);
    pool_free(pool);
}

/* Slots of a batch are taken in order. Another one begins once all of a group's are free. Tensors
 * have no gap between them, so all slots are one part. */
static void test_batches(void **state)
{
    struct pool_params params = {.memory = true, .format = {.slots = 6, .batch = 3}};
    struct pool *pool = NULL;
    uint32_t slot;
    feed_format_plane(&params.format, 50, 7, 4);
    assert_int_equal(params.format.slot_size, 52 * 7);
    assert_int_equal(pool_create(NULL, &params, &pool), 0);
    assert_true(pool_whole(pool));
    assert_int_equal(pool->format.memfd_size, 4096);
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(pool_take(pool, &slot));
        assert_int_equal(slot, i);
        pool_hold(pool, slot);
    }
    assert_true(pool_release(pool, 0, 1));
    assert_true(pool_release(pool, 1, 1));
    assert_true(pool_take(pool, &slot));
    assert_int_equal(slot, 5);            /* not one of a group that was begun before */
    assert_false(pool_take(pool, &slot)); /* slot 2 is held */
    assert_true(pool_release(pool, 2, 1));
    assert_true(pool_take(pool, &slot));
    assert_int_equal(slot, 0);
    pool_put(pool, slot);
    assert_true(pool_take(pool, &slot));
    assert_int_equal(slot, 1); /* a frame that was taken back leaves its place empty */
    pool_free(pool);
}

static struct pool_params params_of(uint32_t width, uint32_t slots)
{
    struct pool_params params = {.memory = true, .format = {.slots = slots, .memfd = -1}};
    feed_format_plane(&params.format, width, 40, 256);
    feed_format_plane(&params.format, width / 2, 20, 256);
    feed_format_close(&params.format);
    return params;
}

/* Frames of the same planes, and no more of them. */
static void test_serves(void **state)
{
    struct pool *pool = pool_new(4, 0);
    struct pool_params params = params_of(100, 4), fewer = params_of(100, 2),
                       more = params_of(100, 5), wider = params_of(300, 4), batch = params,
                       device = params, encoded = params, converted = params, grey = params;
    batch.format.batch = 2;
    device.device = true;
    encoded.format.encoded = true;
    converted.format.converts = true;
    grey.grey_depth = 8;
    assert_true(pool_serves(pool, &params));
    assert_true(pool_serves(pool, &fewer));
    assert_false(pool_serves(pool, &more));
    assert_false(pool_serves(pool, &wider));
    assert_false(pool_serves(pool, &batch));
    assert_false(pool_serves(pool, &device));
    assert_false(pool_serves(pool, &encoded));
    assert_false(pool_serves(pool, &converted));
    assert_false(pool_serves(pool, &grey));
    pool_free(pool);
}

/* Slots are free whatever the former stream knew of them. Generations go on. */
static void test_begin_again(void **state)
{
    struct pool *pool = pool_new(3, 0);
    struct pool_params params = params_of(100, 2);
    void *memory = pool->memory;
    int memfd = pool->format.memfd;
    uint32_t slot;
    assert_true(pool_take(pool, &slot));
    pool_hold(pool, slot);
    pool->announced = true;
    pool->fits[0] = 7;
    params.format.orientation = 3;
    pool_begin_again(pool, &params.format);
    assert_int_equal(pool->busy, 0);
    assert_false(pool->announced);
    assert_int_equal(pool->fits[0], 0);
    assert_ptr_equal(pool->memory, memory);
    assert_int_equal(pool->format.memfd, memfd);
    assert_int_equal(pool->format.slots, 3);
    assert_int_equal(pool->format.orientation, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(pool_take(pool, &slot));
        assert_int_equal(slot, i);
        assert_int_equal(pool->slots[slot].generation, i ? 1 : 2);
    }
    assert_false(pool_take(pool, &slot));
    pool_free(pool);
}

static void test_release(void **state)
{
    struct pool *pool = pool_new(2, 0);
    uint32_t slot;
    assert_true(pool_take(pool, &slot));
    assert_false(pool_release(pool, slot, 1)); /* nobody has been told of it */
    pool_hold(pool, slot);
    assert_false(pool_release(pool, slot, 2)); /* another generation */
    assert_false(pool_release(pool, 1, 1));    /* not held */
    assert_false(pool_release(pool, 2, 1));    /* no such slot */
    assert_int_equal(pool->busy, 1);
    assert_true(pool_release(pool, slot, 1));
    assert_false(pool_release(pool, slot, 1)); /* twice */
    assert_int_equal(pool->busy, 0);
    pool_free(pool);
}

static void test_memory(void **state)
{
    struct pool *pool = pool_new(2, 0);
    const struct feed_format *f = &pool->format;
    assert_int_equal(f->memfd_size, 2 * f->slot_size);
    assert_int_equal(lseek(f->memfd, 0, SEEK_END), f->memfd_size);
    int seals = fcntl(f->memfd, F_GET_SEALS);
    assert_int_equal(seals, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    void *writable = mmap(NULL, f->slot_size, PROT_READ | PROT_WRITE, MAP_SHARED, f->memfd, 0);
    assert_ptr_equal(writable, MAP_FAILED);
    uint8_t *seen = mmap(NULL, f->memfd_size, PROT_READ, MAP_SHARED, f->memfd, 0);
    ((uint8_t *)pool->memory)[f->slot_size] = 7;
    assert_int_equal(seen[f->slot_size], 7);
    munmap(seen, f->memfd_size);
    pool_free(pool);
}

/* The first part can be used while the others are made; each doubles the pool. */
static void test_parts(void **state)
{
    struct pool *pool = pool_of(1920, 1080, 10, 8);
    atomic_bool stop = true;
    uint32_t slot, slots = 0;
    uint64_t offset;
    while (pool_take(pool, &slot))
        assert_int_equal(slot, slots++);
    assert_int_equal(slots, 4);
    assert_false(pool_whole(pool));
    assert_int_not_equal(pool_grow(NULL, pool, &stop), 0);
    assert_false(pool_take(pool, &slot));
    stop = false;
    assert_int_equal(pool_grow(NULL, pool, &stop), 0);
    assert_false(pool_take(pool, &slot)); /* until its owner is told */
    pool_grown(pool);
    while (pool_take(pool, &slot))
        assert_int_equal(slot, slots++);
    assert_int_equal(slots, 8);
    assert_int_equal(pool_grow(NULL, pool, NULL), 0);
    pool_grown(pool);
    assert_true(pool_whole(pool));
    assert_null(pool_host(pool, 5, &offset));
    assert_int_equal(offset, pool->format.slot_size);
    pool_host(pool, 9, &offset);
    assert_int_equal(offset, pool->format.slot_size);
    const uint8_t *last = (const uint8_t *)pool->memory + 9 * pool->format.slot_size;
    assert_int_equal(last[pool->format.plane_offset[1]], 128);
    pool_free(pool);
}

/* Small frames are one part. */
static void test_small_frames(void **state)
{
    struct pool *pool = pool_of(640, 360, 16, 0);
    assert_true(pool_whole(pool));
    assert_int_equal(pool->part_count, 1);
    pool_free(pool);
    pool = pool_of(640, 360, 100, 0);
    assert_false(pool_whole(pool));
    assert_true(pool->ready > 16);
    pool_free(pool);
}

/* Chroma that the GPU does not write is mid-grey. */
static void test_grey(void **state)
{
    struct pool *pool = pool_new(2, 8);
    const uint8_t *last = (const uint8_t *)pool->memory + pool->format.slot_size;
    assert_int_equal(last[pool->format.plane_offset[1]], 128);
    assert_int_equal(last[0], 0);
    pool_free(pool);
    pool = pool_new(1, 10);
    const uint8_t *chroma = (const uint8_t *)pool->memory + pool->format.plane_offset[1];
    assert_int_equal(chroma[0] | chroma[1] << 8, 512);
    pool_free(pool);
}

static void test_without_memory(void **state)
{
    struct pool_params params = {.memory = false, .format.slots = 4};
    struct pool *pool = NULL;
    uint32_t slot;
    assert_int_equal(pool_create(NULL, &params, &pool), 0);
    assert_null(pool->memory);
    assert_int_equal(pool->format.memfd, -1);
    assert_false(pool_take(pool, &slot));
    assert_false(pool_release(pool, 0, 0));
    pool_free(pool);
    pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),       cmocka_unit_test(test_slots_in_turn),
        cmocka_unit_test(test_batches),      cmocka_unit_test(test_release),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_parts),
        cmocka_unit_test(test_grey),         cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_small_frames), cmocka_unit_test(test_serves),
        cmocka_unit_test(test_begin_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
