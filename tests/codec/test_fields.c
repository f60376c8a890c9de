/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 1 of field pictures, slice groups, slices in any order, data partitions and separate colour
 * planes, on streams made here.
 */
#include "codec/bits.h"
#include "codec/nal.h"
#include "codec/slice_groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

/* References of a list of a picture's first slice: the id of the frame's first picture, t, b or f,
 * L where long-term. */
static void expect_refs(const struct ctx *c, unsigned picture, unsigned list, const char *expected)
{
    char text[256] = "";
    const struct h264_slice *sl;
    assert_true(picture < c->decoded_count);
    sl = &c->decoded[picture]->slices[0];
    for (unsigned i = 0; i < sl->num_ref[list]; i++) {
        size_t n = strlen(text);
        if (!sl->ref[list][i].pic) {
            snprintf(text + n, sizeof(text) - n, "%s-", i ? " " : "");
            continue;
        }
        snprintf(text + n, sizeof(text) - n, "%s%u%c%s", i ? " " : "", sl->ref[list][i].id >> 2,
                 "?tbf"[sl->ref[list][i].structure], sl -> ref[list][i].long_term ? "L" : "");
        assert_int_equal(sl->ref[list][i].pic->id, sl->ref[list][i].id >> 2);
    }
    assert_string_equal(text, expected);
}

/* structure: 0 frame, REC_TOP, REC_BOTTOM */
#define FIELD_I(structure, ...)                                                                    \
    ((struct slice_fields){.field = structure, .ref_idc = 1, .type = H264_I, __VA_ARGS__})
#define FIELD_P(structure, ...)                                                                    \
    ((struct slice_fields){.field = structure, .ref_idc = 1, .type = H264_P, __VA_ARGS__})
#define FIELD_B(structure, ...)                                                                    \
    ((struct slice_fields){.field = structure, .type = H264_B, __VA_ARGS__})

static struct ctx field_ctx(unsigned max_refs)
{
    struct ctx c = plain_ctx(max_refs, 1);
    c.sps.field_coding = 1;
    c.sps.log2_max_poc_lsb = 8;
    return c;
}

/* An IDR top field with a P bottom field, then P fields: frame n has the pictures 2n and 2n + 1,
 * POC 8n and 8n + 1. */
static void field_run(struct ctx *c, unsigned frames)
{
    open_stream(c);
    assert_int_equal(slice(c, FIELD_I(REC_TOP, .idr = 1)), H264_OK);
    for (unsigned i = 1; i < 2 * frames; i++)
        assert_int_equal(slice(c, FIELD_P(i & 1 ? REC_BOTTOM : REC_TOP, .frame_num = i / 2,
                                          .poc_lsb = i / 2 * 8 + (i & 1), .num_ref = {2 * frames})),
                         H264_OK);
}

static void test_p_fields(void **state)
{
    struct ctx c = field_ctx(4);
    field_run(&c, 3);
    flush(&c);
    assert_int_equal(c.decoded_count, 6);
    expect_refs(&c, 1, 0, "0t - - - - -");
    expect_refs(&c, 2, 0, "0t 0b - - - -");
    /* the current frame has no bottom field yet: the next bottom field comes first */
    expect_refs(&c, 3, 0, "0b 2t 0t - - -");
    expect_refs(&c, 4, 0, "2t 2b 0t 0b - -");
    expect_refs(&c, 5, 0, "2b 4t 0b 2t 0t -");
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(c.decoded[i]->structure, i & 1 ? REC_BOTTOM : REC_TOP);
        assert_int_equal(c.decoded[i]->mb_count, 12);
        assert_int_equal(c.decoded[i]->mb_height, 6);
        assert_int_equal(c.decoded[i]->output_poc, (int)(i / 2 * 8 + (i & 1)));
        assert_int_equal(c.decoded[i]->paired, !(i & 1));
        assert_ptr_equal(c.decoded[i]->first_field, i & 1 ? c.decoded[i - 1] : NULL);
        assert_ptr_equal(h264_picture_of_parity(c.decoded[i & ~1u], c.decoded[i]->structure),
                         c.decoded[i]);
    }
    expect_output(&c, "0 2 4");
    close_stream(&c);
}

