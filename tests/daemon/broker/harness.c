/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See harness.h.
 */
#include "tests/daemon/broker/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEST_SECONDS = 300 };

int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

void strings_equal(const char *have, const char *want, const char *file, int line)
{
    if (strcmp(have, want) != 0) {
        fprintf(stderr, "%s:%d: \"%s\" is not \"%s\"\n", file, line, have, want);
        exit(1);
    }
}

/* A failed test leaves nothing behind: whatever it started dies with it. */
static int run_one(const struct test *t)
{
    int64_t start = now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        alarm(TEST_SECONDS);
        t->run();
        exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    printf("%s %s (%d ms)\n", passed ? "ok  " : "FAIL", t->name, (int)(now_ms() - start));
    fflush(stdout);
    return passed ? 0 : 1;
}

int tests_main(int argc, char **argv, const struct test *tests, size_t count)
{
    setenv("PELTON_CONFIG_LIBAVCODEC", "false", 0);
    int failed = 0;
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < count; i++) {
        bool wanted = argc < 2;
        for (int k = 1; k < argc; k++)
            wanted |= strcmp(argv[k], tests[i].name) == 0;
        failed += wanted ? run_one(&tests[i]) : 0;
    }
    return failed > 0;
}

/* ---- the daemon ---- */

const char *fake_program(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
    CHECK(n > 0);
    path[n] = 0;
    strcpy(strrchr(path, '/'), "/peltond_fake");
    return path;
}

void daemon_start(struct daemon *d, const char *const *values)
{
    const char *argv[64] = {"peltond", "--socket", d->socket, "--log-level",
                            getenv("PELTON_TEST_LOG") ? "debug" : "quiet"};
    unsigned n = 5;
    snprintf(d->socket, sizeof(d->socket), "/tmp/pelton-test-%d.sock", (int)getpid());
    unlink(d->socket);
    for (; values && *values; values++) {
        argv[n++] = "-c";
        argv[n++] = *values;
    }
    pid_t parent = getpid();
    d->pid = fork();
    if (d->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            execv(fake_program(), (char *const *)argv);
        _exit(127);
    }
    int64_t deadline = now_ms() + WAIT_MS;
    struct pelton *conn = NULL;
    while (pelton_connect(d->socket, WAIT_MS, &conn) < 0) {
        CHECK(now_ms() < deadline);
        sleep_ms(2);
    }
    pelton_close(conn);
}

void daemon_stop(struct daemon *d)
{
    int status = 0;
    kill(d->pid, SIGTERM);
    CHECK(waitpid(d->pid, &status, 0) == d->pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    CHECK(access(d->socket, F_OK) < 0);
}

struct pelton *must_connect(const struct daemon *d)
{
    struct pelton *conn = NULL;
    CHECK_INT(pelton_connect(d->socket, WAIT_MS, &conn), 0);
    return conn;
}

struct pelton *must_spawn(const char *const *values)
{
    struct pelton_spawn_params p = {.program = fake_program(), .extra = values, .log_fd = -1};
    struct pelton *conn = NULL;
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), 0);
    return conn;
}

/* ---- sources ---- */

int script_fd(const char *script)
{
    /* a memory file cannot be told from a pool; a plain file it shall be */
    char path[] = "/tmp/pelton-script-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    CHECK(fd >= 0);
    unlink(path);
    CHECK(write(fd, script, strlen(script)) == (ssize_t)strlen(script));
    lseek(fd, 0, SEEK_SET);
    return fd;
}

int script_pipe(const char *script)
{
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    CHECK(write(ends[1], script, strlen(script)) == (ssize_t)strlen(script));
    close(ends[1]);
    return ends[0];
}

struct pelton_open_params script_params(int fd, const char *name)
{
    return (struct pelton_open_params){.fd = fd, .name = name, .start_us = -1, .duration_us = -1};
}

struct pelton_stream *must_open(struct pelton *conn, const char *script,
                                const struct pelton_open_params *more)
{
    int fd = script_fd(script);
    struct pelton_open_params p = more ? *more : script_params(fd, script);
    struct pelton_stream *s = NULL;
    p.fd = fd;
    p.name = script;
    int rc = pelton_open(conn, &p, WAIT_MS, NULL, &s);
    if (rc < 0)
        fprintf(stderr, "%s: %s\n", script, pelton_failure(conn)->cause);
    CHECK_INT(rc, 0);
    close(fd);
    return s;
}

