/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaches between pictures, by frame_num, POC and IDR pictures, tell of lost, repeated or foreign
 * data: until the next IDR picture or recovery point, pictures that rest on what was before are
 * damaged. test_breach_fields.c has those of fields, test_breach_units.c those of units, sets,
 * tools and slices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

static void test_clean(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 12);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 12, .poc_lsb = 7)), H264_OK);
    flush(&c);
    for (unsigned i = 0; i < c.decoded_count; i++) {
        assert_int_equal(doubted_before(&c, i), 0);
        assert_int_equal(c.decoded[i]->damage.corrupt, 0);
    }
    close_stream(&c);
}

/* A reference picture that comes again after it: its frame_num repeats. */
static void test_repeated_reference(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 3);
    slice(&c, REF_P(.frame_num = 2, .poc_lsb = 6));
    slice(&c, REF_P(.frame_num = 3, .poc_lsb = 8));
    slice(&c, IDR(.idr_pic_id = 1));
    flush(&c);
    assert_int_equal(doubted_before(&c, 2), 0);
    assert_int_equal(doubted_before(&c, 3), 3);
    assert_int_equal(doubted_before(&c, 4), 3);
    assert_int_equal(doubted_before(&c, 5), 0);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(c.decoded[i]->damage.corrupt, i == 3);
    close_stream(&c);
}

static void test_gap(void **state)
{
    for (unsigned allowed = 0; allowed < 2; allowed++) {
        struct ctx c = plain_ctx(4, 2);
        c.sps.gaps_allowed = allowed;
        open_stream(&c);
        low_delay_run(&c, 2);
        slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6));
        flush(&c);
        assert_true(c.decoded[2]->non_existing);
        assert_int_equal(doubted_before(&c, 3), allowed ? 0 : 3);
        close_stream(&c);
    }
}

/* Behind a lost reference the lists of B slices may name other pictures than they should, though
 * all that they name came later. */
static void test_lists_behind_loss(void **state)
{
    for (unsigned lost = 0; lost < 2; lost++) {
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        slice(&c, IDR(.idr_pic_id = 0));
        if (!lost)
            slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2));
        slice(&c,
              (struct slice_fields){.ref_idc = 1, .type = H264_I, .frame_num = 2, .poc_lsb = 4});
        slice(&c, NONREF_B(.frame_num = 3, .poc_lsb = 6));
        flush(&c);
        assert_int_equal(c.decoded_count, 4);
        assert_int_equal(c.decoded[1]->non_existing, lost);
        assert_int_equal(doubted_before(&c, 3), lost ? 3 : 0);
        close_stream(&c);
    }
}

/* Operation 1 on a picture that is not there. */
static void test_missing_name(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 2);
    slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4, .mmco = {{1, 7}}));
    slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6));
    flush(&c);
    assert_int_equal(c.decoded[2]->damage.corrupt, 1);
    assert_int_equal(doubted_before(&c, 2), 0);
    assert_int_equal(doubted_before(&c, 3), 3);
    close_stream(&c);
}

/* Other parameters in an SPS of the same id, without an IDR picture. */
static void test_other_sequence(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 2);
    c.sps.max_num_ref_frames = 2;
    send_sets(&c);
    slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4));
    slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6));
    slice(&c, IDR(.idr_pic_id = 1));
    flush(&c);
    assert_int_equal(c.decoded[1]->damage.latest, 0);
    assert_int_not_equal(c.decoded[2]->damage.latest, 0);
    assert_int_not_equal(c.decoded[3]->damage.latest, 0);
    assert_int_equal(c.decoded[4]->damage.latest, 0);
    close_stream(&c);
}

/* Another size without an IDR picture: decoding begins again at an intra picture, which follows
 * what is not there. */
static void test_other_size(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 2);
    c.sps.mb_width = 5;
    send_sets(&c);
    slice(&c, (struct slice_fields){.ref_idc = 1, .type = H264_I, .frame_num = 2, .poc_lsb = 4});
    slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6));
    slice(&c, IDR(.idr_pic_id = 1));
    flush(&c);
    assert_int_equal(c.decoded_count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(c.decoded[i]->damage.latest != 0, i == 2 || i == 3);
    close_stream(&c);
}