static void test_b_fields(void **state)
{
    struct ctx c = field_ctx(4);
    field_run(&c, 2);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(slice(&c, FIELD_B(i ? REC_BOTTOM : REC_TOP, .frame_num = 2,
                                           .poc_lsb = 4 + i, .num_ref = {4, 4})),
                         H264_OK);
    flush(&c);
    expect_refs(&c, 4, 0, "0t 0b 2t 2b");
    expect_refs(&c, 4, 1, "2t 2b 0t 0b");
    expect_refs(&c, 5, 0, "0b 0t 2b 2t"); /* its first field is no reference */
    expect_refs(&c, 5, 1, "2b 2t 0b 0t");
    assert_int_equal(c.decoded[5]->slices[0].ref[0][2].poc, 9);
    expect_output(&c, "0 4 2");
    close_stream(&c);
}

/* The first field of the current frame counts by its own POC, and has a place in the window of its
 * own frame. */
static void test_b_second_field(void **state)
{
    struct ctx c = field_ctx(2);
    field_run(&c, 1);
    assert_int_equal(
        slice(&c, FIELD_B(REC_TOP, .ref_idc = 1, .frame_num = 1, .poc_lsb = 6, .num_ref = {3, 3})),
        H264_OK);
    assert_int_equal(slice(&c, FIELD_B(REC_BOTTOM, .ref_idc = 1, .frame_num = 1, .poc_lsb = 7,
                                       .num_ref = {3, 3})),
                     H264_OK);
    assert_int_equal(slice(&c, FIELD_P(REC_TOP, .frame_num = 2, .poc_lsb = 10, .num_ref = {5})),
                     H264_OK);
    flush(&c);
    expect_refs(&c, 3, 0, "0b 2t 0t");
    expect_refs(&c, 4, 0, "2t 2b 0t 0b -");
    close_stream(&c);
}

static void test_field_modification(void **state)
{
    struct ctx c = field_ctx(4);
    field_run(&c, 2);
    /* CurrPicNum 5: 2t is 2 (other parity), 2b is 3, 0t is 0, 0b is 1 for a bottom field. */
    assert_int_equal(slice(&c, FIELD_P(REC_BOTTOM, .frame_num = 2, .poc_lsb = 17, .num_ref = {4},
                                       .mods = {{{1, 4}, {2, 1}}})),
                     H264_OK);
    flush(&c);
    expect_refs(&c, 4, 0, "0t 2t 2b 0b");
    close_stream(&c);
}

/* Operations on single fields: a frame needs both fields marked, a field its own only. */
static void test_mmco_fields(void **state)
{
    struct ctx c = field_ctx(4);
    field_run(&c, 2);
    /* Top field, CurrPicNum 5: picNumX 5 - 4 = 1 is 0t; then picNumX 5 - 3 = 2 is 2b. */
    assert_int_equal(slice(&c, FIELD_P(REC_TOP, .frame_num = 2, .poc_lsb = 16, .num_ref = {4},
                                       .mmco = {{1, 3}, {4, 2}, {3, 2, 1}})),
                     H264_OK);
    assert_int_equal(slice(&c, FIELD_P(REC_BOTTOM, .frame_num = 2, .poc_lsb = 17, .num_ref = {4})),
                     H264_OK);
    assert_int_equal(slice(&c, FIELD_P(0, .frame_num = 3, .poc_lsb = 24, .num_ref = {3})), H264_OK);
    assert_int_equal(slice(&c, FIELD_P(REC_TOP, .frame_num = 4, .poc_lsb = 32, .num_ref = {7})),
                     H264_OK);
    flush(&c);
    expect_refs(&c, 5, 0, "0b 4t 2t 2bL");
    expect_refs(&c, 6, 0, "4f - -");
    expect_refs(&c, 7, 0, "6t 6b 4t 4b 2t 0b 2bL");
    close_stream(&c);
}

/* With room for one frame, the second field must not push out the first. */
static void test_window_of_one(void **state)
{
    struct ctx c = field_ctx(1);
    field_run(&c, 3);
    flush(&c);
    expect_refs(&c, 4, 0, "2t 2b - - - -");
    expect_refs(&c, 5, 0, "4t - - - - -");
    close_stream(&c);
}

static void test_unpaired(void **state)
{
    struct ctx c = field_ctx(4);
    field_run(&c, 1);
    assert_int_equal(slice(&c, FIELD_P(REC_TOP, .frame_num = 1, .poc_lsb = 8, .num_ref = {4})),
                     H264_OK);
    /* the same parity */
    assert_int_equal(slice(&c, FIELD_P(REC_TOP, .frame_num = 2, .poc_lsb = 16, .num_ref = {4})),
                     H264_OK);
    assert_int_equal(slice(&c, FIELD_P(REC_BOTTOM, .frame_num = 3, .poc_lsb = 25, .num_ref = {4})),
                     H264_OK);
    assert_int_equal(slice(&c, FIELD_P(0, .frame_num = 4, .poc_lsb = 32, .num_ref = {3})), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 6);
    expect_refs(&c, 3, 0, "2t 0b 0t -");
    expect_refs(&c, 4, 0, "0b 3t 2t 0t");
    expect_refs(&c, 5, 0, "0f - -"); /* frames refer to frames and pairs only */
    for (unsigned i = 2; i < 6; i++)
        assert_false(c.decoded[i]->paired || c.decoded[i]->first_field);
    expect_output(&c, "0 2 3 4 5");
    close_stream(&c);
}

