/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sequence and picture parameter sets: values, limits, scaling lists and their fall-back,
 * truncation.
 */
#include "headerwriter.h"
#include "codec/parameter_sets.h"
#include "codec/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static int parse_sps(const struct sps_fields *f, struct h264_sps **sps, struct h264_diag *diag)
{
    struct bw w = {.bits = 0};
    write_sps(&w, f);
    return h264_sps_parse(w.buf, w.bits / 8, sps, diag);
}

static int parse_pps(const struct pps_fields *f, unsigned chroma_format_idc, struct h264_pps **pps,
                     struct h264_diag *diag)
{
    struct bw w = {.bits = 0};
    write_pps(&w, f);
    return h264_pps_parse(w.buf, w.bits / 8, chroma_format_idc, pps, diag);
}

static void full_vui(struct bw *w)
{
    bw_u(w, 1, 1);
    bw_u(w, 8, 255);
    bw_u(w, 16, 64);
    bw_u(w, 16, 45);
    bw_u(w, 2, 3); /* overscan */
    bw_u(w, 1, 1);
    bw_u(w, 3, 2);
    bw_u(w, 2, 3); /* full range, colour description */
    bw_u(w, 8, 9);
    bw_u(w, 8, 16);
    bw_u(w, 8, 10);
    bw_u(w, 1, 1);
    bw_ue(w, 2);
    bw_ue(w, 3);
    bw_u(w, 1, 1);
    bw_u(w, 32, 1001);
    bw_u(w, 32, 60000);
    bw_u(w, 1, 1);
    for (unsigned i = 0; i < 2; i++) { /* both HRDs */
        bw_u(w, 1, 1);
        bw_ue(w, 1);
        bw_u(w, 8, 0x12);
        for (unsigned j = 0; j < 2; j++) {
            bw_ue(w, 4000);
            bw_ue(w, 5000);
            bw_u(w, 1, 0);
        }
        bw_u(w, 5, 23);
        bw_u(w, 5, 22);
        bw_u(w, 5, 21);
        bw_u(w, 5, 24);
    }
    bw_u(w, 1, 0);
    bw_u(w, 1, 1); /* pic_struct_present_flag */
    bw_u(w, 2, 3);
    for (unsigned i = 0; i < 4; i++)
        bw_ue(w, 2);
    bw_ue(w, 2);
    bw_ue(w, 5);
}

static void test_sps_values(void **state)
{
    struct sps_fields f = plain_sps();
    struct h264_sps *sps;
    f.id = 31;
    f.crop[0] = 1;
    f.crop[1] = 2;
    f.crop[2] = 3;
    f.crop[3] = 4;
    f.vui = full_vui;
    assert_int_equal(parse_sps(&f, &sps, NULL), H264_OK);
    assert_int_equal(sps->id, 31);
    assert_int_equal(sps->mb_width, 4);
    assert_int_equal(sps->mb_height, 3);
    assert_int_equal(sps->crop_left, 2);
    assert_int_equal(sps->crop_right, 4);
    assert_int_equal(sps->crop_top, 6);
    assert_int_equal(sps->crop_bottom, 8);
    assert_int_equal(sps->vui.sar_width, 64);
    assert_int_equal(sps->vui.sar_height, 45);
    assert_int_equal(sps->vui.full_range, 1);
    assert_int_equal(sps->vui.colour_primaries, 9);
    assert_int_equal(sps->vui.transfer, 16);
    assert_int_equal(sps->vui.matrix, 10);
    assert_int_equal(sps->vui.chroma_loc_top, 2);
    assert_int_equal(sps->vui.chroma_loc_bottom, 3);
    assert_int_equal(sps->vui.num_units_in_tick, 1001);
    assert_int_equal(sps->vui.time_scale, 60000);
    assert_int_equal(sps->vui.initial_cpb_removal_delay_length, 24);
    assert_int_equal(sps->vui.cpb_removal_delay_length, 23);
    assert_int_equal(sps->vui.dpb_output_delay_length, 22);
    assert_int_equal(sps->vui.time_offset_length, 24);
    assert_int_equal(sps->vui.pic_struct_present, 1);
    assert_int_equal(sps->max_dpb_frames, 5);
    assert_int_equal(sps->reorder_frames, 2);
    h264_sps_unref(h264_sps_ref(sps));
    h264_sps_unref(sps);
}

