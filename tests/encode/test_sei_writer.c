/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SEI messages that are written and read again: time codes, captions, buffering.
 */
#include "encode/sei_writer.h"
#include "codec/bits.h"
#include "codec/nal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A payload as a message to read */
static struct h264_sei_message message_of(struct bit_writer *payload)
{
    if (payload->bits & 7)
        bit_writer_trailing(payload);
    assert_true(bit_writer_reserve(payload, H264_BITS_PADDING));
    memset(payload->data + payload->bits / 8, 0, H264_BITS_PADDING);
    return (struct h264_sei_message){.size = (uint32_t)(payload->bits / 8), .bytes = payload->data};
}

static void check_timing(const struct h264_sps *sps, const struct h264_pic_timing *timing)
{
    struct bit_writer payload = {0};
    struct h264_pic_timing back;
    struct h264_sei_message m;
    sei_pic_timing(&sps->vui, timing, &payload);
    m = message_of(&payload);
    assert_int_equal(h264_sei_pic_timing(&m, sps, &back), 0);
    assert_memory_equal(timing, &back, sizeof(back));
    bit_writer_free(&payload);
}

/* Each number of parts of a time, whole or by flags, with and without delays */
static void time_codes(void **state)
{
    struct h264_sps sps = {.vui_present = 1, .vui = {.pic_struct_present = 1}};
    for (unsigned i = 0; i < 16; i++) {
        struct h264_pic_timing t;
        unsigned parts = i & 3;
        memset(&t, 0, sizeof(t));
        t.has_pic_struct = true;
        t.clock_count = 1;
        t.clock[0] = (struct h264_clock_timestamp){.present = true,
                                                   .full_timestamp_flag = i == 7,
                                                   .counting_type = 4,
                                                   .n_frames = 24,
                                                   .has_seconds = parts > 0,
                                                   .has_minutes = parts > 1,
                                                   .has_hours = parts > 2,
                                                   .seconds = parts > 0 ? 59 : 0,
                                                   .minutes = parts > 1 ? 58 : 0,
                                                   .hours = parts > 2 ? 23 : 0,
                                                   .time_offset = i & 4 ? -5 : 7};
        sps.vui.nal_hrd_present = i >> 3;
        sps.vui.cpb_removal_delay_length = sps.vui.dpb_output_delay_length = 20;
        sps.vui.time_offset_length = 24;
        t.has_delays = sps.vui.nal_hrd_present;
        t.cpb_removal_delay = t.has_delays ? 1000000 : 0;
        t.dpb_output_delay = t.has_delays ? 2 : 0;
        check_timing(&sps, &t);
    }
}

static void buffering_and_recovery(void **state)
{
    struct h264_sps sps = {
        .vui_present = 1,
        .vui = {.nal_hrd_present = 1, .cpb_count = {1, 0}, .initial_cpb_removal_delay_length = 24}};
    struct h264_buffering_period period, back;
    struct h264_recovery_point point = {true, 25, true, false, 0}, point_back;
    struct bit_writer payload = {0};
    struct h264_sei_message m;
    memset(&period, 0, sizeof(period));
    period.count[0] = 1;
    period.initial_cpb_removal_delay[0][0] = 81000;
    period.initial_cpb_removal_delay_offset[0][0] = 9000;
    sei_buffering_period(&sps.vui, &period, &payload);
    m = message_of(&payload);
    assert_int_equal(h264_sei_buffering_period(&m, &sps, &back), 0);
    assert_memory_equal(&period, &back, sizeof(back));
    payload.bits = 0;
    sei_recovery_point(&point, &payload);
    m = message_of(&payload);
    assert_int_equal(h264_sei_recovery_point(&m, &point_back), 0);
    assert_int_equal(point_back.recovery_frame_cnt, 25);
    assert_true(point_back.exact_match_flag && !point_back.broken_link_flag);
    bit_writer_free(&payload);
}

