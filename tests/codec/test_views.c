/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 1 of streams of two views (annex H), on streams made here: the lists of the second view.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "streamctx.h"

/* Pictures of both views have ids in the order in which they begin: of access unit n 2n and 2n + 1.
 */
#define VIEW_P(...)                                                                                \
    ((struct slice_fields){.second_view = 1, .ref_idc = 1, .type = H264_P, __VA_ARGS__})
#define VIEW_B(...) ((struct slice_fields){.second_view = 1, .type = H264_B, __VA_ARGS__})

/* subset_seq_parameter_set_rbsp(): refs is a bit per list, [anchor_pic_flag] */
static void send_subset(struct ctx *c, const unsigned refs[2])
{
    struct bw w = {.bits = 0};
    struct sps_fields sps = c->sps;
    sps.profile_idc = 128;
    bw_u(&w, 8, 0x6f);
    write_sps_data(&w, &sps);
    bw_u(&w, 1, 1);
    bw_ue(&w, 1); /* num_views_minus1 */
    bw_ue(&w, 0);
    bw_ue(&w, 1);
    for (unsigned anchor = 2; anchor-- > 0;)
        for (unsigned list = 0; list < 2; list++) {
            bw_ue(&w, refs[anchor] >> list & 1);
            if (refs[anchor] >> list & 1)
                bw_ue(&w, 0);
        }
    bw_ue(&w, 0); /* num_level_values_signalled_minus1 */
    bw_u(&w, 8, 40);
    bw_ue(&w, 0); /* num_applicable_ops_minus1 */
    bw_u(&w, 3, 0);
    bw_ue(&w, 0);
    bw_ue(&w, 1);
    bw_ue(&w, 1);
    bw_u(&w, 2, 0);
    bw_trailing(&w);
    assert_int_equal(feed(c, &w), H264_OK);
}

static void send_prefix(struct ctx *c, unsigned idr, unsigned inter_view_flag)
{
    struct bw w = {.bits = 0};
    bw_u(&w, 8, 0x6e);
    write_view(&w, idr, 0, inter_view_flag);
    assert_int_equal(feed(c, &w), H264_OK);
}

static struct ctx open_views(const unsigned refs[2])
{
    struct ctx c = plain_ctx(4, 4);
    assert_int_equal(h264_stream_create(&(struct h264_stream_params){.views = 2}, &c.s), H264_OK);
    send_sets(&c);
    send_subset(&c, refs);
    send_sets(&c); /* the second view stores the PPS, too */
    return c;
}

/* References of a picture by id, - for none. */
static void expect_refs(const struct ctx *c, uint32_t id, unsigned list, const char *expected)
{
    char text[256] = "";
    const struct h264_slice *sl = NULL;
    for (unsigned i = 0; i < c->decoded_count; i++)
        if (c->decoded[i]->id == id)
            sl = &c->decoded[i]->slices[0];
    assert_non_null(sl);
    assert_int_equal(sl->pic->view, id & 1);
    for (unsigned i = 0; i < sl->num_ref[list]; i++) {
        size_t n = strlen(text);
        if (sl->ref[list][i].pic)
            snprintf(text + n, sizeof(text) - n, "%s%u", i ? " " : "", sl->ref[list][i].pic->id);
        else
            snprintf(text + n, sizeof(text) - n, "%s-", i ? " " : "");
    }
    assert_string_equal(text, expected);
}

/* H.8.2: own pictures, then the base view's; at an IDR picture nothing but that, in spite of the
 * pictures before it. */
static void test_later_idr(void **state)
{
    struct ctx c = open_views((const unsigned[2]){3, 3});
    for (unsigned i = 0; i < 2; i++) {
        slice(&c, IDR(.idr_pic_id = i));
        assert_int_equal(slice(&c, VIEW_P(.idr = 1, .idr_pic_id = i, .num_ref = {3})), H264_OK);
        slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2));
        assert_int_equal(slice(&c, VIEW_P(.frame_num = 1, .poc_lsb = 2, .num_ref = {3})), H264_OK);
    }
    flush(&c);
    expect_refs(&c, 1, 0, "0 - -");
    expect_refs(&c, 3, 0, "1 2 -");
    expect_refs(&c, 5, 0, "4 - -");
    expect_refs(&c, 7, 0, "5 6 -");
    close_stream(&c);
}

/* H.8.2.1: a list for each value of anchor_pic_flag; H.8.2.2.3: the base view's picture by
 * modification 5, then 4 */
static void test_lists(void **state)
{
    struct ctx c = open_views((const unsigned[2]){2, 1});
    slice(&c, IDR());
    slice(&c, VIEW_P(.idr = 1, .num_ref = {2}));
    slice(&c, REF_P(.frame_num = 1, .poc_lsb = 4));
    slice(&c, VIEW_P(.frame_num = 1, .poc_lsb = 4, .num_ref = {2}));
    slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 2));
    slice(&c, VIEW_B(.frame_num = 2, .poc_lsb = 2, .num_ref = {3, 3},
                     .mods = {{{0}}, {{6, 0, 0}, {1, 1, 0}, {5, 0, 0}}}));
    flush(&c);
    expect_refs(&c, 1, 0, "0 -");
    expect_refs(&c, 3, 0, "1 -");
    expect_refs(&c, 5, 0, "1 3 -");
    expect_refs(&c, 5, 1, "4 1 4");
    close_stream(&c);
}

/* H.7.4.1.1: the prefix NAL unit counts for the slice behind it; without one inter_view_flag is 1.
 */
static void test_prefix(void **state)
{
    struct ctx c = open_views((const unsigned[2]){3, 3});
    for (unsigned i = 0; i < 3; i++) {
        if (i < 2)
            send_prefix(&c, i == 0, i);
        slice(&c, i ? REF_P(.frame_num = i, .poc_lsb = 2 * i) : IDR());
        slice(&c, VIEW_P(.idr = !i, .frame_num = i, .poc_lsb = 2 * i, .num_ref = {3}));
    }
    flush(&c);
    expect_refs(&c, 1, 0, "- - -");
    expect_refs(&c, 3, 0, "1 2 -");
    expect_refs(&c, 5, 0, "3 1 4");
    close_stream(&c);
}

/* The base view changes its size alone: its pictures are none for the second view. */
static void test_sizes(void **state)
{
    struct ctx c = open_views((const unsigned[2]){3, 3});
    slice(&c, IDR());
    slice(&c, VIEW_P(.idr = 1, .num_ref = {2}));
    c.sps.mb_width++;
    send_sets(&c);
    slice(&c, IDR(.idr_pic_id = 1));
    slice(&c, VIEW_P(.frame_num = 1, .poc_lsb = 2, .num_ref = {2}));
    flush(&c);
    expect_refs(&c, 1, 0, "0 -");
    expect_refs(&c, 3, 0, "1 -");
    close_stream(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_later_idr),
                                       cmocka_unit_test(test_lists), cmocka_unit_test(test_prefix),
                                       cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
