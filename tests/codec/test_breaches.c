/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaches between pictures, by frame_num, POC, fields and IDR pictures, tell of lost, repeated or
 * foreign data: until the next IDR picture or recovery point, pictures that rest on what was before
 * are damaged. test_breach_units.c has those of units, sets, tools and slices.
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

/* Operation 1 on a picture that is not there. */
static void test_missing_name(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    low_delay_run(&c, 2);
    slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4, .mmco = {{1, 7}}));
    slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6));
    flush(&c);
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

static struct slice_fields field_of(unsigned structure, bool idr, unsigned frame)
{
    return (struct slice_fields){.idr = idr,
                                 .field = structure,
                                 .ref_idc = 1,
                                 .type = idr ? H264_I : H264_P,
                                 .frame_num = frame,
                                 .poc_lsb = 4 * frame + (structure == REC_BOTTOM)};
}

/* What stands in the place of a second field: nothing, which is legal; a slice whose header is
 * broken; a unit whose header is; a unit of a reserved type. */
static void test_lost_field(void **state)
{
    static const uint8_t units[4][6] = {
        {0}, {0, 0, 1, 0x41, 0xff, 0x80}, {0, 0, 1, 0xc1, 0x9a, 0x80}, {0, 0, 1, 0x77, 0x9a, 0x80}};
    for (unsigned way = 0; way < 4; way++) {
        struct ctx c = plain_ctx(4, 1);
        c.sps.field_coding = 1;
        c.sps.log2_max_poc_lsb = 8;
        open_stream(&c);
        for (unsigned i = 0; i < 5; i++) {
            c.tag = i;
            if (i != 3)
                slice(&c, field_of(i & 1 ? REC_BOTTOM : REC_TOP, i == 0, i / 2));
            else if (way)
                h264_stream_feed(c.s, units[way], 6, c.tag, &c.diag);
        }
        flush(&c);
        assert_int_equal(c.decoded_count, 4);
        assert_int_equal(c.decoded[0]->damage.second_lost, 0);
        assert_int_equal(c.decoded[2]->damage.second_lost, way > 0);
        assert_int_equal(doubted_before(&c, 3), way == 1 || way == 2 ? 3 : 0);
        close_stream(&c);
    }
}

/* What stands in the place of a first field: a slice whose header is broken, a delimiter with more
 * than its two bytes, a data partition without its slice. The second field and the next first one
 * look like a pair. */
static void test_lost_first_field(void **state)
{
    static const uint8_t units[4][7] = {{0},
                                        {0, 0, 1, 0x01, 0xff, 0x80, 0x80},
                                        {0, 0, 1, 0x09, 0xf0, 0x80, 0x80},
                                        {0, 0, 1, 0x03, 0xf0, 0x80, 0x80}};
    for (unsigned way = 0; way < 4; way++) {
        struct ctx c = plain_ctx(4, 1);
        c.sps.field_coding = 1;
        c.sps.log2_max_poc_lsb = 8;
        open_stream(&c);
        for (unsigned i = 0; i < 10; i++) {
            struct slice_fields f = field_of(i & 1 ? REC_BOTTOM : REC_TOP, i == 0, i / 2);
            f.ref_idc = i < 2;
            f.frame_num = i / 2 > 0;
            c.tag = i;
            if (i != 4 || !way)
                slice(&c, f);
            else
                h264_stream_feed(c.s, units[way], 7, c.tag, &c.diag);
        }
        flush(&c);
        assert_int_equal(c.decoded_count, way ? 9 : 10);
        assert_int_equal(c.decoded[2]->damage.second_lost, 0);
        assert_int_equal(c.decoded[4]->damage.second_lost, way > 0);
        assert_int_equal(c.decoded[4]->paired, 1);
        assert_int_equal(c.decoded[8]->damage.second_lost, way > 0);
        close_stream(&c);
    }
}

/* Behind a lost unit a pair of fields in another order is doubted. An IDR picture or a coded frame
 * ends that: which fields belong together is certain again. */
static void test_order_of_pairs(void **state)
{
    static const uint8_t lost[7] = {0, 0, 1, 0x01, 0xff, 0x80, 0x80};
    enum { NOTHING, AN_IDR, A_FRAME, WAYS };
    for (unsigned way = 0; way < WAYS; way++) {
        struct ctx c = plain_ctx(4, 1);
        c.sps.field_coding = 1;
        c.sps.log2_max_poc_lsb = 8;
        open_stream(&c);
        slice(&c, field_of(REC_TOP, true, 0));
        slice(&c, field_of(REC_BOTTOM, false, 0));
        h264_stream_feed(c.s, lost, 7, c.tag, &c.diag);
        if (way == A_FRAME)
            slice(&c, (struct slice_fields){.type = H264_P, .frame_num = 1, .poc_lsb = 4});
        struct slice_fields first = {.idr = way == AN_IDR,
                                     .idr_pic_id = 1,
                                     .field = REC_BOTTOM,
                                     .ref_idc = way == AN_IDR,
                                     .type = way == AN_IDR ? H264_I : H264_P,
                                     .frame_num = way != AN_IDR,
                                     .poc_lsb = way == AN_IDR ? 0 : 8};
        struct slice_fields second = first;
        second.field = REC_TOP;
        second.idr = 0;
        second.type = H264_P;
        second.poc_lsb++;
        slice(&c, first);
        slice(&c, second);
        flush(&c);
        const struct h264_picture *pair = c.decoded[way == A_FRAME ? 3 : 2];
        assert_int_equal(pair->structure, REC_BOTTOM);
        assert_int_equal(pair->paired, 1);
        assert_int_equal(pair->damage.second_lost, way == NOTHING);
        close_stream(&c);
    }
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
        cmocka_unit_test(test_lost_field),
        cmocka_unit_test(test_order_of_pairs),
        cmocka_unit_test(test_lost_first_field),
        cmocka_unit_test(test_poc_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
