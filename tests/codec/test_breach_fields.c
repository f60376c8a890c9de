/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaches among fields: lost ones, pairs in another order, POC that come twice. test_breaches.c
 * has those between frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

static struct ctx open_fields(void)
{
    struct ctx c = plain_ctx(4, 1);
    c.sps.field_coding = 1;
    c.sps.log2_max_poc_lsb = 8;
    open_stream(&c);
    return c;
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
 * broken; a unit whose header is; units of a reserved type, that says it is a reference and that
 * does not. Pictures that refer to the first field are doubtful, too. */
static void test_lost_field(void **state)
{
    static const uint8_t units[5][6] = {{0},
                                        {0, 0, 1, 0x41, 0xff, 0x80},
                                        {0, 0, 1, 0xc1, 0x9a, 0x80},
                                        {0, 0, 1, 0x77, 0x9a, 0x80},
                                        {0, 0, 1, 0x17, 0x9a, 0x80}};
    for (unsigned way = 0; way < 5; way++) {
        struct ctx c = open_fields();
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
        assert_int_equal(doubted_before(&c, 3), way ? 3 : 0);
        close_stream(&c);
    }
}

/* A field with operation 5 is no second field (3.30), so both stand alone; it may have the
 * frame_num of the field before (7.4.3). One of the same parity may not, with or without the
 * operation. */
static void test_reset_alone(void **state)
{
    for (unsigned way = 0; way < 2; way++) {
        struct ctx c = open_fields();
        struct slice_fields second = field_of(way ? REC_TOP : REC_BOTTOM, false, 1);
        second.mmco[0].op = 5;
        for (unsigned i = 0; i < 3; i++, c.tag++)
            slice(&c, field_of(i == 1 ? REC_BOTTOM : REC_TOP, i == 0, i / 2));
        slice(&c, second);
        flush(&c);
        assert_int_equal(c.decoded_count, 4);
        assert_null(c.decoded[3]->first_field);
        assert_int_equal(c.decoded[3]->damage.corrupt, way);
        close_stream(&c);
    }
}

/* Bytes that no NAL unit may have tell of a start code that is damaged: a field was behind it. */
static void test_swallowed_field(void **state)
{
    static const uint8_t swallowed[5] = {0, 0, 2, 0x41, 0x9a};
    for (unsigned way = 0; way < 2; way++) {
        struct ctx c = open_fields();
        struct slice_fields second = field_of(REC_BOTTOM, false, 0);
        struct bw w = {.bits = 0};
        uint8_t nal[256];
        slice(&c, field_of(REC_TOP, true, 0));
        c.tag++;
        write_slice(&w, &second, &c.sps, &c.pps);
        size_t size = bw_nal(&w, nal);
        memcpy(nal + size, swallowed, 5);
        h264_stream_feed(c.s, nal, size + (way ? 5 : 0), c.tag, &c.diag);
        for (unsigned i = 3; i < 6; i++) {
            c.tag++;
            slice(&c, field_of(i & 1 ? REC_BOTTOM : REC_TOP, false, i / 2));
        }
        flush(&c);
        assert_int_equal(c.decoded_count, 5);
        assert_int_equal(c.decoded[2]->structure, REC_BOTTOM);
        assert_int_equal(c.decoded[2]->damage.second_lost, way);
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
        struct ctx c = open_fields();
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
        struct ctx c = open_fields();
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

/* A field that is no reference has the POC of another picture: it may be a reference that has lost
 * its nal_ref_idc. A frame would be one that came twice. */
static void test_poc_of_field(void **state)
{
    struct ctx c = open_fields();
    for (unsigned i = 0; i < 4; i++)
        slice(&c, field_of(i & 1 ? REC_BOTTOM : REC_TOP, i == 0, i / 2));
    struct slice_fields first = field_of(REC_TOP, false, 2);
    first.ref_idc = 0;
    first.poc_lsb = 4;
    slice(&c, first);
    slice(&c, field_of(REC_BOTTOM, false, 2));
    slice(&c, field_of(REC_TOP, false, 3));
    flush(&c);
    assert_int_equal(c.decoded_count, 7);
    assert_int_equal(c.decoded[4]->damage.corrupt, 1);
    assert_int_not_equal(doubted_before(&c, 6), 0);
    close_stream(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_field),      cmocka_unit_test(test_reset_alone),
        cmocka_unit_test(test_swallowed_field), cmocka_unit_test(test_lost_first_field),
        cmocka_unit_test(test_order_of_pairs),  cmocka_unit_test(test_poc_of_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
