/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Export of step 2 to a device. Tested are the eligible pictures, with one refusal at a time, and
 * the description of their slices. The import must refuse some results.
 */
#include "codec/abi/entropy_abi.h"
#include "codec/h264_export.h"
#include "codec/nal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

#define REF(slice_type, ...) ((struct slice_fields){.ref_idc = 1, .type = slice_type, __VA_ARGS__})

static struct ctx cabac_ctx(void)
{
    struct ctx c = plain_ctx(4, 1);
    c.pps.cabac = 1;
    return c;
}

static bool offloads(const struct ctx *c, unsigned picture)
{
    assert_true(picture < c->decoded_count);
    return h264_picture_exports_entropy(c->decoded[picture]);
}

/* One picture of one slice, whose sets c has. */
static void expect_idr(struct ctx c, bool expected)
{
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    flush(&c);
    assert_int_equal(offloads(&c, 0), expected);
    close_stream(&c);
}

/* ---- what goes ---- */

static void test_every_type(void **state)
{
    struct ctx c = cabac_ctx();
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 4)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 2)), H264_OK);
    assert_int_equal(slice(&c, NONREF_B(.frame_num = 2, .poc_lsb = 2, .first_mb = 5)), H264_OK);
    assert_int_equal(
        slice(&c,
              (struct slice_fields){.type = H264_I, .frame_num = 2, .poc_lsb = 2, .first_mb = 11}),
        H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_true(offloads(&c, i));
    close_stream(&c);
}

static void test_field_pictures(void **state)
{
    struct ctx c = cabac_ctx();
    c.sps.field_coding = c.sps.mbaff = 1;
    c.sps.mb_height = 2;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR(.field = REC_TOP)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.field = REC_BOTTOM, .poc_lsb = 1)), H264_OK);
    flush(&c);
    assert_true(offloads(&c, 0));
    assert_true(offloads(&c, 1));
    close_stream(&c);
}

/* ---- what does not: by its parameter sets ---- */

static void test_sets(void **state)
{
    struct ctx c = cabac_ctx();
    expect_idr(c, true);
    c.sps.chroma_format_idc = 0;
    expect_idr(c, true);

    c = cabac_ctx();
    c.pps.cabac = 0;
    expect_idr(c, false);

    c = cabac_ctx();
    c.sps.field_coding = c.sps.mbaff = 1;
    c.sps.mb_height = 2;
    expect_idr(c, false);
    c.sps.mbaff = 0; /* a frame whose sequence may have fields */
    expect_idr(c, true);

    c = cabac_ctx();
    c.sps.profile_idc = 244;
    for (c.sps.chroma_format_idc = 2; c.sps.chroma_format_idc <= 3; c.sps.chroma_format_idc++)
        expect_idr(c, false);
    c.sps.chroma_format_idc = 1;
    expect_idr(c, true);
    c.sps.bit_depth_chroma = 9;
    expect_idr(c, false);
    c.sps.bit_depth = 9;
    c.sps.bit_depth_chroma = 8;
    expect_idr(c, false);
    c.sps.bit_depth = c.sps.bit_depth_chroma = 10;
    expect_idr(c, false);
}

static void test_separate_planes(void **state)
{
    struct ctx c = cabac_ctx();
    c.sps.profile_idc = 244;
    c.sps.chroma_format_idc = 3;
    c.sps.separate_planes = 1;
    open_stream(&c);
    for (unsigned plane = 0; plane < 3; plane++)
        assert_int_equal(slice(&c, IDR(.plane = plane)), H264_OK);
    flush(&c);
    for (unsigned i = 0; i < c.decoded_count; i++)
        assert_false(offloads(&c, i));
    assert_true(c.decoded_count > 0);
    close_stream(&c);
}

static void test_width(void **state)
{
    struct ctx c = cabac_ctx();
    c.sps.level_idc = 62;
    c.sps.mb_height = 1;
    c.sps.mb_width = ENT_MAX_WIDTH;
    expect_idr(c, true);
    c.sps.mb_width++;
    expect_idr(c, false);
}

