/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Healthy streams from end to end: frames, formats, policies, questions, and the errors of sources.
 */
#include "tests/daemon/broker/harness.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void private_daemon(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = must_open(conn, "frames=300 epoch=7", NULL);
    CHECK_INT(drain_stream(s, 0), 300);
    struct pelton_stats stats;
    CHECK_INT(pelton_stats(s, WAIT_MS, &stats), 0);
    CHECK_INT(stats.frames, 300);
    CHECK_INT(stats.worker_restarts, 0);
    pelton_stream_close(s);
    pelton_close(conn);
}

static void frames_outlive_stream_and_epoch(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = must_open(conn, "frames=40 epoch=3 slots=4", NULL);
    struct pelton_frame first, f;
    must_next(s, 0, &first);
    CHECK(first.flags & PELTON_FRAME_KEY);
    CHECK_TEXT(first.pix_fmt, "gray");
    for (uint64_t i = 1; i < 40; i++) {
        must_next(s, i, &f);
        pelton_release(s, &f);
    }
    CHECK_INT(first.data[0][0], 0);
    CHECK_INT(f.epoch - first.epoch, 13);
    CHECK_INT(pelton_next(s, WAIT_MS, &f), 0);
    CHECK_INT(pelton_next(s, WAIT_MS, &f), 0);
    CHECK_INT(first.data[0][5], 0);
    pelton_release(s, &first);
    pelton_release(s, &first); /* twice: nothing happens */
    pelton_stream_close(s);
    pelton_close(conn);
}

static void readers_cannot_write(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = must_open(conn, "frames=1", NULL);
    struct pelton_frame f;
    must_next(s, 0, &f);
    void *page = (void *)((uintptr_t)f.data[0] & ~(uintptr_t)4095);
    CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE) < 0);
    pelton_release(s, &f);
    pelton_stream_close(s);
    pelton_close(conn);
}

static void lossless_waits(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = must_open(conn, "frames=20 slots=2", NULL);
    struct pelton_frame a, b, c;
    must_next(s, 0, &a);
    must_next(s, 1, &b);
    CHECK_INT(pelton_next(s, 30, &c), PELTON_ERR_TIMEOUT); /* both slots are held */
    pelton_release(s, &a);
    must_next(s, 2, &c);
    pelton_release(s, &b);
    pelton_release(s, &c);
    CHECK_INT(drain_stream(s, 3), 17);
    pelton_stream_close(s);
    pelton_close(conn);
}

static void latest_gives_the_newest(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_open_params p = script_params(-1, NULL);
    struct pelton_frame f;
    p.policy = PELTON_LATEST;
    struct pelton_stream *s = must_open(conn, "frames=400 interval=2", &p);
    CHECK_INT(pelton_next(s, WAIT_MS, &f), 1);
    uint64_t first;
    int tries = 0;
    do { /* the worker may get no time while we sleep */
        CHECK(tries++ < 10);
        first = f.sequence;
        pelton_release(s, &f);
        sleep_ms(60);
        CHECK_INT(pelton_next(s, WAIT_MS, &f), 1);
    } while (f.sequence < first + 10);
    CHECK(f.dropped_client >= 9);
    pelton_release(s, &f);
    int rc;
    uint64_t last = f.sequence;
    while ((rc = pelton_next(s, WAIT_MS, &f)) > 0) {
        CHECK(f.sequence > last);
        last = f.sequence;
        pelton_release(s, &f);
    }
    CHECK_INT(rc, 0);
    CHECK_INT(last, 399);
    pelton_stream_close(s);
    pelton_close(conn);
}

static void fifo_keeps_depth(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_open_params p = script_params(-1, NULL);
    struct pelton_frame f;
    p.policy = PELTON_FIFO;
    p.depth = 3;
    struct pelton_stream *s = must_open(conn, "frames=20 slots=8", &p);
    struct pelton_stats stats = {0};
    while (stats.frames < 20)
        CHECK_INT(pelton_stats(s, WAIT_MS, &stats), 0);
    for (uint64_t i = 17; i < 20; i++) {
        must_next(s, i, &f);
        CHECK_INT(f.dropped_client, 17);
        pelton_release(s, &f);
    }
    CHECK_INT(pelton_next(s, WAIT_MS, &f), 0);
    pelton_stream_close(s);
    pelton_close(conn);
}

