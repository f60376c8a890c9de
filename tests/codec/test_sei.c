/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SEI messages: splitting a NAL unit, limits, every payload that is read, truncation of each.
 */
#include "bitwriter.h"
#include "codec/bits.h"
#include "codec/h264_error.h"
#include "codec/h264_params.h"
#include "codec/sei.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* sei_message() around whole bytes. */
static void put_message(struct bw *w, uint32_t type, const uint8_t *bytes, uint32_t size)
{
    uint32_t numbers[2] = {type, size};
    for (unsigned i = 0; i < 2; i++) {
        for (; numbers[i] >= 255; numbers[i] -= 255)
            bw_u(w, 8, 255);
        bw_u(w, 8, numbers[i]);
    }
    for (uint32_t i = 0; i < size; i++)
        bw_u(w, 8, bytes[i]);
}

static struct bw begin_nal(void)
{
    struct bw w = {.bits = 0};
    bw_u(&w, 8, 6);
    return w;
}

static int collect(struct h264_sei_inbox *inbox, const struct bw *w)
{
    return h264_sei_collect(inbox, w->buf, w->bits / 8);
}

static void test_split(void **state)
{
    struct h264_sei_inbox inbox = {0};
    struct bw w = begin_nal();
    uint8_t large[600];
    struct h264_sei *sei;
    for (unsigned i = 0; i < sizeof(large); i++)
        large[i] = (uint8_t)i;
    put_message(&w, 300, large, 600);
    put_message(&w, 5, large, 0);
    put_message(&w, 255, large, 255);
    bw_trailing(&w);
    assert_int_equal(collect(&inbox, &w), H264_OK);
    w = begin_nal();
    put_message(&w, 4, large + 7, 3);
    bw_trailing(&w);
    assert_int_equal(collect(&inbox, &w), H264_OK);
    assert_int_equal(h264_sei_take(&inbox, &sei), H264_OK);
    assert_int_equal(sei->count, 4);
    assert_int_equal(sei->left_out, 0);
    assert_int_equal(sei->messages[0].type, 300);
    assert_int_equal(sei->messages[0].size, 600);
    assert_memory_equal(sei->messages[0].bytes, large, 600);
    assert_int_equal(sei->messages[1].size, 0);
    assert_int_equal(sei->messages[2].type, 255);
    assert_int_equal(sei->messages[2].size, 255);
    assert_memory_equal(h264_sei_find(sei, 4)->bytes, large + 7, 3);
    assert_null(h264_sei_find(sei, 6));
    assert_null(h264_sei_find(NULL, 6));
    h264_sei_free(sei);
    assert_int_equal(h264_sei_take(&inbox, &sei), H264_OK);
    assert_null(sei);
    h264_sei_inbox_free(&inbox);
}

/* Every cut keeps the messages before it. */
static void test_cut(void **state)
{
    struct bw w = begin_nal();
    static const uint8_t bytes[20] = {1, 2, 3};
    put_message(&w, 5, bytes, 20);
    put_message(&w, 1, bytes, 3);
    for (size_t n = 0; n <= w.bits / 8; n++) {
        struct h264_sei_inbox inbox = {0};
        uint8_t *exact = malloc(n + 1);
        memcpy(exact, w.buf, n);
        exact[n] = 0x80;
        if (h264_sei_collect(&inbox, exact, n + 1) != H264_OK)
            assert_int_equal(inbox.left_out, 1);
        /* the last byte passes as the payload's */
        assert_int_equal(inbox.count, (n >= 22) + (n >= 27));
        free(exact);
        h264_sei_inbox_free(&inbox);
    }
}