static void test_sps_dpb_size(void **state)
{
    static const struct {
        unsigned profile, flags, level, width, height, refs, frames;
    } cases[] = {
        {100, 0, 40, 120, 68, 1, 4}, {100, 0, 51, 120, 68, 1, 16}, {66, 0, 11, 11, 9, 1, 9},
        {66, 0x10, 11, 11, 9, 1, 4}, {100, 0x10, 11, 11, 9, 0, 0}, {100, 0, 9, 11, 9, 1, 4},
        {100, 0, 10, 120, 68, 3, 3}, {100, 0, 77, 120, 68, 1, 16}, {110, 0x10, 40, 120, 68, 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sps_fields f = plain_sps();
        struct h264_sps *sps;
        f.profile_idc = cases[i].profile;
        f.constraint_flags = cases[i].flags;
        f.level_idc = cases[i].level;
        f.mb_width = cases[i].width;
        f.mb_height = cases[i].height;
        f.max_num_ref_frames = cases[i].refs;
        assert_int_equal(parse_sps(&f, &sps, NULL), H264_OK);
        assert_int_equal(sps->max_dpb_frames, cases[i].frames);
        assert_int_equal(sps->reorder_frames, cases[i].frames);
        h264_sps_unref(sps);
        f.poc_type = 2;
        assert_int_equal(parse_sps(&f, &sps, NULL), H264_OK);
        assert_int_equal(sps->reorder_frames, 0);
        h264_sps_unref(sps);
    }
}

static void refuse(const struct sps_fields *f, const char *element)
{
    struct h264_sps untouched, *sps = &untouched;
    struct h264_diag diag = {0};
    assert_int_equal(parse_sps(f, &sps, &diag), H264_ERR_DATA);
    assert_string_equal(diag.element, element);
    assert_ptr_equal(sps, &untouched);
}

static void test_sps_limits(void **state)
{
    struct sps_fields f;
    struct h264_sps *sps;
#define REFUSE(change, element) (f = plain_sps(), change, refuse(&f, element))
    REFUSE(f.id = 32, "seq_parameter_set_id");
    REFUSE(f.id = UINT32_MAX - 1, "seq_parameter_set_id");
    REFUSE(f.chroma_format_idc = 4, "chroma_format_idc");
    REFUSE(f.bit_depth = 15, "bit_depth_luma_minus8");
    REFUSE(f.log2_max_frame_num = 17, "log2_max_frame_num_minus4");
    REFUSE(f.log2_max_poc_lsb = 17, "log2_max_pic_order_cnt_lsb_minus4");
    REFUSE(f.poc_type = 3, "pic_order_cnt_type");
    REFUSE((f.poc_type = 1, f.cycle = 256), "num_ref_frames_in_pic_order_cnt_cycle");
    REFUSE(f.max_num_ref_frames = 17, "max_num_ref_frames");
    REFUSE(f.mb_width = 1056, "pic_width_in_mbs_minus1");
    REFUSE(f.mb_height = 1056, "pic_height_in_map_units_minus1");
    REFUSE(f.mb_height = UINT32_MAX, "pic_width_in_mbs_minus1");
    REFUSE((f.mb_width = 1055, f.mb_height = 133), "pic_width_in_mbs_minus1");
    REFUSE((f.crop[0] = 16, f.crop[1] = 16), "frame_crop_right_offset");
    REFUSE(f.crop[1] = UINT32_MAX - 1, "frame_crop_right_offset");
    REFUSE(f.crop[3] = 24, "frame_crop_bottom_offset");
#undef REFUSE
    f = plain_sps();
    f.poc_type = 1;
    f.cycle = 255;
    f.mb_width = 1055;
    f.mb_height = 132;
    f.crop[1] = 527 * 16;
    assert_int_equal(parse_sps(&f, &sps, NULL), H264_OK);
    assert_int_equal(sps->num_ref_frames_in_poc_cycle, 255);
    h264_sps_unref(sps);
}

/* ---- scaling lists ---- */

/* A list that rises by one from `start`. */
static void rising_list(struct bw *w, unsigned start, unsigned count)
{
    bw_u(w, 1, 1);
    bw_se(w, (int)start - 8);
    for (unsigned i = 1; i < count; i++)
        bw_se(w, 1);
}

static void default_list(struct bw *w)
{
    bw_u(w, 1, 1);
    bw_se(w, -8);
}

/* Only list 1 and list 7 present, list 4 default. */
static void sparse_matrix(struct bw *w)
{
    for (unsigned i = 0; i < 8; i++)
        if (i == 1)
            rising_list(w, 20, 16);
        else if (i == 4)
            default_list(w);
        else if (i == 7)
            rising_list(w, 100, 64);
        else
            bw_u(w, 1, 0);
}

/* Every list constant: the delta that makes nextScale 0 repeats the first value. */
static void constant_matrix(struct bw *w)
{
    for (unsigned i = 0; i < 8; i++) {
        bw_u(w, 1, 1);
        bw_se(w, (int)(40 + i) - 8);
        bw_se(w, -(int)(40 + i));
    }
}

static void empty_matrix(struct bw *w)
{
    bw_u(w, 8, 0);
}

static void expect_default(const struct rec_scaling *s, unsigned i)
{
    for (unsigned j = 0; j < (i < 6 ? 16u : 64u); j++)
        if (i < 6)
            assert_int_equal(s->m4[i][h264_scan_4x4[0][j]], h264_default_scaling_4x4[i / 3][j]);
        else
            assert_int_equal(s->m8[i - 6][h264_scan_8x8[0][j]], h264_default_scaling_8x8[i & 1][j]);
}

static void expect_sparse(const struct rec_scaling *s)
{
    expect_default(s, 0);
    for (unsigned j = 0; j < 16; j++) {
        assert_int_equal(s->m4[1][h264_scan_4x4[0][j]], 20 + j);
        assert_int_equal(s->m4[2][h264_scan_4x4[0][j]], 20 + j);
    }
    for (unsigned i = 3; i < 7; i++)
        expect_default(s, i);
    for (unsigned j = 0; j < 64; j++) {
        assert_int_equal(s->m8[1][h264_scan_8x8[0][j]], 100 + j);
        assert_int_equal(s->m8[3][h264_scan_8x8[0][j]], 100 + j);
    }
    expect_default(s, 8);
}

static void test_scaling_sps(void **state)
{
    struct sps_fields f = plain_sps();
    struct h264_sps *sps;
    assert_int_equal(parse_sps(&f, &sps, NULL), H264_OK);
    for (unsigned j = 0; j < sizeof(sps->scaling); j++)
        assert_int_equal(((const uint8_t *)&sps->scaling)[j], 16);
    h264_sps_unref(sps);
    f.scaling = sparse_matrix;
    assert_int_equal(parse_sps(&f, &sps, NULL), H264_OK);
    expect_sparse(&sps->scaling);
    h264_sps_unref(sps);
}

/* The effective lists of a pair of sets. */
static struct rec_scaling effective(void (*sps_matrix)(struct bw *),
                                    void (*pps_matrix)(struct bw *))
{
    struct sps_fields sf = plain_sps();
    struct pps_fields pf = {.extension = 1, .transform_8x8 = 1, .scaling = pps_matrix};
    struct rec_scaling s;
    struct h264_sps *sps;
    struct h264_pps *pps;
    sf.scaling = sps_matrix;
    assert_int_equal(parse_sps(&sf, &sps, NULL), H264_OK);
    assert_int_equal(parse_pps(&pf, 1, &pps, NULL), H264_OK);
    assert_int_equal(pps->chroma_qp_offset[0], -2);
    assert_int_equal(pps->chroma_qp_offset[1], 3);
    h264_pps_scaling(sps, pps, &s);
    h264_pps_unref(pps);
    h264_sps_unref(sps);
    return s;
}

static void test_scaling_pps(void **state)
{
    struct rec_scaling s = effective(NULL, NULL);
    for (unsigned j = 0; j < sizeof(s); j++)
        assert_int_equal(((const uint8_t *)&s)[j], 16);
    s = effective(sparse_matrix, NULL); /* the SPS's */
    expect_sparse(&s);
    s = effective(NULL, sparse_matrix); /* rule set A: the SPS has none */
    expect_sparse(&s);
    s = effective(NULL, empty_matrix);
    for (unsigned i = 0; i < 12; i++)
        expect_default(&s, i);
    /* rule set B: 0, 3, 6, 7 from the SPS, the others from the list before */
    s = effective(constant_matrix, empty_matrix);
    for (unsigned i = 0; i < 6; i++)
        for (unsigned j = 0; j < 16; j++)
            assert_int_equal(s.m4[i][j], i < 3 ? 40 : 43);
    for (unsigned i = 0; i < 6; i++)
        for (unsigned j = 0; j < 64; j++)
            assert_int_equal(s.m8[i][j], i & 1 ? 47 : 46);
    s = effective(constant_matrix, sparse_matrix);
    assert_int_equal(s.m4[0][5], 40);
    assert_int_equal(s.m4[2][0], 20);
    assert_int_equal(s.m4[3][0], 43);
    expect_default(&s, 4);
    expect_default(&s, 5);
    assert_int_equal(s.m8[0][9], 46);
    assert_int_equal(s.m8[1][0], 100);
}

/* ---- PPS ---- */

static void test_pps_values(void **state)
{
    struct pps_fields f = {.id = 255,
                           .sps_id = 31,
                           .cabac = 1,
                           .bottom_poc = 1,
                           .refs = {5, 7},
                           .weighted = 1,
                           .bipred = 2,
                           .deblocking_control = 1,
                           .redundant = 1};
    struct h264_diag diag = {0};
    struct h264_pps *pps;
    assert_int_equal(parse_pps(&f, 1, &pps, NULL), H264_OK);
    assert_int_equal(pps->id, 255);
    assert_int_equal(pps->sps_id, 31);
    assert_int_equal(pps->entropy_coding_mode_flag, 1);
    assert_int_equal(pps->num_ref_default[0], 5);
    assert_int_equal(pps->num_ref_default[1], 7);
    assert_int_equal(pps->weighted_bipred_idc, 2);
    assert_int_equal(pps->pic_init_qp, 26);
    assert_int_equal(pps->chroma_qp_offset[1], -2);
    assert_int_equal(pps->transform_8x8_mode_flag, 0);
    assert_int_equal(pps->num_slice_groups, 1);
    h264_pps_unref(pps);
    f.id = 256;
    assert_int_equal(parse_pps(&f, 1, &pps, &diag), H264_ERR_DATA);
    assert_string_equal(diag.element, "pic_parameter_set_id");
    f.id = 0;
    f.sps_id = 32;
    assert_int_equal(parse_pps(&f, 1, &pps, &diag), H264_ERR_DATA);
    f.sps_id = 0;
    f.refs[1] = 33;
    assert_int_equal(parse_pps(&f, 1, &pps, &diag), H264_ERR_DATA);
    assert_string_equal(diag.element, "num_ref_idx_l1_default_active_minus1");
    f.refs[1] = 1;
    f.bipred = 3;
    assert_int_equal(parse_pps(&f, 1, &pps, &diag), H264_ERR_DATA);
    f.bipred = 0;
    f.slice_groups = 7;
    assert_int_equal(parse_pps(&f, 1, &pps, &diag), H264_OK);
    assert_int_equal(pps->num_slice_groups, 8);
    h264_pps_unref(pps);
}

/* Every cut must be an error or a set, from memory of exactly that size and its padding. */
static void truncate_all(const struct bw *w, int (*parse)(const uint8_t *, size_t))
{
    unsigned failed = 0;
    size_t size = w->bits / 8;
    for (size_t n = 0; n < size; n++) {
        uint8_t *exact = calloc(1, n + H264_BITS_PADDING);
        memcpy(exact, w->buf, n);
        failed += parse(exact, n) < 0;
        free(exact);
    }
    assert_true(failed >= size - 3); /* a cut may leave what looks like trailing bits */
    assert_int_equal(parse(w->buf, size), H264_OK);
}

static int try_sps(const uint8_t *rbsp, size_t size)
{
    struct h264_sps *sps;
    bool broken;
    int error = h264_sps_parse(rbsp, size, &sps, NULL);
    if (error)
        return error;
    broken = sps->vui_broken;
    h264_sps_unref(sps);
    return broken ? H264_ERR_TRUNCATED : H264_OK;
}

static int try_pps(const uint8_t *rbsp, size_t size)
{
    struct h264_pps *pps;
    int error = h264_pps_parse(rbsp, size, 1, &pps, NULL);
    if (!error)
        h264_pps_unref(pps);
    return error;
}

static void test_truncation(void **state)
{
    struct sps_fields sf = plain_sps();
    struct pps_fields pf = {.extension = 1, .transform_8x8 = 1, .scaling = sparse_matrix};
    struct bw w = {.bits = 0}, p = {.bits = 0};
    sf.scaling = sparse_matrix;
    sf.vui = full_vui;
    write_sps(&w, &sf);
    truncate_all(&w, try_sps);
    write_pps(&p, &pf);
    truncate_all(&p, try_pps);
}

/* The first bits of w, as a whole SPS; stop: with rbsp_stop_one_bit. */
static struct h264_sps *sps_of_bits(const struct bw *w, size_t bits, bool stop)
{
    struct bw cut = {.bits = 0};
    struct h264_sps *sps = NULL;
    for (size_t i = 0; i < bits; i++)
        bw_u(&cut, 1, w->buf[i / 8] >> (7 - i % 8) & 1);
    if (stop)
        bw_trailing(&cut);
    assert_int_equal(h264_sps_parse(cut.buf, (cut.bits + 7) / 8, &sps, NULL), H264_OK);
    return sps;
}

/* Wherever a VUI ends, the SPS decodes, with the groups of elements before the cut. */
static void test_vui_cut(void **state)
{
    struct sps_fields f = plain_sps();
    struct bw head = {.bits = 0}, whole = {.bits = 0};
    bw_u(&head, 8, 0x67);
    write_sps_data(&head, &f);
    f.vui = full_vui;
    bw_u(&whole, 8, 0x67);
    write_sps_data(&whole, &f);
    for (size_t cut = 1; cut <= whole.bits - head.bits; cut++) {
        size_t left = whole.bits - head.bits - cut;
        struct h264_sps *sps = sps_of_bits(&whole, whole.bits - cut, true);
        assert_int_equal(sps->mb_width, 4);
        assert_true(sps->vui_broken);
        assert_int_equal(sps->vui.sar_width, left >= 41 ? 64 : 0);
        assert_int_equal(sps->vui.colour_primaries, left >= 73 ? 9 : 2);
        assert_int_equal(sps->vui.bitstream_restriction_flag, 0);
        assert_int_equal(sps->max_dpb_frames, 16);
        h264_sps_unref(sps);
    }
}

static void vui_chroma_loc_6(struct bw *w)
{
    bw_u(w, 3, 0); /* aspect ratio, overscan, video signal */
    bw_u(w, 1, 1);
    bw_ue(w, 6);
    bw_ue(w, 6);
    bw_u(w, 1, 1);
    bw_u(w, 32, 1);
    bw_u(w, 32, 50);
    bw_u(w, 5, 0);
}

static void vui_cpb_cnt_33(struct bw *w)
{
    bw_u(w, 4, 0); /* up to the chroma location */
    bw_u(w, 1, 1);
    bw_u(w, 32, 1);
    bw_u(w, 32, 50);
    bw_u(w, 1, 1);
    bw_u(w, 1, 1); /* nal_hrd_parameters_present_flag */
    bw_ue(w, 32);
    bw_u(w, 32, 0x12345678);
}

static void test_vui_broken(void **state)
{
    struct sps_fields f = plain_sps();
    struct h264_sps *sps;
    f.vui = vui_chroma_loc_6;
    assert_int_equal(parse_sps(&f, &sps, NULL), H264_OK);
    assert_int_equal(sps->vui.chroma_loc_present, 0);
    assert_int_equal(sps->vui.time_scale, 50);
    assert_false(sps->vui_broken);
    h264_sps_unref(sps);
    f.vui = vui_cpb_cnt_33;
    assert_int_equal(parse_sps(&f, &sps, NULL), H264_OK);
    assert_int_equal(sps->vui.time_scale, 50);
    assert_int_equal(sps->vui.nal_hrd_present, 0);
    assert_true(sps->vui_broken);
    h264_sps_unref(sps);
}

static void test_no_stop_bit(void **state)
{
    struct sps_fields f = plain_sps();
    struct bw w = {.bits = 0};
    struct h264_sps *sps;
    f.crop[1] = 2;
    bw_u(&w, 8, 0x67);
    write_sps_data(&w, &f);
    sps = sps_of_bits(&w, w.bits, false);
    assert_int_equal(sps->mb_height, 3);
    assert_int_equal(sps->crop_right, 4);
    h264_sps_unref(sps);
}

static void test_random(void **state)
{
    struct sps_fields sf = plain_sps();
    struct pps_fields pf = {.extension = 1, .transform_8x8 = 1, .scaling = sparse_matrix};
    struct bw w = {.bits = 0}, p = {.bits = 0};
    uint32_t seed = 1;
    sf.scaling = sparse_matrix;
    sf.vui = full_vui;
    write_sps(&w, &sf);
    write_pps(&p, &pf);
    for (unsigned i = 0; i < 20000; i++) {
        struct bw copy = i & 1 ? w : p;
        for (unsigned k = 0; k <= i % 5; k++) {
            seed = seed * 1664525 + 1013904223;
            copy.buf[1 + (seed >> 8) % (copy.bits / 8 - 1)] ^= (uint8_t)(1 << (seed >> 29));
        }
        (void)(i & 1 ? try_sps : try_pps)(copy.buf, copy.bits / 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sps_values),  cmocka_unit_test(test_sps_dpb_size),
        cmocka_unit_test(test_sps_limits),  cmocka_unit_test(test_scaling_sps),
        cmocka_unit_test(test_scaling_pps), cmocka_unit_test(test_pps_values),
        cmocka_unit_test(test_truncation),  cmocka_unit_test(test_random),
        cmocka_unit_test(test_vui_cut),     cmocka_unit_test(test_vui_broken),
        cmocka_unit_test(test_no_stop_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
