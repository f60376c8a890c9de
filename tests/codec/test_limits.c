/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What one stream may ask for, each at the limit, one below and one above it: bytes of a NAL unit
 * and of an access unit, macroblocks, slices, SEI messages.
 */
#include "codec/h264_sei.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "streamctx.h"

enum { LIMIT = 20000, MBS = 12 /* of the plain picture, at most 4 * 3 * 400 * 3 / 2 bytes */ };

static uint64_t refused(const struct ctx *c, enum h264_limit which)
{
    struct h264_stats stats;
    h264_stream_stats(c->s, &stats);
    return stats.refused[which];
}

/* A NAL unit of that size: filler data, which means nothing. */
static int feed_filler(struct ctx *c, size_t size, unsigned units)
{
    uint8_t *bytes = malloc(units * (size + 3));
    size_t at = 0;
    assert_non_null(bytes);
    for (unsigned i = 0; i < units; i++) {
        memcpy(bytes + at, "\0\0\1\14", 4);
        memset(bytes + at + 4, 0xff, size - 1);
        at += size + 3;
    }
    int error = h264_stream_feed(c->s, bytes, at, ++c->tag, &c->diag);
    free(bytes);
    return error;
}

static void test_nal_unit(void **state)
{
    struct ctx c = {.sps = plain_sps()};
    open_with(&c, &(struct h264_stream_params){.limits.nal_bytes = LIMIT});
    assert_int_equal(feed_filler(&c, LIMIT - 1, 1), H264_OK);
    assert_int_equal(feed_filler(&c, LIMIT, 1), H264_OK);
    assert_int_equal(refused(&c, H264_LIMIT_NAL), 0);
    assert_int_equal(feed_filler(&c, LIMIT + 1, 1), H264_ERR_DATA);
    assert_int_equal(c.diag.value, LIMIT + 1);
    assert_int_equal(refused(&c, H264_LIMIT_NAL), 1);
    close_stream(&c);
}

static void test_access_unit(void **state)
{
    struct ctx c = {.sps = plain_sps()};
    enum { UNITS = 10, NAL = LIMIT / UNITS - 3 };
    open_with(&c, &(struct h264_stream_params){.limits.unit_bytes = LIMIT + 1});
    assert_int_equal(feed_filler(&c, NAL, UNITS), H264_OK);
    assert_int_equal(refused(&c, H264_LIMIT_UNIT), 0);
    close_stream(&c);
    open_with(&c, &(struct h264_stream_params){.limits.unit_bytes = LIMIT});
    assert_int_equal(feed_filler(&c, NAL, UNITS), H264_OK);
    assert_int_equal(refused(&c, H264_LIMIT_UNIT), 0);
    close_stream(&c);
    open_with(&c, &(struct h264_stream_params){.limits.unit_bytes = LIMIT - 1});
    assert_int_equal(feed_filler(&c, NAL, UNITS), H264_ERR_DATA);
    assert_int_equal(refused(&c, H264_LIMIT_UNIT), 1);
    close_stream(&c);
}

/* A picture may have the bytes that the standard allows it, however small the limit is: 400 for a
 * macroblock, and half as much for emulation prevention. */
static void test_large_pictures(void **state)
{
    struct ctx c = {.sps = plain_sps()};
    enum { MOST = MBS * 400 * 3 / 2 };
    open_with(&c, &(struct h264_stream_params){.limits.nal_bytes = 1000});
    assert_int_equal(feed_filler(&c, MOST - 1, 1), H264_OK);
    assert_int_equal(feed_filler(&c, MOST, 1), H264_OK);
    assert_int_equal(feed_filler(&c, MOST + 1, 1), H264_ERR_DATA);
    close_stream(&c);
}

static int sps_error(struct sps_fields sps, uint32_t limit, uint64_t *count)
{
    struct ctx c = {.sps = sps};
    struct bw w = {.bits = 0};
    assert_int_equal(
        h264_stream_create(&(struct h264_stream_params){.limits.frame_mbs = limit}, &c.s), H264_OK);
    write_sps(&w, &c.sps);
    int error = feed(&c, &w);
    *count = refused(&c, H264_LIMIT_PICTURE);
    h264_stream_free(c.s);
    return error;
}