static void test_limits(void **state)
{
    struct h264_sei_inbox inbox = {0};
    struct bw w = begin_nal();
    struct h264_sei *sei;
    static const uint8_t bytes[7000];
    for (unsigned i = 0; i < H264_SEI_MAX_MESSAGES + 5; i++)
        put_message(&w, 5, bytes, 1);
    bw_trailing(&w);
    assert_int_equal(collect(&inbox, &w), H264_OK);
    assert_int_equal(h264_sei_take(&inbox, &sei), H264_OK);
    assert_int_equal(sei->count, H264_SEI_MAX_MESSAGES);
    assert_int_equal(sei->left_out, 5);
    h264_sei_free(sei);
    for (unsigned i = 0; i < 12; i++) {
        w = begin_nal();
        put_message(&w, 5, bytes, 7000);
        bw_trailing(&w);
        assert_int_equal(collect(&inbox, &w), H264_OK);
    }
    assert_int_equal(inbox.count, H264_SEI_MAX_BYTES / 7000);
    assert_int_equal(inbox.left_out, 12 - H264_SEI_MAX_BYTES / 7000);
    h264_sei_inbox_free(&inbox);
}

/* ---- payloads ---- */

/* A payload in memory of its size and the padding, as the inbox keeps it. */
static struct h264_sei_message message(uint32_t type, const struct bw *w, size_t size)
{
    uint8_t *bytes = calloc(1, size + H264_BITS_PADDING);
    memcpy(bytes, w->buf, size);
    return (struct h264_sei_message){type, (uint32_t)size, bytes};
}

static void drop(const struct h264_sei_message *m)
{
    free((void *)m->bytes);
}

/* The reader takes the payload, and every shorter one is too short. */
#define READ_AND_CUT(type, w, call)                                                                \
    do {                                                                                           \
        size_t whole = ((w).bits + 7) / 8;                                                         \
        for (size_t n = 0; n <= whole; n++) {                                                      \
            struct h264_sei_message m = message(type, &(w), n);                                    \
            assert_int_equal(call, n < whole ? H264_ERR_TRUNCATED : H264_OK);                      \
            drop(&m);                                                                              \
        }                                                                                          \
    } while (0)

static void test_recovery_point(void **state)
{
    struct h264_recovery_point r = {0};
    struct bw w = {.bits = 0};
    bw_ue(&w, 1000);
    bw_u(&w, 2, 1); /* not exact, broken link */
    bw_u(&w, 2, 2);
    READ_AND_CUT(H264_SEI_RECOVERY_POINT, w, h264_sei_recovery_point(&m, &r));
    assert_true(r.present);
    assert_int_equal(r.recovery_frame_cnt, 1000);
    assert_false(r.exact_match_flag);
    assert_true(r.broken_link_flag);
    assert_int_equal(r.changing_slice_group_idc, 2);
    w = (struct bw){.bits = 0};
    bw_ue(&w, 65536);
    bw_u(&w, 4, 0);
    struct h264_sei_message m = message(H264_SEI_RECOVERY_POINT, &w, (w.bits + 7) / 8);
    assert_int_equal(h264_sei_recovery_point(&m, &r), H264_ERR_DATA);
    drop(&m);
}

