/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One file on several devices: each worker makes its own stretches, and the reader gets every frame
 * once, in order. No device is waited for.
 */
#include "tests/daemon/broker/harness.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES = 3, FRAMES = 200 };

static struct pelton *spawn(void)
{
    const char *values[] = {"device=a,b,c", "debug.share_kib=0", "debug.share_ms=0", NULL};
    return must_spawn(values);
}

static struct pelton_open_params params_of(const char *script)
{
    struct pelton_open_params p = script_params(script_fd(script), script);
    p.devices = DEVICES;
    return p;
}

static struct pelton_stream *must_share(struct pelton *conn, struct pelton_open_params p)
{
    struct pelton_stream *s = NULL;
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), 0);
    close(p.fd);
    return s;
}

/* Whatever the length of a stretch, and however few slots each part has. */
static void frames_come_in_order(void)
{
    static const char *const scripts[] = {"frames=200 gop=1 slots=1", "frames=200 gop=7 slots=2",
                                          "frames=200 gop=64 slots=3", "frames=200 gop=500",
                                          "frames=200 gop=10 epoch=15"};
    struct pelton *conn = spawn();
    for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
        struct pelton_stream *s = must_share(conn, params_of(scripts[i]));
        struct pelton_stats stats;
        CHECK_INT(drain_stream(s, 0), FRAMES);
        CHECK_INT(pelton_stats(s, WAIT_MS, &stats), 0);
        CHECK_INT(stats.frames, FRAMES);
        pelton_stream_close(s);
    }
    pelton_close(conn);
}

static void only_the_last_is_last(void)
{
    struct pelton *conn = spawn();
    struct pelton_stream *s = must_share(conn, params_of("frames=25 gop=4"));
    struct pelton_frame f;
    while (pelton_next(s, WAIT_MS, &f) > 0) {
        CHECK_INT((f.flags & PELTON_FRAME_LAST) != 0, f.sequence == 24);
        pelton_release(s, &f);
    }
    pelton_stream_close(s);
    pelton_close(conn);
}

/* Frames of several parts may be held at once and given back in any order. */
static void frames_are_released_out_of_order(void)
{
    struct pelton *conn = spawn();
    struct pelton_stream *s = must_share(conn, params_of("frames=200 gop=1 slots=4"));
    struct pelton_frame held[DEVICES];
    for (uint64_t n = 0; n < FRAMES; n++) {
        struct pelton_frame *f = &held[n % DEVICES];
        if (n >= DEVICES) {
            check_pels(f);
            pelton_release(s, f);
        }
        CHECK_INT(pelton_next(s, WAIT_MS, f), 1);
        CHECK_INT(f->sequence, n);
    }
    pelton_stream_close(s); /* with frames in hand */
    pelton_close(conn);
}

static void a_worker_dies(void)
{
    struct pelton *conn = spawn();
    struct pelton_stream *s = must_share(conn, params_of("frames=200 gop=5 interval=1"));
    struct pelton_frame f;
    struct pelton_stats stats;
    pid_t daemon = child_of(getpid());
    must_next(s, 0, &f);
    pelton_release(s, &f);
    CHECK(kill(child_of(daemon), SIGKILL) == 0);
    CHECK_INT(drain_stream(s, 1), FRAMES - 1);
    CHECK_INT(pelton_stats(s, WAIT_MS, &stats), 0);
    CHECK_INT(stats.worker_restarts, 1);
    pelton_stream_close(s);
    pelton_close(conn);
}

/* The failure comes where the frames end that can be had, and no frame after a hole. */
static void a_part_fails(void)
{
    struct pelton *conn = spawn();
    struct pelton_stream *s = must_share(conn, params_of("frames=200 gop=5 fail=-6 at=100"));
    struct pelton_frame f;
    uint64_t n = 0;
    int rc;
    while ((rc = pelton_next(s, WAIT_MS, &f)) > 0) {
        CHECK_INT(f.sequence, n++);
        pelton_release(s, &f);
    }
    CHECK_INT(rc, PELTON_ERR_DECODE);
    CHECK_INT(n, 100);
    pelton_stream_close(s);
    pelton_close(conn);
}

