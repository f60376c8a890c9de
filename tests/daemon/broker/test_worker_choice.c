/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Devices: which are used, and which worker gets which stream.
 */
#include "tests/daemon/broker/broker_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct broker_world w;

static int teardown(void **state)
{
    world_close(&w);
    return 0;
}

static void one_device(void **state)
{
    world_open(&w, "cpu");
    struct client *c = world_client(&w);
    world_stream(c, 1, WORLD_FILE);
    world_stream(c, 2, WORLD_FILE);
    assert_string_equal(world_step(&w), "w0 start, w0 OPEN 1 from 0, w0 OPEN 2 from 0");
    assert_string_equal(w.b.workers[0].device, "cpu");
}

/* Two workers that have opened their devices; the first stream waited for that. */
static struct client *two_devices(void)
{
    world_open(&w, "a,b");
    struct client *c = world_client(&w);
    world_stream(c, 1, WORLD_FILE);
    assert_string_equal(world_step(&w), "w0 start, w0 DEVICES 0, w1 start, w1 DEVICES 0");
    assert_string_equal(w.b.workers[1].device, "b");
    world_says_devices(&w.b.workers[1], w.b.workers[1].question, 1);
    assert_string_equal(world_step(&w), "");
    world_says_devices(&w.b.workers[0], w.b.workers[0].question, 1);
    assert_string_equal(world_step(&w), "w0 OPEN 1 from 0");
    return c;
}

static void a_list_of_two(void **state)
{
    struct client *c = two_devices();
    for (uint32_t i = 2; i <= 4; i++)
        world_stream(c, i, WORLD_FILE);
    assert_string_equal(world_step(&w),
                        "w0 OPEN 2 from 0, w1 OPEN 3 from 0, w1 OPEN 4 from 0, w0 CORES 0 of 2, "
                        "w1 CORES 0 of 2");
    stream_close(id_table_find(&c->streams, 1));
    stream_close(id_table_find(&c->streams, 3));
    world_step(&w);
    world_stream(c, 5, WORLD_FILE);
    world_stream(c, 6, WORLD_FILE);
    assert_string_equal(world_step(&w), "w0 OPEN 5 from 0, w0 OPEN 6 from 0, w1 CORES 0 of 2");
}

/* Cores go to workers whose devices are open and that have streams. */
static void cores_are_shared(void **state)
{
    struct client *c = two_devices();
    w.b.workers[1].ready = false;
    world_stream(c, 2, WORLD_FILE);
    assert_string_equal(world_step(&w), "w1 OPEN 2 from 0");
    w.b.workers[1].ready = true;
    broker_changed(&w.b);
    assert_string_equal(world_step(&w), "w0 CORES 0 of 2, w1 CORES 0 of 2");
    assert_string_equal(world_step(&w), "");
    stream_close(id_table_find(&c->streams, 1));
    assert_string_equal(world_step(&w), "w0 CLOSE 1 returned, w1 CORES 0 of 1");
    links_worker_dies(&w.b.workers[0]);
    assert_string_equal(world_step(&w), "");
    world_stream(c, 3, WORLD_FILE);
    assert_string_equal(world_step(&w), "w0 start, w0 OPEN 3 from 0, w0 CORES 0 of 2, "
                                        "w1 CORES 0 of 2");
}

static void a_death_concerns_one_device(void **state)
{
    struct client *c = two_devices();
    struct broker_stream *other = world_stream(c, 2, WORLD_FILE);
    world_step(&w);
    links_worker_dies(&w.b.workers[0]);
    assert_string_equal(world_step(&w), "c1 SOURCE_STATE 1 restarting, w0 start, w0 OPEN 3 from 0, "
                                        "w0 CORES 0 of 2");
    assert_int_equal(other->wid, 2);
    assert_int_equal(other->deaths.strikes, 0);
}

/* A worker that may not be restarted gets no new streams, as long as another one may. */
static void a_worker_that_is_used_up(void **state)
{
    struct client *c = two_devices();
    w.b.workers[0].restart.limit = 0;
    links_worker_dies(&w.b.workers[0]);
    assert_string_equal(world_step(&w), "c1 SOURCE_STATE 1 restarting, c1 ERROR 1 -13");
    world_stream(c, 2, WORLD_FILE);
    world_stream(c, 3, WORLD_FILE);
    assert_string_equal(world_step(&w), "w1 OPEN 2 from 0, w1 OPEN 3 from 0");
}

static void a_device_that_cannot_be_opened(void **state)
{
    world_open(&w, "a,none");
    struct client *c = world_client(&w);
    world_stream(c, 1, WORLD_FILE);
    ask_devices(c, 9, true);
    world_step(&w);
    world_says_devices(&w.b.workers[0], w.b.workers[0].question, 1);
    world_says_error(&w.b.workers[1], w.b.workers[1].question, PELTON_ERR_NO_DEVICE);
    assert_string_equal(world_step(&w), "c1 ERROR 0 -7, c1 ERROR 1 -7");
    world_stream(c, 2, WORLD_FILE); /* the next one has it asked again */
    assert_string_equal(world_step(&w), "w1 DEVICES 0");
}

