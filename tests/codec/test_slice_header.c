/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slice headers: values, limits of counts, truncation, damage.
 */
#include "headerwriter.h"
#include "codec/parameter_sets.h"
#include "codec/slice_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

struct sets {
    struct sps_fields sf;
    struct pps_fields pf;
    struct h264_sps *sps;
    struct h264_pps *pps;
};

static void make_sets(struct sets *s)
{
    struct bw w = {.bits = 0}, p = {.bits = 0};
    write_sps(&w, &s->sf);
    write_pps(&p, &s->pf);
    assert_int_equal(h264_sps_parse(w.buf, w.bits / 8, &s->sps, NULL), H264_OK);
    assert_int_equal(h264_pps_parse(p.buf, p.bits / 8, s->sf.chroma_format_idc, &s->pps, NULL),
                     H264_OK);
}

static void free_sets(struct sets *s)
{
    h264_sps_unref(s->sps);
    h264_pps_unref(s->pps);
}

static int parse(const struct sets *s, const struct bw *w, struct h264_slice_header *h, size_t *bit,
                 struct h264_diag *diag)
{
    return h264_slice_header_parse(w->buf, w->bits / 8, s->sps, s->pps, h, bit, diag);
}

static uint32_t bits_at(const struct bw *w, size_t bit, unsigned n)
{
    struct h264_bits b;
    h264_bits_init(&b, w->buf, w->bits / 8);
    h264_bits_skip(&b, bit);
    return h264_bits_u(&b, n);
}

static void test_values(void **state)
{
    struct sets s = {.sf = plain_sps(),
                     .pf = {.cabac = 1, .bottom_poc = 1, .refs = {3, 2}, .redundant = 1}};
    struct slice_fields f = {.ref_idc = 2,
                             .first_mb = 7,
                             .type = H264_B,
                             .frame_num = 9,
                             .poc_lsb = 12,
                             .delta_poc = -3,
                             .redundant_pic_cnt = 1,
                             .mods = {{{1, 4}, {2, 0}}, {{3, 6}}},
                             .mmco = {{3, 1, 2}, {5}, {6, 3}}};
    struct bw w = {.bits = 0};
    struct h264_slice_header h;
    size_t bit;
    make_sets(&s);
    write_slice(&w, &f, &s.sf, &s.pf);
    assert_int_equal(parse(&s, &w, &h, &bit, NULL), H264_OK);
    assert_int_equal(h.nal_ref_idc, 2);
    assert_int_equal(h.idr, 0);
    assert_int_equal(h.first_mb, 7);
    assert_int_equal(h.type, H264_B);
    assert_int_equal(h.frame_num, 9);
    assert_int_equal(h.poc_lsb, 12);
    assert_int_equal(h.delta_poc_bottom, -3);
    assert_int_equal(h.redundant_pic_cnt, 1);
    assert_int_equal(h.direct_spatial_mv_pred_flag, 1);
    assert_int_equal(h.num_ref[0], 3);
    assert_int_equal(h.num_ref[1], 2);
    assert_int_equal(h.list_mod_count[0], 2);
    assert_int_equal(h.list_mod[0][0].op, 0);
    assert_int_equal(h.list_mod[0][0].value, 4);
    assert_int_equal(h.list_mod[0][1].op, 1);
    assert_int_equal(h.list_mod_count[1], 1);
    assert_int_equal(h.list_mod[1][0].op, 2);
    assert_int_equal(h.list_mod[1][0].value, 6);
    assert_int_equal(h.mmco_count, 3);
    assert_int_equal(h.mmco[0].op, 3);
    assert_int_equal(h.mmco[0].a, 1);
    assert_int_equal(h.mmco[0].b, 2);
    assert_int_equal(h.mmco[1].op, 5);
    assert_int_equal(h.mmco[2].a, 3);
    assert_int_equal(h.qp, 26);
    assert_int_equal(bits_at(&w, bit, 16), 0x5555 + 7); /* the stand-in for slice_data() */
    free_sets(&s);
}