static void test_pic_timing(void **state)
{
    struct h264_sps sps = {.vui_present = 1,
                           .vui = {.nal_hrd_present = 1,
                                   .pic_struct_present = 1,
                                   .cpb_removal_delay_length = 24,
                                   .dpb_output_delay_length = 32,
                                   .time_offset_length = 5}};
    struct h264_pic_timing t = {0};
    struct bw w = {.bits = 0};
    bw_u(&w, 24, 0xabcdef);
    bw_u(&w, 32, 0xfedcba98);
    bw_u(&w, 4, 5); /* top, bottom, top: three clocks */
    bw_u(&w, 1, 1);
    bw_u(&w, 2, 1);
    bw_u(&w, 1, 1);
    bw_u(&w, 5, 4);
    bw_u(&w, 3, 4); /* full */
    bw_u(&w, 8, 29);
    bw_u(&w, 6, 59);
    bw_u(&w, 6, 58);
    bw_u(&w, 5, 23);
    bw_u(&w, 5, 0x1d); /* -3 */
    bw_u(&w, 1, 0);
    bw_u(&w, 1, 1);
    bw_u(&w, 8, 0);
    bw_u(&w, 3, 1); /* cnt_dropped_flag */
    bw_u(&w, 8, 7);
    bw_u(&w, 1, 1);
    bw_u(&w, 6, 12);
    bw_u(&w, 1, 0); /* no minutes */
    bw_u(&w, 5, 9);
    READ_AND_CUT(H264_SEI_PIC_TIMING, w, h264_sei_pic_timing(&m, &sps, &t));
    assert_int_equal(t.cpb_removal_delay, 0xabcdef);
    assert_int_equal(t.dpb_output_delay, 0xfedcba98);
    assert_int_equal(t.pic_struct, 5);
    assert_int_equal(t.clock_count, 3);
    assert_true(t.clock[0].present && t.clock[0].full_timestamp_flag && t.clock[0].has_hours);
    assert_int_equal(t.clock[0].hours, 23);
    assert_int_equal(t.clock[0].minutes, 58);
    assert_int_equal(t.clock[0].seconds, 59);
    assert_int_equal(t.clock[0].n_frames, 29);
    assert_int_equal(t.clock[0].counting_type, 4);
    assert_int_equal(t.clock[0].time_offset, -3);
    assert_false(t.clock[1].present);
    assert_true(t.clock[2].present && t.clock[2].cnt_dropped_flag && !t.clock[2].has_minutes &&
                t.clock[2].has_seconds);
    assert_int_equal(t.clock[2].seconds, 12);
    assert_int_equal(t.clock[2].time_offset, 9);
    sps.vui_present = 0;
    struct h264_sei_message m = message(1, &w, (w.bits + 7) / 8);
    assert_int_equal(h264_sei_pic_timing(&m, &sps, &t), H264_ERR_DATA);
    drop(&m);
}

static void test_buffering_period(void **state)
{
    struct h264_sps sps = {.id = 3,
                           .vui_present = 1,
                           .vui = {.nal_hrd_present = 1,
                                   .vcl_hrd_present = 1,
                                   .cpb_count = {2, 1},
                                   .initial_cpb_removal_delay_length = 17}};
    struct h264_buffering_period p = {0};
    struct bw w = {.bits = 0};
    bw_ue(&w, 3);
    for (unsigned i = 1; i <= 6; i++)
        bw_u(&w, 17, 10000 * i);
    READ_AND_CUT(H264_SEI_BUFFERING_PERIOD, w, h264_sei_buffering_period(&m, &sps, &p));
    assert_int_equal(p.count[0], 2);
    assert_int_equal(p.count[1], 1);
    assert_int_equal(p.initial_cpb_removal_delay[0][1], 30000);
    assert_int_equal(p.initial_cpb_removal_delay_offset[1][0], 60000);
    sps.id = 4;
    struct h264_sei_message m = message(0, &w, (w.bits + 7) / 8);
    assert_int_equal(h264_sei_buffering_period(&m, &sps, &p), H264_ERR_DATA);
    drop(&m);
}

static void test_frame_packing(void **state)
{
    struct h264_frame_packing p = {0};
    struct bw w = {.bits = 0};
    bw_ue(&w, 5);
    bw_u(&w, 1, 0);
    bw_u(&w, 7, 3);
    bw_u(&w, 1, 0);
    bw_u(&w, 6, 2);
    bw_u(&w, 6, 0x25); /* spatial flipping, current is frame 0, frame 1 self contained */
    bw_u(&w, 16, 0x1234);
    bw_u(&w, 8, 0);
    bw_ue(&w, 1);
    bw_u(&w, 1, 0);
    READ_AND_CUT(H264_SEI_FRAME_PACKING, w, h264_sei_frame_packing(&m, &p));
    assert_int_equal(p.frame_packing_arrangement_id, 5);
    assert_int_equal(p.type, 3);
    assert_int_equal(p.content_interpretation_type, 2);
    assert_true(p.spatial_flipping_flag && !p.frame0_flipped_flag &&
                p.current_frame_is_frame0_flag);
    assert_true(!p.frame0_self_contained_flag && p.frame1_self_contained_flag);
    assert_int_equal(p.grid_position[1][0], 3);
    assert_int_equal(p.repetition_period, 1);
    w = (struct bw){.bits = 0};
    bw_ue(&w, 0);
    bw_u(&w, 1, 1);
    READ_AND_CUT(H264_SEI_FRAME_PACKING, w, h264_sei_frame_packing(&m, &p));
    assert_true(p.cancel_flag);
}

