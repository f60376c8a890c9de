/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes that die, stop and hang: worker, client, daemon. Nothing hangs, nothing is left behind,
 * and none costs another a frame.
 */
#include "tests/daemon/broker/harness.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t private_daemon_pid(void)
{
    return child_of(getpid());
}

/* The worker is killed while the client holds a frame: that frame stays, all others come, once and
 * in order. */
static void worker_killed(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = must_open(conn, "frames=120 interval=1 slots=4", NULL);
    struct pelton_frame held, f;
    pid_t worker = child_of(private_daemon_pid());
    must_next(s, 0, &held);
    for (uint64_t i = 1; i < 40; i++) {
        must_next(s, i, &f);
        pelton_release(s, &f);
    }
    CHECK(worker > 0 && kill(worker, SIGKILL) == 0);
    bool discont = false;
    uint32_t epoch = f.epoch;
    for (uint64_t i = 40; i < 120; i++) {
        must_next(s, i, &f);
        CHECK(!discont || !(f.flags & PELTON_FRAME_DISCONT)); /* once */
        discont |= (f.flags & PELTON_FRAME_DISCONT) != 0;
        CHECK(discont == (f.epoch != epoch));
        pelton_release(s, &f);
    }
    CHECK(discont);
    CHECK_INT(held.data[0][0], 0);
    CHECK_INT(pelton_next(s, WAIT_MS, &f), 0);
    struct pelton_stats stats;
    CHECK_INT(pelton_stats(s, WAIT_MS, &stats), 0);
    CHECK_INT(stats.worker_restarts, 1);
    pelton_release(s, &held);
    pelton_stream_close(s);
    pelton_close(conn);
}

/* The same in quick succession, at any moment, with statistics asked meanwhile. */
static void worker_killed_at_any_time(void)
{
    const char *values[] = {"restarts=16", "restart_window_ms=1", NULL};
    for (int round = 0; round < 10; round++) {
        struct pelton *conn = must_spawn(values);
        struct pelton_stream *s = must_open(conn, "frames=200 slots=3", NULL);
        struct pelton_frame f;
        struct pelton_stats stats;
        for (uint64_t i = 0; i < 200; i++) {
            if (i == (uint64_t)round * 17 + 1) {
                kill(child_of(private_daemon_pid()), SIGKILL);
                CHECK_INT(pelton_stats(s, WAIT_MS, &stats), 0);
            }
            must_next(s, i, &f);
            pelton_release(s, &f);
        }
        CHECK_INT(pelton_next(s, WAIT_MS, &f), 0);
        pelton_stream_close(s);
        pelton_close(conn);
    }
}

static void pipe_cannot_resume(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = NULL;
    struct pelton_frame f;
    int fd = script_pipe("frames=1000 interval=2");
    struct pelton_open_params p = script_params(fd, "the pipe");
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), 0);
    must_next(s, 0, &f);
    kill(child_of(private_daemon_pid()), SIGKILL);
    int rc;
    while ((rc = pelton_next(s, WAIT_MS, &f)) > 0)
        pelton_release(s, &f);
    CHECK_INT(rc, PELTON_ERR_WORKER_LOST);
    CHECK_TEXT(pelton_failure(conn)->cause,
               "the pipe: the decoding process died, and this source cannot be read a second time");
    pelton_stream_close(s);
    s = must_open(conn, "frames=3", NULL); /* the daemon is well */
    CHECK_INT(drain_stream(s, 0), 3);
    pelton_stream_close(s);
    close(fd);
    pelton_close(conn);
}

static void killer_is_set_aside(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = NULL, *again = NULL;
    struct pelton_frame f;
    int fd = script_fd("frames=50 crash=10");
    struct pelton_open_params p = script_params(fd, "killer");
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), 0);
    for (uint64_t i = 0; i < 10; i++) {
        must_next(s, i, &f);
        pelton_release(s, &f);
    }
    CHECK_INT(pelton_next(s, WAIT_MS, &f), PELTON_ERR_WORKER_LOST);
    CHECK_TEXT(pelton_failure(conn)->cause,
               "killer: the decoding process died twice at this stream, which is set aside");
    p.name = "another name";
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &again), PELTON_ERR_WORKER_LOST);
    CHECK_TEXT(pelton_failure(conn)->cause,
               "another name: the decoding process died twice at this source before");
    close(fd);
    again = must_open(conn, "frames=5", NULL);
    CHECK_INT(drain_stream(again, 0), 5);
    pelton_stream_close(again);
    pelton_stream_close(s);
    pelton_close(conn);
}