/* P with explicit weights, one luma flag and one chroma flag set; then the deblocking elements. */
static void weighted_slice(struct bw *w, int luma_weight, unsigned denom, int qp_delta,
                           unsigned idc, int alpha)
{
    bw_u(w, 8, 0x01);
    bw_ue(w, 0);
    bw_ue(w, 5);
    bw_ue(w, 0);
    bw_u(w, 4, 1);
    bw_u(w, 4, 2);
    bw_u(w, 1, 1);
    bw_ue(w, 1); /* two references */
    bw_u(w, 1, 0);
    bw_ue(w, denom);
    bw_ue(w, 3);
    bw_u(w, 1, 1);
    bw_se(w, luma_weight);
    bw_se(w, -128);
    bw_u(w, 1, 0);
    bw_u(w, 1, 0);
    bw_u(w, 1, 1);
    for (int i = 0; i < 4; i++)
        bw_se(w, i + 1);
    bw_se(w, qp_delta);
    bw_ue(w, idc);
    if (idc != 1) {
        bw_se(w, alpha);
        bw_se(w, -6);
    }
    bw_u(w, 8, 0xaa);
    bw_trailing(w);
}

static void expect_weighted(struct sets *s, struct bw *w, const char *element)
{
    struct h264_slice_header h;
    struct h264_diag diag = {0};
    size_t bit;
    assert_int_equal(parse(s, w, &h, &bit, &diag), H264_ERR_DATA);
    assert_string_equal(diag.element, element);
}

static void test_weights_and_deblocking(void **state)
{
    struct sets s = {.sf = plain_sps(), .pf = {.weighted = 1, .deblocking_control = 1}};
    struct h264_slice_header h;
    struct bw w = {.bits = 0};
    size_t bit;
    make_sets(&s);
    weighted_slice(&w, 127, 7, 25, 2, 6);
    assert_int_equal(parse(&s, &w, &h, &bit, NULL), H264_OK);
    assert_int_equal(h.luma_log2_denom, 7);
    assert_int_equal(h.chroma_log2_denom, 3);
    assert_int_equal(h.weight[0][0][0][0], 127);
    assert_int_equal(h.weight[0][0][0][1], -128);
    assert_int_equal(h.weight[0][0][1][0], 8);
    assert_int_equal(h.weight[0][0][2][1], 0);
    assert_int_equal(h.weight[0][1][0][0], 128);
    assert_int_equal(h.weight[0][1][1][0], 1);
    assert_int_equal(h.weight[0][1][2][1], 4);
    assert_int_equal(h.qp, 51);
    assert_int_equal(h.disable_deblocking_filter_idc, 2);
    assert_int_equal(h.filter_offset_a, 12);
    assert_int_equal(h.filter_offset_b, -12);
    assert_int_equal(bits_at(&w, bit, 8), 0xaa);
#define BAD(element, ...)                                                                          \
    (w = (struct bw){.bits = 0}, weighted_slice(&w, __VA_ARGS__), expect_weighted(&s, &w, element))
    BAD("luma_weight", 128, 7, 0, 1, 0);
    BAD("luma_log2_weight_denom", 1, 8, 0, 1, 0);
    BAD("slice_qp_delta", 1, 7, 26, 1, 0);
    BAD("slice_qp_delta", 1, 7, -27, 1, 0);
    BAD("slice_qp_delta", 1, 7, INT32_MAX, 1, 0);
    BAD("disable_deblocking_filter_idc", 1, 7, 0, 3, 0);
    BAD("slice_alpha_c0_offset_div2", 1, 7, 0, 0, 7);
#undef BAD
    free_sets(&s);
}

static void expect_error(const struct sets *s, const struct bw *w, const char *element)
{
    struct h264_slice_header h = {.pps_id = 77};
    struct h264_diag diag = {0};
    size_t bit = 5;
    assert_int_equal(parse(s, w, &h, &bit, &diag), H264_ERR_DATA);
    assert_string_equal(diag.element, element);
    assert_int_equal(bit, 5); /* untouched on failure */
    assert_int_equal(h.pps_id, 77);
}