/* A pool too small for what the subscriber holds and what may wait: old frames make room for new
 * ones. */
static void fifo_gives_way_to_new_frames(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_open_params p = script_params(-1, NULL);
    struct pelton_frame held, f;
    p.policy = PELTON_FIFO;
    p.depth = 3;
    struct pelton_stream *s = must_open(conn, "frames=200 slots=4 interval=1", &p);
    struct pelton_stats stats = {0};
    CHECK_INT(pelton_next(s, WAIT_MS, &held), 1);
    while (stats.frames < 200)
        CHECK_INT(pelton_stats(s, WAIT_MS, &stats), 0);
    CHECK_INT(pelton_next(s, WAIT_MS, &f), 1);
    CHECK(f.sequence >= 197);
    CHECK_INT(f.dropped_client, f.sequence - 1 - held.sequence + held.dropped_client);
    p.depth = PELTON_FIFO_MOST + 1;
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_USAGE);
    pelton_close(conn);
}

/* A program that sets the source alone gets all of it. */
static void zero_parameters_mean_defaults(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_open_params by_uri = {.uri = "frames=3"}, by_fd = {0}, none;
    struct pelton_info info;
    struct pelton_stream *s = NULL;
    by_fd.fd = script_pipe("frames=5");
    CHECK_INT(pelton_probe(conn, &by_uri, WAIT_MS, &info), 0);
    CHECK_INT(pelton_open(conn, &by_uri, WAIT_MS, NULL, &s), 0);
    CHECK_INT(drain_stream(s, 0), 3);
    pelton_stream_close(s);
    CHECK_INT(pelton_open(conn, &by_fd, WAIT_MS, NULL, &s), 0);
    CHECK_INT(drain_stream(s, 0), 5);
    pelton_stream_close(s);
    close(by_fd.fd);
    pelton_open_params_init(&none);
    CHECK_INT(pelton_open(conn, &none, WAIT_MS, NULL, &s), PELTON_ERR_USAGE);
    CHECK_TEXT(pelton_failure(conn)->cause, "neither a URI nor a descriptor");
    by_uri.on_error = (enum pelton_on_error)4;
    CHECK_INT(pelton_open(conn, &by_uri, WAIT_MS, NULL, &s), PELTON_ERR_USAGE);
    pelton_close(conn);
}

static void without_frames(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_open_params p = script_params(-1, NULL);
    struct pelton_frame f;
    for (int transport = PELTON_NONE; transport <= PELTON_READBACK; transport++) {
        p.bench.transport = (enum pelton_transport)transport;
        struct pelton_stream *s = must_open(conn, "frames=100", &p);
        struct pelton_stats stats;
        CHECK_INT(pelton_next(s, WAIT_MS, &f), 0);
        CHECK_INT(pelton_stats(s, WAIT_MS, &stats), 0);
        CHECK_INT(stats.frames, 100);
        pelton_stream_close(s);
    }
    pelton_close(conn);
}

static void failures_come_unchanged(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = must_open(conn, "frames=20 fail=-6 at=5", NULL);
    struct pelton_frame f;
    for (uint64_t i = 0; i < 5; i++) {
        must_next(s, i, &f);
        pelton_release(s, &f);
    }
    CHECK_INT(pelton_next(s, WAIT_MS, &f), PELTON_ERR_DECODE);
    CHECK_INT(pelton_failure(conn)->code, PELTON_ERR_DECODE);
    CHECK_TEXT(pelton_failure(conn)->cause, "frames=20 fail=-6 at=5: failed where it should");
    CHECK_TEXT(pelton_failure(conn)->hint, "as the script says");
    CHECK_INT(pelton_next(s, WAIT_MS, &f), PELTON_ERR_DECODE); /* again, the same */
    pelton_stream_close(s);
    pelton_close(conn);
}

