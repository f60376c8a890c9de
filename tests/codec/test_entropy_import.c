/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Import of what a device has decoded: the good, by picture and by pieces, and results that must be
 * refused.
 */
#include "codec/abi/entropy_abi.h"
#include "codec/h264_export.h"

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
        cmocka_unit_test(test_import),
        cmocka_unit_test(test_import_pieces),
        cmocka_unit_test(test_import_syntax),
        cmocka_unit_test(test_import_shapes),
        cmocka_unit_test(test_import_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
