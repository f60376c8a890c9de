/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaches that hold while a set does, units of reserved types, and partitions of other slices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

enum { SEQUENCES = 12, PICTURES = 5, MOST = 48 };

/* Of so many pictures the first MOST are told: then it is a habit. */
static void expect_sequences(struct ctx *c, unsigned broken)
{
    for (unsigned k = 0; k < SEQUENCES; k++)
        for (unsigned i = 0; i < PICTURES; i++)
            slice(c, i ? (struct slice_fields){.ref_idc = 1,
                                               .type = H264_I,
                                               .frame_num = i,
                                               .poc_lsb = 2 * i}
                       : IDR(.idr_pic_id = k));
    flush(c);
    assert_int_equal(c->decoded_count, SEQUENCES * PICTURES);
    for (unsigned i = 0; i < SEQUENCES * PICTURES; i++)
        assert_int_equal(c->decoded[i]->damage.corrupt, broken && i < MOST);
}

/* Levels that Table A-1 does not have. */
static void test_reserved_level(void **state)
{
    static const uint8_t levels[][2] = {{9, 0}, {40, 0}, {62, 0}, {0, 1}, {14, 1}, {44, 1}, {8, 1}};
    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        struct ctx c = plain_ctx(4, 2);
        c.sps.level_idc = levels[i][0];
        open_stream(&c);
        expect_sequences(&c, levels[i][1]);
        close_stream(&c);
    }
}

/* A depth that the profile does not have. */
static void test_format(void **state)
{
    for (unsigned deep = 0; deep < 2; deep++) {
        struct ctx c = plain_ctx(4, 2);
        c.sps.bit_depth = 8 + deep;
        open_stream(&c);
        expect_sequences(&c, deep);
        close_stream(&c);
    }
}

/* Weights in Baseline. */
static void test_tools(void **state)
{
    for (unsigned weighted = 0; weighted < 2; weighted++) {
        struct ctx c = plain_ctx(4, 2);
        c.sps.profile_idc = 66;
        c.pps.weighted = weighted;
        open_stream(&c);
        expect_sequences(&c, weighted);
        close_stream(&c);
    }
}

/* A sequence without breaches ends the count. */
static void test_sound_between(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    for (unsigned k = 0; k < 60; k++) {
        c.sps.level_idc = k == 30 ? 40 : 14;
        send_sets(&c);
        slice(&c, IDR(.idr_pic_id = k));
    }
    flush(&c);
    assert_int_equal(c.decoded_count, 60);
    for (unsigned k = 0; k < 60; k++)
        assert_int_equal(c.decoded[k]->damage.corrupt, k != 30);
    close_stream(&c);
}

/* A unit of a reserved type that says it is a reference may have been a slice or a set. More than
 * three of them are a habit. */
static void test_reserved_type(void **state)
{
    for (unsigned reference = 0; reference < 2; reference++) {
        uint8_t unit[6] = {0, 0, 1, reference ? 0x70 : 0x10, 0x9a, 0x80};
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        slice(&c, IDR(.idr_pic_id = 0));
        for (unsigned i = 1; i < 8; i++) {
            c.tag++;
            h264_stream_feed(c.s, unit, 6, c.tag, &c.diag);
            slice(&c, IDR(.idr_pic_id = i));
        }
        flush(&c);
        assert_int_equal(c.decoded_count, 8);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(c.decoded[i]->damage.corrupt, reference && i > 0 && i < 4);
        close_stream(&c);
    }
}

static int partition(struct ctx *c, unsigned ref_idc, unsigned bits)
{
    struct bw w = {.bits = 0};
    bw_u(&w, 3, ref_idc);
    bw_u(&w, 5, 3);
    bw_ue(&w, 0); /* slice_id */
    bw_u(&w, 16, bits);
    bw_trailing(&w);
    return feed(c, &w);
}

/* 7.4.1, 7.4.1.2.5: a partition B that is no reference, as its slice is one, and a second one of
 * its slice are of other slices. The same bytes again are no fault. */
static void test_foreign_partition(void **state)
{
    enum { GOOD, OTHER_REFERENCE, SECOND, AGAIN, WAYS };
    for (unsigned way = 0; way < WAYS; way++) {
        struct ctx c = plain_ctx(4, 1);
        c.sps.profile_idc = 88;
        open_stream(&c);
        slice(&c, IDR(.idr_pic_id = 0));
        c.tag = 1;
        slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .partition = 1));
        assert_int_equal(partition(&c, way == OTHER_REFERENCE ? 0 : 1, 0x6663),
                         way == OTHER_REFERENCE ? H264_ERR_DATA : H264_OK);
        if (way >= SECOND)
            assert_int_equal(partition(&c, 1, way == AGAIN ? 0x6663 : 0x1234),
                             way == AGAIN ? H264_OK : H264_ERR_DATA);
        flush(&c);
        assert_int_equal(c.decoded_count, 2);
        assert_int_equal(c.decoded[1]->slices[0].nal_b != NULL, way != OTHER_REFERENCE);
        assert_int_equal(c.decoded[1]->damage.corrupt, way == OTHER_REFERENCE || way == SECOND);
        close_stream(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reserved_level), cmocka_unit_test(test_format),
        cmocka_unit_test(test_tools),          cmocka_unit_test(test_sound_between),
        cmocka_unit_test(test_reserved_type),  cmocka_unit_test(test_foreign_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