static void bad_sources(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = NULL;
    int fd = script_fd("nothing");
    struct pelton_open_params p = script_params(fd, "clip.mp4");
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_INPUT);
    CHECK_TEXT(pelton_failure(conn)->cause, "clip.mp4: no video in it");
    CHECK_TEXT(pelton_failure(conn)->hint, "give a script");
    p.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_INPUT);
    CHECK_TEXT(pelton_failure(conn)->cause, "clip.mp4: the descriptor was not opened for reading");
    close(p.fd);
    p.fd = open("/etc/passwd", O_PATH | O_CLOEXEC);
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_INPUT);
    close(p.fd);
    p.fd = -1;
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_USAGE);
    close(fd);
    pelton_close(conn);
}

static void unsupported(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s = NULL;
    struct pelton_info info;
    int fd = script_fd("unsupported=1 width=320");
    struct pelton_open_params p = script_params(fd, "odd");
    memset(&info, 0, sizeof(info));
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, &info, &s), PELTON_ERR_UNSUPPORTED);
    CHECK_TEXT(pelton_failure(conn)->cause, "odd: fake_flag is set");
    CHECK_TEXT(info.unsupported_element, "fake_flag");
    CHECK_INT(info.width, 320);
    memset(&info, 0, sizeof(info));
    CHECK_INT(pelton_probe(conn, &p, WAIT_MS, &info), 0);
    CHECK_INT(info.supported, 0);
    CHECK_TEXT(info.unsupported_what, "is set");
    CHECK_INT(lseek(fd, 0, SEEK_CUR), 0); /* the client's offset has not moved */
    close(fd);
    fd = script_fd("frames=3");
    p.fd = fd;
    CHECK_INT(pelton_probe(conn, &p, WAIT_MS, &info), 0);
    CHECK_INT(info.supported, 1);
    CHECK_INT(info.frames, 3);
    close(fd);
    pelton_close(conn);
}

static void addresses(void)
{
    const char *values[] = {"allow_paths=/nowhere:/tmp", NULL};
    struct daemon d;
    struct pelton_stream *s = NULL;
    struct pelton_open_params p = script_params(-1, "u");
    struct pelton *conn = must_spawn(NULL);
    p.uri = "frames=3";
    /* a private daemon opens what its user names */
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), 0);
    CHECK_INT(drain_stream(s, 0), 3);
    pelton_stream_close(s);
    pelton_close(conn);

    daemon_start(&d, values);
    conn = must_connect(&d);
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_PERMISSION);
    p.uri = "/etc/passwd";
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_PERMISSION);
    p.uri = "/tmp/../etc/passwd";
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_PERMISSION);
    p.uri = "/tmpx/file";
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_PERMISSION);
    p.uri = "/tmp/pelton-test-no-such-file";
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), PELTON_ERR_INPUT);
    char path[] = "/tmp/pelton-allowed-XXXXXX";
    int fd = mkstemp(path);
    CHECK(write(fd, "frames=2", 8) == 8);
    close(fd);
    p.uri = path;
    CHECK_INT(pelton_open(conn, &p, WAIT_MS, NULL, &s), 0);
    CHECK_INT(drain_stream(s, 0), 2);
    pelton_stream_close(s);
    unlink(path);
    pelton_close(conn);
    daemon_stop(&d);
}

/* Many at once, some of which cannot be opened: each tells its own story, to who waits and to who
 * reads on. */
static void opened_at_once(void)
{
    enum { N = 40 };
    const char *scripts[] = {"frames=9", "unsupported=1", "nothing", "frames=3 slots=1"};
    const int want[] = {0, PELTON_ERR_UNSUPPORTED, PELTON_ERR_INPUT, 0};
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s[N];
    struct pelton_info info;
    struct pelton_frame f;
    for (int i = 0; i < N; i++) {
        struct pelton_open_params p = script_params(script_fd(scripts[i % 4]), scripts[i % 4]);
        CHECK_INT(pelton_open_start(conn, &p, &s[i]), 0);
        close(p.fd);
    }
    for (int i = N - 1; i >= 0; i--) {
        if (i < N / 2)
            CHECK_INT(pelton_open_wait(s[i], WAIT_MS, &info), want[i % 4]);
        if (want[i % 4])
            CHECK_INT(pelton_next(s[i], WAIT_MS, &f), want[i % 4]);
        else
            CHECK_INT(drain_stream(s[i], 0), i % 4 ? 3 : 9);
        pelton_stream_close(s[i]);
    }
    pelton_close(conn);
}