static void packing_and_orientation(void **state)
{
    for (unsigned i = 0; i < 16; i++) {
        struct h264_frame_packing packing, packing_back;
        struct h264_display_orientation turn, turn_back;
        struct bit_writer payload = {0};
        struct h264_sei_message m;
        memset(&packing, 0, sizeof(packing));
        memset(&turn, 0, sizeof(turn));
        packing.frame_packing_arrangement_id = 300;
        packing.cancel_flag = turn.cancel_flag = i == 15;
        if (!packing.cancel_flag) {
            packing.type = (uint8_t)(i & 7);
            packing.quincunx_sampling_flag = i >> 3;
            packing.content_interpretation_type = 2;
            packing.field_views_flag = packing.frame1_self_contained_flag = true;
            packing.grid_position[1][0] = i >> 3 || packing.type == 5 ? 0 : 9;
            packing.repetition_period = 7;
            turn.ver_flip = true;
            turn.anticlockwise_rotation = 0xc000;
            turn.repetition_period = 1;
        }
        sei_frame_packing(&packing, &payload);
        m = message_of(&payload);
        assert_int_equal(h264_sei_frame_packing(&m, &packing_back), 0);
        assert_memory_equal(&packing, &packing_back, sizeof(packing));
        payload.bits = 0;
        sei_display_orientation(&turn, &payload);
        m = message_of(&payload);
        assert_int_equal(h264_sei_display_orientation(&m, &turn_back), 0);
        assert_int_equal(turn.cancel_flag, turn_back.cancel_flag);
        assert_int_equal(turn.hor_flip, turn_back.hor_flip);
        assert_int_equal(turn.ver_flip, turn_back.ver_flip);
        assert_int_equal(turn.anticlockwise_rotation, turn_back.anticlockwise_rotation);
        assert_int_equal(turn.repetition_period, turn_back.repetition_period);
        bit_writer_free(&payload);
    }
}

static void light(void **state)
{
    struct h264_mastering_display display = {
        {{8500, 39850}, {6550, 2300}, {35400, 14600}}, {15635, 16450}, 10000000, 1};
    struct h264_mastering_display display_back;
    struct h264_content_light content = {1000, 400}, content_back;
    struct bit_writer payload = {0};
    struct h264_sei_message m;
    sei_mastering_display(&display, &payload);
    m = message_of(&payload);
    assert_int_equal(h264_sei_mastering_display(&m, &display_back), 0);
    assert_memory_equal(&display, &display_back, sizeof(display));
    payload.bits = 0;
    sei_content_light(&content, &payload);
    m = message_of(&payload);
    assert_int_equal(h264_sei_content_light(&m, &content_back), 0);
    assert_memory_equal(&content, &content_back, sizeof(content));
    bit_writer_free(&payload);
}

/* A number that is a sum of bytes, as long as they are 255 */
static uint32_t read_number(const uint8_t **at)
{
    uint32_t v = 0;
    while (**at == 255)
        v += *(*at)++;
    return v + *(*at)++;
}

/* Payloads of every length around a byte of their size, two in a unit */
static void carried_bytes(void **state)
{
    static uint8_t bytes[800], rbsp[4096];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i % 5 ? 0 : i);
    for (unsigned size = 0; size < 780; size++) {
        struct bit_writer unit = {0}, out = {0};
        const uint8_t *at = rbsp + 1;
        size_t used;
        sei_bytes(&unit, H264_SEI_REGISTERED, bytes, size);
        sei_bytes(&unit, 700, bytes + 1, size);
        sei_end(&unit, &out);
        assert_int_equal(out.data[4], 6);
        used = h264_unescape(out.data + 4, out.bits / 8 - 4, rbsp, NULL);
        for (unsigned k = 0; k < 2; k++, at += size) {
            assert_int_equal(read_number(&at), k ? 700 : H264_SEI_REGISTERED);
            assert_int_equal(read_number(&at), size);
            assert_memory_equal(at, bytes + k, size);
        }
        assert_int_equal(*at, 0x80);
        assert_ptr_equal(at + 1, rbsp + used);
        bit_writer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(time_codes),
                                       cmocka_unit_test(buffering_and_recovery),
                                       cmocka_unit_test(packing_and_orientation),
                                       cmocka_unit_test(light), cmocka_unit_test(carried_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