static void test_slice_groups(void **state)
{
    struct ctx c = cabac_ctx();
    c.pps.slice_groups = 1;
    expect_idr(c, false); /* one slice, which ends where the picture does */
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, IDR(.first_mb = 1)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 1);
    assert_false(offloads(&c, 0));
    close_stream(&c);
}

/* ---- by its slices ---- */

static void test_slice_types(void **state)
{
    struct ctx c = cabac_ctx();
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF(H264_SP, .frame_num = 1, .poc_lsb = 2)), H264_OK);
    assert_int_equal(slice(&c, REF(H264_SI, .frame_num = 2, .poc_lsb = 4)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 3, .poc_lsb = 6)), H264_OK);
    assert_int_equal(slice(&c, REF(H264_SP, .frame_num = 3, .poc_lsb = 6, .first_mb = 6)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 4);
    assert_int_equal(c.decoded[1]->slices[0].hdr.type, H264_SP);
    assert_int_equal(c.decoded[2]->slices[0].hdr.type, H264_SI);
    assert_true(offloads(&c, 0));
    for (unsigned i = 1; i < 4; i++)
        assert_false(offloads(&c, i));
    close_stream(&c);
}

static void test_partitions(void **state)
{
    struct ctx c = cabac_ctx();
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .partition = 1)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 2);
    assert_int_equal(c.decoded[1]->slices[0].hdr.nal_unit_type, H264_NAL_PARTITION_A);
    assert_false(offloads(&c, 1));
    close_stream(&c);
}

static void test_redundant(void **state)
{
    struct ctx c = cabac_ctx();
    c.pps.redundant = 1;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .redundant_pic_cnt = 1)),
                     H264_OK);
    /* all that came */
    assert_int_equal(slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4, .redundant_pic_cnt = 1)),
                     H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 3);
    assert_int_equal(c.decoded[1]->slice_count, 2);
    assert_int_equal(c.decoded[2]->slice_count, 1);
    assert_true(offloads(&c, 0));
    assert_false(offloads(&c, 1));
    assert_false(offloads(&c, 2));
    close_stream(&c);
}

/* They cover the picture in order: its beginning is lost; one comes late; a picture that was never
 * sent has none. */
static void test_coverage(void **state)
{
    struct ctx c = cabac_ctx();
    c.sps.gaps_allowed = 1;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .first_mb = 4)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4, .first_mb = 6)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 2, .poc_lsb = 4)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 4, .poc_lsb = 8)), H264_OK);
    flush(&c);
    assert_int_equal(c.decoded_count, 5);
    assert_int_equal(c.decoded[2]->slice_count, 2);
    assert_true(c.decoded[3]->non_existing);
    for (unsigned i = 1; i < 4; i++)
        assert_false(offloads(&c, i));
    assert_true(offloads(&c, 4));
    close_stream(&c);
}

static void test_bytes(void **state)
{
    static uint8_t nal[ENT_MAX_BYTES + 8];
    for (unsigned more = 0; more < 2; more++) {
        struct ctx c = cabac_ctx();
        struct bw w = {.bits = 0};
        open_stream(&c);
        write_slice(&w, &IDR(), &c.sps, &c.pps);
        memset(nal, 0x55, sizeof(nal));
        bw_nal(&w, nal);
        assert_int_equal(h264_stream_feed(c.s, nal, 4 + ENT_MAX_BYTES + more, 0, &c.diag), H264_OK);
        flush(&c);
        assert_int_equal(c.decoded[0]->slices[0].nal_size, ENT_MAX_BYTES + more);
        assert_int_equal(offloads(&c, 0), !more);
        close_stream(&c);
    }
}

/* ---- what is said of a slice ---- */

