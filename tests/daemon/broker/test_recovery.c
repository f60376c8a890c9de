/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes of streams whose worker has died: strikes, trials, limits.
 */
#include "tests/daemon/broker/broker_world.h"

#include "daemon/broker/quarantine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* as worker_recovery.c has them */
enum { TRIAL_MS = 500, LONG_TRIAL_MS = 4000, PASSED_FRAMES = 32 };

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

static void die(unsigned worker)
{
    links_worker_dies(&w.b.workers[worker]);
}

/* Frames [from, to), each released at once by its lossless reader. */
static void play(struct broker_stream *s, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        world_frame(s, i, 0);
        world_release(s, i, 0);
    }
}

static void a_file_goes_on(void **state)
{
    struct broker_stream *s = world_stream(world_client(&w), 1, WORLD_FILE);
    assert_string_equal(world_step(&w), "w0 start, w0 OPEN 1 from 0");
    world_info(s);
    world_format(s, 4);
    world_frame(s, 0, 0);
    world_frame(s, 1, 1);
    assert_string_equal(links_take(), "c1 OPEN_REPLY 1, c1 FORMAT_CHANGED 1 epoch 1, "
                                      "c1 FRAME_READY 1 #0, c1 FRAME_READY 1 #1");
    die(0);
    assert_string_equal(world_step(&w), "c1 SOURCE_STATE 1 restarting, w0 start, w0 OPEN 2 from 2");
    world_format(s, 4);
    world_frame(s, 1, 0); /* the client has it */
    world_frame(s, 2, 1);
    assert_string_equal(links_take(), "c1 FORMAT_CHANGED 1 epoch 2, w0 RELEASE 2, "
                                      "c1 FRAME_READY 1 #2 discont");
    assert_int_equal(s->deaths.restarts, 1);
}

static void a_pipe_ends(void **state)
{
    struct broker_stream *s = world_stream(world_client(&w), 1, WORLD_PIPE);
    world_step(&w);
    world_info(s);
    links_take();
    die(0);
    assert_string_equal(world_step(&w), "c1 EOS 1 -13");
}

static void an_unanswered_open_is_refused(void **state)
{
    struct client *c = world_client(&w);
    world_stream(c, 1, WORLD_PIPE);
    world_step(&w);
    die(0);
    assert_string_equal(world_step(&w), "c1 ERROR 1 -13");
    assert_int_equal(w.b.n_streams, 0);
    assert_null(id_table_find(&c->streams, 1));
}

static void two_deaths_alone(void **state)
{
    struct broker_stream *s = world_stream(world_client(&w), 1, WORLD_FILE);
    struct quarantine_key key = quarantine_key_of(-1, "s1");
    world_step(&w);
    world_info(s);
    die(0);
    world_step(&w);
    assert_false(quarantine_has(&w.b.quarantine, &key, w.now_ms));
    die(0);
    assert_string_equal(world_step(&w), "c1 EOS 1 -13");
    assert_true(quarantine_has(&w.b.quarantine, &key, w.now_ms));
    assert_false(quarantine_has(&w.b.quarantine, &key, w.now_ms + 300000));
}

/* A disk without room for a mapped page, a driver that dies as it opens: the limit of restarts is
 * the end, and no stream is set aside. */
static void deaths_without_a_culprit(void **state)
{
    struct quarantine_key key = quarantine_key_of(-1, "s1");
    w.b.workers->restart.limit = 4;
    struct broker_stream *s = world_stream(world_client(&w), 1, WORLD_FILE);
    world_step(&w);
    world_info(s);
    for (int i = 0; i < 4; i++) {
        w.b.workers->signal = i < 2 ? SIGBUS : SIGSEGV;
        w.b.workers->ready = i < 2;
        die(0);
        world_step(&w);
        assert_int_equal(s->deaths.strikes, 0);
        assert_int_equal(s->state, STREAM_OPEN);
    }
    die(0);
    assert_string_equal(links_take() ? world_step(&w) : "",
                        "c1 SOURCE_STATE 1 restarting, c1 EOS 1 -13");
    assert_false(quarantine_has(&w.b.quarantine, &key, w.now_ms));
}

static void passing_the_place_forgives(void **state)
{
    struct broker_stream *s = world_stream(world_client(&w), 1, WORLD_FILE);
    world_step(&w);
    world_info(s);
    die(0);
    world_step(&w);
    world_format(s, 4);
    play(s, 0, PASSED_FRAMES - 1);
    world_step(&w);
    assert_int_equal(s->deaths.strikes, 1);
    play(s, PASSED_FRAMES - 1, PASSED_FRAMES);
    world_step(&w);
    assert_int_equal(s->deaths.strikes, 0);
    die(0);
    assert_string_equal(world_step(&w),
                        "c1 SOURCE_STATE 1 restarting, w0 start, w0 OPEN 3 from 32");
}

