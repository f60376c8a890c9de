/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Several devices: each has a worker process, and streams are shared out evenly. The death of a
 * worker affects its own streams only.
 */
#include "tests/daemon/broker/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES = 3, STREAMS = 6, FRAMES = 60 };

/* The children of the one daemon that this process has started; their number. */
static int workers(pid_t out[], int room)
{
    return children_of(child_of(getpid()), out, room);
}

static void streams_are_shared(void)
{
    const char *values[] = {"device=a,b,c", NULL};
    struct pelton_device device;
    for (int victim = 0; victim < DEVICES; victim++) {
        struct pelton *conn = must_spawn(values);
        struct pelton_stream *s[STREAMS];
        pid_t pids[DEVICES + 1];
        for (int i = 0; i < STREAMS; i++)
            s[i] = must_open(conn, "frames=60 interval=1", NULL);
        CHECK_INT(workers(pids, DEVICES + 1), DEVICES);
        CHECK_INT(pelton_device(conn, &device), 0);
        CHECK_TEXT(device.name, "a and 2 more");
        struct pelton_frame f;
        for (int i = 0; i < STREAMS; i++) {
            must_next(s[i], 0, &f);
            pelton_release(s[i], &f);
        }
        CHECK(kill(pids[victim], SIGKILL) == 0);
        unsigned restarted = 0;
        for (int i = 0; i < STREAMS; i++) {
            struct pelton_stats stats;
            CHECK_INT(drain_stream(s[i], 1), FRAMES - 1);
            CHECK_INT(pelton_stats(s[i], WAIT_MS, &stats), 0);
            CHECK(stats.worker_restarts <= 1);
            restarted += stats.worker_restarts == 1;
            pelton_stream_close(s[i]);
        }
        CHECK_INT(restarted, STREAMS / DEVICES);
        pelton_close(conn);
    }
}

/* A worker that may not be started again gets no streams; the others do. */
static void dead_worker_is_passed_over(void)
{
    const char *values[] = {"device=a,b", "restarts=0", NULL};
    struct pelton *conn = must_spawn(values);
    struct pelton_stream *killer = must_open(conn, "frames=50 crash=3", NULL);
    struct pelton_frame f;
    int rc;
    while ((rc = pelton_next(killer, WAIT_MS, &f)) > 0)
        pelton_release(killer, &f);
    CHECK_INT(rc, PELTON_ERR_WORKER_LOST);
    pelton_stream_close(killer);
    for (int i = 0; i < 3; i++) {
        struct pelton_stream *s = must_open(conn, "frames=20", NULL);
        CHECK_INT(drain_stream(s, 0), 20);
        pelton_stream_close(s);
    }
    pelton_close(conn);
}

static void all_devices(void)
{
    struct pelton_spawn_params p = {.program = fake_program(), .device = "all", .log_fd = -1};
    struct pelton *conn = NULL;
    struct pelton_device device, *list;
    size_t count;
    pid_t pids[3];
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), 0);
    CHECK_INT(pelton_devices(conn, WAIT_MS, &list, &count), 0);
    CHECK_INT(count, 2);
    free(list);
    struct pelton_stream *s = must_open(conn, "frames=5", NULL);
    CHECK_INT(workers(pids, 3), 1); /* the other one is not needed yet */
    CHECK_INT(pelton_device(conn, &device), 0);
    CHECK_TEXT(device.name, "00000000-0000-0000-0000-000000000001 and 1 more");
    CHECK_INT(device.devices, 2);
    CHECK_INT(drain_stream(s, 0), 5);
    CHECK(kill(pids[0], SIGKILL) == 0); /* the next one gets the device by its name */
    CHECK(process_ends(pids[0], WAIT_MS));
    struct pelton_stream *both[2];
    for (int i = 0; i < 2; i++)
        both[i] = must_open(conn, "frames=5", NULL);
    CHECK_INT(workers(pids, 3), 2);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(drain_stream(both[i], 0), 5);
        pelton_stream_close(both[i]);
    }
    pelton_stream_close(s);
    pelton_close(conn);
}

/* The first stream waits for the first device alone. */
static void slow_device(void)
{
    struct pelton_spawn_params p = {.program = fake_program(), .device = "all", .log_fd = -1};
    struct pelton *conn = NULL;
    int64_t start = now_ms();
    CHECK(setenv("FAKE_DEVICES", "fast,slow:60000", 1) == 0);
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), 0);
    struct pelton_stream *first = must_open(conn, "frames=50", NULL), *second = NULL;
    struct pelton_open_params o = script_params(script_fd("frames=5"), "second");
    CHECK_INT(pelton_open_start(conn, &o, &second), 0);
    close(o.fd);
    CHECK_INT(drain_stream(first, 0), 50);
    pelton_stream_close(first);
    pelton_close(conn); /* it waits for no device either */
    CHECK(now_ms() - start < 60000 - LATE_MS);
}

/* Nobody has named the device that fails. */
static void device_fails(void)
{
    struct pelton_spawn_params p = {
        .program = fake_program(), .device = "all", .log_fd = open("/dev/null", O_WRONLY)};
    struct pelton *conn = NULL;
    struct pelton_stream *s[4];
    CHECK(setenv("FAKE_DEVICES", "a,none,c", 1) == 0);
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), 0);
    for (int i = 0; i < 4; i++)
        s[i] = must_open(conn, "frames=20", NULL);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(drain_stream(s[i], 0), 20);
        pelton_stream_close(s[i]);
    }
    pelton_close(conn);
    close(p.log_fd);
}

static void refused(const char *list, int code, const char *cause)
{
    struct pelton_spawn_params p = {.program = fake_program(),
                                    .device = list,
                                    .log_fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
    struct pelton_open_params o = script_params(script_fd("frames=1"), "x");
    struct pelton *conn = NULL;
    struct pelton_stream *s = NULL;
    struct pelton_device device;
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), 0);
    CHECK_INT(pelton_open(conn, &o, WAIT_MS, NULL, &s), code);
    CHECK(strstr(pelton_failure(conn)->cause, cause) != NULL);
    CHECK_INT(pelton_device(conn, &device), code);
    close(o.fd);
    close(p.log_fd);
    pelton_close(conn);
}

/* Who names devices means all of them. */
static void wrong_lists(void)
{
    refused("a,none", PELTON_ERR_NO_DEVICE, "no device matches \"none\"");
    refused("none,a", PELTON_ERR_NO_DEVICE, "no device matches \"none\"");
    refused("a,crash", PELTON_ERR_WORKER_LOST, "died more than");
    refused("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", PELTON_ERR_NO_DEVICE, "more than 16");
    refused("a,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            PELTON_ERR_NO_DEVICE, "too long");
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"streams_are_shared", streams_are_shared},
        {"dead_worker_is_passed_over", dead_worker_is_passed_over},
        {"all_devices", all_devices},
        {"slow_device", slow_device},
        {"device_fails", device_fails},
        {"wrong_lists", wrong_lists},
    };
    return tests_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
