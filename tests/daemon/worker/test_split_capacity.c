/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the GPU's batches of entropy decoding hold, by the memory of the device.
 */
#include "daemon/worker/schedule/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* of packed levels, of a picture of 1920x1088 */
#define HD_WORDS (SPLIT_HD_MBS + SPLIT_PICTURE_BYTES / 4 * SPLIT_WORDS_PER_4_BYTES)

static struct split_capacity capacity_of(enum engine_entropy mode, uint64_t memory, bool software,
                                         bool background)
{
    const struct schedule_setting setting = {
        .entropy = mode, .device_memory = memory, .software = software, .discrete = !software};
    return split_capacity_of(&setting, background);
}

static void test_capacity(void **state)
{
    const uint64_t gib = 1ull << 30;
    struct split_capacity c = capacity_of(ENGINE_ENTROPY_AUTO, 140 * gib, false, true);
    assert_int_equal(c.batches, SPLIT_BATCHES);
    assert_int_equal(c.pictures, SPLIT_PICTURES_WIDE);
    assert_true(c.batches * split_batch_bytes(&c) <= 140 * gib / SPLIT_MEMORY_PART);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_CPU, 140 * gib, false, true).pictures, 0);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_AUTO, 140 * gib, false, false).pictures, 0);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_AUTO, 140 * gib, true, true).pictures, 0);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_BOTH, 1 * gib, false, true).pictures, 0);
    for (uint64_t memory = 2; memory <= 64; memory *= 2) {
        c = capacity_of(ENGINE_ENTROPY_AUTO, memory * gib, false, true);
        assert_in_range(c.pictures, memory, SPLIT_PICTURES_WIDE);
        assert_true(c.batches * split_batch_bytes(&c) <= memory * gib / 4);
    }
    struct schedule_setting integrated = {.device_memory = 8 * gib};
    assert_int_equal(split_capacity_of(&integrated, true).pictures, 0);
    integrated.entropy = ENGINE_ENTROPY_BOTH;
    assert_true(split_capacity_of(&integrated, true).pictures > 0);
    assert_int_equal(capacity_of(ENGINE_ENTROPY_GPU, 140 * gib, false, true).batches,
                     SPLIT_BATCHES);
    assert_true(capacity_of(ENGINE_ENTROPY_GPU, 1 * gib, false, false).pictures > 0);
    assert_true(capacity_of(ENGINE_ENTROPY_BOTH, 1 * gib, true, false).pictures > 0);
}

/* Where memory is short, batches are for pictures of few coefficients. */
static void test_narrow(void **state)
{
    const uint64_t gib = 1ull << 30;
    struct split_capacity c = capacity_of(ENGINE_ENTROPY_AUTO, 140 * gib, false, true);
    assert_int_equal(c.coeff_blocks, c.mbs * SPLIT_BATCH_BLOCKS);
    c = capacity_of(ENGINE_ENTROPY_AUTO, 3 * gib, false, true);
    assert_int_equal(c.coeff_blocks, c.mbs * SPLIT_NARROW_BLOCKS);
    assert_in_range(c.pictures, 54, 60);
    assert_true(c.batches * split_batch_bytes(&c) <= 3 * gib / SPLIT_MEMORY_PART_NARROW);
    assert_int_equal(c.batches, SPLIT_BATCHES_NARROW);
    /* between: fewer pictures, then fewer batches, before there is less for each picture */
    uint64_t whole = SPLIT_MEMORY_PART *
                     split_batch_bytes(&(struct split_capacity){
                         .mbs = SPLIT_PICTURES_WHOLE * SPLIT_HD_MBS,
                         .coeff_blocks = SPLIT_PICTURES_WHOLE * SPLIT_HD_MBS * SPLIT_BATCH_BLOCKS,
                         .packed_words = SPLIT_PICTURES_WHOLE * HD_WORDS,
                         .bytes = SPLIT_PICTURES_WHOLE * SPLIT_PICTURE_BYTES});
    c = capacity_of(ENGINE_ENTROPY_AUTO, SPLIT_BATCHES * whole, false, true);
    assert_int_equal(c.batches, SPLIT_BATCHES);
    assert_int_equal(c.pictures, SPLIT_PICTURES_WHOLE);
    c = capacity_of(ENGINE_ENTROPY_AUTO, SPLIT_BATCHES_NARROW * whole, false, true);
    assert_int_equal(c.batches, SPLIT_BATCHES_NARROW);
    assert_int_equal(c.pictures, SPLIT_PICTURES_WHOLE);
    assert_int_equal(c.coeff_blocks, c.mbs * SPLIT_BATCH_BLOCKS);
}

