/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources that come back, and the waits between attempts.
 */
#include "tests/daemon/broker/broker_world.h"

#include "daemon/backoff.h"
#include "daemon/broker/named.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct broker_world w;

static int setup(void **state)
{
    world_open(&w, NULL);
    return 0;
}

static int teardown(void **state)
{
    world_close(&w);
    return 0;
}

static void waits_grow(void **state)
{
    struct backoff b = {0};
    uint64_t most = BACKOFF_FIRST_MS, least_seen = UINT64_MAX, most_seen = 0;
    for (int i = 0; i < 10; i++) {
        uint64_t wait = backoff_next(&b, (uint64_t)i);
        assert_in_range(wait, most / 2, most);
        most = most * 2 > BACKOFF_LAST_MS ? BACKOFF_LAST_MS : most * 2;
    }
    assert_int_equal(most, BACKOFF_LAST_MS);
    for (uint64_t random = 0; random < 1000; random++) {
        backoff_reset(&b);
        uint64_t wait = backoff_next(&b, random);
        least_seen = wait < least_seen ? wait : least_seen;
        most_seen = wait > most_seen ? wait : most_seen;
    }
    assert_in_range(least_seen, BACKOFF_FIRST_MS / 2, BACKOFF_FIRST_MS / 2 + 5);
    assert_in_range(most_seen, BACKOFF_FIRST_MS - 5, BACKOFF_FIRST_MS);
}

static struct broker_stream *running(enum world_source source)
{
    struct broker_stream *s = world_stream(world_client(&w), 1, source);
    world_step(&w);
    world_info(s);
    world_format(s, 4);
    world_frame(s, 0, 0);
    world_frame(s, 1, 1);
    links_take();
    return s;
}

static void a_live_source_comes_back(void **state)
{
    struct broker_stream *s = running(WORLD_LIVE);
    world_eos(s, 0);
    assert_string_equal(world_step(&w), "c1 SOURCE_STATE 1 restarting");
    assert_string_equal(world_later(&w, BACKOFF_FIRST_MS / 2 - 1), "");
    assert_string_equal(world_later(&w, BACKOFF_FIRST_MS / 2 + 1), "w0 OPEN 2 from 0");
    world_info(s);
    world_format(s, 4);
    world_frame(s, 0, 0); /* its numbers begin anew, those of the client go on */
    assert_string_equal(links_take(), "c1 SOURCE_STATE 1 running, c1 FORMAT_CHANGED 1 epoch 2, "
                                      "c1 FRAME_READY 1 #2 discont");
}

static void a_reader_that_has_its_part_ends(void **state)
{
    struct broker_stream *s = running(WORLD_LIVE);
    s->source.open->max_frames = 2;
    world_eos(s, 0);
    assert_string_equal(world_step(&w), "c1 EOS 1 0");
    s = world_stream(world_client(&w), 2, WORLD_LIVE);
    s->source.open->duration_us = 1;
    world_step(&w);
    world_info(s);
    world_eos(s, PELTON_ERR_REFUSED); /* that is no end of its part */
    links_take();
    assert_string_equal(world_step(&w), "c2 SOURCE_STATE 2 restarting");
}

static void waits_are_short_after_health(void **state)
{
    struct broker_stream *s = running(WORLD_LIVE);
    for (int i = 0; i < 8; i++) {
        world_eos(s, PELTON_ERR_REFUSED);
        world_step(&w);
        world_later(&w, BACKOFF_LAST_MS);
    }
    world_eos(s, PELTON_ERR_REFUSED);
    world_step(&w);
    assert_in_range(s->retry.retry_ms, w.now_ms + BACKOFF_LAST_MS / 2, w.now_ms + BACKOFF_LAST_MS);
    world_later(&w, BACKOFF_LAST_MS);
    world_later(&w, BACKOFF_HEALTHY_MS);
    world_eos(s, PELTON_ERR_REFUSED);
    world_step(&w);
    assert_in_range(s->retry.retry_ms, w.now_ms, w.now_ms + BACKOFF_FIRST_MS);
}

/* They share the connection, so that they come back together. */
static void readers_of_a_source_wait_together(void **state)
{
    struct named_source source = {.broker = &w.b, .readers = 2};
    struct client *c = world_client(&w);
    struct broker_stream *first = world_stream(c, 1, WORLD_LIVE),
                         *second = world_stream(c, 2, WORLD_LIVE);
    first->source.named = second->source.named = &source;
    world_step(&w);
    for (int i = 0; i < 5; i++) {
        world_info(first);
        world_info(second);
        world_eos(first, PELTON_ERR_REFUSED);
        world_step(&w);
        w.now_ms += 20;
        world_eos(second, PELTON_ERR_REFUSED);
        world_step(&w);
        assert_int_equal(first->retry.retry_ms, second->retry.retry_ms);
        world_later(&w, BACKOFF_LAST_MS);
    }
    first->source.named = second->source.named = NULL;
}

static void never_open(void **state)
{
    struct client *c = world_client(&w);
    struct broker_stream *absent = world_stream(c, 1, WORLD_LIVE),
                         *wrong = world_stream(c, 2, WORLD_LIVE);
    world_step(&w);
    world_eos(absent, PELTON_ERR_REFUSED);
    world_eos(wrong, PELTON_ERR_UNSUPPORTED);
    assert_string_equal(world_step(&w), "c1 SOURCE_STATE 1 restarting, c1 ERROR 2 -5");
    assert_string_equal(world_later(&w, BACKOFF_FIRST_MS), "w0 OPEN 3 from 0");
}

static void a_file_ends(void **state)
{
    struct broker_stream *s = running(WORLD_FILE);
    world_eos(s, 0);
    assert_string_equal(world_step(&w), "c1 EOS 1 0");
    world_eos(s, 0); /* late words */
    assert_string_equal(world_step(&w), "");
}

static void a_camera_that_has_changed(void **state)
{
    struct broker_stream *s = running(WORLD_FILE);
    world_eos(s, PELTON_ERR_CHANGED);
    assert_string_equal(world_step(&w), "c1 SOURCE_STATE 1 restarting");
    assert_string_equal(world_later(&w, BACKOFF_FIRST_MS), "w0 OPEN 2 from 2");
}

static void nobody_waits_after_the_client(void **state)
{
    struct broker_stream *s = running(WORLD_LIVE);
    world_eos(s, 0);
    world_step(&w);
    stream_close(s);
    assert_string_equal(world_step(&w), "");
    assert_string_equal(world_later(&w, BACKOFF_LAST_MS), "");
    assert_null(w.b.streams);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_grow),
        cmocka_unit_test_setup_teardown(a_live_source_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_has_its_part_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_are_short_after_health, setup, teardown),
        cmocka_unit_test_setup_teardown(readers_of_a_source_wait_together, setup, teardown),
        cmocka_unit_test_setup_teardown(never_open, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(a_camera_that_has_changed, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_waits_after_the_client, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