/* A P slice of `mods` list modifications, then a reference marking of `mmcos` operations. */
static void flood(struct bw *w, unsigned mods, unsigned mmcos)
{
    bw_u(w, 8, 0x21);
    bw_ue(w, 0);
    bw_ue(w, 0);
    bw_ue(w, 0);
    bw_u(w, 4, 1);
    bw_u(w, 4, 2);
    bw_u(w, 1, 0);
    bw_u(w, 1, 1);
    for (unsigned i = 0; i < mods; i++) {
        bw_ue(w, 0);
        bw_ue(w, UINT32_MAX - 1);
    }
    bw_ue(w, 3);
    bw_u(w, 1, 1);
    for (unsigned i = 0; i < mmcos; i++) {
        bw_ue(w, 3);
        bw_ue(w, UINT32_MAX - 1);
        bw_ue(w, UINT32_MAX - 1);
    }
    bw_ue(w, 0);
    bw_se(w, 0);
    bw_u(w, 8, 0xaa);
    bw_trailing(w);
}

static void test_floods(void **state)
{
    struct sets s = {.sf = plain_sps(), .pf = {.id = 0}};
    struct h264_slice_header h;
    struct bw w;
    size_t bit;
    make_sets(&s);
    w = (struct bw){.bits = 0};
    flood(&w, 66, 66);
    assert_int_equal(parse(&s, &w, &h, &bit, NULL), H264_OK);
    assert_int_equal(h.list_mod_count[0], 66);
    assert_int_equal(h.mmco_count, 66);
    w = (struct bw){.bits = 0};
    flood(&w, 67, 0);
    expect_error(&s, &w, "modification_of_pic_nums_idc");
    w = (struct bw){.bits = 0};
    flood(&w, 0, 67);
    expect_error(&s, &w, "memory_management_control_operation");
    free_sets(&s);
}

static void test_limits(void **state)
{
    struct sets s = {.sf = plain_sps(), .pf = {.redundant = 1}};
    struct slice_fields f;
    struct bw w;
    make_sets(&s);
#define BAD(element, ...)                                                                          \
    (f = (struct slice_fields){__VA_ARGS__}, w = (struct bw){.bits = 0},                           \
     write_slice(&w, &f, &s.sf, &s.pf), expect_error(&s, &w, element))
    BAD("slice_type", .type = 10);
    BAD("pic_parameter_set_id", .pps_id = 256);
    BAD("idr_pic_id", .idr = 1, .ref_idc = 1, .type = H264_I, .idr_pic_id = 65536);
    BAD("redundant_pic_cnt", .redundant_pic_cnt = 128);
    BAD("num_ref_idx_l0_active_minus1", .num_ref = {17, 1});
    BAD("num_ref_idx_l0_active_minus1", .num_ref = {UINT32_MAX, 1});
    BAD("num_ref_idx_l1_active_minus1", .type = H264_B, .num_ref = {16, 17});
    BAD("modification_of_pic_nums_idc", .mods = {{{5, 1}}});
    BAD("memory_management_control_operation", .ref_idc = 1, .mmco = {{7, 1}});
#undef BAD
    free_sets(&s);
}

static void test_damage(void **state)
{
    struct sets s = {.sf = plain_sps(),
                     .pf = {.cabac = 1,
                            .bottom_poc = 1,
                            .refs = {3, 2},
                            .weighted = 1,
                            .bipred = 1,
                            .deblocking_control = 1}};
    struct h264_slice_header h;
    struct bw w = {.bits = 0};
    uint32_t seed = 7;
    size_t bit;
    make_sets(&s);
    flood(&w, 3, 4);
    for (size_t n = 0; n < w.bits / 8; n++) { /* every truncation; memory of exactly that size */
        uint8_t *exact = calloc(1, n + H264_BITS_PADDING);

        memcpy(exact, w.buf, n);
        assert_true(h264_slice_header_parse(exact, n, s.sps, s.pps, &h, &bit, NULL) <= 0);
        free(exact);
    }
    for (unsigned i = 0; i < 50000; i++) {
        struct bw copy = w;
        for (unsigned k = 0; k < 24; k++) {
            seed = seed * 1664525 + 1013904223;
            copy.buf[1 + k] = (uint8_t)(seed >> 24);
        }
        if (!parse(&s, &copy, &h, &bit, NULL)) {
            assert_true(bit <= copy.bits);
            assert_true(h.num_ref[0] <= 16 && h.num_ref[1] <= 16 && h.qp >= 0 && h.qp <= 51 &&
                        h.cabac_init_idc <= 2);
        }
    }
    free_sets(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_weights_and_deblocking),
        cmocka_unit_test(test_floods), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
