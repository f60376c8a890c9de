/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaches of NAL units, parameter sets, tools and slices tell of lost or foreign data, too
 * (test_breaches.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

static void test_reserved_profile(void **state)
{
    struct ctx c = plain_ctx(4, 2);
    c.sps.profile_idc = 99;
    open_stream(&c);
    low_delay_run(&c, 2);
    flush(&c);
    assert_int_equal(c.decoded[0]->damage.corrupt, 1);
    assert_int_equal(c.decoded[1]->damage.corrupt, 1);
    close_stream(&c);
}

/* A set that is refused leaves the one before: nobody knows whether that still holds. */
static void test_refused_sets(void **state)
{
    for (unsigned way = 0; way < 2; way++) {
        struct ctx c = plain_ctx(4, 2);
        struct bw broken = {.bits = 0};
        if (way == 0) {
            bw_u(&broken, 32, 0x67640028);
            bw_ue(&broken, 0);
            bw_ue(&broken, 9); /* chroma_format_idc */
        } else {
            bw_u(&broken, 8, 0x68);
            bw_ue(&broken, 0);
            bw_ue(&broken, 0);
            bw_u(&broken, 2, 0);
            bw_ue(&broken, 9); /* num_slice_groups_minus1 */
        }
        bw_u(&broken, 32, 0x55555555);
        bw_trailing(&broken);
        open_stream(&c);
        low_delay_run(&c, 2);
        assert_int_equal(feed(&c, &broken), H264_ERR_DATA);
        slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4));
        send_sets(&c);
        slice(&c, IDR(.idr_pic_id = 1));
        flush(&c);
        assert_int_equal(c.decoded_count, 4);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(c.decoded[i]->damage.corrupt, i == 2);
        close_stream(&c);
    }
}

/* An SPS that cannot be read, with an id that no set has. */
static void feed_unknown(struct ctx *c)
{
    struct bw broken = {.bits = 0};
    bw_u(&broken, 32, 0x67640028);
    bw_ue(&broken, 7); /* seq_parameter_set_id */
    bw_ue(&broken, 9); /* chroma_format_idc */
    bw_u(&broken, 32, 0x55555555);
    bw_trailing(&broken);
    assert_int_equal(feed(c, &broken), H264_ERR_DATA);
}

/* A set that is refused, and whose id no set has, may have been a slice. Pictures may refer to that
 * until an IDR picture comes. More than three in a row are a habit. */
static void test_refused_unknown(void **state)
{
    for (unsigned before = 0; before <= 4; before += 4) {
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        for (unsigned i = 0; i < before; i++)
            feed_unknown(&c);
        low_delay_run(&c, 2);
        feed_unknown(&c);
        slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4));
        slice(&c, IDR(.idr_pic_id = 1));
        flush(&c);
        assert_int_equal(c.decoded_count, 4);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(doubted_before(&c, i) != 0, i == 2 && !before);
        close_stream(&c);
    }
}

/* Bytes that no NAL unit may have, within a slice. */
static void test_forbidden_bytes(void **state)
{
    static const struct {
        uint8_t bytes[5];
        bool forbidden;
    } tails[] = {{{0, 0, 2, 0x55, 0x80}, true},  {{0, 0, 0, 0x55, 0x80}, true},
                 {{0, 0, 3, 0x55, 0x80}, true},  {{0, 0, 3, 1, 0x80}, false},
                 {{0, 0, 4, 0x55, 0x80}, false}, {{0x80, 0, 0, 0, 0}, false}};
    for (unsigned i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        struct ctx c = plain_ctx(4, 2);
        struct bw w = {.bits = 0};
        uint8_t nal[256];
        size_t size;
        open_stream(&c);
        write_slice(&w, &IDR(.idr_pic_id = 0), &c.sps, &c.pps);
        size = bw_nal(&w, nal);
        memcpy(nal + size, tails[i].bytes, 5);
        h264_stream_feed(c.s, nal, size + 5, c.tag, &c.diag);
        flush(&c);
        assert_int_equal(c.decoded_count, 1);
        assert_int_equal(c.decoded[0]->damage.corrupt, tails[i].forbidden);
        close_stream(&c);
    }
}