static void all_devices(void **state)
{
    world_open(&w, "all");
    struct client *c = world_client(&w);
    world_stream(c, 1, WORLD_FILE);
    assert_string_equal(world_step(&w), "w0 start, w0 DEVICES 0");
    world_says_devices(&w.b.workers[0], w.b.workers[0].question, 3);
    assert_string_equal(world_step(&w), "w0 DEVICES 0");
    assert_string_equal(w.b.workers[2].device, "u2");
    world_says_devices(&w.b.workers[0], w.b.workers[0].question, 1);
    assert_string_equal(world_step(&w), "w0 OPEN 1 from 0"); /* the first device is enough */
    world_stream(c, 2, WORLD_FILE);
    world_stream(c, 3, WORLD_FILE);
    assert_string_equal(world_step(&w), "w1 start, w1 OPEN 2 from 0, w2 start, w2 OPEN 3 from 0, "
                                        "w0 CORES 0 of 3, w1 CORES 0 of 3, w2 CORES 0 of 3");
}

static struct broker_stream *world_part(struct client *c, uint32_t part)
{
    struct broker_stream *s = world_stream(c, 1 + part, WORLD_FILE);
    s->source.open->share = 7;
    s->source.open->parts = 2;
    s->source.open->part = part;
    return s;
}

/* A further device is opened for a file that the first one has had for a while. */
static void a_part_waits(void **state)
{
    world_open(&w, "all");
    w.settings.debug.share_ms = 500;
    struct client *c = world_client(&w);
    world_part(c, 0);
    world_part(c, 1);
    world_step(&w);
    world_says_devices(&w.b.workers[0], w.b.workers[0].question, 2);
    world_step(&w);
    world_says_devices(&w.b.workers[0], w.b.workers[0].question, 1);
    assert_string_equal(world_step(&w), "w0 OPEN 1 from 0");
    w.now_ms += w.settings.debug.share_ms - 1;
    broker_changed(&w.b);
    assert_string_equal(world_step(&w), "");
    w.now_ms++;
    broker_changed(&w.b);
    assert_string_equal(world_step(&w),
                        "w1 start, w1 OPEN 2 from 0, w0 CORES 0 of 2, w1 CORES 0 of 2");
}

/* One that is open does not wait, as a part of the next file shows. */
static void an_open_device_does_not_wait(void **state)
{
    a_part_waits(state);
    struct client *c = world_client(&w);
    world_part(c, 0);
    world_part(c, 1);
    assert_string_equal(world_step(&w), "w0 OPEN 3 from 0, w1 OPEN 4 from 0");
}

static void all_is_one(void **state)
{
    world_open(&w, "all");
    world_stream(world_client(&w), 1, WORLD_FILE);
    world_step(&w);
    world_says_devices(&w.b.workers[0], w.b.workers[0].question, 1);
    assert_string_equal(world_step(&w), "w0 OPEN 1 from 0");
}

/* A worker that dies before it has answered is started and asked again. */
static void a_death_before_the_answer(void **state)
{
    world_open(&w, "a,b");
    world_stream(world_client(&w), 1, WORLD_FILE);
    world_step(&w);
    links_worker_dies(&w.b.workers[1]);
    assert_string_equal(world_step(&w), "w1 start, w1 DEVICES 0");
    world_says_devices(&w.b.workers[0], w.b.workers[0].question, 1);
    world_says_devices(&w.b.workers[1], w.b.workers[1].question, 1);
    assert_string_equal(world_step(&w), "w0 OPEN 1 from 0");
}

static void cameras_share_a_process(void **state)
{
    struct client *c = two_devices();
    for (uint32_t i = 2; i <= 3; i++) {
        struct broker_stream *s = world_stream(c, i, WORLD_FILE);
        free(s->source.open->uri);
        s->source.open->uri = strdup("v4l2:///dev/video0");
    }
    assert_string_equal(world_step(&w), "w0 OPEN 2 from 0, w0 OPEN 3 from 0");
}

static void a_list_that_is_wrong(void **state)
{
    char list[2 * (WORKERS_MAX + 1)];
    for (int i = 0; i <= WORKERS_MAX; i++)
        memcpy(list + 2 * i, i < WORKERS_MAX ? "a," : "a", 2);
    world_open(&w, list);
    world_stream(world_client(&w), 1, WORLD_FILE);
    assert_string_equal(world_step(&w), "c1 ERROR 1 -7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_device, teardown),
        cmocka_unit_test_teardown(a_list_of_two, teardown),
        cmocka_unit_test_teardown(cores_are_shared, teardown),
        cmocka_unit_test_teardown(a_death_concerns_one_device, teardown),
        cmocka_unit_test_teardown(a_worker_that_is_used_up, teardown),
        cmocka_unit_test_teardown(a_device_that_cannot_be_opened, teardown),
        cmocka_unit_test_teardown(all_devices, teardown),
        cmocka_unit_test_teardown(a_part_waits, teardown),
        cmocka_unit_test_teardown(an_open_device_does_not_wait, teardown),
        cmocka_unit_test_teardown(all_is_one, teardown),
        cmocka_unit_test_teardown(a_death_before_the_answer, teardown),
        cmocka_unit_test_teardown(cameras_share_a_process, teardown),
        cmocka_unit_test_teardown(a_list_that_is_wrong, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
