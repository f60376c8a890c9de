/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Export of step 2 to a device: the eligible pictures, with one refusal at a time, and the
 * description of their slices.
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
    expect_idr(c, true);

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
    struct ctx c = plain_ctx(4, 1);
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
    struct ctx c = plain_ctx(4, 1);
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
    struct ctx c = plain_ctx(4, 1);
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
    struct ctx c = plain_ctx(4, 1);
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
    c.tag = 1; /* only at the beginning of an access unit may the first slice be lost */
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2, .first_mb = 4)), H264_OK);
    c.tag = 2;
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
    struct ctx c = cabac_ctx();
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    flush(&c);
    size_t size = c.decoded[0]->slices[0].nal_size;
    c.decoded[0]->slices[0].nal_size = ENT_MAX_BYTES;
    assert_true(offloads(&c, 0));
    c.decoded[0]->slices[0].nal_size++;
    assert_false(offloads(&c, 0));
    c.decoded[0]->slices[0].nal_size = size;
    close_stream(&c);
}

/* ---- what is said of a slice ---- */

/* CAVLC: slice data begin at any bit, and end in the last byte, which is not 0. */
static void test_export_cavlc(void **state)
{
    struct ctx c = plain_ctx(4, 1);
    struct ent_slice out;
    uint8_t bytes[512], nal[512] = {0};
    size_t size = 0;
    open_stream(&c);
    assert_int_equal(slice(&c, IDR()), H264_OK);
    assert_int_equal(slice(&c, REF_P(.frame_num = 1, .poc_lsb = 2)), H264_OK);
    flush(&c);
    struct h264_slice *sl = &c.decoded[1]->slices[0];
    uint8_t *whole = sl->nal;
    size_t length = sl->nal_size;
    memcpy(nal, whole, length);
    nal[length - 1] |= 1;
    nal[length] = 3;
    sl->nal = nal;
    sl->nal_size = length + 9;
    assert_true(sl->nal_size <= sizeof(nal));
    assert_int_equal(h264_slice_export_entropy(sl, &out, bytes, &size), H264_OK);
    assert_int_equal(out.flags, ENT_CAVLC | ENT_DIRECT_8X8);
    assert_int_equal(out.model, 0);
    assert_int_equal(out.start, sl->data_bit_offset);
    assert_int_equal(bytes[out.size - 1], 3);
    assert_true(out.size < sl->nal_size && size > out.size + ENT_PADDING);
    for (size_t i = out.size; i < size; i++)
        assert_int_equal(bytes[i], 0);

    sl->data_bit_offset = 8 * out.size - 1; /* where the stop bit is */
    assert_int_equal(h264_slice_export_entropy(sl, &out, bytes, &size), H264_ERR_TRUNCATED);
    sl->nal = whole;
    sl->nal_size = length;
    close_stream(&c);
}

static void test_export(void **state)
{
    struct ctx c = cabac_ctx();
    struct ent_slice out;
    uint8_t bytes[1024];
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
    assert_int_equal(out.start, (sl->data_bit_offset + 7) / 8 * 8);
    assert_true(out.start < out.size * 8 && size == out.size + H264_BITS_PADDING &&
                size <= h264_slice_entropy_size(sl));
    for (size_t i = out.size; i < size; i++)
        assert_int_equal(bytes[i], 0);

    sl->data_bit_offset = 8 * out.size - 7; /* the stop bit's byte is all there is */
    size = 77;
    assert_int_equal(h264_slice_export_entropy(sl, &out, bytes, &size), H264_ERR_TRUNCATED);
    assert_int_equal(size, 77);
    close_stream(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),   cmocka_unit_test(test_field_pictures),
        cmocka_unit_test(test_sets),         cmocka_unit_test(test_separate_planes),
        cmocka_unit_test(test_width),        cmocka_unit_test(test_slice_groups),
        cmocka_unit_test(test_slice_types),  cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_redundant),    cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_bytes),        cmocka_unit_test(test_export),
        cmocka_unit_test(test_export_cavlc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