/* Coefficients leave memory that is short to batches. */
static void test_resident(void **state)
{
    const uint64_t gib = 1ull << 30;
    struct schedule_setting set = {.device_memory = 140 * gib};
    assert_int_equal(split_resident_limit(&set), 140 * gib / SPLIT_RESIDENT_PART);
    set.device_memory = 3 * gib;
    assert_int_equal(split_resident_limit(&set), 3 * gib / SPLIT_RESIDENT_PART_NARROW);
    set.tuning.results = 3;
    assert_int_equal(split_resident_limit(&set), gib);
}

/* One stream has narrower ones, unless the GPU is to do all. All that a batch holds is in
 * proportion. */
static void test_part(void **state)
{
    struct schedule s = {.at_work_count = 1};
    struct split_capacity c = capacity_of(ENGINE_ENTROPY_AUTO, 140ull << 30, false, true), half;
    assert_int_equal(split_room(&s, &c), SPLIT_PICTURES_WHOLE);
    s.at_work_count = 2;
    assert_int_equal(split_room(&s, &c), SPLIT_PICTURES_WIDE);
    s.at_work_count = 1;
    s.split.all = true;
    assert_int_equal(split_room(&s, &c), SPLIT_PICTURES_WIDE);
    half = split_part(&c, c.pictures / 2);
    assert_int_equal(half.pictures, c.pictures / 2);
    assert_int_equal(half.mbs, c.mbs / 2);
    assert_int_equal(half.coeff_blocks, c.coeff_blocks / 2);
    assert_int_equal(half.packed_words, c.packed_words / 2);
    assert_int_equal(half.bytes, c.bytes / 2);
    assert_int_equal(half.slices, c.slices / 2);
    assert_int_equal(half.batches, c.batches);
    assert_memory_equal(&(struct split_capacity[1]){split_part(&c, c.pictures + 1)}, &c, sizeof(c));
    c.pictures = 40;
    s.split.all = false;
    assert_int_equal(split_room(&s, &c), 40);
}

static void test_units(void **state)
{
    struct h264_sps sps = {.chroma_format_idc = 1};
    struct h264_picture pic = {.sps = &sps, .mb_count = 100, .bytes_size = 100, .slice_count = 2};
    struct window window = {0};
    struct picture p = {.pic = &pic, .window = &window};
    struct split_capacity c = {.picture_blocks = 2399};
    assert_int_equal(split_blocks(&c, &p), 160 + 2 * 384);
    split_note_full(&p); /* later ones have twice as many, and at last four times */
    assert_int_equal(split_blocks(&c, &p), 2 * (160 + 2 * 384));
    split_note_full(&p);
    split_note_full(&p);
    pic.slice_count = 1;
    assert_int_equal(split_blocks(&c, &p), 4 * (160 + 384));
    window.few_blocks = 0;
    pic.bytes_size = 100000; /* never more than the macroblocks can take */
    assert_int_equal(split_blocks(&c, &p), 2400);
    sps.chroma_format_idc = 0;
    assert_int_equal(split_blocks(&c, &p), 1600);
    pic.bytes_size = 100; /* as there is room for all */
    assert_int_equal(split_blocks(&c, &p), 1600);
    sps.chroma_format_idc = 1;
    c.picture_blocks = 2400;
    assert_int_equal(split_blocks(&c, &p), 2400);
}

/* A batch has room for the words of all that it has room for. */
static void test_words(void **state)
{
    struct schedule s = {0};
    struct h264_sps sps = {.chroma_format_idc = 1, .bit_depth = {8, 8}};
    struct h264_picture pic = {.sps = &sps, .mb_count = 100, .slice_count = 1};
    struct window window = {.schedule = &s};
    struct picture p = {.pic = &pic, .window = &window, .entropy.bytes = 400};
    assert_int_equal(window_packed_words(&p), 100 + 500);
    s.setting.tuning.packed = PACKED_BLOCKS;
    assert_int_equal(window_packed_words(&p), 0);
    struct split_capacity c = capacity_of(ENGINE_ENTROPY_AUTO, 8ull << 30, false, true);
    s.setting.tuning.packed = 0;
    pic.mb_count = c.mbs;
    p.entropy.bytes = c.bytes;
    assert_int_equal(window_packed_words(&p), c.packed_words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capacity), cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_resident), cmocka_unit_test(test_part),
        cmocka_unit_test(test_units),    cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