/* Three streams, a death: each has a strike and is tried by itself. */
static void three_after_a_death(struct broker_stream *s[3])
{
    struct client *c = world_client(&w);
    for (uint32_t i = 0; i < 3; i++)
        s[i] = world_stream(c, i + 1, WORLD_FILE);
    world_step(&w);
    for (int i = 0; i < 3; i++)
        world_info(s[i]);
    links_take();
    die(0);
    assert_string_equal(world_step(&w),
                        "c1 SOURCE_STATE 1 restarting, c1 SOURCE_STATE 2 restarting, "
                        "c1 SOURCE_STATE 3 restarting, w0 start, w0 OPEN 4 from 0");
}

static void trials_end(void **state)
{
    struct broker_stream *s[3];
    three_after_a_death(s);
    assert_string_equal(world_later(&w, TRIAL_MS - 1), "");
    world_format(s[0], 2);
    world_frame(s[0], 0, 0);
    links_take();
    assert_string_equal(world_step(&w), "");
    world_frame(s[0], 1, 1); /* its reader holds all slots: it stands still */
    links_take();
    assert_string_equal(world_step(&w), "w0 OPEN 5 from 0");
    assert_string_equal(world_later(&w, TRIAL_MS), "w0 OPEN 6 from 0");
    assert_ptr_equal(w.b.workers->trial, s[2]);
    stream_close(s[2]);
    assert_string_equal(world_step(&w), "w0 CLOSE 6 returned");
    assert_null(w.b.workers->trial);
}

static void the_one_on_trial_is_guilty(void **state)
{
    struct broker_stream *s[3];
    three_after_a_death(s);
    world_format(s[0], 4);
    play(s[0], 0, PASSED_FRAMES);
    links_take();
    assert_string_equal(world_step(&w), "w0 OPEN 5 from 0");
    die(0); /* s[1] is on trial, s[0] has passed */
    assert_string_equal(world_step(&w),
                        "c1 SOURCE_STATE 1 restarting, w0 start, w0 OPEN 6 from 32, c1 EOS 2 -13");
    assert_int_equal(s[0]->deaths.strikes, 1);
    assert_int_equal(s[1]->state, STREAM_ENDED);
    assert_int_equal(s[2]->state, STREAM_QUEUED);
}

/* s[0] is too slow to die in its trial. The innocent s[1] is not set aside for it. */
static void a_late_death_is_nobodys(void **state)
{
    struct broker_stream *s[3];
    three_after_a_death(s);
    assert_string_equal(world_later(&w, TRIAL_MS), "w0 OPEN 5 from 0");
    die(0);
    world_step(&w);
    for (int i = 0; i < 3; i++)
        assert_int_equal(s[i]->deaths.strikes, 1);
    assert_ptr_equal(w.b.workers->trial, s[0]);
    assert_string_equal(world_later(&w, LONG_TRIAL_MS - 1), "");
    die(0);
    world_step(&w);
    assert_int_equal(s[0]->state, STREAM_ENDED);
    assert_ptr_equal(w.b.workers->trial, s[1]);
    assert_string_equal(world_later(&w, TRIAL_MS), "w0 OPEN 8 from 0");
}

/* The second death decides, though the time of the first stream ran out again. */
static void a_death_in_long_trials_decides(void **state)
{
    struct broker_stream *s[3];
    three_after_a_death(s);
    world_later(&w, TRIAL_MS);
    die(0);
    world_step(&w);
    assert_string_equal(world_later(&w, LONG_TRIAL_MS), "w0 OPEN 7 from 0");
    die(0);
    world_step(&w);
    assert_int_equal(s[0]->state, STREAM_OPEN);
    assert_int_equal(s[1]->state, STREAM_ENDED);
}

/* A device takes its time to open. */
static void a_trial_begins_with_the_device(void **state)
{
    struct broker_stream *s[3];
    three_after_a_death(s);
    w.b.workers->ready = false;
    assert_string_equal(world_later(&w, 3 * TRIAL_MS), "");
    w.b.workers->ready = true;
    assert_string_equal(world_later(&w, TRIAL_MS - 1), "");
    assert_string_equal(world_later(&w, 1), "w0 OPEN 5 from 0");
}

static void a_trial_ends_with_its_client(void **state)
{
    struct broker_stream *first = world_stream(world_client(&w), 1, WORLD_FILE), *second;
    second = world_stream(world_client(&w), 1, WORLD_FILE);
    world_step(&w);
    die(0);
    world_step(&w);
    assert_ptr_equal(w.b.workers->trial, first);
    first->client->closing = first->client->gone = true;
    broker_changed(&w.b);
    assert_string_equal(world_step(&w), "w0 CLOSE 3, w0 OPEN 4 from 0");
    assert_ptr_equal(w.b.workers->trial, second);
}