/* ---- slice groups ---- */

static void expect_map(const struct h264_sps *sps, const struct h264_pps *pps,
                       const struct h264_slice_header *h, const char *rows)
{
    uint8_t map[64];
    char text[65] = "";
    h264_slice_group_map(sps, pps, h, map);
    for (unsigned i = 0; i < strlen(rows); i++)
        text[i] = (char)('0' + map[i]);
    assert_string_equal(text, rows);
}

static void test_map_types(void **state)
{
    uint8_t ids[] = {2, 1, 0, 2};
    struct h264_sps sps = {
        .mb_width = 4, .map_height = 4, .mb_height = 4, .frame_mbs_only_flag = 1};
    struct h264_pps pps = {.num_slice_groups = 3, .run_length = {3, 1, 2}};
    struct h264_slice_header h = {0};

    expect_map(&sps, &pps, &h, "0001220001220001");
    pps = (struct h264_pps){.num_slice_groups = 2, .slice_group_map_type = 1};
    expect_map(&sps, &pps, &h, "0101101001011010");
    pps.num_slice_groups = 4;
    expect_map(&sps, &pps, &h, "0123230101232301");
    pps = (struct h264_pps){/* 0 lies over 1 */
                            .num_slice_groups = 3,
                            .slice_group_map_type = 2,
                            .top_left = {5, 0},
                            .bottom_right = {10, 9}};
    expect_map(&sps, &pps, &h, "1122100210022222");
    pps = (struct h264_pps){.num_slice_groups = 3,
                            .slice_group_map_type = 6,
                            .slice_group_id = ids,
                            .pic_size_in_map_units = 4};
    expect_map(&sps, &pps, &h, "2102000000000000");
}

static void test_map_changing(void **state)
{
    struct h264_sps sps = {
        .mb_width = 4, .map_height = 4, .mb_height = 4, .frame_mbs_only_flag = 1};
    struct h264_pps pps = {
        .num_slice_groups = 2, .slice_group_map_type = 3, .slice_group_change_rate = 3};
    struct h264_slice_header h = {.slice_group_change_cycle = 2};

    expect_map(&sps, &pps, &h, "1111100010001111");
    pps.slice_group_change_direction_flag = 1; /* the other way round, from (1, 1) */
    expect_map(&sps, &pps, &h, "1001100110011111");
    pps.slice_group_map_type = 4;
    expect_map(&sps, &pps, &h, "1111111111000000");
    pps.slice_group_change_direction_flag = 0;
    expect_map(&sps, &pps, &h, "0000001111111111");
    pps.slice_group_map_type = 5;
    expect_map(&sps, &pps, &h, "0011001101110111");
    h.slice_group_change_cycle = 6;
    expect_map(&sps, &pps, &h, "0000000000000000");
}

/* Map units of interlaced sequences: rows of two macroblocks, pairs, or the macroblocks of a field
 * (8.2.2.8). */
static void test_map_interlaced(void **state)
{
    struct h264_sps sps = {.mb_width = 2, .map_height = 2, .mb_height = 4};
    struct h264_pps pps = {.num_slice_groups = 2, .slice_group_map_type = 1};
    struct h264_slice_header h = {0};
    expect_map(&sps, &pps, &h, "01011010");
    sps.mb_adaptive_frame_field_flag = 1;
    expect_map(&sps, &pps, &h, "00111100");
    h.field_pic_flag = 1;
    expect_map(&sps, &pps, &h, "0110");
}

/* Slices of two groups, checkerboard, out of order: each ends before the next of its own group. */
static void test_slice_ends(void **state)
{
    static const unsigned first[] = {0, 8, 1, 2}, end[] = {2, 12, 12, 8};
    struct ctx c = plain_ctx(4, 1);
    c.pps.slice_groups = 1;
    open_stream(&c);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(slice(&c,
                               (struct slice_fields){
                                   .idr = 1, .ref_idc = 1, .type = H264_I, .first_mb = first[i]}),
                         H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 1);
    assert_int_equal(c.decoded[0]->slice_count, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(c.decoded[0]->slices[i].end_mb, end[i]);
        assert_int_equal(c.decoded[0]->slices[i].slice_group_map[5], 0);
        assert_int_equal(c.decoded[0]->slices[i].slice_group_map[4], 1);
    }
    close_stream(&c);
}