static void test_display(void **state)
{
    struct h264_display_orientation o = {0};
    struct h264_mastering_display d;
    struct h264_content_light l;
    struct bw w = {.bits = 0};
    uint8_t transfer = 0;
    bw_u(&w, 3, 1);
    bw_u(&w, 16, 0xc000);
    bw_ue(&w, 1);
    bw_u(&w, 1, 0);
    READ_AND_CUT(H264_SEI_DISPLAY_ORIENTATION, w, h264_sei_display_orientation(&m, &o));
    assert_true(o.ver_flip && !o.hor_flip);
    assert_int_equal(o.anticlockwise_rotation, 0xc000);
    w = (struct bw){.bits = 0};
    for (unsigned i = 0; i < 8; i++)
        bw_u(&w, 16, 6000 * i);
    bw_u(&w, 32, 40000000);
    bw_u(&w, 32, 50);
    READ_AND_CUT(H264_SEI_MASTERING_DISPLAY, w, h264_sei_mastering_display(&m, &d));
    assert_int_equal(d.primaries[2][1], 30000);
    assert_int_equal(d.white_point[1], 42000);
    assert_int_equal(d.max_luminance, 40000000);
    assert_int_equal(d.min_luminance, 50);
    w = (struct bw){.bits = 0};
    bw_u(&w, 16, 1000);
    bw_u(&w, 16, 400);
    READ_AND_CUT(H264_SEI_CONTENT_LIGHT, w, h264_sei_content_light(&m, &l));
    assert_int_equal(l.max_content_light_level, 1000);
    assert_int_equal(l.max_pic_average_light_level, 400);
    w = (struct bw){.bits = 0};
    bw_u(&w, 8, 18);
    READ_AND_CUT(H264_SEI_ALTERNATIVE_TRANSFER, w, h264_sei_alternative_transfer(&m, &transfer));
    assert_int_equal(transfer, 18);
}

static void test_atsc(void **state)
{
    static const uint8_t captions[] = {0xb5, 0,    0x31, 'G',  'A',  '9',  '4',  3,   0xc2,
                                       0xff, 0xfc, 0x94, 0x20, 0xfd, 0x80, 0x80, 0xff};
    static const uint8_t afd[] = {0xb5, 0, 0x31, 'D', 'T', 'G', '1', 0x41, 0xfa};
    const uint8_t *triplets;
    unsigned count;
    uint8_t format;
    for (uint32_t n = 0; n <= sizeof(captions); n++) {
        struct h264_sei_message m = {H264_SEI_REGISTERED, n, captions};
        count = 99;
        assert_int_equal(h264_sei_captions(&m, &triplets, &count), n < 8    ? H264_ERR_DATA
                                                                   : n < 16 ? H264_ERR_TRUNCATED
                                                                            : H264_OK);
        assert_int_equal(count, n < 16 ? 99 : 2);
        assert_int_equal(h264_sei_active_format(&m, &format), H264_ERR_DATA);
    }
    assert_ptr_equal(triplets, captions + 10);
    for (uint32_t n = 0; n <= sizeof(afd); n++) {
        struct h264_sei_message m = {H264_SEI_REGISTERED, n, afd};
        assert_int_equal(h264_sei_active_format(&m, &format), n < 7   ? H264_ERR_DATA
                                                              : n < 9 ? H264_ERR_TRUNCATED
                                                                      : H264_OK);
        assert_int_equal(h264_sei_captions(&m, &triplets, &count), H264_ERR_DATA);
    }
    assert_int_equal(format, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),         cmocka_unit_test(test_cut),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_recovery_point),
        cmocka_unit_test(test_pic_timing),    cmocka_unit_test(test_buffering_period),
        cmocka_unit_test(test_frame_packing), cmocka_unit_test(test_display),
        cmocka_unit_test(test_atsc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