static void devices(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_device device, *list;
    size_t count;
    CHECK_INT(pelton_devices(conn, WAIT_MS, &list, &count), 0);
    CHECK_INT(count, 2);
    CHECK_TEXT(list[1].name, "other");
    free(list);
    CHECK_INT(pelton_device(conn, &device), 0);
    CHECK_TEXT(device.name, "fake");
    CHECK(device.software);
    pelton_close(conn);

    struct pelton_spawn_params p = {.program = fake_program(),
                                    .device = "none",
                                    .log_fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
    CHECK_INT(pelton_spawn(&p, WAIT_MS, &conn), 0);
    CHECK_INT(pelton_device(conn, &device), PELTON_ERR_NO_DEVICE);
    CHECK_TEXT(pelton_failure(conn)->cause, "no device matches \"none\"");
    struct pelton_stream *s = NULL;
    struct pelton_open_params o = script_params(script_fd("frames=1"), "x");
    CHECK_INT(pelton_open(conn, &o, WAIT_MS, NULL, &s), PELTON_ERR_NO_DEVICE);
    CHECK_TEXT(pelton_failure(conn)->cause, "no device matches \"none\"");
    close(o.fd);
    close(p.log_fd);
    pelton_close(conn);
}

/* What the worker has counted, in the list of all streams: while it decodes, and what it said last.
 */
static void totals_of_all(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_open_params p = script_params(-1, NULL);
    p.policy = PELTON_LATEST;
    struct pelton_stream *with = must_open(conn, "frames=400 interval=4 entropy=2", &p),
                         *without = must_open(conn, "frames=400 interval=4", &p);
    struct pelton_status status;
    struct pelton_stream_status *list = NULL;
    size_t n = 0;
    uint64_t pictures = 0, passed_ms = 0;
    for (; pictures < 300; passed_ms += 20) { /* 1.2 s, said within the second after */
        CHECK(passed_ms < 20000);
        sleep_ms(20);
        CHECK_INT(pelton_status(conn, WAIT_MS, &status, &list, &n), 0);
        CHECK_INT(n, 2);
        for (size_t i = 0; i < n; i++) {
            bool other = strstr(list[i].name, "entropy") == NULL;
            CHECK(fabs(list[i].gpu_entropy - 2e-3 * (double)list[i].gpu_entropy_pictures) < 1e-6);
            CHECK(!other || list[i].gpu_entropy_pictures == 0);
            CHECK(other || list[i].gpu_entropy_pictures >= pictures);
            pictures = other ? pictures : list[i].gpu_entropy_pictures;
        }
        free(list);
    }
    pelton_stream_close(with);
    pelton_stream_close(without);
    pelton_close(conn);
}

static void many_streams(void)
{
    struct pelton *conn = must_spawn(NULL);
    struct pelton_stream *s[16];
    for (int i = 0; i < 16; i++)
        s[i] = must_open(conn, "frames=30 slots=3", NULL);
    for (uint64_t n = 0; n < 30; n++) {
        for (int i = 0; i < 16; i++) {
            struct pelton_frame f;
            must_next(s[i], n, &f);
            pelton_release(s[i], &f);
        }
    }
    for (int i = 0; i < 16; i += 2)
        pelton_stream_close(s[i]);
    pelton_close(conn); /* takes the rest along */
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"private_daemon", private_daemon},
        {"frames_outlive_stream_and_epoch", frames_outlive_stream_and_epoch},
        {"readers_cannot_write", readers_cannot_write},
        {"zero_parameters_mean_defaults", zero_parameters_mean_defaults},
        {"lossless_waits", lossless_waits},
        {"latest_gives_the_newest", latest_gives_the_newest},
        {"fifo_keeps_depth", fifo_keeps_depth},
        {"fifo_gives_way_to_new_frames", fifo_gives_way_to_new_frames},
        {"fifo_gives_way_to_new_frames", fifo_gives_way_to_new_frames},
        {"without_frames", without_frames},
        {"failures_come_unchanged", failures_come_unchanged},
        {"bad_sources", bad_sources},
        {"unsupported", unsupported},
        {"addresses", addresses},
        {"opened_at_once", opened_at_once},
        {"devices", devices},
        {"totals_of_all", totals_of_all},
        {"many_streams", many_streams},
    };
    return tests_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
