/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where decoding starts in a stream, and parameter sets that are missing, change or repeat.
 */
#include "codec/nal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

/* ---- the first picture ---- */

static void test_starts_without_idr(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    struct h264_stats stats;
    struct bw sei = {.bits = 0};
    open_stream(&c);
    assert_int_equal(slice(&c, REF_P(.frame_num = 5, .poc_lsb = 2)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 6, .poc_lsb = 4)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 0);
    h264_stream_stats(c.s, &stats);
    assert_int_equal(stats.skipped_before_idr, 2);
    bw_u(&sei, 8, 6);
    bw_u(&sei, 8, 6);
    bw_u(&sei, 8, 1);
    bw_ue(&sei, 0);
    bw_u(&sei, 4, 0);
    bw_u(&sei, 3, 4);
    bw_trailing(&sei);
    assert_int_equal(feed(&c, &sei), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 7, .poc_lsb = 8)), H264_OK);
    /* lacks what was before */
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 8, .poc_lsb = 6)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 8, .poc_lsb = 10)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 3);
    assert_int_equal(c.decoded[0]->recovery.present, 1);
    assert_int_equal(c.decoded[0]->damage.corrupt, 0);
    assert_int_equal(c.decoded[1]->damage.corrupt, 1);
    assert_int_equal(c.decoded[2]->damage.corrupt, 0);
    h264_stream_stats(c.s, &stats);
    assert_int_equal(stats.gaps, 0);
    close_stream(&c);
}

static int send_recovery_point(struct ctx *c, unsigned frame_cnt, unsigned broken_link)
{
    struct bw sei = {.bits = 0};
    bw_u(&sei, 8, 6);
    bw_u(&sei, 8, 6);
    bw_u(&sei, 8, 1);
    bw_ue(&sei, frame_cnt); /* 1 bit for 0, 3 bits for 1 and 2 */
    bw_u(&sei, 1, 1);
    bw_u(&sei, 1, broken_link);
    bw_u(&sei, 2, 0);
    if (frame_cnt)
        bw_u(&sei, 1, 1); /* the message's bits are whole bytes */
    else
        bw_u(&sei, 3, 4);
    bw_trailing(&sei);
    return feed(c, &sei);
}

/* Gradual refresh: what comes before the recovery point is not for output where decoding starts at
 * its announcement; damage before the announcement is over at the point, later damage is not. */
static void test_recovery_point(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    open_stream(&c);
    assert_int_equal(send_recovery_point(&c, 2, 0), H264_OK);
    for (unsigned i = 5; i < 10; i++)
        assert_int_equal(slice(&c, REF_P(.frame_num = i, .poc_lsb = 2 * i & 15)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(c.decoded[i]->damage.unrecovered, i < 2);
    assert_true(c.decoded[1]->damage.latest >= c.decoded[1]->damage.clean);
    assert_true(c.decoded[0]->damage.latest < c.decoded[2]->damage.clean);
    /* damage in the picture that announces it counts */
    assert_true(c.decoded[0]->id + 2 >= c.decoded[2]->damage.clean);
    close_stream(&c);

    c = plain_ctx(4, 1);
    open_stream(&c);
    low_delay_run(&c, 3);
    /* broken link: what precedes it in output order is marked, and shown */
    assert_int_equal(send_recovery_point(&c, 0, 1), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 3, .poc_lsb = 12)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 4, .poc_lsb = 10)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded[3]->damage.corrupt, 0);
    assert_int_equal(c.decoded[4]->damage.corrupt, 1);
    assert_int_equal(c.decoded[4]->damage.unrecovered, 0);
    close_stream(&c);
}

/* Decoding cannot start at a picture that predicts from others: its message was that of a lost
 * picture. An intra picture may have slices that predict: it ends damage for those behind it, and
 * is damaged anew if it rests on damage itself. */
static void test_recovery_point_of_another(void **state)
{
    for (unsigned type = H264_P; type <= H264_I; type++) {
        struct ctx c = plain_ctx(4, 1);
        open_stream(&c);
        low_delay_run(&c, 3);
        assert_int_equal(send_recovery_point(&c, 0, 0), H264_OK);
        slice(&c, (struct slice_fields){
                      .ref_idc = 1, .type = (uint8_t)type, .frame_num = 3, .poc_lsb = 6});
        slice(&c, REF_P(.frame_num = 4, .poc_lsb = 8));
        flush(&c);
        assert_int_equal(c.decoded_count, 5);
        uint32_t idr = c.decoded[0]->id + 2, point = c.decoded[3]->id + 2;
        assert_int_equal(c.decoded[3]->damage.clean, idr);
        assert_int_equal(c.decoded[3]->damage.anew, type == H264_I ? point : 0);
        assert_int_equal(c.decoded[4]->damage.clean, type == H264_I ? point : idr);
        assert_int_equal(c.decoded[4]->damage.anew, 0);
        close_stream(&c);
    }
}

