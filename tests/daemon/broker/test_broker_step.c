/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The order in which clients hear of things, and that frames need no step.
 */
#include "tests/daemon/broker/broker_world.h"

#include "daemon/broker/client_link.h"
#include "daemon/broker/devices.h"
#include "daemon/broker/resting.h"
#include "daemon/broker/open_fields.h"
#include "daemon/broker/stream_delivery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 1000 };

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

static struct broker_stream *running(uint32_t policy)
{
    struct broker_stream *s = world_stream(world_client(&w), 1, WORLD_FILE);
    s->source.open->policy = policy;
    s->delivery.credit = policy == PELTON_LOSSLESS ? UINT64_MAX : 0;
    world_step(&w);
    world_info(s);
    world_format(s, 16);
    links_take();
    return s;
}

static void frames_need_no_step(void **state)
{
    struct broker_stream *s = running(PELTON_LOSSLESS);
    world_step(&w);
    world_frame(s, 0, 0);
    assert_string_equal(links_take(), "c1 FRAME_READY 1 #0");
    world_release(s, 0, 0);
    assert_string_equal(links_take(), "w0 RELEASE 1");
    assert_false(w.b.changed);
}

static void formats_come_before_their_frames(void **state)
{
    struct broker_stream *s = running(PELTON_LOSSLESS);
    world_format(s, 4);
    world_frame(s, 0, 0);
    world_eos(s, 0);
    assert_string_equal(world_step(&w),
                        "c1 FORMAT_CHANGED 1 epoch 2, c1 FRAME_READY 1 #0, c1 EOS 1 0");
}

static void the_end_is_last(void **state)
{
    struct broker_stream *s = running(PELTON_FIFO);
    for (uint32_t i = 0; i < 3; i++)
        world_frame(s, i, i);
    world_eos(s, 0);
    assert_string_equal(world_step(&w), "");
    delivery_credit(s, 2);
    assert_string_equal(world_step(&w), "c1 FRAME_READY 1 #0, c1 FRAME_READY 1 #1");
    ask_stats(s, 4);
    assert_string_equal(links_take(), "c1 STATS_REPLY 1");
    delivery_credit(s, 5);
    assert_string_equal(world_step(&w), "c1 FRAME_READY 1 #2, c1 EOS 1 0");
    assert_string_equal(world_later(&w, 1000), "");
}

static void answers_come_before_the_end(void **state)
{
    struct broker_stream *s = running(PELTON_LOSSLESS);
    ask_stats(s, 4);
    assert_string_equal(world_step(&w), "w0 STATS 1");
    world_eos(s, 0);
    assert_string_equal(world_step(&w), "c1 STATS_REPLY 1, c1 EOS 1 0");
}

static void a_close_frees_the_number_at_once(void **state)
{
    struct broker_stream *s = running(PELTON_LOSSLESS);
    struct client *c = s->client;
    ask_stats(s, 4);
    stream_close(s);
    assert_null(id_table_find(&c->streams, 1));
    assert_int_equal(w.b.n_streams, 0);
    assert_string_equal(links_take(), "w0 CLOSE 1 returned");
    struct broker_stream *second = world_stream(c, 1, WORLD_FILE);
    assert_ptr_equal(id_table_find(&c->streams, 1), second);
    assert_string_equal(world_step(&w), "w0 OPEN 2 from 0");
}

static void late_words_of_a_worker(void **state)
{
    struct broker_stream *s = running(PELTON_LOSSLESS);
    stream_close(s);
    world_frame(s, 0, 0);
    world_eos(s, 0);
    assert_string_equal(world_step(&w), "w0 CLOSE 1 returned");
}

/* The worker has ended the stream before, and keeps its pool. */
static void a_close_says_whether_frames_are_held(void **state)
{
    for (uint32_t held = 0; held < 2; held++) {
        struct broker_stream *s = running(PELTON_LOSSLESS);
        world_frame(s, 0, 0);
        world_frame(s, 1, 1);
        world_release(s, 0, 0);
        if (!held)
            world_release(s, 1, 1);
        world_eos(s, 0);
        world_step(&w);
        stream_close(s);
        assert_string_equal(world_step(&w), held ? "w0 CLOSE 2" : "w0 CLOSE 1 returned");
    }
}

/* Nobody else may get memory that a client has mapped. */
static void clients_have_numbers_of_their_own(void **state)
{
    struct broker_stream *s = running(PELTON_LOSSLESS);
    struct open_fields fields;
    s->client->number = 5;
    s->source.open->reader = 77; /* the client's own word */
    open_fields_attach(s, &fields);
    assert_int_equal(s->source.open->reader, 5);
    open_fields_detach(s, &fields);
    assert_int_equal(s->source.open->reader, 77);
}

