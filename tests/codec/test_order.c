/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 1 on streams made here: picture order count and output order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

/* ---- picture order count ---- */

static void test_poc_type0(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    c.pps.bottom_poc = 1;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR(.poc_lsb = 0, .delta_poc = -2)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 7, .delta_poc = 1)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 2, .poc_lsb = 14)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 3, .poc_lsb = 2)), H264_OK); /* wraps up: 18 */
    /* back before the wrap: 15 */
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 4, .poc_lsb = 15)), H264_OK);
    /* a distance of half the range goes up: 26 */
    assert_int_equal(slice(&c, REF_P(.frame_num = 4, .poc_lsb = 10)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded[0]->output_poc, -2);
    assert_int_equal(c.decoded[0]->poc[0], 0);
    assert_int_equal(c.decoded[1]->output_poc, 7);
    assert_int_equal(c.decoded[1]->poc[1], 8);
    assert_int_equal(c.decoded[2]->output_poc, 14);
    assert_int_equal(c.decoded[3]->output_poc, 18);
    assert_int_equal(c.decoded[4]->output_poc, 15);
    assert_int_equal(c.decoded[5]->output_poc, 26);
    close_stream(&c);
}

static void test_poc_type1(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    c.sps.poc_type = 1;
    c.sps.offset_for_non_ref_pic = -3;
    c.sps.offset_for_top_to_bottom_field = 1;
    c.sps.cycle = 2;
    c.sps.offset_for_ref_frame[0] = 4;
    c.sps.offset_for_ref_frame[1] = 6;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 2, .delta_poc = 1)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 3)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 3)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded[0]->output_poc, 0);
    assert_int_equal(c.decoded[0]->poc[1], 1);
    assert_int_equal(c.decoded[1]->output_poc, 4);
    assert_int_equal(c.decoded[2]->output_poc, 11);
    assert_int_equal(c.decoded[3]->output_poc, 7); /* 10 - 3 */
    assert_int_equal(c.decoded[4]->output_poc, 14);
    close_stream(&c);
}

static void test_poc_type2(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    c.sps.poc_type = 2;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1)), H264_OK);
    /* output order is decoding order: no delay but for the end of the picture */
    expect_output(&c, "0");
    assert_int_equal(slice(&c, (struct slice_fields){.type = H264_P, .frame_num = 2}), H264_OK);
    expect_output(&c, "0 1");
    assert_int_equal(slice(&c, REF_P(.frame_num = 2)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded[1]->output_poc, 2);
    assert_int_equal(c.decoded[2]->output_poc, 3);
    assert_int_equal(c.decoded[3]->output_poc, 4);
    expect_output(&c, "0 1 2 3");
    close_stream(&c);
}

/* ---- output ---- */

static void reorder_one(struct bw *w)
{
    bw_u(w, 8, 0);
    bw_u(w, 1, 1); /* the last flag: bitstream_restriction_flag */
    bw_u(w, 1, 1);
    for (unsigned i = 0; i < 4; i++)
        bw_ue(w, 1);
    bw_ue(w, 1);
    bw_ue(w, 2);
}

/* I0 P2 B1 P4 B3: with one frame of reordering. */
static void ibp(struct ctx *c)
{
    assert_int_equal(slice(c, IDR()), H264_OK);
    assert_int_equal(slice(c, REF_P(.frame_num = 1, .poc_lsb = 4)), H264_OK);
    assert_int_equal(slice(c, NONREF_B(.frame_num = 2, .poc_lsb = 2)), H264_OK);
    assert_int_equal(slice(c, REF_P(.frame_num = 2, .poc_lsb = 8)), H264_OK);
    assert_int_equal(slice(c, NONREF_B(.frame_num = 3, .poc_lsb = 6)), H264_OK);
}

static void test_bumping(void **state)
{
    struct ctx c = plain_ctx(2, 2);
    c.sps.vui = reorder_one;
    open_stream(&c);
    ibp(&c);
    /* Two buffers, both full when picture 2 ends; 0 goes out, but is a reference; 2 has the lowest
     * POC and needs no buffer. */
    expect_output(&c, "0 2");
    flush(&c);
    expect_output(&c, "0 2 1 4 3");
    close_stream(&c);
}

static void test_low_delay(void **state)
{
    struct ctx c = plain_ctx(2, 2);
    c.sps.vui = reorder_one;
    open_with(&c, &(struct h264_stream_params){.low_delay_output = true});
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 4)), H264_OK);
    expect_output(&c, "");
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 2)), H264_OK);
    expect_output(&c, "0");
    flush(&c);
    expect_output(&c, "0 2 1");
    close_stream(&c);
}

static void test_idr_outputs_all(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    ibp(&c);
    expect_output(&c, ""); /* 16 frames of DPB */
    c.sps.mb_width = 9;
    send_sets(&c);
    assert_int_equal(slice(&c, IDR(.idr_pic_id = 1)), H264_OK);
    expect_output(&c, "0 2 1 4 3");
    flush(&c);
    expect_output(&c, "0 2 1 4 3 5");
    assert_int_equal(c.decoded[5]->mb_count, 27);
    assert_int_equal(h264_stream_sps(c.s)->mb_width, 9);
    close_stream(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poc_type0), cmocka_unit_test(test_poc_type1),
        cmocka_unit_test(test_poc_type2), cmocka_unit_test(test_bumping),
        cmocka_unit_test(test_low_delay), cmocka_unit_test(test_idr_outputs_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