/* A unit whose forbidden_zero_bit is 1 may have been a parameter set, until an SPS comes. */
static void test_forbidden_bit(void **state)
{
    static const uint8_t unit[6] = {0, 0, 1, 0xe8, 0x9a, 0x80};
    for (unsigned again = 0; again < 2; again++) {
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        h264_stream_feed(c.s, unit, 6, c.tag, &c.diag);
        if (again)
            send_sets(&c);
        low_delay_run(&c, 2);
        flush(&c);
        assert_int_equal(c.decoded[0]->damage.corrupt, !again);
        close_stream(&c);
    }
}

/* A message with the nal_ref_idc of a slice tells of a lost one; in each picture it is a habit. */
static void test_misfit(void **state)
{
    static const uint8_t unit[6] = {0, 0, 1, 0x66, 0x9a, 0x80};
    struct ctx c = plain_ctx(4, 2);
    open_stream(&c);
    for (unsigned i = 0; i < 6; i++) {
        slice(&c, i ? REF_P(.frame_num = i, .poc_lsb = 2 * i) : IDR(.idr_pic_id = 0));
        c.tag++;
        h264_stream_feed(c.s, unit, 6, c.tag, &c.diag);
    }
    flush(&c);
    for (unsigned i = 1; i < 6; i++)
        assert_int_equal(doubted_before(&c, i), i < 4 ? i : 3);
    close_stream(&c);
}

/* IDR pictures are references (7.4.1). One that says no is damaged, and stays a reference. */
static void test_idr_misfit(void **state)
{
    for (unsigned fit = 0; fit < 2; fit++) {
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        struct slice_fields idr = IDR(.data = 0x1f, .data_bits = 8);
        idr.ref_idc = fit;
        slice(&c, idr);
        slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2));
        flush(&c);
        assert_int_equal(c.decoded[0]->damage.corrupt, !fit);
        expect_list(&c, 1, 0, "0 -");
        assert_int_equal(doubted_before(&c, 1), fit ? 0 : 1);
        close_stream(&c);
    }
}

/* A message whose header is that of a slice ends no damage. */
static void test_message_misfit(void **state)
{
    for (unsigned way = 0; way < 2; way++) {
        uint8_t unit[8] = {0, 0, 1, way ? 0x46 : 0x06, 6, 1, 0xc4, 0x80}; /* recovery point */
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        low_delay_run(&c, 2);
        h264_stream_feed(c.s, unit, 8, c.tag, &c.diag);
        slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4));
        flush(&c);
        assert_int_equal(c.decoded[2]->recovery.present, !way);
        close_stream(&c);
    }
}

/* An IDR picture follows the end of a sequence (7.4.1.2.1). */
static void test_sequence_end(void **state)
{
    for (unsigned idr = 0; idr < 2; idr++) {
        struct ctx c = plain_ctx(4, 2);
        struct bw end = {.bits = 0};
        open_stream(&c);
        low_delay_run(&c, 2);
        bw_u(&end, 8, 10);
        feed(&c, &end);
        if (idr)
            slice(&c, IDR(.idr_pic_id = 1));
        else
            slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4));
        flush(&c);
        assert_int_equal(c.decoded[2]->damage.latest != 0, !idr);
        close_stream(&c);
    }
}

/* Addresses of slices rise (7.4.3), but for profiles with arbitrary slice order. */
static void test_slice_order(void **state)
{
    for (unsigned any = 0; any < 2; any++) {
        struct ctx c = plain_ctx(4, 2);
        c.sps.profile_idc = any ? 66 : 77;
        open_stream(&c);
        slice(&c, IDR(.data = 0x11, .data_bits = 8));
        slice(&c, IDR(.first_mb = 6, .data = 0x13, .data_bits = 8));
        slice(&c, IDR(.first_mb = 3, .data = 0x15, .data_bits = 8));
        flush(&c);
        assert_int_equal(c.decoded[0]->slice_count, 3);
        assert_int_equal(c.decoded[0]->damage.corrupt, !any);
        close_stream(&c);
    }
}