static void a_client_goes(void **state)
{
    struct broker_stream *s = running(PELTON_LOSSLESS);
    world_stream(world_client(&w), 1, WORLD_FILE);
    world_step(&w);
    ask_stats(s, 4);
    ask_devices(s->client, 5, false);
    client_close(s->client, NULL);
    world_frame(s, 0, 0); /* in the same turn */
    assert_string_equal(world_step(&w), "w0 CLOSE 1");
    assert_int_equal(w.b.n_clients, 1);
    assert_int_equal(w.b.n_streams, 1);
    assert_null(w.b.asks);
}

/* A file whose reader holds all three slots. */
static struct broker_stream *standing_still(uint32_t number)
{
    struct broker_stream *s =
        world_stream(w.b.clients ? w.b.clients : world_client(&w), number, WORLD_FILE);
    s->source.open->policy = PELTON_LOSSLESS;
    s->delivery.credit = UINT64_MAX;
    world_step(&w);
    world_info(s);
    world_format(s, 3);
    for (uint32_t i = 0; i < 3; i++)
        world_frame(s, i, i);
    links_take();
    return s;
}

static void the_stillest_stream_rests(void **state)
{
    w.settings.limits.streams = 2;
    w.settings.limits.resting = 10;
    struct broker_stream *first = standing_still(1), *second = standing_still(2);
    assert_false(resting_make_room(&w.b)); /* both are at work until a moment ago */
    first->delivery.sent_ns -= 1000000000;
    second->delivery.sent_ns -= 2000000000;
    assert_true(resting_make_room(&w.b));
    assert_string_equal(world_step(&w), "w0 CLOSE 2");
    assert_int_equal(second->state, STREAM_RESTING);
    assert_int_equal(resting_places_used(&w.b), 1);
    world_frame(second, 3, 0); /* was on its way */
    assert_string_equal(world_step(&w), "");
}

static void a_resting_stream_goes_on_when_a_slot_comes_back(void **state)
{
    w.settings.limits.streams = 1;
    w.settings.limits.resting = 10;
    struct broker_stream *s = standing_still(1);
    s->delivery.sent_ns -= 1000000000;
    assert_true(resting_make_room(&w.b));
    struct broker_stream *other = standing_still(2);
    assert_int_equal(s->state, STREAM_RESTING);
    world_release(s, 1, 1);
    assert_string_equal(world_step(&w), ""); /* the place is the other's, who is at work */
    assert_int_equal(s->state, STREAM_RESTING);
    other->delivery.sent_ns -= 1000000000;
    assert_string_equal(world_later(&w, 1000), "w0 CLOSE 2, w0 OPEN 3 from 3");
    assert_int_equal(other->state, STREAM_RESTING);
    world_info(s);
    world_format(s, 3);
    world_frame(s, 3, 0); /* its old slots are the reader's still */
    assert_string_equal(links_take(), "c1 SOURCE_STATE 1 running, c1 FORMAT_CHANGED 1 epoch 2, "
                                      "c1 FRAME_READY 1 #3");
}

static void memory_is_found_by_a_rest(void **state)
{
    w.settings.limits.streams = 10;
    w.settings.limits.resting = 10;
    struct broker_stream *first = standing_still(1), *second = standing_still(2);
    struct broker_stream *late = world_stream(w.b.clients, 3, WORLD_FILE);
    world_step(&w);
    links_take();
    world_short(late);
    assert_string_equal(world_step(&w), ""); /* both are at work until a moment ago */
    first->delivery.sent_ns -= 1000000000;
    second->delivery.sent_ns -= 2000000000;
    world_short(late);
    assert_string_equal(world_step(&w), "w0 CLOSE 2");
    assert_string_equal(world_later(&w, 1000), ""); /* as often as it is asked */
    world_short(late);
    assert_string_equal(world_step(&w), "w0 CLOSE 1");
    assert_int_equal(late->state, STREAM_OPEN);
    world_release(second, 1, 1);
    assert_string_equal(world_step(&w), "w0 OPEN 4 from 3");
}

/* It has a pool from before, and its frames would fill another one. */
static void who_waits_for_memory_does_not_rest(void **state)
{
    w.settings.limits.resting = 10;
    struct broker_stream *s = standing_still(1);
    s->delivery.sent_ns -= 1000000000;
    world_short(s);
    assert_string_equal(world_step(&w), "");
    world_format(s, 1);
    world_frame(s, 3, 0);
    links_take();
    s->delivery.sent_ns -= 1000000000;
    struct broker_stream *late = world_stream(w.b.clients, 2, WORLD_FILE);
    world_step(&w);
    world_short(late);
    links_take();
    assert_string_equal(world_step(&w), "w0 CLOSE 1");
}