static void test_export(void **state)
{
    struct ctx c = cabac_ctx();
    struct ent_slice out;
    uint8_t bytes[512];
    size_t size = 0;
    struct h264_slice *sl;
    c.pps.extension = c.pps.transform_8x8 = 1;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2)), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .first_mb = 7)), H264_OK);
    flush(&c);
    sl = &c.decoded[1]->slices[1];
    assert_true(h264_slice_entropy_size(sl) <= sizeof(bytes));
    memset(bytes, 0xee, sizeof(bytes));
    assert_int_equal(h264_slice_export_entropy(sl, &out, bytes, &size), H264_OK);
    assert_int_equal(out.first_mb, 7);
    assert_int_equal(out.end_mb, 12);
    assert_int_equal(out.mb_width, 4);
    assert_int_equal(out.slice, 1);
    assert_int_equal(out.type, H264_P);
    assert_int_equal(out.model, 1);
    assert_int_equal(out.flags, ENT_TRANSFORM_8X8 | ENT_DIRECT_8X8);
    assert_int_equal(out.qp, 26);
    assert_int_equal(out.chroma_qp_offset[0], -2);
    assert_int_equal(out.chroma_qp_offset[1], 3);
    assert_int_equal(out.num_ref[0], 1);
    assert_int_equal(out.num_ref[1], 0);
    assert_int_equal(out.chroma_blocks, 4);
    assert_int_equal(out.start, (sl->data_bit_offset + 7) / 8);
    assert_true(out.start < out.size && size == out.size + H264_BITS_PADDING &&
                size <= h264_slice_entropy_size(sl));
    for (size_t i = out.size; i < size; i++)
        assert_int_equal(bytes[i], 0);

    sl->data_bit_offset = 8 * out.size - 7; /* the stop bit's byte is all there is */
    size = 77;
    assert_int_equal(h264_slice_export_entropy(sl, &out, bytes, &size), H264_ERR_TRUNCATED);
    assert_int_equal(size, 77);
    close_stream(&c);
}

/* ---- what is taken back ---- */

/* Pictures 0 to 2: I; P and I; B; as a device leaves them. */
static void decoded_ctx(struct ctx *c)
{
    *c = cabac_ctx();
    open_stream(c);
    assert_int_equal(slice(c, IDR()), H264_OK);
    assert_int_equal(slice(c, REF_P(.frame_num = 1, .poc_lsb = 4)), H264_OK);
    assert_int_equal(slice(c, REF(H264_I, .frame_num = 1, .poc_lsb = 4, .first_mb = 6)), H264_OK);
    assert_int_equal(slice(c, NONREF_B(.frame_num = 2, .poc_lsb = 2)), H264_OK);
    flush(c);
    assert_int_equal(c->decoded_count, 3);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned addr = 0; addr < 12; addr++) {
            struct h264_picture *pic = c->decoded[i];
            pic->arrays.mbs[addr] =
                (struct rec_mb){.slice = i == 1 && addr >= 6, .kind = REC_MB_INTRA_16X16};
            pic->arrays.syntax[addr] =
                (struct h264_mb_syntax){.part = H264_PART_INTRA, .decoded = 1};
            memset(pic->arrays.motion[addr].ref_idx, -1, sizeof(pic->arrays.motion[addr].ref_idx));
        }
}

/* An inter macroblock that uses the first picture of list 0. */
static void make_inter(struct h264_picture *pic, unsigned addr, uint8_t part, uint8_t sub)
{
    pic->arrays.mbs[addr].kind = REC_MB_INTER;
    pic->arrays.syntax[addr] =
        (struct h264_mb_syntax){.part = part, .sub = {sub, sub, sub, sub}, .decoded = 1};
    memset(pic->arrays.motion[addr].ref_idx[0], 0, sizeof(pic->arrays.motion[addr].ref_idx[0]));
    memset(pic->arrays.motion[addr].ref_idx[1], -1, sizeof(pic->arrays.motion[addr].ref_idx[1]));
}

