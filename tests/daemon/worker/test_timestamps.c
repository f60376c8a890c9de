/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Presentation times: carried through reordering, counted where there are none, and guessed where
 * the container's do not increase.
 */
#include "daemon/worker/source/timestamps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const AVRational tick = {1, 25}, rate = {25, 1};

static void feed(struct timestamps *t, int64_t tag, int64_t pts, int64_t dts)
{
    struct packet_times p = {.tag = tag, .pts = pts, .dts = dts, .duration = 1};
    timestamps_packet(t, &p);
    timestamps_decoded(t, tag, false);
}

static int64_t shown(struct timestamps *t, int64_t tag)
{
    struct packet_times out;
    timestamps_output(t, tag, &out);
    assert_int_equal(out.tag, tag);
    return out.pts;
}

/* I P B B: decoded 0 1 2 3, shown 0 2 3 1. */
static void test_reordered(void **state)
{
    struct timestamps t;
    timestamps_init(&t, tick, 1, rate, rate);
    feed(&t, 0, 0, -1);
    feed(&t, 1, 3, 0);
    feed(&t, 2, 1, 1);
    feed(&t, 3, 2, 2);
    assert_int_equal(shown(&t, 0), 0);
    assert_int_equal(shown(&t, 2), 1);
    assert_int_equal(shown(&t, 3), 2);
    assert_int_equal(shown(&t, 1), 3);
}

/* A raw stream has no times: frames count from 0 in output order. */
static void test_raw(void **state)
{
    struct timestamps t;
    timestamps_init(&t, tick, 1, rate, rate);
    for (int64_t tag = 0; tag < 4; tag++)
        feed(&t, tag, TIMESTAMPS_NONE, TIMESTAMPS_NONE);
    const int64_t order[] = {0, 2, 3, 1};
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(shown(&t, order[i]), i);
}

/* With FFmpeg 6.1 and later they are counted: a field's packet stands for its frame, and a frame
 * that is shown longer moves its successors. */
static void test_counted(void **state)
{
    static const int64_t durations[] = {2, 1, 3, 2};
    static const int64_t order[] = {0, 2, 3, 1}, begins[] = {0, 2, 5, 7};
    struct timestamps t;
    timestamps_init(&t, tick, 1, (AVRational){rate.num, 2 * rate.den}, rate);
    t.counted = true;
    for (int64_t tag = 0; tag < 4; tag++) {
        struct packet_times p = {
            .tag = tag, .pts = TIMESTAMPS_NONE, .dts = TIMESTAMPS_NONE, .duration = durations[tag]};
        timestamps_packet(&t, &p);
        timestamps_decoded(&t, tag, tag == 1);
    }
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(shown(&t, order[i]), begins[i]);
    assert_int_equal(t.next_pts, 9);
}

/* The same where no delay is announced, and the pictures show it. */
static void test_shown_delay(void **state)
{
    static const int32_t poc[] = {0, 6, 2, 4};
    struct timestamps t;
    timestamps_init(&t, tick, 0, rate, rate);
    for (int64_t tag = 0; tag < 4; tag++) {
        struct packet_times p = {.tag = tag, .pts = TIMESTAMPS_NONE, .dts = TIMESTAMPS_NONE};
        timestamps_packet(&t, &p);
        timestamps_order(&t, poc[tag], tag > 1, tag == 0);
        timestamps_decoded(&t, tag, false);
    }
    assert_true(t.delay > t.announced);
    int64_t last = TIMESTAMPS_NONE;
    const int64_t order[] = {0, 2, 3, 1};
    for (int64_t i = 0; i < 4; i++) {
        int64_t pts = shown(&t, order[i]);
        assert_true(pts > last);
        last = pts;
    }
}

/* Decoding times stand in where presentation times stand still. */
static void test_bad_pts(void **state)
{
    struct timestamps t;
    timestamps_init(&t, tick, 0, rate, rate);
    for (int64_t tag = 0; tag < 6; tag++)
        feed(&t, tag, 100, tag);
    assert_int_equal(shown(&t, 0), 100);
    for (int64_t tag = 1; tag < 6; tag++)
        assert_int_equal(shown(&t, tag), tag);
}

/* An access unit that has left the ring: no times of another one. */
static void test_ring(void **state)
{
    struct timestamps t;
    struct packet_times out;
    timestamps_init(&t, tick, 0, rate, rate);
    feed(&t, 0, 5, 5);
    feed(&t, TIMESTAMPS_RING, 9, 9);
    timestamps_output(&t, 0, &out);
    assert_int_equal(out.dts, TIMESTAMPS_NONE);
    assert_int_equal(out.received_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reordered), cmocka_unit_test(test_raw),
        cmocka_unit_test(test_counted),   cmocka_unit_test(test_shown_delay),
        cmocka_unit_test(test_bad_pts),   cmocka_unit_test(test_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