/* Else two that are read in turns would take each other's memory for ever. */
static void each_rest_for_memory_takes_longer(void **state)
{
    w.settings.limits.resting = 10;
    struct broker_stream *s = standing_still(1), *late = world_stream(s->client, 2, WORLD_FILE);
    world_step(&w);
    links_take();
    s->rests = 3;
    s->delivery.sent_ns -= 700000000;
    world_short(late);
    assert_string_equal(world_step(&w), "");
    s->delivery.sent_ns -= 200000000;
    world_short(late);
    assert_string_equal(world_step(&w), "w0 CLOSE 1");
    assert_int_equal(s->rests, 4);
}

static void memory_of_another_device_is_no_help(void **state)
{
    world_close(&w);
    world_open(&w, "a,b");
    w.settings.limits.resting = 10;
    w.b.devices->state = DEVICES_READY;
    struct broker_stream *s = standing_still(1), *late = world_stream(s->client, 2, WORLD_FILE);
    world_step(&w);
    links_take();
    assert_ptr_not_equal(s->worker, late->worker);
    s->delivery.sent_ns -= 1000000000;
    world_short(late);
    assert_string_equal(world_step(&w), "");
}

static void who_cannot_go_on_does_not_rest(void **state)
{
    w.settings.limits.streams = 1;
    w.settings.limits.resting = 10;
    struct broker_stream *s = standing_still(1);
    s->delivery.sent_ns -= 1000000000;
    s->source.resumable = false;
    assert_false(resting_make_room(&w.b));
    s->source.resumable = true;
    w.settings.limits.resting = 0;
    assert_false(resting_make_room(&w.b));
    w.settings.limits.resting = 10;
    world_release(s, 0, 0);
    assert_false(resting_make_room(&w.b));
    assert_int_equal(w.b.quotas.refused[QUOTA_STREAMS], 3);
}

static void ended_streams_do_not_count(void **state)
{
    w.settings.limits.streams = 1;
    w.settings.limits.resting = 1;
    struct broker_stream *s = standing_still(1);
    world_eos(s, 0);
    world_step(&w);
    assert_true(resting_make_room(&w.b));
    struct broker_stream *second = standing_still(2);
    world_eos(second, 0);
    world_step(&w);
    assert_int_equal(resting_places_used(&w.b), 1); /* one may rest */
    assert_false(resting_make_room(&w.b));
}

static void a_worker_that_lies_is_killed(void **state)
{
    struct broker_stream *s = running(PELTON_LOSSLESS);
    world_frame(s, 0, 3);
    world_frame(s, 1, 3); /* its reader has it */
    assert_string_equal(links_take(), "c1 FRAME_READY 1 #0, w0 kill");
}

static void a_thousand_streams(void **state)
{
    static struct broker_stream *s[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        s[i] = world_stream(world_client(&w), 7, WORLD_FILE);
        world_step(&w);
    }
    assert_int_equal(w.b.streams_by_wid.count, MANY);
    for (uint32_t i = 0; i < MANY; i += 7) {
        world_format(s[i], 2);
        world_frame(s[i], i, 0);
        assert_int_equal(s[i]->delivery.sent, 1);
        links_take();
    }
    for (uint32_t i = 0; i < MANY; i += 2)
        stream_close(s[i]);
    world_step(&w);
    assert_int_equal(w.b.streams_by_wid.count, MANY / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_need_no_step, setup, teardown),
        cmocka_unit_test_setup_teardown(formats_come_before_their_frames, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_is_last, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_come_before_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(a_close_frees_the_number_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(late_words_of_a_worker, setup, teardown),
        cmocka_unit_test_setup_teardown(a_close_says_whether_frames_are_held, setup, teardown),
        cmocka_unit_test_setup_teardown(clients_have_numbers_of_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(the_stillest_stream_rests, setup, teardown),
        cmocka_unit_test_setup_teardown(a_resting_stream_goes_on_when_a_slot_comes_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(memory_is_found_by_a_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(who_waits_for_memory_does_not_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(each_rest_for_memory_takes_longer, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_of_another_device_is_no_help, setup, teardown),
        cmocka_unit_test_setup_teardown(who_cannot_go_on_does_not_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(ended_streams_do_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(a_worker_that_lies_is_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thousand_streams, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
