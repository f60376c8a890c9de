/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaches in the order of pictures that reach those behind them: POC, frame_num and the number of
 * frames that are shown later (test_breaches.c has those of a picture).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

/* A picture has the POC of a reference before it. The reference may be the wrong one of both, so
 * pictures that refer to it are doubtful. The same picture again is the wrong one. */
static void test_poc_of_reference(void **state)
{
    for (unsigned way = 0; way < 3; way++) {
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        low_delay_run(&c, 2);
        for (unsigned i = 0; i < 1 + (way == 2); i++, c.tag++)
            slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = way == 1 ? 2 : 1));
        slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4));
        flush(&c);
        assert_int_equal(c.decoded_count, way == 2 ? 5 : 4);
        assert_int_equal(c.decoded[2]->damage.corrupt, way == 1);
        assert_int_equal(doubted_before(&c, c.decoded_count - 1), way == 1 ? 3 : 0);
        close_stream(&c);
    }
}

/* An encoder that counts frame_num does not have the habit to repeat it. */
static void test_counted(void **state)
{
    for (unsigned counted = 0; counted < 2; counted++) {
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        slice(&c, IDR(.idr_pic_id = 0));
        for (unsigned i = 1; i < 8; i++)
            slice(&c, REF_P(.frame_num = counted, .poc_lsb = 2 * i));
        slice(&c, IDR(.idr_pic_id = 1)); /* what comes now may have another encoder */
        for (unsigned i = 1; i < 6; i++)
            slice(&c, REF_P(.poc_lsb = 2 * i));
        flush(&c);
        assert_int_equal(c.decoded_count, 14);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(c.decoded[i]->damage.corrupt, counted ? i > 1 : i > 0 && i < 4);
        for (unsigned i = 8; i < 14; i++)
            assert_int_equal(c.decoded[i]->damage.corrupt, i > 8 && i < 12);
        close_stream(&c);
    }
}

/* 7.4.3: a frame_num far below the one before it is that of a picture that stands elsewhere. What
 * refers to it means another one. */
static void test_falls(void **state)
{
    for (unsigned falls = 0; falls < 2; falls++) {
        struct ctx c = plain_ctx(4, 2);
        struct slice_fields intra = {
            .ref_idc = 1, .type = H264_I, .frame_num = falls ? 1 : 4, .poc_lsb = 6};
        open_stream(&c);
        low_delay_run(&c, 3);
        slice(&c, intra);
        unsigned last = c.decoded_count; /* the intra picture is not complete as yet */
        slice(&c, REF_P(.frame_num = intra.frame_num + 1, .poc_lsb = 8));
        flush(&c);
        assert_true(c.decoded_count > last + 1);
        const struct h264_picture *moved = c.decoded[c.decoded_count - 2];
        assert_int_equal(moved->slices[0].hdr.type, H264_I);
        uint32_t doubt = doubted_before(&c, c.decoded_count - 1);
        assert_int_equal(doubt, falls ? c.decoded[c.decoded_count - 1]->id : moved->id);
        close_stream(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poc_of_reference),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
