/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The units of a live source and readers at different places: who gets which, and when memory goes.
 */
#include "daemon/worker/source/unit_log.h"

#include <libavutil/avutil.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { UNIT_BYTES = 100 };

static const uint8_t sets[] = {0, 0, 0, 1, 0x67, 66, 0, 30, 1, 2, 0, 0, 0, 1, 0x68, 7, 7};

static void unit_add(struct unit_log *log, bool key, bool with_sets, int64_t pts)
{
    AVPacket *p = av_packet_alloc();
    size_t head = with_sets ? sizeof(sets) : 0;
    assert_int_equal(av_new_packet(p, UNIT_BYTES), 0);
    memset(p->data, 0xff, UNIT_BYTES);
    if (with_sets)
        memcpy(p->data, sets, head);
    memcpy(p->data + head, key ? "\0\0\0\1\x65" : "\0\0\0\1\x41", 5);
    p->pts = pts;
    assert_int_equal(unit_log_look(log, p), key);
    assert_true(unit_log_append(log, p, key, 1000 + pts));
    av_packet_free(&p);
}

/* The next unit's time, and its bytes; -1: none. */
static int64_t unit_next(struct unit_log *log, struct unit_cursor *c, struct unit_taken *taken,
                         int *bytes)
{
    AVPacket *p = av_packet_alloc();
    int64_t pts = unit_cursor_take(log, c, p, taken) ? p->pts : -1;
    *bytes = p->size;
    av_packet_free(&p);
    return pts;
}

static void a_new_reader_begins_at_the_key_picture(void **state)
{
    struct unit_log log = {0};
    struct unit_cursor old, late;
    struct unit_taken taken;
    int bytes;
    unit_cursor_join(&log, &old);
    const int64_t pts[] = {0, 1, 2, 5, 4, 3};
    for (int i = 0; i < 6; i++) {
        unit_add(&log, i == 2, i == 0, pts[i]);
        unit_cursor_follow(&log, &old, i == 2);
    }
    unit_cursor_join(&log, &late);
    assert_int_equal(unit_cursor_begin(&late, false), 2);
    assert_int_equal(unit_cursor_begin(&late, true), 3);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(unit_next(&log, &old, &taken, &bytes), pts[i]);
        assert_false(taken.behind || taken.older);
        assert_int_equal(bytes, UNIT_BYTES);
        assert_int_equal(taken.received_ns, 1000 + pts[i]);
    }
    for (int i = 2; i < 6; i++) {
        assert_int_equal(unit_next(&log, &late, &taken, &bytes), pts[i]);
        assert_int_equal(taken.behind, i < 5);
        assert_int_equal(taken.older, i == 2); /* of the last four the last one is not the newest */
        assert_int_equal(bytes, UNIT_BYTES + (i == 2 ? (int)sizeof(sets) : 0));
    }
    assert_int_equal(unit_next(&log, &late, &taken, &bytes), -1);
    assert_int_equal(old.missed + late.missed, 0);
    unit_cursor_leave(&log, &old);
    unit_cursor_leave(&log, &late);
    unit_log_clear(&log);
}

static void units_go_with_their_last_holder(void **state)
{
    struct unit_log log = {0};
    struct unit_cursor slow;
    struct unit_taken taken;
    int bytes;
    unit_cursor_join(&log, &slow);
    for (int i = 0; i < 100; i++) {
        unit_add(&log, i % 10 == 0, false, i);
        unit_cursor_follow(&log, &slow, i % 10 == 0);
    }
    uint64_t all = log.held;
    assert_int_equal(all, log.bytes);
    assert_int_equal(unit_log_kept(&log), all / 10);
    assert_int_equal(unit_cursor_units(&log, &slow), 100);
    assert_int_equal(unit_cursor_bytes(&log, &slow), all);
    for (int i = 0; i < 50; i++)
        assert_int_equal(unit_next(&log, &slow, &taken, &bytes), i);
    assert_int_equal(log.held, all / 2);
    assert_true(unit_cursor_jump(&log, &slow));
    assert_int_equal(slow.missed, 40);
    assert_int_equal(log.held, all / 10);
    assert_false(unit_cursor_jump(&log, &slow));
    assert_int_equal(unit_next(&log, &slow, &taken, &bytes), 90);
    unit_cursor_leave(&log, &slow);
    unit_log_give_up(&log);
    assert_int_equal(log.held, all / 100); /* the last one: the next follows it */
    unit_log_clear(&log);
    assert_int_equal(log.held, 0);
}

static void without_kept_units_readers_wait(void **state)
{
    struct unit_log log = {0};
    struct unit_cursor c, before;
    struct unit_taken taken;
    int bytes;
    unit_cursor_join(&log, &before); /* it gets what comes before the first key picture */
    unit_add(&log, false, false, 0);
    unit_cursor_follow(&log, &before, false);
    assert_int_equal(unit_next(&log, &before, &taken, &bytes), 0);
    unit_add(&log, true, true, 1);
    unit_log_give_up(&log);
    unit_cursor_join(&log, &c);
    assert_int_equal(unit_cursor_begin(&c, true), AV_NOPTS_VALUE);
    for (int i = 2; i < 5; i++) {
        unit_add(&log, i == 4, false, i);
        unit_cursor_follow(&log, &c, i == 4);
    }
    assert_int_equal(c.missed, 2);
    assert_int_equal(unit_next(&log, &c, &taken, &bytes), 4);
    assert_int_equal(bytes, UNIT_BYTES + (int)sizeof(sets));
    unit_add(&log, false, false, 5);
    unit_cursor_follow(&log, &c, false);
    unit_cursor_drop(&log, &c);
    assert_int_equal(c.missed, 3);
    assert_int_equal(unit_next(&log, &c, &taken, &bytes), -1);
    unit_cursor_leave(&log, &before);
    unit_cursor_leave(&log, &c);
    unit_log_clear(&log);
}

static void a_break_forgets(void **state)
{
    struct unit_log log = {0};
    struct unit_cursor c;
    unit_add(&log, true, true, 0);
    unit_log_break(&log);
    unit_log_skip(&log);
    unit_cursor_join(&log, &c);
    assert_false(c.at || c.awaits_key); /* its owner appends nothing before a key picture */
    unit_add(&log, true, false, 2);
    unit_cursor_follow(&log, &c, true);
    assert_int_equal(unit_cursor_begin(&c, false), 2);
    unit_cursor_leave(&log, &c);
    unit_log_clear(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_reader_begins_at_the_key_picture),
        cmocka_unit_test(units_go_with_their_last_holder),
        cmocka_unit_test(without_kept_units_readers_wait),
        cmocka_unit_test(a_break_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