static void test_idr_with_p_and_b(void **state)
{
    struct slice_fields p = {.idr = 1, .ref_idc = 1, .type = H264_P};
    struct slice_fields b = {
        .idr = 1, .ref_idc = 1, .type = H264_B, .first_mb = 6, .mods = {{{1, 0}}, {{3, 5}}}};
    struct ctx c = plain_ctx(4, 3);

    open_stream(&c);
    low_delay_run(&c, 3);
    assert_int_equal(slice(&c, p), H264_OK);
    assert_int_equal(slice(&c, b), H264_ERR_DATA);
    flush(&c);
    expect_list(&c, 3, 0, "- - -");
    assert_int_equal(c.decoded[3]->slice_count, 2);
    /* what was before the IDR picture stands in */
    assert_int_equal(c.decoded[3]->refs_held_count, 1);
    assert_ptr_equal(c.decoded[3]->refs_held[0], c.decoded[2]);
    close_stream(&c);
}

static void test_size_change_without_idr(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    open_stream(&c);
    low_delay_run(&c, 2);
    for (unsigned i = 0; i < 300; i++) { /* each is refused until an intra picture */
        c.sps.mb_width = 5 + i % 2;
        send_sets(&c);
        assert_int_equal(slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4)), H264_OK);
    }
    flush(&c);
    expect_output(&c, "0 1");
    assert_int_equal(slice(&c, ((struct slice_fields){
                                   .ref_idc = 1, .type = H264_I, .frame_num = 3, .poc_lsb = 6})),
                     H264_OK);
    flush(&c);
    expect_output(&c, "0 1 2");
    close_stream(&c);
}

/* ---- parameter sets ---- */

/* A repeated set keeps its number; one with other content has a new one. */
static void test_sets_are_counted(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    send_sets(&c);
    assert_int_equal(slice(&c, IDR(.idr_pic_id = 1)), H264_OK);
    c.sps.mb_width = 5;
    send_sets(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    c.sps.mb_width = 4;
    send_sets(&c);
    assert_int_equal(slice(&c, IDR(.idr_pic_id = 1)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 4);
    assert_int_equal(c.decoded[0]->sps->serial, 1);
    assert_int_equal(c.decoded[1]->sps->serial, 1);
    assert_int_equal(c.decoded[2]->sps->serial, 2);
    assert_int_equal(c.decoded[3]->sps->serial, 3);
    close_stream(&c);
}

static void test_missing_sets(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    open_stream(&c);
    assert_int_equal(slice(&c, IDR(.pps_id = 3)), H264_ERR_NO_PARAMS);
    assert_string_equal(c.diag.element, "pic_parameter_set_id");
    c.pps.id = 3;
    c.pps.sps_id = 1; /* a PPS may come before its SPS */
    c.sps.id = 0;
    send_sets(&c);
    assert_int_equal(slice(&c, IDR(.pps_id = 3)), H264_ERR_NO_PARAMS);
    assert_string_equal(c.diag.element, "seq_parameter_set_id");
    c.sps.id = 1;
    send_sets(&c);
    assert_int_equal(slice(&c, IDR(.pps_id = 3)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 1);
    close_stream(&c);
}

static void twelve_lists(struct bw *w)
{
    for (unsigned i = 0; i < 12; i++) {
        bw_u(w, 1, 1);
        bw_se(w, -8); /* useDefaultScalingMatrixFlag */
    }
}

/* A PPS that came while its SPS was 4:2:0 is parsed anew when that becomes 4:4:4. */
static void test_pps_follows_chroma_format(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    c.pps.extension = c.pps.transform_8x8 = 1;
    c.pps.scaling = twelve_lists;
    open_stream(&c);
    c.sps.chroma_format_idc = 3;
    send_sets(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    c.sps.chroma_format_idc = 1;
    c.pps.scaling = NULL;
    send_sets(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 2);
    close_stream(&c);
}

/* Profiles without an 8x8 transform: junk behind a PPS tells nothing, whichever set comes first. */
static void test_junk_behind_pps(void **state)
{
    for (unsigned set = 0; set < 2; set++) {
        struct ctx c = plain_ctx(4, 1);
        c.sps.profile_idc = 77;
        c.sps.constraint_flags = set ? 0x40 : 0;
        c.pps.extension = c.pps.transform_8x8 = 1;
        open_stream(&c);
        assert_int_equal(slice(&c, IDR()), H264_OK);
        flush(&c);
        assert_int_equal(c.decoded_count, 1);
        assert_int_equal(c.decoded[0]->slices[0].pps->transform_8x8_mode_flag, !set);
        assert_int_equal(c.decoded[0]->slices[0].pps->chroma_qp_offset[1], set ? -2 : 3);
        close_stream(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_without_idr),
        cmocka_unit_test(test_recovery_point),
        cmocka_unit_test(test_recovery_point_of_another),
        cmocka_unit_test(test_idr_with_p_and_b),
        cmocka_unit_test(test_size_change_without_idr),
        cmocka_unit_test(test_sets_are_counted),
        cmocka_unit_test(test_missing_sets),
        cmocka_unit_test(test_junk_behind_pps),
        cmocka_unit_test(test_pps_follows_chroma_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