/* P pictures where the SPS allows no reference frames (7.4.2.1.1); more than three are a habit. */
static void test_no_references(void **state)
{
    struct ctx c = plain_ctx(0, 1);
    open_stream(&c);
    low_delay_run(&c, 6);
    flush(&c);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(c.decoded[i]->damage.corrupt, i >= 1 && i <= 3);
    close_stream(&c);
}

/* Of the slices of an access unit the first has lost its nal_ref_idc: pictures behind it may lack a
 * reference. */
static void test_astray_reference(void **state)
{
    for (unsigned ref_idc = 0; ref_idc < 2; ref_idc++) {
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        low_delay_run(&c, 2);
        c.tag = 1;
        slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 4));
        struct slice_fields other = {
            .ref_idc = ref_idc, .type = H264_P, .first_mb = 3, .frame_num = 9, .poc_lsb = 4};
        assert_int_equal(slice(&c, other), H264_ERR_DATA);
        c.tag = 2;
        slice(&c, REF_P(.frame_num = 2, .poc_lsb = 6));
        flush(&c);
        assert_int_equal(c.decoded[2]->damage.corrupt, 1);
        assert_int_equal(doubted_before(&c, 3) != 0, ref_idc);
        close_stream(&c);
    }
}

/* Headers of an access unit whose frame_num differs from slice to slice: one picture, marked. */
static void test_astray(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 2);
    c.tag = 1;
    assert_int_equal(slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.first_mb = 3, .frame_num = 9, .poc_lsb = 4)), H264_ERR_DATA);
    assert_int_equal(slice(&c, REF_P(.first_mb = 6, .frame_num = 2, .poc_lsb = 4)), H264_OK);
    c.tag = 2;
    assert_int_equal(slice(&c, REF_P(.first_mb = 6, .frame_num = 3, .poc_lsb = 6)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 4);
    assert_int_equal(c.decoded[2]->slice_count, 2);
    assert_int_equal(c.decoded[2]->damage.corrupt, 1);
    assert_int_equal(c.decoded[3]->slice_count, 1);
    close_stream(&c);
}

/* A picture that is no reference comes again behind later ones, with its own bytes. */
static void test_repeated_picture(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 2);
    slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 5));
    slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 7));
    slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 5));
    slice(&c, REF_P(.frame_num = 2, .poc_lsb = 8));
    flush(&c);
    assert_int_equal(c.decoded_count, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(c.decoded[i]->damage.corrupt, i == 4);
    close_stream(&c);
}

/* A picture with the frame_num of the reference before it belongs before that one. */
static void test_late_picture(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 3);
    slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 3));
    slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6));
    flush(&c);
    assert_int_equal(c.decoded_count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(c.decoded[i]->damage.corrupt, i == 3);
    close_stream(&c);
}

/* Another picture with the POC of one before, with other bytes. */
static void test_poc_twice(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 2);
    slice(&c, REF_P(.frame_num = 2, .poc_lsb = 2, .data = 0x77, .data_bits = 8));
    slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6));
    slice(&c, IDR(.idr_pic_id = 1));
    slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2));
    flush(&c);
    assert_int_equal(c.decoded_count, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(c.decoded[i]->damage.corrupt, i == 2);
    close_stream(&c);
}

/* A breach in each picture is a habit of the encoder: after three it is not told any more. */
static void test_poc_habit(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    slice(&c, IDR(.idr_pic_id = 0));
    for (unsigned i = 1; i < 9; i++)
        slice(&c, REF_P(.frame_num = i, .data = i, .data_bits = 8));
    flush(&c);
    assert_int_equal(c.decoded_count, 9);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(c.decoded[i]->damage.corrupt, i > 0 && i < 4);
    close_stream(&c);
}

static void test_idr_frame_num(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    slice(&c, IDR(.idr_pic_id = 0, .frame_num = 5));
    slice(&c, IDR(.idr_pic_id = 1));
    flush(&c);
    assert_int_equal(c.decoded[0]->damage.corrupt, 1);
    assert_int_equal(c.decoded[1]->damage.corrupt, 0);
    close_stream(&c);
}

