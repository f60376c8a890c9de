/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 1 on streams made here: marking, reference lists, gaps in frame_num. Pictures are named by
 * their id, which grows in decoding order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

/* ---- marking ---- */

static void test_sliding_window(void **state)
{
    struct ctx c = plain_ctx(3, 4);
    open_stream(&c);
    low_delay_run(&c, 20); /* frame_num wraps at 16 */
    flush(&c);
    expect_list(&c, 1, 0, "0 - - -");
    expect_list(&c, 2, 0, "1 0 - -");
    expect_list(&c, 4, 0, "3 2 1 -");
    expect_list(&c, 17, 0, "16 15 14 -");
    expect_list(&c, 19, 0, "18 17 16 -");
    assert_int_equal(c.decoded[16]->output_poc, 32);
    assert_int_equal(c.output_count, 20);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(c.output[i], i);
    close_stream(&c);
}

static void test_mmco1(void **state)
{
    struct ctx c = plain_ctx(4, 4);
    open_stream(&c);
    low_delay_run(&c, 4);
    /* 2, 0 */
    assert_int_equal(slice(&c, REF_P(.frame_num = 4, .poc_lsb = 8, .mmco = {{1, 1}, {1, 3}})),
                     H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 5, .poc_lsb = 10)), H264_OK);
    flush(&c);
    expect_list(&c, 4, 0, "3 2 1 0"); /* marking comes after its own decoding */
    expect_list(&c, 5, 0, "4 3 1 -");
    close_stream(&c);
}

static void test_mmco2_3_4(void **state)
{
    struct ctx c = plain_ctx(4, 4);
    open_stream(&c);
    low_delay_run(&c, 3);
    /* Two indices; 0 becomes long-term 1, 1 becomes long-term 0. */
    assert_int_equal(
        slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6, .mmco = {{4, 2}, {3, 2, 1}, {3, 1, 0}})),
        H264_OK);
    /* An index that is given again frees its holder. */
    assert_int_equal(slice(&c, REF_P(.frame_num = 4, .poc_lsb = 8, .mmco = {{3, 1, 0}})), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 5, .poc_lsb = 10, .mmco = {{2, 1}})), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 6, .poc_lsb = 12, .mmco = {{4, 0}})), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 7, .poc_lsb = 14)), H264_OK);
    flush(&c);
    expect_list(&c, 4, 0, "3 2 1L 0L");
    expect_list(&c, 5, 0, "4 3 2L 0L");
    expect_list(&c, 6, 0, "5 4 3 2L");
    expect_list(&c, 7, 0, "6 5 4 3");
    close_stream(&c);
}

static void test_mmco5(void **state)
{
    struct ctx c = plain_ctx(4, 4);
    open_stream(&c);
    low_delay_run(&c, 3);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 3, .poc_lsb = 7)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6, .mmco = {{5}})), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 4)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 2)), H264_OK);
    flush(&c);
    expect_list(&c, 4, 0, "2 1 0 -");
    expect_list(&c, 5, 0, "4 - - -");
    expect_list(&c, 6, 0, "4 5 - -");
    assert_int_equal(c.decoded[4]->output_poc, 6);
    assert_int_equal(c.decoded[5]->output_poc, 4);
    assert_int_equal(c.decoded[5]->slices[0].ref[0][0].poc, 0); /* tempPicOrderCnt was subtracted */
    expect_output(&c, "0 1 2 3 4 6 5"); /* 3 has a higher POC than 4, but comes before the reset */
    close_stream(&c);
}

static void test_mmco6_and_idr_long_term(void **state)
{
    struct ctx c = plain_ctx(3, 4);
    open_stream(&c);
    assert_int_equal(slice(&c, IDR(.long_term_reference = 1)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4, .mmco = {{4, 3}, {6, 2}})),
                     H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6)), H264_OK); /* slides 1 out */
    assert_int_equal(slice(&c, REF_P(.frame_num = 4, .poc_lsb = 8)), H264_OK);
    flush(&c);
    expect_list(&c, 1, 0, "0L - - -");
    expect_list(&c, 2, 0, "1 0L - -");
    expect_list(&c, 3, 0, "1 0L 2L -");
    expect_list(&c, 4, 0, "3 0L 2L -");
    close_stream(&c);
}