static void expect_import(struct h264_picture *pic, bool expected)
{
    uint32_t ready = atomic_load(&pic->slices[0].ready),
             units = atomic_load(&pic->arrays.coeff_block_count);
    assert_int_equal(h264_picture_import_entropy(pic, 5), expected);
    assert_int_equal(atomic_load(&pic->arrays.coeff_block_count), expected ? 5 : units);
    for (uint32_t i = 0; i < pic->slice_count && expected; i++) {
        assert_int_equal(pic->slices[i].status, H264_OK);
        assert_int_equal(pic->slices[i].mbs_decoded,
                         pic->slices[i].end_mb - pic->slices[i].hdr.first_mb);
        assert_int_equal(atomic_load(&pic->slices[i].ready),
                         pic->slices[i].end_mb | H264_SLICE_ENDED);
    }
    if (!expected)
        assert_int_equal(atomic_load(&pic->slices[0].ready), ready);
}

static void test_import(void **state)
{
    struct ctx c;
    decoded_ctx(&c);
    make_inter(c.decoded[1], 0, H264_PART_SKIP, 0);
    make_inter(c.decoded[1], 1, H264_PART_16X8, 0);
    make_inter(c.decoded[1], 5, H264_PART_8X8, H264_SUB_4X4);
    make_inter(c.decoded[2], 3, H264_PART_DIRECT, 0);
    /* unspecified */
    memset(c.decoded[2]->arrays.motion[3].ref_idx, 99,
           sizeof(c.decoded[2]->arrays.motion[3].ref_idx));
    make_inter(c.decoded[2], 4, H264_PART_8X8, H264_SUB_DIRECT);
    memset(c.decoded[2]->arrays.motion[4].ref_idx, 99,
           sizeof(c.decoded[2]->arrays.motion[4].ref_idx));
    make_inter(c.decoded[2], 5, H264_PART_16X16, 0);
    for (unsigned i = 0; i < 3; i++)
        expect_import(c.decoded[i], true);
    close_stream(&c);
}

/* Piece by piece with the motion of each, and then from the start, as where the last piece is
 * refused. */
static void test_import_pieces(void **state)
{
    struct ctx c;
    struct h264_picture *pic;
    struct h264_slice *first;
    uint32_t from, to;
    decoded_ctx(&c);
    pic = c.decoded[1];
    first = &pic->slices[0];
    make_inter(pic, 1, H264_PART_16X16, 0);
    make_inter(pic, 4, H264_PART_SKIP, 0);
    pic->arrays.syntax[5].decoded = 0;
    assert_int_equal(h264_picture_follow_begin(pic), 1);
    h264_picture_import_entropy_begin(pic, 5);
    assert_true(h264_slice_import_entropy(first, 0, 3));
    assert_int_equal(atomic_load(&first->ready), 3);
    assert_int_equal(first->mbs_decoded, 3);
    assert_true(h264_slice_follow(first, &from, &to));
    assert_true(from == 0 && to == 3);
    assert_false(h264_slice_import_entropy(first, 3, 6));
    assert_int_equal(atomic_load(&first->ready), 3);
    pic->arrays.syntax[5].decoded = 1;
    assert_true(h264_slice_import_entropy(first, 3, 6));
    assert_int_equal(atomic_load(&first->ready), 6 | H264_SLICE_ENDED);
    assert_true(h264_slice_follow(first, &from, &to));
    assert_true(from == 3 && to == 6);
    assert_false(h264_slice_follow(first, &from, &to));
    assert_int_equal(atomic_load(&pic->arrays.coeff_block_count), 5);
    h264_picture_free_arrays(pic);
    assert_true(!pic->arrays.mbs && !pic->arrays.scaling && !pic->follows);
    assert_int_equal(atomic_load(&pic->arrays.coeff_block_count), 0);
    assert_int_equal(h264_picture_alloc(pic), H264_OK);
    assert_int_equal(h264_picture_follow_begin(pic), 1);
    assert_int_equal(atomic_load(&first->ready), 0);
    close_stream(&c);
}