static void refusals_and_time_outs(void)
{
    struct pelton *conn = spawn();
    struct pelton_open_params p = params_of("frames=5 unsupported=1");
    struct pelton_stream *s = NULL;
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_UNSUPPORTED);
    close(p.fd);
    s = must_share(conn, params_of("frames=50 gop=5 hang=12"));
    struct pelton_frame f;
    uint64_t n = 0;
    int rc;
    while ((rc = pelton_next(s, n < 12 ? WAIT_MS : 300, &f)) > 0) {
        n++;
        pelton_release(s, &f);
    }
    CHECK_INT(rc, PELTON_ERR_TIMEOUT);
    CHECK_INT(n, 12);
    pelton_stream_close(s);
    pelton_close(conn);
}

/* What cannot be shared is decoded by one device all the same. */
static void not_shared(void)
{
    struct pelton *conn = spawn();
    struct pelton_open_params p = params_of("frames=30 gop=3");
    p.fields = true;
    struct pelton_stream *s = must_share(conn, p);
    CHECK_INT(drain_stream(s, 0), 30);
    pelton_stream_close(s);
    pelton_close(conn);
}

/* The file is too short: the first part has all of it. */
static void short_file(void)
{
    const char *values[] = {"device=a,b,c", NULL};
    struct pelton *conn = must_spawn(values);
    struct pelton_stream *s = must_share(conn, params_of("frames=40 gop=4"));
    struct pelton_frame f;
    for (uint64_t n = 0; n < 40; n++) {
        must_next(s, n, &f);
        CHECK_INT(f.epoch % DEVICES, 0);
        CHECK_INT((f.flags & PELTON_FRAME_LAST) != 0, n == 39);
        pelton_release(s, &f);
    }
    CHECK_INT(pelton_next(s, WAIT_MS, &f), 0);
    pelton_stream_close(s);
    pelton_close(conn);
}

static struct pelton *spawn_all(const char *devices)
{
    const char *values[] = {"debug.share_kib=0", "debug.share_ms=0", NULL};
    struct pelton_spawn_params p = {
        .program = fake_program(), .device = "all", .extra = values, .log_fd = -1};
    struct pelton *conn = NULL;
    CHECK(setenv("FAKE_DEVICES", devices, 1) == 0);
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), 0);
    return conn;
}

/* Neither the first frame nor the last one waits for it, nor the end of everything. */
static void slow_device(void)
{
    int64_t start = now_ms();
    struct pelton *conn = spawn_all("fast,slow:60000,slow:60000");
    struct pelton_stream *s = must_share(conn, params_of("frames=200 gop=5"));
    struct pelton_stats stats;
    CHECK_INT(drain_stream(s, 0), FRAMES);
    CHECK_INT(pelton_stats(s, WAIT_MS, &stats), 0);
    CHECK_INT(stats.frames, FRAMES);
    pelton_stream_close(s);
    pelton_close(conn);
    CHECK(now_ms() - start < 60000 - LATE_MS);
}

/* It takes part once it is there. */
static void late_device(void)
{
    struct pelton *conn = spawn_all("fast,slow:300,fast too");
    struct pelton_stream *s = must_share(conn, params_of("frames=1000000 gop=5 interval=1"));
    struct pelton_frame f;
    uint64_t n = 0, of_late = 0;
    int64_t start = now_ms();
    while (of_late < 20 && now_ms() - start < WAIT_MS) {
        must_next(s, n++, &f);
        of_late += f.epoch % DEVICES == 1;
        check_pels(&f);
        pelton_release(s, &f);
    }
    CHECK_INT(of_late, 20);
    CHECK(n > 20); /* the others had frames, too */
    pelton_stream_close(s);
    pelton_close(conn);
}

/* A part whose device cannot be opened has no stretch. */
static void absent_device(void)
{
    struct pelton *conn = spawn_all("a,none,c");
    struct pelton_stream *s = must_share(conn, params_of("frames=200 gop=5"));
    CHECK_INT(drain_stream(s, 0), FRAMES);
    pelton_stream_close(s);
    pelton_close(conn);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"frames_come_in_order", frames_come_in_order},
        {"only_the_last_is_last", only_the_last_is_last},
        {"frames_are_released_out_of_order", frames_are_released_out_of_order},
        {"a_worker_dies", a_worker_dies},
        {"a_part_fails", a_part_fails},
        {"refusals_and_time_outs", refusals_and_time_outs},
        {"not_shared", not_shared},
        {"short_file", short_file},
        {"slow_device", slow_device},
        {"late_device", late_device},
        {"absent_device", absent_device},
    };
    return tests_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