static void test_mmco_errors(void **state)
{
    struct ctx c = plain_ctx(2, 4);
    struct h264_stats stats;
    open_stream(&c);
    low_delay_run(&c, 3);
    assert_int_equal(
        slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6, .mmco = {{1, 14}, {2, 7}, {3, 12, 40}})),
        H264_OK);
    /* Reported when the picture ends; the window is kept all the same. */
    assert_int_equal(slice(&c, REF_P(.frame_num = 4, .poc_lsb = 8)), H264_ERR_DATA);
    assert_string_equal(c.diag.element, "memory_management_control_operation");
    flush(&c);
    expect_list(&c, 4, 0, "3 2 - -");
    h264_stream_stats(c.s, &stats);
    assert_int_equal(stats.errors, 1);
    close_stream(&c);
}

/* ---- lists ---- */

static void test_modification(void **state)
{
    struct ctx c = plain_ctx(4, 4);
    open_stream(&c);
    low_delay_run(&c, 3);
    /* 0 is 0L */
    assert_int_equal(slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6, .mmco = {{4, 1}, {3, 2, 0}})),
                     H264_OK);
    /* 1, 0L, 3 */
    assert_int_equal(
        slice(&c, REF_P(.frame_num = 4, .poc_lsb = 8, .mods = {{{1, 2}, {3, 0}, {2, 1}}})),
        H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 5, .poc_lsb = 10, .num_ref = {3, 0},
                                     .mods = {{{1, 1}, {1, 15}}})),
                     H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 6, .poc_lsb = 12, .mods = {{{1, 12}}})),
                     H264_ERR_DATA);
    assert_string_equal(c.diag.element, "modification_of_pic_nums_idc");
    assert_int_equal(slice(&c, REF_P(.frame_num = 7, .poc_lsb = 14, .num_ref = {1, 0},
                                     .mods = {{{1, 0}, {1, 0}}})),
                     H264_ERR_DATA);
    flush(&c);
    expect_list(&c, 3, 0, "2 1 0 -");
    expect_list(&c, 4, 0, "1 0L 3 2");
    expect_list(&c, 5, 0, "3 3 4");   /* the same picture twice: 16 back is the whole cycle */
    expect_list(&c, 6, 0, "- 5 4 3"); /* a lost picture keeps its place */
    expect_list(&c, 7, 0, "6");
    close_stream(&c);
}

static void test_b_lists(void **state)
{
    struct ctx c = plain_ctx(4, 3);
    open_stream(&c);
    c.pps.refs[0] = c.pps.refs[1] = 3;
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 8)), H264_OK);
    assert_int_equal(
        slice(&c,
              (struct slice_fields){.ref_idc = 1, .type = H264_B, .frame_num = 2, .poc_lsb = 4}),
        H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 3, .poc_lsb = 2)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 3, .poc_lsb = 6)), H264_OK);
    /* All references before: both lists equal, so the first two of list 1 change places, though
     * only one is kept. */
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 3, .poc_lsb = 10, .num_ref = {1, 1})),
                     H264_OK);
    flush(&c);
    expect_list(&c, 2, 0, "0 1 -");
    expect_list(&c, 2, 1, "1 0 -");
    expect_list(&c, 3, 0, "0 2 1");
    expect_list(&c, 3, 1, "2 1 0");
    expect_list(&c, 4, 0, "2 0 1");
    expect_list(&c, 4, 1, "1 2 0");
    expect_list(&c, 5, 0, "1");
    expect_list(&c, 5, 1, "2");
    assert_int_equal(c.decoded[3]->slices[0].ref[0][1].poc, 4);
    assert_int_equal(c.decoded[3]->has_b_slices, 1);
    assert_int_equal(c.decoded[3]->refs_held_count, 3);
    expect_output(&c, "0 3 2 4 1 5");
    close_stream(&c);
}