static void test_picture(void **state)
{
    uint64_t count;
    assert_int_equal(sps_error(plain_sps(), MBS + 1, &count), H264_OK);
    assert_int_equal(sps_error(plain_sps(), MBS, &count), H264_OK);
    assert_int_equal(count, 0);
    assert_int_equal(sps_error(plain_sps(), MBS - 1, &count), H264_ERR_UNSUPPORTED);
    assert_int_equal(count, 1);
}

/* Without a limit: what images of devices can hold. */
static void test_sides(void **state)
{
    uint64_t count;
    for (int vertical = 0; vertical < 2; vertical++) {
        struct sps_fields f = plain_sps();
        f.mb_width = f.mb_height = 1;
        uint32_t *side = vertical ? &f.mb_height : &f.mb_width;
        *side = REC_MAX_SIDE_MBS;
        assert_int_equal(sps_error(f, 0, &count), H264_OK);
        assert_int_equal(count, 0);
        ++*side;
        assert_int_equal(sps_error(f, 0, &count), H264_ERR_UNSUPPORTED);
        assert_int_equal(count, 1);
    }
}

/* One macroblock: a slice and redundant ones. */
static void test_slices(void **state)
{
    struct ctx c = {.sps = plain_sps()};
    c.sps.mb_width = c.sps.mb_height = 1;
    c.pps.redundant = 1;
    open_stream(&c);
    for (unsigned i = 0; i < H264_SLICES_PER_MB; i++)
        assert_int_equal(slice(&c,
                               (struct slice_fields){
                                   .idr = 1, .ref_idc = 1, .type = H264_I, .redundant_pic_cnt = i}),
                         H264_OK);
    assert_int_equal(refused(&c, H264_LIMIT_SLICES), 0);
    assert_int_equal(slice(&c, (struct slice_fields){.idr = 1,
                                                     .ref_idc = 1,
                                                     .type = H264_I,
                                                     .redundant_pic_cnt = H264_SLICES_PER_MB}),
                     H264_ERR_DATA);
    assert_int_equal(refused(&c, H264_LIMIT_SLICES), 1);
    close_stream(&c);
}

/* Each macroblock has a slice in each colour plane (7.4.2.1.1). */
static void test_plane_slices(void **state)
{
    struct ctx c = {.sps = plain_sps()};
    c.sps.profile_idc = 244;
    c.sps.chroma_format_idc = 3;
    c.sps.separate_planes = 1;
    c.sps.mb_width = 1;
    c.sps.mb_height = 2;
    open_stream(&c);
    for (unsigned i = 0; i < 3 * 2; i++)
        assert_int_equal(
            slice(&c,
                  (struct slice_fields){
                      .idr = 1, .ref_idc = 1, .type = H264_I, .plane = i / 2, .first_mb = i % 2}),
            H264_OK);
    assert_int_equal(refused(&c, H264_LIMIT_SLICES), 0);
    close_stream(&c);
}

/* A NAL unit with a message of that many bytes, of unregistered user data. */
static void feed_message(struct ctx *c, size_t payload)
{
    uint8_t *bytes = malloc(payload + payload / 255 + 16);
    size_t at = 5;
    assert_non_null(bytes);
    memcpy(bytes, "\0\0\1\6\5", at);
    for (size_t left = payload;; left -= 255) {
        bytes[at++] = left < 255 ? (uint8_t)left : 255;
        if (left < 255)
            break;
    }
    memset(bytes + at, 0x55, payload);
    bytes[at + payload] = 0x80;
    assert_int_equal(h264_stream_feed(c->s, bytes, at + payload + 1, c->tag, &c->diag), H264_OK);
    free(bytes);
}

static void test_sei(void **state)
{
    for (size_t extra = 0; extra < 3; extra++) {
        struct ctx c = {.sps = plain_sps()};
        open_stream(&c);
        feed_message(&c, H264_SEI_MAX_BYTES - 1000);
        feed_message(&c, 999 + extra);
        assert_int_equal(refused(&c, H264_LIMIT_SEI), extra == 2);
        close_stream(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nal_unit),       cmocka_unit_test(test_access_unit),
        cmocka_unit_test(test_large_pictures), cmocka_unit_test(test_picture),
        cmocka_unit_test(test_sides),          cmocka_unit_test(test_slices),
        cmocka_unit_test(test_plane_slices),   cmocka_unit_test(test_sei),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