/* ---- data partitions ---- */

static int partition(struct ctx *c, unsigned type, unsigned slice_id)
{
    struct bw w = {.bits = 0};
    bw_u(&w, 3, 1);
    bw_u(&w, 5, type);
    bw_ue(&w, slice_id);
    bw_u(&w, 16, 0x6660 + type);
    bw_trailing(&w);
    return feed(c, &w);
}

static uint32_t first_bits(const uint8_t *nal, size_t size, size_t offset)
{
    struct h264_bits b;
    uint8_t rbsp[256];
    h264_bits_init(&b, rbsp, h264_unescape(nal, size, rbsp, NULL));
    h264_bits_skip(&b, offset);
    return h264_bits_u(&b, 16);
}

static void test_partitions(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    const struct h264_slice *sl;
    open_stream(&c);
    assert_int_equal(slice(&c, (struct slice_fields){.idr = 1, .ref_idc = 1, .type = H264_I}),
                     H264_OK);
    assert_int_equal(partition(&c, 3, 0), H264_ERR_DATA); /* no partition A */
    for (unsigned i = 0; i < 2; i++) {
        struct slice_fields f = {
            .ref_idc = 1, .type = H264_P, .frame_num = 1, .poc_lsb = 2, .first_mb = 6 * i};

        f.partition = 1;
        f.slice_id = 3 + i;
        assert_int_equal(slice(&c, f), H264_OK);
        if (i == 0)
            assert_int_equal(partition(&c, 3, 3), H264_OK);
        assert_int_equal(partition(&c, 4, 3 + i), H264_OK);
    }
    assert_int_equal(partition(&c, 4, 4), H264_OK); /* twice */
    assert_int_equal(partition(&c, 3, 5), H264_ERR_DATA);
    flush(&c);
    assert_int_equal(c.decoded_count, 2);
    assert_int_equal(c.decoded[1]->slice_count, 2);
    sl = c.decoded[1]->slices;
    assert_null(sl[1].nal_b);
    assert_int_equal(first_bits(sl[0].nal, sl[0].nal_size, sl[0].data_bit_offset), 0x5555);
    assert_int_equal(first_bits(sl[0].nal_b, sl[0].nal_b_size, sl[0].data_bit_offset_b), 0x6663);
    assert_int_equal(first_bits(sl[0].nal_c, sl[0].nal_c_size, sl[0].data_bit_offset_c), 0x6664);
    assert_int_equal(first_bits(sl[1].nal_c, sl[1].nal_c_size, sl[1].data_bit_offset_c), 0x6664);
    close_stream(&c);
}

/* ---- separate colour planes ---- */

static void test_planes(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    c.sps.profile_idc = 244;
    c.sps.chroma_format_idc = 3;
    c.sps.separate_planes = 1;
    open_stream(&c);
    for (unsigned frame = 0; frame < 2; frame++)
        for (unsigned first = 0; first < 12; first += 6)
            for (unsigned plane = 0; plane < 3; plane++) {
                /* some cut access units at first_mb_in_slice 0, which every plane has */
                c.tag += first == 0;
                assert_int_equal(slice(&c, (struct slice_fields){.idr = !frame,
                                                                 .ref_idc = 1,
                                                                 .type = frame ? H264_P : H264_I,
                                                                 .frame_num = frame,
                                                                 .poc_lsb = 2 * frame,
                                                                 .first_mb = first,
                                                                 .plane = plane}),
                                 H264_OK);
                assert_int_equal(h264_stream_end_access_unit(c.s, &c.diag), H264_OK);
            }
    flush(&c);
    assert_int_equal(c.decoded_count, 6);
    for (unsigned i = 0; i < 6; i++) {
        const struct h264_picture *pic = c.decoded[i];
        assert_int_equal(pic->colour_plane, i % 3);
        assert_int_equal(pic->slice_count, 2);
        assert_int_equal(pic->slices[0].end_mb, 6);
        assert_ptr_equal(pic->slices[1].pic, pic);
        assert_int_equal(pic->slices[1].hdr.colour_plane_id, i % 3);
        assert_ptr_equal(pic->plane0, i % 3 ? c.decoded[i / 3 * 3] : NULL);
        if (i >= 3) {
            assert_ptr_equal(pic->slices[0].ref[0][0].pic, c.decoded[0]);
            assert_int_equal(pic->refs_held_count, 3);
        }
    }
    expect_output(&c, "0 3");
    close_stream(&c);
}