static void test_single_reference_not_swapped(void **state)
{
    struct ctx c = plain_ctx(2, 2);
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 1, .poc_lsb = 2)), H264_OK);
    flush(&c);
    expect_list(&c, 1, 0, "0 -");
    expect_list(&c, 1, 1, "0 -");
    close_stream(&c);
}

/* ---- gaps ---- */

static void test_gap_allowed(void **state)
{
    struct ctx c = plain_ctx(3, 4);
    struct h264_stats stats;
    c.sps.gaps_allowed = 1;
    open_stream(&c);
    low_delay_run(&c, 2);
    assert_int_equal(slice(&c, REF_P(.frame_num = 4, .poc_lsb = 8)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 5, .poc_lsb = 9)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 6);
    assert_int_equal(c.decoded[2]->non_existing, 1);
    assert_int_equal(c.decoded[3]->non_existing, 1);
    assert_ptr_equal(c.decoded[2]->refs_held[0], c.decoded[1]);
    assert_non_null(c.decoded[2]->arrays.mbs);
    expect_list(&c, 4, 0, "3 2 1 -");
    expect_list(&c, 5, 0, "4 - - -"); /* inferred frames have no POC in type 0 */
    expect_output(&c, "0 1 4 5");
    h264_stream_stats(c.s, &stats);
    assert_int_equal(stats.gaps, 1);
    assert_int_equal(stats.errors, 0);
    close_stream(&c);
}

static void test_gap_forbidden(void **state)
{
    struct ctx c = plain_ctx(3, 4);
    struct h264_stats stats;
    open_stream(&c);
    low_delay_run(&c, 2);
    /* only three of eleven are made */
    assert_int_equal(slice(&c, REF_P(.frame_num = 1 + 12, .poc_lsb = 8)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 6);
    expect_list(&c, 5, 0, "4 3 2 -");
    expect_output(&c, "0 1 5");
    h264_stream_stats(c.s, &stats);
    assert_int_equal(stats.gaps, 1);
    assert_int_equal(stats.errors, 1);
    close_stream(&c);
}

static void test_gap_strict(void **state)
{
    struct ctx c = plain_ctx(3, 4);
    open_with(&c, &(struct h264_stream_params){.strict = 1});
    low_delay_run(&c, 2);
    assert_int_equal(slice(&c, REF_P(.frame_num = 4, .poc_lsb = 8)), H264_ERR_DATA);
    assert_string_equal(c.diag.element, "frame_num");
    assert_int_equal(slice(&c, IDR(.idr_pic_id = 1)), H264_OK);
    flush(&c);
    expect_output(&c, "0 1 2");
    close_stream(&c);
}

static void test_gap_counts_in_poc(void **state)
{
    struct ctx c = plain_ctx(2, 2);
    c.sps.poc_type = 2;
    c.sps.gaps_allowed = 1;
    open_stream(&c);
    low_delay_run(&c, 2);
    /* 14 missing, across the wrap of FrameNumOffset */
    assert_int_equal(slice(&c, REF_P(.frame_num = 0)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded[c.decoded_count - 1]->output_poc, 32);
    assert_int_equal(c.decoded[c.decoded_count - 2]->output_poc, 30);
    close_stream(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sliding_window),
        cmocka_unit_test(test_mmco1),
        cmocka_unit_test(test_mmco2_3_4),
        cmocka_unit_test(test_mmco5),
        cmocka_unit_test(test_mmco6_and_idr_long_term),
        cmocka_unit_test(test_mmco_errors),
        cmocka_unit_test(test_modification),
        cmocka_unit_test(test_b_lists),
        cmocka_unit_test(test_single_reference_not_swapped),
        cmocka_unit_test(test_gap_allowed),
        cmocka_unit_test(test_gap_forbidden),
        cmocka_unit_test(test_gap_strict),
        cmocka_unit_test(test_gap_counts_in_poc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