void check_pels(const struct pelton_frame *f)
{
    for (uint32_t y = 0; y < f->plane_height[0]; y++) {
        const uint8_t *row = f->data[0] + (size_t)y * f->stride[0];
        CHECK_INT(row[0], f->sequence & 255);
        CHECK_INT(row[f->plane_width[0] - 1], f->sequence & 255);
    }
}

void must_next(struct pelton_stream *s, uint64_t sequence, struct pelton_frame *out)
{
    CHECK_INT(pelton_next(s, WAIT_MS, out), 1);
    CHECK_INT(out->sequence, sequence);
    check_pels(out);
}

uint64_t drain_stream(struct pelton_stream *s, uint64_t from)
{
    struct pelton_frame f;
    uint64_t count = 0;
    int rc;
    while ((rc = pelton_next(s, WAIT_MS, &f)) > 0) {
        CHECK_INT(f.sequence, from + count);
        check_pels(&f);
        pelton_release(s, &f);
        count++;
    }
    CHECK_INT(rc, 0);
    return count;
}

/* ---- processes ---- */

static bool is_spawner(pid_t pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "r");
    bool named = f && fgets(name, sizeof(name), f);
    if (f)
        fclose(f);
    return named && !strcmp(name, "pelton-spawner\n");
}

int children_of(pid_t pid, pid_t out[], int room)
{
    char path[64];
    int n = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    while (f && n < room && fscanf(f, "%d", &out[n]) == 1)
        n += !is_spawner(out[n]);
    if (f)
        fclose(f);
    return n;
}

pid_t child_of(pid_t pid)
{
    pid_t child;
    for (int64_t deadline = now_ms() + WAIT_MS; now_ms() < deadline; sleep_ms(2))
        if (children_of(pid, &child, 1) == 1)
            return child;
    return 0;
}

/* Gone, or a zombie that its reaper has not fetched yet. */
static bool runs(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *paren = strrchr(text, ')');
    return paren && paren[1] && paren[2] != 'Z' && paren[2] != 'X';
}

bool process_ends(pid_t pid, int limit_ms)
{
    for (int64_t deadline = now_ms() + limit_ms; runs(pid); sleep_ms(2))
        if (now_ms() >= deadline)
            return false;
    return true;
}

/* ---- raw connections ---- */

void raw_connect(struct raw *r, const struct daemon *d)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, d->socket);
    r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    frame_reader_init(&r->reader);
    CHECK(connect(r->fd, (struct sockaddr *)&address, sizeof(address)) == 0);
}

void raw_send(struct raw *r, unsigned type, uint32_t request, uint32_t object,
              const ProtobufCMessage *body, int fd)
{
    struct frame_writer w;
    struct frame_header h = {.type = (uint16_t)type, .request_id = request, .object_id = object};
    frame_writer_init(&w);
    CHECK_INT(frame_writer_put(&w, &h, body, &fd, fd >= 0), 0);
    int rc;
    while ((rc = frame_writer_flush(&w, r->fd)) == 0) {
        struct pollfd p = {.fd = r->fd, .events = POLLOUT};
        poll(&p, 1, WAIT_MS);
    }
    CHECK_INT(rc, 1);
    frame_writer_free(&w);
}

int raw_receive(struct raw *r, int limit_ms, struct frame *out)
{
    int64_t deadline = now_ms() + limit_ms;
    for (;;) {
        int rc = frame_reader_next(&r->reader, out);
        if (rc != 0)
            return rc;
        int64_t left = deadline - now_ms();
        struct pollfd p = {.fd = r->fd, .events = POLLIN};
        if (left < 0 || poll(&p, 1, (int)left) == 0)
            return 0;
        rc = frame_reader_fill(&r->reader, r->fd);
        if (rc < 0)
            return rc;
    }
}

void raw_hello(struct raw *r)
{
    Pelton__Hello m = PELTON__HELLO__INIT;
    struct frame f;
    m.proto_min = m.proto_max = 1;
    m.client = "raw";
    raw_send(r, WIRE_HELLO, 0, 0, &m.base, -1);
    CHECK_INT(raw_receive(r, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_WELCOME);
}

void raw_close(struct raw *r)
{
    close(r->fd);
    frame_reader_free(&r->reader);
}