/* B slices are not of the Baseline profile. */
static void test_baseline(void **state)
{
    for (unsigned main = 0; main < 2; main++) {
        struct ctx c = plain_ctx(4, 2);
        c.sps.profile_idc = main ? 77 : 66;
        open_stream(&c);
        low_delay_run(&c, 2);
        slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 5));
        flush(&c);
        assert_int_equal(c.decoded[1]->damage.corrupt, 0);
        assert_int_equal(c.decoded[2]->damage.corrupt, !main);
        close_stream(&c);
    }
}

/* Tools that the profile lacks: CABAC in Baseline, 8x8 transforms in Main. */
static void test_tools(void **state)
{
    static const struct {
        unsigned profile_idc, cabac, transform_8x8;
        bool fit;
    } sets[] = {{66, 0, 0, true},
                {66, 1, 0, false},
                {77, 1, 0, true},
                {77, 1, 1, false},
                {100, 1, 1, true}};
    for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        struct ctx c = plain_ctx(4, 2);
        c.sps.profile_idc = sets[i].profile_idc;
        c.pps.cabac = sets[i].cabac;
        c.pps.extension = c.pps.transform_8x8 = sets[i].transform_8x8;
        open_stream(&c);
        slice(&c, IDR(.data = 0xffff, .data_bits = 16)); /* aligned */
        flush(&c);
        assert_int_equal(c.decoded[0]->damage.corrupt, !sets[i].fit);
        close_stream(&c);
    }
}

/* Depths and chroma formats that a profile has (A.2). pic_init_qp_minus26 is in the range of the
 * depth, though slices may come back from outside (7.4.2.2). */
static void test_formats(void **state)
{
    static const struct {
        unsigned profile_idc, depth, chroma_format_idc;
        int init_qp_minus26;
        bool fit;
    } sets[] = {{100, 8, 1, 0, true},    {100, 8, 0, 0, true},    {100, 9, 1, 0, false},
                {100, 8, 2, 0, false},   {110, 10, 1, 0, true},   {110, 8, 2, 0, false},
                {110, 12, 1, 0, false},  {122, 10, 2, 0, true},   {122, 12, 2, 0, false},
                {122, 8, 3, 0, false},   {244, 12, 3, 0, true},   {100, 8, 1, -26, true},
                {100, 8, 1, -27, false}, {110, 10, 1, -38, true}, {110, 10, 1, -39, false}};
    for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        struct ctx c = plain_ctx(4, 2);
        c.sps.profile_idc = sets[i].profile_idc;
        c.sps.bit_depth = sets[i].depth;
        c.sps.chroma_format_idc = sets[i].chroma_format_idc;
        c.pps.init_qp_minus26 = sets[i].init_qp_minus26;
        open_stream(&c);
        slice(&c, IDR(.idr_pic_id = 0));
        flush(&c);
        assert_int_equal(c.decoded_count, 1);
        assert_int_equal(c.decoded[0]->damage.corrupt, !sets[i].fit);
        close_stream(&c);
    }
}

/* Slices of a picture have one marking (7.4.3). */
static void test_siblings(void **state)
{
    for (unsigned other = 0; other < 2; other++) {
        struct ctx c = plain_ctx(4, 2);
        open_stream(&c);
        low_delay_run(&c, 2);
        c.tag = 1;
        slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4));
        slice(&c, REF_P(.first_mb = 6, .frame_num = 2, .poc_lsb = 4, .mmco = {{other, 0}}));
        c.tag = 2;
        slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6));
        flush(&c);
        assert_int_equal(c.decoded_count, 4);
        assert_int_equal(c.decoded[2]->slice_count, 2);
        assert_int_equal(c.decoded[2]->damage.corrupt, other);
        assert_int_equal(doubted_before(&c, 3), other ? 3 : 0);
        close_stream(&c);
    }
}

