/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Hostile and careless clients of the broker: they harm nobody but themselves.
 */
#include "tests/daemon/broker/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The daemon still serves a stream. */
static void check_well(const struct daemon *d)
{
    struct pelton *conn = must_connect(d);
    struct pelton_stream *s = must_open(conn, "frames=5", NULL);
    CHECK_INT(drain_stream(s, 0), 5);
    pelton_stream_close(s);
    pelton_close(conn);
}

static void expect_end(struct raw *r, int limit_ms)
{
    struct frame f;
    int rc;
    int64_t deadline = now_ms() + limit_ms;
    while ((rc = raw_receive(r, (int)(deadline - now_ms()), &f)) > 0)
        frame_close_fds(&f);
    CHECK_INT(rc, FRAME_ERR_CLOSED);
}

static void hello_deadline(void)
{
    const char *values[] = {"hello_ms=80", NULL};
    struct daemon d;
    struct raw silent, other;
    struct frame f;
    daemon_start(&d, values);
    raw_connect(&silent, &d);
    raw_connect(&other, &d);
    raw_hello(&other);
    CHECK(write(silent.fd, "\1\0\0", 3) == 3); /* a part of a frame is no hello */
    int64_t start = now_ms();
    CHECK_INT(raw_receive(&silent, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_GOODBYE);
    expect_end(&silent, WAIT_MS);
    CHECK(now_ms() - start >= 60 && now_ms() - start < 80 + LATE_MS);
    raw_send(&other, WIRE_PING, 3, 0, NULL, -1); /* whoever said hello stays */
    CHECK_INT(raw_receive(&other, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_PONG);
    CHECK_INT(f.h.request_id, 3);
    raw_close(&silent);
    raw_close(&other);
    daemon_stop(&d);
}

/* A private daemon waits for its one client, which may get no time on a busy machine. */
static void private_client_is_late(void)
{
    int ends[2];
    char fd[12];
    struct raw r;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    snprintf(fd, sizeof(fd), "%d", ends[1]);
    pid_t pid = fork();
    if (pid == 0) {
        execl(fake_program(), "peltond", "--private-fd", fd, "-c", "hello_ms=10", NULL);
        _exit(127);
    }
    close(ends[1]);
    CHECK(child_of(pid) > 0); /* it runs: it has a worker */
    sleep_ms(300);
    r.fd = ends[0];
    frame_reader_init(&r.reader);
    raw_hello(&r);
    raw_close(&r);
    CHECK(process_ends(pid, WAIT_MS));
    waitpid(pid, NULL, 0);
}

static void first_message_is_hello(void)
{
    struct daemon d;
    struct raw r;
    struct frame f;
    daemon_start(&d, NULL);
    raw_connect(&r, &d);
    raw_send(&r, WIRE_DEVICES, 1, 0, NULL, -1);
    CHECK_INT(raw_receive(&r, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_ERROR);
    expect_end(&r, WAIT_MS);
    raw_close(&r);
    Pelton__Hello m = PELTON__HELLO__INIT;
    m.proto_min = m.proto_max = 99;
    raw_connect(&r, &d);
    raw_send(&r, WIRE_HELLO, 0, 0, &m.base, -1);
    CHECK_INT(raw_receive(&r, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_ERROR);
    expect_end(&r, WAIT_MS);
    raw_close(&r);
    daemon_stop(&d);
}

/* At limit - 1, limit and limit + 1; and room again when one has gone. */
static void quotas(void)
{
    const char *values[] = {"clients=12", "clients_per_uid=4", "streams=2", "resting=0", NULL};
    struct daemon d;
    struct pelton *conn[4], *fifth;
    daemon_start(&d, values);
    for (int i = 0; i < 4; i++)
        conn[i] = must_connect(&d);
    CHECK_INT(pelton_connect(d.socket, WAIT_MS, &fifth), PELTON_ERR_LIMIT);
    CHECK_TEXT(pelton_failure(NULL)->cause,
               "this user has as many connections as one user may have");
    pelton_close(conn[3]);
    int rc;
    int64_t deadline = now_ms() + WAIT_MS;
    while ((rc = pelton_connect(d.socket, WAIT_MS, &conn[3])) < 0)
        CHECK(now_ms() < deadline);
    struct pelton_stream *a = must_open(conn[0], "frames=3", NULL),
                         *b = must_open(conn[1], "frames=3", NULL), *c = NULL;
    int fd = script_fd("frames=3");
    struct pelton_open_params p = script_params(fd, "third");
    CHECK_INT(pelton_open(conn[2], &p, WAIT_MS, NULL, &c), PELTON_ERR_LIMIT);
    CHECK_TEXT(pelton_failure(conn[2])->hint, "close others, or raise streams, now 2");
    pelton_stream_close(a);
    CHECK_INT(pelton_open(conn[0], &p, WAIT_MS, NULL, &c), 0);
    CHECK_INT(drain_stream(c, 0), 3);
    CHECK_INT(drain_stream(b, 0), 3);
    close(fd);
    for (int i = 0; i < 4; i++)
        pelton_close(conn[i]);
    daemon_stop(&d);
}

static void unknown_and_unfit_messages(void)
{
    static const unsigned types[] = {10,
                                     15,
                                     37,
                                     255,
                                     65535,
                                     WIRE_HELLO,
                                     WIRE_WELCOME,
                                     WIRE_OPEN_REPLY,
                                     WIRE_FRAME_READY,
                                     WIRE_EOS,
                                     WIRE_RELOAD_REPLY,
                                     WIRE_STATUS_REPLY,
                                     WIRE_SOURCE_EVENT};
    struct daemon d;
    struct raw r;
    struct frame f;
    daemon_start(&d, NULL);
    raw_connect(&r, &d);
    raw_hello(&r);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        raw_send(&r, types[i], (uint32_t)i + 1, 5, NULL, i % 2 ? r.fd : -1);
        CHECK_INT(raw_receive(&r, WAIT_MS, &f), 1);
        CHECK_INT(f.h.type, WIRE_ERROR);
        CHECK_INT(f.h.request_id, i + 1);
    }
    const uint8_t torn[20] = {4, 0, 0, 0, WIRE_OPEN, 0, 0,    0,    9,    0,
                              0, 0, 1, 0, 0,         0, 0xff, 0xff, 0xff, 0xff};
    CHECK(write(r.fd, torn, sizeof(torn)) == sizeof(torn));
    CHECK_INT(raw_receive(&r, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_ERROR);
    CHECK_INT(f.h.request_id, 9);
    raw_close(&r);
    check_well(&d);
    daemon_stop(&d);
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t random_u32(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

/* A frame whose header is mostly right, so that it gets past the framing; now and then one that is
 * not. */
static size_t random_frame(uint8_t *out)
{
    static const uint16_t types[] = {WIRE_OPEN,    WIRE_PROBE,         WIRE_CLOSE,
                                     WIRE_RELEASE, WIRE_CREDIT,        WIRE_STATS,
                                     WIRE_DEVICES, WIRE_PING,          WIRE_PONG,
                                     WIRE_HELLO,   WIRE_ERROR,         WIRE_FORMAT_CHANGED,
                                     WIRE_SOURCES, WIRE_WATCH_SOURCES, WIRE_CONTROLS,
                                     WIRE_RELOAD,  WIRE_STATUS,        99};
    struct frame_header h = {
        .length = random_u32() % 48, .request_id = random_u32() % 4, .object_id = random_u32() % 5};
    h.type = types[random_u32() % (sizeof(types) / sizeof(*types))];
    h.flags = (uint8_t)random_u32();
    if (random_u32() % 500 == 0)
        h.length = random_u32();
    if (random_u32() % 500 == 0)
        h.n_fds = (uint8_t)random_u32();
    frame_header_pack(&h, out);
    size_t length = h.length < 64 ? h.length : 64;
    for (size_t i = 0; i < length; i++) {
        out[16 + i] =
            (uint8_t)(random_u32() % 3 ? random_u32() % 16 * 8 + random_u32() % 3 : random_u32());
    }
    return 16 + length;
}

static void discard_input(int fd)
{
    char rest[65536];
    while (recv(fd, rest, sizeof(rest), MSG_DONTWAIT) > 0) {
    }
}

/* 10,000 random messages over as many connections as it takes. */
static void garbage(void)
{
    const char *values[] = {"streams=8", NULL};
    struct daemon d;
    daemon_start(&d, values);
    struct raw r;
    bool open = false;
    for (int i = 0; i < 10000; i++) {
        uint8_t bytes[128];
        if (!open) {
            raw_connect(&r, &d);
            if (random_u32() % 4)
                raw_hello(&r);
            open = true;
        }
        size_t n = random_frame(bytes);
        discard_input(r.fd);
        if (send(r.fd, bytes, n, MSG_NOSIGNAL) < 0) {
            raw_close(&r);
            open = false;
        }
    }
    if (open)
        raw_close(&r);
    check_well(&d);
    daemon_stop(&d);
}

/* It asks and never reads: 8 MiB of answers, then it is cut off; meanwhile another is served. */
static void client_that_does_not_read(void)
{
    struct daemon d;
    struct raw r;
    daemon_start(&d, NULL);
    raw_connect(&r, &d);
    raw_hello(&r);
    uint8_t frames[64 * FRAME_HEADER_SIZE];
    for (int i = 0; i < 64; i++) {
        frame_header_pack(&(struct frame_header){.type = 999, .request_id = 1},
                          frames + i * FRAME_HEADER_SIZE);
    }
    bool cut = false;
    for (int i = 0; i < 20000 && !cut; i++)
        cut = send(r.fd, frames, sizeof(frames), MSG_NOSIGNAL) < 0;
    CHECK(cut);
    raw_close(&r);
    check_well(&d);
    daemon_stop(&d);
}

/* Bad releases, credits and closes of a stream that is there. */
static void lies_about_slots(void)
{
    struct daemon d;
    struct raw r;
    struct frame f;
    daemon_start(&d, NULL);
    raw_connect(&r, &d);
    raw_hello(&r);
    struct pelton_open_params p = script_params(0, "raw");
    Pelton__Open open;
    wire_open_from(&p, (struct wire_stretch){0}, &open);
    int fd = script_fd("frames=6 slots=2"), frames = 0;
    raw_send(&r, WIRE_OPEN, 1, 7, &open.base, fd);
    raw_send(&r, WIRE_OPEN, 2, 7, &open.base, fd); /* the same number again */
    close(fd);
    Pelton__Release release = PELTON__RELEASE__INIT;
    for (int i = 0; i < 1000; i++) {
        release.epoch = random_u32() % 3;
        release.slot = random_u32() % 4;
        release.generation = 100 + random_u32();
        raw_send(&r, WIRE_RELEASE, 0, 7, &release.base, -1);
    }
    for (int limit = WAIT_MS; raw_receive(&r, limit, &f) == 1; limit = frames < 2 ? WAIT_MS : 100) {
        frames += f.h.type == WIRE_FRAME_READY;
        CHECK(f.h.type != WIRE_ERROR || f.h.request_id == 2);
        frame_close_fds(&f);
    }
    CHECK_INT(frames, 2); /* as many as there are slots: none of the lies was believed */
    raw_close(&r);
    check_well(&d);
    daemon_stop(&d);
}

/* Only libpelton sets these numbers; another client may send any. */
static void refuses_odd_stretches(void)
{
    static const struct wire_stretch odd[] = {{3, 3, 0}, {1, 0, 0}, {0, PELTON_MAX_DEVICES + 1, 0}};
    struct daemon d;
    struct raw r;
    struct frame f;
    daemon_start(&d, NULL);
    raw_connect(&r, &d);
    raw_hello(&r);
    struct pelton_open_params p = script_params(0, "raw");
    for (uint32_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        Pelton__Open open;
        wire_open_from(&p, odd[i], &open);
        int fd = script_fd("frames=30");
        raw_send(&r, WIRE_OPEN, i + 1, i + 7, &open.base, fd);
        close(fd);
        CHECK_INT(raw_receive(&r, WAIT_MS, &f), 1);
        CHECK_INT(f.h.type, WIRE_ERROR);
        Pelton__Error *m = (Pelton__Error *)wire_unpack(&f);
        CHECK(m && m->code == PELTON_ERR_USAGE);
        wire_free(&m->base);
    }
    raw_close(&r);
    check_well(&d);
    daemon_stop(&d);
}

/* A client with a stream that answers no ping is cut; one without is left alone. */
static void silent_client(void)
{
    const char *values[] = {"ping_ms=30", "dead_ms=120", NULL};
    struct daemon d;
    struct raw with, without;
    struct frame f;
    daemon_start(&d, values);
    raw_connect(&with, &d);
    raw_hello(&with);
    raw_connect(&without, &d);
    raw_hello(&without);
    struct pelton_open_params p = script_params(0, "raw");
    Pelton__Open open;
    wire_open_from(&p, (struct wire_stretch){0}, &open);
    int fd = script_fd("frames=1000 slots=2");
    raw_send(&with, WIRE_OPEN, 1, 7, &open.base, fd);
    close(fd);
    int64_t start = now_ms();
    bool pinged = false;
    int rc;
    while ((rc = raw_receive(&with, WAIT_MS, &f)) == 1) {
        pinged |= f.h.type == WIRE_PING;
        frame_close_fds(&f);
    }
    CHECK_INT(rc, FRAME_ERR_CLOSED);
    CHECK(pinged && now_ms() - start >= 100 && now_ms() - start < 120 + LATE_MS);
    raw_send(&without, WIRE_PING, 3, 0, NULL, -1);
    do {
        CHECK_INT(raw_receive(&without, WAIT_MS, &f), 1);
    } while (f.h.type == WIRE_PING);
    CHECK_INT(f.h.type, WIRE_PONG);
    raw_close(&with);
    raw_close(&without);
    daemon_stop(&d);
}

static void sockets(void)
{
    struct daemon d;
    struct stat st;
    struct pelton *conn = NULL;
    CHECK_INT(pelton_connect("/tmp/pelton-no-such-socket", WAIT_MS, &conn), PELTON_ERR_NO_DAEMON);
    CHECK(strlen(pelton_failure(NULL)->hint) > 0);
    daemon_start(&d, NULL);
    CHECK(stat(d.socket, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0660);
    pid_t second = fork();
    if (second == 0) {
        execl(fake_program(), "peltond", "--socket", d.socket, "--log-level", "quiet", NULL);
        _exit(127);
    }
    int status;
    waitpid(second, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1); /* the place is taken */
    check_well(&d);
    kill(d.pid, SIGKILL);
    waitpid(d.pid, NULL, 0);
    /* refused: a stale file */
    CHECK_INT(pelton_connect(d.socket, WAIT_MS, &conn), PELTON_ERR_NO_DAEMON);
    if (geteuid() == 0) {
        pid_t other = fork();
        if (other == 0) {
            CHECK(chmod(d.socket, 0600) == 0 && setuid(65534) == 0);
            CHECK_INT(pelton_connect(d.socket, WAIT_MS, &conn), PELTON_ERR_PERMISSION);
            _exit(0);
        }
        waitpid(other, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    daemon_start(&d, NULL); /* replaces the stale file */
    check_well(&d);
    daemon_stop(&d);
}

static void shutdown_by_message(void)
{
    struct daemon d;
    struct raw r;
    struct frame f;
    daemon_start(&d, NULL);
    check_well(&d);
    raw_connect(&r, &d);
    raw_hello(&r);
    raw_send(&r, WIRE_SHUTDOWN, 0, 0, NULL, -1);
    CHECK_INT(raw_receive(&r, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_GOODBYE);
    raw_close(&r);
    int status;
    CHECK(waitpid(d.pid, &status, 0) == d.pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int run_program(const char *const *arguments)
{
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        dup2(null, 2);
        execv(fake_program(), (char *const *)arguments);
        _exit(127);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void command_line(void)
{
    CHECK_INT(run_program((const char *[]){"peltond", "--check", "-c", "threads=2", "--device",
                                           "cpu", NULL}),
              0);
    CHECK_INT(run_program((const char *[]){"peltond", "--check", "-c", "threads=-1", NULL}), 2);
    CHECK_INT(run_program((const char *[]){"peltond", "--check", "-c", "threads=2x", NULL}), 2);
    CHECK_INT(run_program((const char *[]){"peltond", "--check", "-c", "thread=2", NULL}), 2);
    CHECK_INT(run_program((const char *[]){"peltond", "--check", "-c", "workers=1", NULL}), 2);
    CHECK_INT(run_program((const char *[]){"peltond", "--check", "-c", "batch=4", NULL}), 2);
    CHECK_INT(run_program((const char *[]){"peltond", "--check", "-c", "debug.batch=4", NULL}), 0);
    CHECK_INT(run_program((const char *[]){"peltond", "--check", "-c", "threads", NULL}), 2);
    CHECK_INT(run_program((const char *[]){"peltond", "--nonsense", NULL}), 2);
    CHECK_INT(run_program((const char *[]){"peltond", "--log-level", "loud", NULL}), 2);
    CHECK_INT(run_program((const char *[]){"peltond", "surplus", NULL}), 2);
    CHECK_INT(run_program((const char *[]){"peltond", "--help", NULL}), 0);
    CHECK_INT(run_program((const char *[]){"peltond", "--version", NULL}), 0);
    /* without a broker */
    CHECK_INT(run_program((const char *[]){"peltond", "--worker-fd", "7", NULL}), 1);
    CHECK_INT(run_program((const char *[]){"peltond", "--private-fd", "77", NULL}), 1);
    CHECK_INT(run_program((const char *[]){"peltond", "--socket", "/proc/no/such/s", NULL}), 1);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"hello_deadline", hello_deadline},
        {"private_client_is_late", private_client_is_late},
        {"first_message_is_hello", first_message_is_hello},
        {"quotas", quotas},
        {"unknown_and_unfit_messages", unknown_and_unfit_messages},
        {"garbage", garbage},
        {"client_that_does_not_read", client_that_does_not_read},
        {"lies_about_slots", lies_about_slots},
        {"refuses_odd_stretches", refuses_odd_stretches},
        {"silent_client", silent_client},
        {"sockets", sockets},
        {"shutdown_by_message", shutdown_by_message},
        {"command_line", command_line},
    };
    return tests_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