static void too_many_deaths(void **state)
{
    struct client *c = world_client(&w);
    w.settings.limits.restarts = 0;
    w.b.workers->restart.limit = 0;
    struct broker_stream *s = world_stream(c, 1, WORLD_FILE);
    world_step(&w);
    world_info(s);
    links_take();
    die(0);
    ask_devices(c, 9, false);
    assert_string_equal(world_step(&w),
                        "c1 SOURCE_STATE 1 restarting, c1 ERROR 0 -13, c1 EOS 1 -13");
    world_stream(c, 2, WORLD_FILE);
    assert_string_equal(world_step(&w), "c1 ERROR 2 -13");
}

static void no_process_can_be_started(void **state)
{
    struct client *c = world_client(&w);
    links_refuse_start(true);
    world_stream(c, 1, WORLD_FILE);
    world_stream(c, 2, WORLD_FILE);
    ask_devices(c, 9, true);
    assert_string_equal(world_step(&w), "c1 ERROR 0 -1, c1 ERROR 1 -1, c1 ERROR 2 -1");
    links_refuse_start(false);
    world_stream(c, 3, WORLD_FILE);
    assert_string_equal(world_step(&w), "w0 start, w0 OPEN 1 from 0");
}

static void probes(void **state)
{
    struct client *c = world_client(&w);
    struct broker_stream *s = world_probe(c, 1);
    assert_string_equal(world_step(&w), "w0 start, w0 PROBE 1");
    die(0);
    assert_string_equal(world_step(&w), "w0 start, w0 PROBE 2");
    world_info(s);
    world_eos(s, 0);
    assert_string_equal(world_step(&w), "c1 PROBE_REPLY 1");
    assert_int_equal(w.b.n_streams, 0);
    s = world_probe(c, 2);
    s->source.resumable = false;
    world_step(&w);
    die(0);
    assert_string_equal(world_step(&w), "c1 ERROR 2 -13");
}

static void a_lost_device(void **state)
{
    struct broker_stream *s = world_stream(world_client(&w), 1, WORLD_FILE);
    world_step(&w);
    world_info(s);
    links_take();
    world_eos(s, PELTON_ERR_GPU_LOST);
    world_eos(s, 0); /* late words */
    assert_string_equal(world_step(&w),
                        "w0 kill, c1 SOURCE_STATE 1 restarting, w0 start, w0 OPEN 2 from 0");
    world_eos(s, PELTON_ERR_GPU_LOST);
    assert_string_equal(world_step(&w), "w0 kill, c1 EOS 1 -12");
}

/* Of a stream of its own each time, as one that kills twice is set aside. */
static void lose_device(uint32_t object_id)
{
    struct broker_stream *s = world_stream(world_client(&w), object_id, WORLD_FILE);
    world_step(&w);
    world_info(s);
    world_eos(s, PELTON_ERR_GPU_LOST);
    world_eos(s, PELTON_ERR_GPU_LOST); /* the worker is lost once */
    world_step(&w);
    world_eos(s, 0);
    world_step(&w);
}

static void a_device_that_is_lost_often(void **state)
{
    w.settings.engine.libavcodec = true;
    w.settings.limits.restarts = 3;
    lose_device(1);
    lose_device(2);
    assert_null(w.b.workers[0].device);
    lose_device(3);
    assert_string_equal(w.b.workers[0].device, "libavcodec");
}

static void a_named_device_is_not_replaced(void **state)
{
    w.settings.engine.libavcodec = true;
    w.settings.engine.device = "gpu";
    for (uint32_t i = 1; i <= 3; i++)
        lose_device(i);
    assert_null(w.b.workers[0].device);
}

static void questions_outlive_nothing(void **state)
{
    struct client *c = world_client(&w);
    struct broker_stream *s = world_stream(c, 1, WORLD_FILE);
    world_step(&w);
    world_info(s);
    links_take();
    ask_stats(s, 5);
    ask_devices(c, 6, false);
    assert_string_equal(world_step(&w), "w0 STATS 1, w0 DEVICES 0");
    die(0);
    assert_string_equal(world_step(&w),
                        "c1 SOURCE_STATE 1 restarting, c1 STATS_REPLY 1, c1 ERROR 0 -13, "
                        "w0 start, w0 OPEN 2 from 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pipe_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(an_unanswered_open_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(two_deaths_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(deaths_without_a_culprit, setup, teardown),
        cmocka_unit_test_setup_teardown(passing_the_place_forgives, setup, teardown),
        cmocka_unit_test_setup_teardown(trials_end, setup, teardown),
        cmocka_unit_test_setup_teardown(the_one_on_trial_is_guilty, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_death_is_nobodys, setup, teardown),
        cmocka_unit_test_setup_teardown(a_death_in_long_trials_decides, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trial_begins_with_the_device, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trial_ends_with_its_client, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_deaths, setup, teardown),
        cmocka_unit_test_setup_teardown(no_process_can_be_started, setup, teardown),
        cmocka_unit_test_setup_teardown(probes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_device, setup, teardown),
        cmocka_unit_test_setup_teardown(a_device_that_is_lost_often, setup, teardown),
        cmocka_unit_test_setup_teardown(a_named_device_is_not_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(questions_outlive_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