/* One killer among others: they lose nothing, and it is the killer that is set aside. */
static void killer_among_others(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *good[5];
    for (int i = 0; i < 5; i++)
        good[i] = must_open(conn, "frames=150 interval=1 slots=8", NULL);
    struct pelton_stream *bad = must_open(conn, "frames=150 interval=1 crash=30", NULL);
    struct pelton_frame f;
    for (uint64_t n = 0; n < 150; n++) {
        for (int i = 0; i < 5; i++) {
            must_next(good[i], n, &f);
            pelton_release(good[i], &f);
        }
        if (n < 30) {
            must_next(bad, n, &f);
            pelton_release(bad, &f);
        }
    }
    CHECK_INT(pelton_next(bad, WAIT_MS, &f), PELTON_ERR_WORKER_LOST);
    for (int i = 0; i < 5; i++)
        CHECK_INT(pelton_next(good[i], WAIT_MS, &f), 0);
    pelton_close(conn);
}

static void too_many_restarts(void)
{
    const char *values[] = {"restarts=2", NULL};
    struct pelton *conn = must_spawn(values);
    struct pelton_stream *s = must_open(conn, "frames=100000 interval=1 slots=4", NULL);
    struct pelton_frame f;
    int deaths = 0, rc;
    while ((rc = pelton_next(s, WAIT_MS, &f)) > 0) {
        pelton_release(s, &f);
        /* each time past the place of the last: no quarantine */
        if (f.sequence >= (uint64_t)deaths * 50 && deaths < 3) {
            kill(child_of(private_daemon_pid()), SIGKILL);
            deaths++;
        }
    }
    CHECK_INT(deaths, 3);
    CHECK_INT(rc, PELTON_ERR_WORKER_LOST);
    CHECK(strstr(pelton_failure(conn)->cause,
                 "the decoding process died more than 2 times in 300 s"));
    pelton_stream_close(s);
    int fd = script_fd("frames=1");
    struct pelton_open_params p = script_params(fd, "later");
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_WORKER_LOST);
    struct pelton_device device;
    CHECK_INT(pelton_device(conn, &device), PELTON_ERR_WORKER_LOST);
    close(fd);
    pelton_close(conn);
}

static void hanging_worker(void)
{
    const char *values[] = {"ping_ms=40", "worker_dead_ms=1000", NULL};
    struct pelton *conn = must_spawn(values);
    struct pelton_stream *s = must_open(conn, "frames=50 hang=10", NULL);
    struct pelton_frame f;
    for (uint64_t i = 0; i < 10; i++) {
        must_next(s, i, &f);
        pelton_release(s, &f);
    }
    CHECK_INT(pelton_next(s, WAIT_MS, &f), PELTON_ERR_WORKER_LOST);
    pelton_close(conn);
}

static void gpu_lost(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = must_open(conn, "frames=50 lost=10 interval=1", NULL);
    struct pelton_frame f;
    pid_t worker = child_of(private_daemon_pid());
    for (uint64_t i = 0; i < 10; i++) {
        must_next(s, i, &f);
        pelton_release(s, &f);
    }
    CHECK_INT(pelton_next(s, WAIT_MS, &f), PELTON_ERR_GPU_LOST);
    CHECK_TEXT(pelton_failure(conn)->cause,
               "frames=50 lost=10 interval=1: the fake device is lost");
    CHECK(process_ends(worker, WAIT_MS));
    pelton_close(conn);
}

/* ---- clients ---- */

static void report_children(int to)
{
    pid_t pids[2];
    pids[0] = private_daemon_pid();
    pids[1] = child_of(pids[0]);
    CHECK(write(to, pids, sizeof(pids)) == sizeof(pids));
}

static void private_client_killed(void)
{
    int ends[2];
    pid_t pids[2];
    CHECK(pipe(ends) == 0);
    pid_t client = fork();
    if (client == 0) {
        struct pelton *conn = must_spawn(NULL);
        struct pelton_frame f;
        struct pelton_stream *s = must_open(conn, "frames=100000 slots=2", NULL);
        must_next(s, 0, &f);
        report_children(ends[1]);
        raise(SIGKILL);
    }
    CHECK(read(ends[0], pids, sizeof(pids)) == sizeof(pids));
    waitpid(client, NULL, 0);
    CHECK(pids[0] > 0 && pids[1] > 0);
    CHECK(process_ends(pids[0], WAIT_MS));
    CHECK(process_ends(pids[1], WAIT_MS));
}

/* The daemon dies without a word: no worker may stay, whatever it is doing. */
static void daemon_killed(void)
{
    struct daemon d;
    daemon_start(&d, NULL);
    struct pelton *conn = must_connect(&d);
    struct pelton_stream *s = must_open(conn, "frames=100000 interval=1", NULL);
    struct pelton_stream *hung = must_open(conn, "frames=100 hang=50", NULL);
    struct pelton_frame f, held;
    must_next(s, 0, &held);
    pid_t worker = child_of(d.pid);
    int64_t start = now_ms();
    kill(d.pid, SIGKILL);
    int rc;
    while ((rc = pelton_next(s, WAIT_MS, &f)) > 0)
        pelton_release(s, &f);
    CHECK_INT(rc, PELTON_ERR_GONE);
    CHECK(now_ms() - start < LATE_MS);
    CHECK_INT(held.data[0][0], 0);
    struct pelton_stats stats;
    CHECK_INT(pelton_stats(s, WAIT_MS, &stats), PELTON_ERR_GONE);
    CHECK(process_ends(worker, WAIT_MS));
    pelton_stream_close(hung);
    pelton_stream_close(s);
    pelton_close(conn);
    waitpid(d.pid, NULL, 0);
    unlink(d.socket);
}