/* Each is spoiled in the last macroblock of its slice, so all before it pass. */
static void test_import_syntax(void **state)
{
    struct ctx c;
    const struct {
        uint8_t part, kind, decoded, slice;
    } bad[] = {
        /* of no slice */
        {H264_PART_INTRA, REC_MB_INTRA_4X4, 0, 0},
        {H264_PART_INTRA, REC_MB_INTRA_4X4, 2, 0},
        /* of another, of none */
        {H264_PART_INTRA, REC_MB_INTRA_4X4, 1, 1},
        {H264_PART_INTRA, REC_MB_MISSING, 1, 0},
        /* two kinds at once; none */
        {H264_PART_INTRA, REC_MB_INTER, 1, 0},
        {H264_PART_INTRA + 1, REC_MB_INTRA_PCM, 1, 0},
        {H264_PART_16X16, REC_MB_INTRA_8X8, 1, 0},
        {H264_PART_INTRA + 1, REC_MB_INTER, 1, 0},
    };

    decoded_ctx(&c);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct h264_picture *pic = c.decoded[1];
        struct h264_mb_syntax syntax = pic->arrays.syntax[5];
        struct rec_mb mb = pic->arrays.mbs[5];
        make_inter(pic, 5, bad[i].part, 0);
        pic->arrays.syntax[5].decoded = bad[i].decoded;
        pic->arrays.mbs[5].kind = bad[i].kind;
        pic->arrays.mbs[5].slice = bad[i].slice;
        expect_import(pic, false);
        pic->arrays.syntax[5] = syntax;
        pic->arrays.mbs[5] = mb;
    }
    expect_import(c.decoded[1], true);
    close_stream(&c);
}

/* Shapes that the slice's type does not have. */
static void test_import_shapes(void **state)
{
    const struct {
        uint8_t picture, addr, part, sub;
    } bad[] = {
        {0, 11, H264_PART_16X16, 0}, {0, 11, H264_PART_SKIP, 0}, /* I */
        {1, 6, H264_PART_16X16, 0}, /* the I slice of a picture with P */
        {1, 5, H264_PART_DIRECT, 0}, {1, 5, H264_PART_8X8, H264_SUB_DIRECT},      /* P */
        {2, 11, H264_PART_SKIP, 0},  {2, 11, H264_PART_8X8, H264_SUB_DIRECT + 1}, /* B */
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ctx c;
        decoded_ctx(&c);
        make_inter(c.decoded[bad[i].picture], bad[i].addr, bad[i].part, bad[i].sub);
        if (bad[i].picture < 2) /* it names no reference that is not there */
            memset(c.decoded[bad[i].picture]->arrays.motion[bad[i].addr].ref_idx, -1, 8);
        expect_import(c.decoded[bad[i].picture], false);
        close_stream(&c);
    }
}

static void test_import_references(void **state)
{
    struct ctx c;
    decoded_ctx(&c);
    for (unsigned picture = 1; picture < 3; picture++)
        for (unsigned list = 0; list < 2; list++)
            for (unsigned quadrant = 0; quadrant < 4; quadrant++) {
                struct h264_picture *pic = c.decoded[picture];
                int8_t *ref_idx = &pic->arrays.motion[2].ref_idx[list][quadrant];
                make_inter(pic, 2, quadrant & 1 ? H264_PART_8X8 : H264_PART_16X16, H264_SUB_8X8);
                *ref_idx = (int8_t)pic->slices[0].hdr.num_ref[list];
                expect_import(pic, false);
                *ref_idx = -2;
                expect_import(pic, false);
                *ref_idx = (int8_t)(pic->slices[0].hdr.num_ref[list] - 1);
                expect_import(pic, true);
            }
    close_stream(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_field_pictures),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_separate_planes),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_slice_groups),
        cmocka_unit_test(test_slice_types),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_redundant),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_import),
        cmocka_unit_test(test_import_pieces),
        cmocka_unit_test(test_import_syntax),
        cmocka_unit_test(test_import_shapes),
        cmocka_unit_test(test_import_references),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