/* user_data_unregistered of one byte */
static void send_sei(struct ctx *c, unsigned byte)
{
    struct bw w = {.bits = 0};
    bw_u(&w, 8, 6);
    bw_u(&w, 8, 5);
    bw_u(&w, 8, 1);
    bw_u(&w, 8, byte);
    bw_trailing(&w);
    assert_int_equal(feed(c, &w), H264_OK);
}

/* The bytes of the messages of a frame, fields apart by '|'. */
static void expect_sei(const struct h264_picture *pic, const char *expected)
{
    char text[64] = "";
    for (const struct h264_sei *sei = pic->sei; sei; sei = sei->next) {
        for (uint32_t i = 0; i < sei->count; i++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%c",
                     sei->messages[i].bytes[0]);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", sei->next ? "|" : "");
    }
    assert_string_equal(text, expected);
}

/* The first field has the messages of both; a field that stays alone only its own; slices of a
 * picture share its. */
static void test_sei_of_fields(void **state)
{
    struct ctx c = field_ctx(4);
    open_stream(&c);
    send_sei(&c, 'a');
    send_sei(&c, 'b');
    assert_int_equal(slice(&c, FIELD_I(REC_TOP, .idr = 1)), H264_OK);
    send_sei(&c, 'c');
    assert_int_equal(slice(&c, FIELD_P(REC_BOTTOM, .poc_lsb = 1, .num_ref = {1})), H264_OK);
    assert_int_equal(slice(&c, FIELD_P(REC_TOP, .frame_num = 1, .poc_lsb = 8, .num_ref = {1})),
                     H264_OK);
    send_sei(&c, 'd');
    assert_int_equal(slice(&c, FIELD_P(REC_TOP, .frame_num = 2, .poc_lsb = 16, .num_ref = {1})),
                     H264_OK);
    send_sei(&c, 'e');
    assert_int_equal(slice(&c, FIELD_P(REC_TOP, .frame_num = 3, .poc_lsb = 24, .num_ref = {1})),
                     H264_OK);
    send_sei(&c, 'f'); /* before nothing */
    flush(&c);
    assert_int_equal(c.decoded_count, 5);
    expect_sei(c.decoded[0], "ab|c");
    expect_sei(c.decoded[1], "");
    expect_sei(c.decoded[2], "");
    expect_sei(c.decoded[3], "d");
    expect_sei(c.decoded[4], "e");
    close_stream(&c);
}

/* Behind the end of a sequence an IDR field begins a frame, though a lone IDR field of the other
 * parity stands before it. */
static void test_end_between_fields(void **state)
{
    for (unsigned end = 0; end < 2; end++) {
        struct ctx c = field_ctx(4);
        struct bw w = {.bits = 0};
        open_stream(&c);
        assert_int_equal(slice(&c, FIELD_I(REC_BOTTOM, .idr = 1)), H264_OK);
        bw_u(&w, 8, 10);
        if (end)
            assert_int_equal(feed(&c, &w), H264_OK);
        assert_int_equal(slice(&c, FIELD_I(REC_TOP, .idr = 1)), H264_OK);
        assert_int_equal(slice(&c, FIELD_P(REC_BOTTOM, .poc_lsb = 1, .num_ref = {1})), H264_OK);
        flush(&c);
        assert_int_equal(c.decoded_count, 3);
        assert_int_equal(c.decoded[0]->paired, !end);
        assert_int_equal(c.decoded[1]->paired, end);
        expect_output(&c, end ? "0 1" : "0 2");
        close_stream(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sei_of_fields),      cmocka_unit_test(test_p_fields),
        cmocka_unit_test(test_b_fields),           cmocka_unit_test(test_b_second_field),
        cmocka_unit_test(test_field_modification), cmocka_unit_test(test_mmco_fields),
        cmocka_unit_test(test_window_of_one),      cmocka_unit_test(test_unpaired),
        cmocka_unit_test(test_map_types),          cmocka_unit_test(test_map_changing),
        cmocka_unit_test(test_map_interlaced),     cmocka_unit_test(test_slice_ends),
        cmocka_unit_test(test_partitions),         cmocka_unit_test(test_planes),
        cmocka_unit_test(test_end_between_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