static int open_descriptors(pid_t pid)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static bool descriptors_become(pid_t pid, int want)
{
    for (int64_t deadline = now_ms() + WAIT_MS; now_ms() < deadline; sleep_ms(5))
        if (open_descriptors(pid) <= want)
            return true;
    return false;
}

/* Clients that come, take frames and are killed: broker and worker hold no more descriptors than
 * before. */
static void killed_clients_leak_nothing(void)
{
    struct daemon d;
    daemon_start(&d, NULL);
    struct pelton *conn = must_connect(&d);
    struct pelton_stream *s = must_open(conn, "frames=1", NULL);
    CHECK_INT(drain_stream(s, 0), 1);
    pelton_stream_close(s);
    pid_t worker = child_of(d.pid);
    sleep_ms(20);
    int broker_fds = open_descriptors(d.pid), worker_fds = open_descriptors(worker);
    for (int i = 0; i < 20; i++) {
        pid_t client = fork();
        if (client == 0) {
            struct pelton *mine = must_connect(&d);
            struct pelton_stream *a = must_open(mine, "frames=1000 slots=2 epoch=4", NULL);
            struct pelton_stream *b =
                must_open(mine, "frames=1000 slots=2 epoch=4 interval=1", NULL);
            struct pelton_frame f;
            for (uint64_t n = 0; n < (uint64_t)i; n++) {
                must_next(a, n, &f);
                pelton_release(a, &f);
                must_next(b, n, &f);
                pelton_release(b, &f);
            }
            raise(SIGKILL);
        }
        waitpid(client, NULL, 0);
    }
    CHECK(descriptors_become(d.pid, broker_fds));
    CHECK(descriptors_become(worker, worker_fds));
    pelton_close(conn);
    daemon_stop(&d);
}

static void stopped_client_blocks_nobody(void)
{
    struct daemon d;
    int ends[2];
    char byte;
    CHECK(pipe(ends) == 0);
    daemon_start(&d, NULL);
    pid_t client = fork();
    if (client == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct pelton *mine = must_connect(&d);
        struct pelton_stream *s = must_open(mine, "frames=100000 slots=4", NULL);
        struct pelton_frame f;
        must_next(s, 0, &f);
        CHECK(write(ends[1], "x", 1) == 1);
        raise(SIGSTOP);
        _exit(0);
    }
    CHECK(read(ends[0], &byte, 1) == 1);
    struct pelton *conn = must_connect(&d);
    struct pelton_stream *s = must_open(conn, "frames=2000 slots=4", NULL);
    CHECK_INT(drain_stream(s, 0), 2000);
    pelton_stream_close(s);
    pelton_close(conn);
    kill(client, SIGKILL);
    waitpid(client, NULL, 0);
    daemon_stop(&d);
}

/* A private daemon does not hold the caller's standard output open, and the terminal's keys do not
 * reach it. */
static void private_daemon_is_apart(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = must_open(conn, "frames=10 interval=1", NULL);
    pid_t daemon = private_daemon_pid(), worker = child_of(daemon);
    char path[64], target[64];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "/proc/%d/fd/1", (int)(i ? worker : daemon));
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = 0;
        CHECK_TEXT(target, "/dev/null");
    }
    kill(daemon, SIGINT);
    kill(worker, SIGINT);
    CHECK_INT(drain_stream(s, 0), 10);
    pelton_close(conn);
    CHECK(process_ends(daemon, WAIT_MS));
    CHECK(process_ends(worker, WAIT_MS)); /* the daemon waits for its channel alone */
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"worker_killed", worker_killed},
        {"worker_killed_at_any_time", worker_killed_at_any_time},
        {"pipe_cannot_resume", pipe_cannot_resume},
        {"killer_is_set_aside", killer_is_set_aside},
        {"killer_among_others", killer_among_others},
        {"too_many_restarts", too_many_restarts},
        {"hanging_worker", hanging_worker},
        {"gpu_lost", gpu_lost},
        {"private_client_killed", private_client_killed},
        {"daemon_killed", daemon_killed},
        {"killed_clients_leak_nothing", killed_clients_leak_nothing},
        {"stopped_client_blocks_nobody", stopped_client_blocks_nobody},
        {"private_daemon_is_apart", private_daemon_is_apart},
    };
    return tests_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