/* Pictures that refer to an IDR picture whose POC is not 0 take it wrongly. */
static void test_idr_poc(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    slice(&c, IDR(.idr_pic_id = 0, .poc_lsb = 6));
    slice(&c, REF_P(.frame_num = 1, .poc_lsb = 8));
    slice(&c, IDR(.idr_pic_id = 1));
    slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2));
    flush(&c);
    assert_int_equal(doubted_before(&c, 0), 0);
    assert_int_equal(doubted_before(&c, 1), 1);
    assert_int_equal(doubted_before(&c, 3), 0);
    assert_int_equal(c.decoded[0]->damage.corrupt, 1);
    assert_int_equal(c.decoded[2]->damage.corrupt, 0);
    close_stream(&c);
}

/* An IDR picture that comes again stands at a wrong place, or its parameter sets are foreign.
 * Behind the end of a sequence the same one may come. */
static void test_idr_twice(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    struct bw end = {.bits = 0};
    open_stream(&c);
    slice(&c, IDR(.idr_pic_id = 3));
    c.tag = 1;
    slice(&c, IDR(.idr_pic_id = 3));
    c.tag = 2;
    bw_u(&end, 8, 10);
    feed(&c, &end);
    slice(&c, IDR(.idr_pic_id = 3));
    c.tag = 3;
    slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2));
    c.tag = 4;
    slice(&c, IDR(.idr_pic_id = 3));
    flush(&c);
    assert_int_equal(c.decoded_count, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(c.decoded[i]->damage.corrupt, i == 1);
        assert_int_equal(c.decoded[i]->damage.latest != 0, i == 1);
    }
    close_stream(&c);
}

/* Of two pictures in an access unit one is foreign, though both are IDR pictures. */
static void test_two_in_unit(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    slice(&c, IDR(.idr_pic_id = 0));
    c.tag = 1;
    slice(&c, IDR(.idr_pic_id = 1));
    slice(&c, IDR(.idr_pic_id = 2));
    c.tag = 2;
    slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2));
    c.tag = 3;
    slice(&c, IDR(.idr_pic_id = 3));
    flush(&c);
    assert_int_equal(c.decoded_count, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(c.decoded[i]->damage.corrupt, i == 2);
        assert_int_equal(c.decoded[i]->damage.latest != 0, i == 2);
    }
    assert_int_equal(doubted_before(&c, 3), 3);
    assert_int_equal(doubted_before(&c, 4), 0);
    close_stream(&c);
}

/* POC of frames are intervals: that of the third one lies around the second one's. */
static void test_poc_interval(void **state)
{
    for (int wide = 0; wide < 2; wide++) {
        struct ctx c = plain_ctx(4, 2);
        c.pps.bottom_poc = 1;
        open_stream(&c);
        slice(&c, IDR(.idr_pic_id = 0));
        slice(&c, REF_P(.frame_num = 1, .poc_lsb = 6));
        slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4, .delta_poc = 3 * wide));
        flush(&c);
        assert_int_equal(c.decoded[1]->damage.corrupt, 0);
        assert_int_equal(c.decoded[2]->damage.corrupt, wide);
        close_stream(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_repeated_reference),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_missing_name),
        cmocka_unit_test(test_lists_behind_loss),
        cmocka_unit_test(test_other_sequence),
        cmocka_unit_test(test_astray),
        cmocka_unit_test(test_repeated_picture),
        cmocka_unit_test(test_late_picture),
        cmocka_unit_test(test_poc_twice),
        cmocka_unit_test(test_poc_habit),
        cmocka_unit_test(test_idr_frame_num),
        cmocka_unit_test(test_idr_poc),
        cmocka_unit_test(test_idr_twice),
        cmocka_unit_test(test_two_in_unit),
        cmocka_unit_test(test_other_size),
        cmocka_unit_test(test_no_references),
        cmocka_unit_test(test_astray_reference),
        cmocka_unit_test(test_poc_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