/* Bits before CABAC data are 1 (7.3.4), but for encoders that never write them so. */
static void test_alignment(void **state)
{
    for (unsigned way = 0; way < 3; way++) {
        struct ctx c = plain_ctx(4, 2);
        c.pps.cabac = 1;
        open_stream(&c);
        for (unsigned i = 0; i < 6; i++) {
            bool zero = way == 2 || (way == 1 && i == 5);
            slice(&c, IDR(.idr_pic_id = i & 1, .data = zero ? 0 : 0xffff, .data_bits = 16));
        }
        flush(&c);
        assert_int_equal(c.decoded_count, 6);
        assert_true(c.decoded[5]->slices[0].data_bit_offset & 7);
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(c.decoded[i]->damage.corrupt, way == 1 ? i == 5 : way == 2 && i < 3);
        close_stream(&c);
    }
}

/* Junk behind a PPS is a habit of encoders where all have it. */
static void test_rest_once(void **state)
{
    for (unsigned clean = 0; clean < 2; clean++) {
        struct ctx c = plain_ctx(4, 2);
        struct bw pps = {.bits = 0};
        c.sps.profile_idc = 77;
        c.sps.constraint_flags = 0x40;
        if (clean)
            open_stream(&c);
        else
            h264_stream_create(&(struct h264_stream_params){0}, &c.s);
        struct bw sps = {.bits = 0};
        write_sps(&sps, &c.sps);
        feed(&c, &sps);
        write_pps(&pps, &c.pps);
        bw_u(&pps, 24, 0x555580);
        feed(&c, &pps);
        low_delay_run(&c, 1);
        flush(&c);
        assert_int_equal(c.decoded[0]->damage.corrupt, clean);
        close_stream(&c);
    }
}

/* Bits behind the elements of an SPS, of a PPS, and of a PPS in a profile whose encoders write such
 * bits. */
static void test_rest(void **state)
{
    for (unsigned way = 0; way < 4; way++) {
        struct ctx c = plain_ctx(4, 2);
        struct bw sps = {.bits = 0}, pps = {.bits = 0};
        c.sps.profile_idc = way == 3 ? 77 : 100;
        c.sps.constraint_flags = way == 3 ? 0x40 : 0;
        c.pps.extension = 1;
        open_stream(&c);
        bw_u(&sps, 8, 0x67);
        write_sps_data(&sps, &c.sps);
        bw_u(&sps, way == 1 ? 16 : 0, 0x5555);
        bw_trailing(&sps);
        write_pps(&pps, &c.pps);
        bw_u(&pps, way >= 2 ? 16 : 0, 0x5555); /* the stop bit is one of them */
        bw_u(&pps, way >= 2 ? 8 : 0, 0x80);
        feed(&c, &sps);
        feed(&c, &pps);
        low_delay_run(&c, 1);
        flush(&c);
        assert_int_equal(c.decoded[0]->damage.corrupt, way == 1 || way == 2);
        close_stream(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),         cmocka_unit_test(test_reserved_profile),
        cmocka_unit_test(test_refused_sets),    cmocka_unit_test(test_refused_unknown),
        cmocka_unit_test(test_forbidden_bytes), cmocka_unit_test(test_forbidden_bit),
        cmocka_unit_test(test_misfit),          cmocka_unit_test(test_idr_misfit),
        cmocka_unit_test(test_message_misfit),  cmocka_unit_test(test_sequence_end),
        cmocka_unit_test(test_slice_order),     cmocka_unit_test(test_baseline),
        cmocka_unit_test(test_tools),           cmocka_unit_test(test_siblings),
        cmocka_unit_test(test_alignment),       cmocka_unit_test(test_rest),
        cmocka_unit_test(test_rest_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
